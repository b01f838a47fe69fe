// Reads a URL that may be malformed. URL.parse does the same from Node 22.1 on; the library runs on older ones.

export function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null;
}
