// Who may call the inspector's port. Any page in the user's browser can send requests to loopback, and any name can lead there,
// so each call must prove where it comes from, and each call of the API must have the token.

interface GuardedRequest {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** Sec-Fetch-Site. */
  readonly site: string | undefined;
  readonly contentType: string | undefined;
  readonly authorization: string | undefined;
}

type GuardDecision = 'allowed' | 'forbidden' | 'token-wrong' | 'method-not-allowed';

export function decideGuard(asked: GuardedRequest, port: number, isToken: (text: string) => boolean): GuardDecision {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  // Another name is DNS rebinding: a page of that name would count as same-origin.
  if (asked.host === undefined || !hosts.includes(asked.host)) return 'forbidden';
  if (asked.origin !== undefined && asked.origin !== `http://${asked.host}`) return 'forbidden';
  const isApi = asked.path.startsWith('/api/');
  // Programs send no Sec-Fetch-Site. "none" is a person who opens the link.
  const isOwn = asked.site === undefined || asked.site === 'same-origin' || (asked.site === 'none' && !isApi);
  const isLink = asked.path === '/' && asked.method === 'GET' && asked.origin === undefined;
  if (!isOwn && !isLink) return 'forbidden';
  if (!isApi) return asked.method === 'GET' ? 'allowed' : 'method-not-allowed';
  const token = /^Bearer ([A-Za-z0-9_-]{1,100})$/.exec(asked.authorization ?? '')?.[1];
  if (token === undefined || !isToken(token)) return 'token-wrong';
  if (asked.method === 'GET') return 'allowed';
  // A form of another site cannot send this type without a preflight, which is never answered.
  if (asked.method !== 'POST') return 'method-not-allowed';
  return asked.contentType?.split(';', 1)[0] === 'application/json' ? 'allowed' : 'forbidden';
}
