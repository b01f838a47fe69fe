// Which requests come from our own pages. SameSite cookies alone are not enough: a sibling host counts as the same site.

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * True if no foreign page can have made this unsafe request. Browsers send Sec-Fetch-Site or Origin with every such
 * request. One that has neither, and no cookie, comes from a program and uses nobody's session.
 */
export function isOwnRequest(headers: Headers, origin: string): boolean {
  const site = headers.get('sec-fetch-site');
  const sender = headers.get('origin');
  if (site !== null) return site === 'same-origin' && sender !== 'null';
  if (sender !== null) return sender === origin;
  return headers.get('cookie') === null;
}

/** True for a request that a page of another site caused: by a script, a form, a link or an image. */
export const isFromOtherSite = (headers: Headers): boolean =>
  ['same-site', 'cross-site'].includes(headers.get('sec-fetch-site') ?? '');

/**
 * True for a read by a foreign page with its visitor's cookie. That page cannot read the answer. But a page on a sibling
 * host, whose requests carry the cookie despite SameSite, could use up the visitor's live views and rate limits.
 */
export const isForeignRead = (headers: Headers): boolean => headers.has('cookie') && isFromOtherSite(headers);

/** False for an image, a frame or a script of another page, which could act in the person's name or use up their limits. */
export const isOpened = (headers: Headers): boolean => ['document', null].includes(headers.get('sec-fetch-dest'));

export const isUnsafe = (method: string): boolean => !safeMethods.has(method);

/** True for a link or a call on our own pages, false for an image on any page: `GET /auth/logout` asks. */
export const isOwnNavigation = (headers: Headers): boolean =>
  headers.get('sec-fetch-site') === 'same-origin' && headers.get('sec-fetch-mode') !== 'no-cors';
