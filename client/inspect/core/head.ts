// Reads the head of a message that the inspector kept, for display. The edge has already refused ambiguous requests, and
// nothing is forwarded by what this file reads.

export interface ReadHead {
  readonly startLine: readonly [string, string, string];
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** Folded lines and lines without a colon belong to the line before them. */
export function readHead(head: string): ReadHead {
  const [first = '', ...lines] = head.split('\r\n');
  const headers: [string, string][] = [];
  for (const line of lines) {
    if (line === '') continue;
    const colon = line.indexOf(':');
    const last = headers.at(-1);
    if (colon > 0 && !/^[ \t]/.test(line)) headers.push([line.slice(0, colon).trim(), line.slice(colon + 1).trim()]);
    else if (last) last[1] += ` ${line.trim()}`;
  }
  return { startLine: splitLine(first), headers };
}

/** The third part may hold spaces: a reason phrase. */
function splitLine(line: string): [string, string, string] {
  const one = line.indexOf(' ');
  if (one === -1) return [line, '', ''];
  const two = line.indexOf(' ', one + 1);
  return two === -1
    ? [line.slice(0, one), line.slice(one + 1), '']
    : [line.slice(0, one), line.slice(one + 1, two), line.slice(two + 1)];
}

/** Values of all lines with this name, joined by commas as RFC 9110 5.3 allows; undefined if there is none. */
export function fieldOf({ headers }: Pick<ReadHead, 'headers'>, name: string): string | undefined {
  const values = headers.filter(([given]) => given.toLowerCase() === name).map(([, value]) => value);
  return values.length === 0 ? undefined : values.join(', ');
}

export function mediaTypeOf(contentType: string | undefined): string {
  return (contentType ?? '').split(';', 1)[0]!.trim().toLowerCase();
}

/** `boundary` of `multipart/form-data; boundary="a b"`. */
export function parameterOf(contentType: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|([^;\\s]+))`, 'i').exec(contentType);
  return match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2];
}
