// Which page a login link may lead to: the one that was opened without a session. The link may be opened in another browser, by a
// person to whom a stranger had it sent, so only pages count that do nothing when they open.

/** Pages that only show: no approval of a terminal, no invitation, no further link. */
const shownPages = ['projects', 'account', 'download', 'operator'];
/** A host has 253. */
const maxChars = 320;

/**
 * Signs a member in to a tunnel with an access policy. In another browser than the one that asked, the edge refuses the ticket, which
 * is bound to its own browser's state.
 */
const memberSignIn = /^\/access\/member\/[a-z0-9-]+(?:\.[a-z0-9-]+)+\/[\w-]{43}$/;
/** Goes on to the question whether a program may act for the member, so no login link leads there. */
const programSignIn = /^\/access\/member\/grant\/[\w-]{43}$/;

/** The path without its query; undefined if it is no page of this site that may be opened this way. */
export function parseReturnPath(text: string): string | undefined {
  const path = text.split(/[?#]/, 1)[0]!;
  const isShown = shownPages.includes(path.split('/')[1] ?? '') || memberSignIn.test(path);
  if (path.length > maxChars || !isShown) return undefined;
  return isCanonical(path) ? path : undefined;
}

/** The path at which control goes on with the sign-in of a tunnel's visitor, for the browser that came from there. */
export function parseVisitorPath(text: string): string | undefined {
  const isOne = text.length <= maxChars && (memberSignIn.test(text) || programSignIn.test(text));
  return isOne && isCanonical(text) ? text : undefined;
}

/** A browser opens exactly this path of the site: no other host, no `..` in any spelling, no character that it would rewrite. */
function isCanonical(path: string): boolean {
  const site = 'https://site.invalid';
  try {
    return path.startsWith('/') && new URL(path, site).href === site + path;
  } catch {
    return false;
  }
}
