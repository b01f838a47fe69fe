// The cookies: the session, the one that recognises the browser that asked for a login link, the one that binds the sign-in of a
// tunnel's visitor to its browser, and the one that recognises browsers that have entered a policy's password.
// The prefix `__Host-` binds a cookie to https, this host and every path. Development on plain http has to leave it out.

export interface CookieNames {
  readonly session: string;
  readonly browser: string;
  readonly signIn: string;
  readonly known: string;
  readonly secure: boolean;
}

export function cookieNames(origin: string): CookieNames {
  const secure = origin.startsWith('https:');
  const prefix = secure ? '__Host-' : '';
  const [session, browser, signIn, known] = ['session', 'browser', 'sign-in', 'known'].map(
    (name) => `${prefix}underpass-${name}`,
  );
  return { session: session!, browser: browser!, signIn: signIn!, known: known!, secure };
}

/** The first cookie of that name. A second one can only come from an attack and is ignored. */
export function readCookie(headers: Headers, name: string): string | undefined {
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const equals = pair.indexOf('=');
    if (equals > 0 && pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim();
  }
  return undefined;
}

/** `maxAgeSeconds` 0 removes it. Values are base64url, which needs no quoting. */
export const renderCookie = (name: string, value: string, maxAgeSeconds: number, secure: boolean): string =>
  `${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure ? '; Secure' : ''}`;
