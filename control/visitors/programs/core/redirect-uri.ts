// Where a program may have its authorization sent (RFC 6749 3.1.2, RFC 8252). Pure.

const charsMost = 512;
/** RFC 8252 7.3 asks for an address, because a name may resolve elsewhere. Many programs use `localhost` all the same. */
const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '[::1]', 'localhost']);
/** Schemes that run or read what follows them, in this browser or on this machine. */
const hostileSchemes: ReadonlySet<string> = new Set(
  'about blob chrome data file filesystem ftp javascript jar mailto ms-msdt search-ms sms tel vbscript view-source ws wss'
    .split(' ')
    .map((scheme) => `${scheme}:`),
);
/** RFC 8252 7.1: a scheme of one program alone. Those in use are also of one word: `cursor:`, `vscode:`. */
const privateScheme = /^[a-z][a-z0-9+.-]{1,62}:$/;

const parse = (text: string): URL | null => (URL.canParse(text) ? new URL(text) : null);

/** RFC 6749 3.1.2: absolute, without a fragment. Credentials and texts that URL parsers read differently are refused. */
const isPlain = (text: string): boolean => text.length <= charsMost && /^[\x21-\x7e]+$/.test(text) && !/[\\#"<>^`{|}]/.test(text);

const isLoopback = ({ protocol, hostname }: URL): boolean => protocol === 'http:' && loopbackHosts.has(hostname);

/** Whether a program may register it. */
export function isRedirectUri(text: string): boolean {
  const url = isPlain(text) ? parse(text) : null;
  if (url === null || url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return text.startsWith('https://') && url.hostname !== '';
  if (url.protocol === 'http:') return text.startsWith('http://') && isLoopback(url);
  return privateScheme.test(url.protocol) && !hostileSchemes.has(url.protocol);
}

const withoutPort = (text: string): string =>
  text.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d{1,5}(?=[/?]|$)/, '$1');

/** Equal character by character, but for the port of a loopback address, which the system chooses (RFC 8252 7.3). */
export function matchesRedirectUri(asked: string, registered: readonly string[]): boolean {
  if (!isRedirectUri(asked)) return false;
  return registered.some((each) => each === asked || (isLoopback(new URL(each)) && withoutPort(each) === withoutPort(asked)));
}

/** Whether it leads to a server on the visitor's own device. */
export const isOnDevice = (redirectUri: string): boolean => isLoopback(new URL(redirectUri));

/** Where the answer goes, in words. */
export function describeRedirect(text: string): string {
  const url = new URL(text);
  if (isLoopback(url)) return 'a program on this device';
  return url.protocol === 'https:' ? url.host : `the program on this device that opens ${url.protocol} addresses`;
}

/** `values` that are undefined are left out. */
export function addToQuery(uri: string, values: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value);
  return `${uri}${uri.includes('?') ? '&' : '?'}${query}`;
}
