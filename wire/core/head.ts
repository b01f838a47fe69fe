// The head of an upgrade request or of its answer: strict HTTP/1.1, no folded lines, no header twice. Not a general parser.

export interface Head {
  /** The start line, split at its first two spaces. */
  readonly start: readonly [string, string, string];
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

/** Several times what either head needs; a token has about 64 bytes. */
export const maxHeadBytes = 8_192;
const maxHeaders = 64;

const startLine = /^([!-~]+) ([!-~]+) ([ -~]*)$/;
// RFC 9110 5.6.2 token; a value is visible ASCII with spaces. Spaces around the value are trimmed afterwards: an expression
// that trims them would try each one as the first, in quadratic time.
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t -~]*)$/;

/** Parses the text before the empty line. Null if anything is malformed. */
export function parseHead(text: string): Head | null {
  const [first, ...lines] = text.split('\r\n');
  const start = startLine.exec(first ?? '');
  if (start === null || lines.length > maxHeaders) return null;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = headerLine.exec(line);
    const name = match?.[1]?.toLowerCase();
    if (name === undefined || headers.has(name)) return null;
    headers.set(name, ownCopy(match![2]!.trim()));
  }
  return { start: [start[1]!, start[2]!, start[3]!], headers };
}

/** Copies: in V8 a substring keeps the whole text in memory, so a kept field would keep the token of its head, too. */
const ownCopy = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

/** True if a comma-separated value such as Connection holds the word, in upper or lower case. */
export const listHolds = (value: string | undefined, word: string): boolean =>
  (value ?? '').split(',').some((item) => item.trim().toLowerCase() === word);

export function renderHead(start: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${start}\r\n${lines.join('')}\r\n`;
}
