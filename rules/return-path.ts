// Which page a login link may lead to: the one that was opened without a session. The link may be opened in another browser, by a
// person to whom a stranger had it sent, so only pages count that do nothing when they open.

/** Pages that only show: no approval of a terminal, no invitation, no further link. */
const shownPages = ['projects', 'account', 'download', 'operator'];
const maxChars = 300;

/** The path without its query; undefined if it is no page of this site that may be opened this way. */
export function parseReturnPath(text: string): string | undefined {
  const path = text.split(/[?#]/, 1)[0]!;
  if (path.length > maxChars || !shownPages.includes(path.split('/')[1] ?? '')) return undefined;
  return isCanonical(path) ? path : undefined;
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
