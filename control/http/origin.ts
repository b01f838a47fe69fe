// Which requests come from our own pages. SameSite cookies alone are not enough: a sibling host is the same site.

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * True where an unsafe request cannot have been made by somebody else's page. Browsers send Sec-Fetch-Site or Origin
 * with every such request; what has neither and carries no cookie is a program, and holds no one's session.
 */
export const isOwnRequest = (headers: Headers, origin: string): boolean => {
  const site = headers.get('sec-fetch-site');
  const sender = headers.get('origin');
  if (site !== null) return site === 'same-origin' && (sender === null || sender !== 'null');
  if (sender !== null) return sender === origin;
  return headers.get('cookie') === null;
};

/**
 * A page of somebody else's that asks with its visitor's cookie. It cannot read the answer; but a page on a sibling host
 * (SameSite lets its requests have the cookie) could use up that visitor's live views and rates.
 */
export const isForeignRead = (headers: Headers): boolean =>
  headers.has('cookie') && ['same-site', 'cross-site'].includes(headers.get('sec-fetch-site') ?? '');

export const isUnsafe = (method: string): boolean => !safeMethods.has(method);

/** `GET /auth/logout`: a link or a call of our own pages, never an image of anybody's (design 9). */
export const isOwnNavigation = (headers: Headers): boolean =>
  headers.get('sec-fetch-site') === 'same-origin' && headers.get('sec-fetch-mode') !== 'no-cors';
