// Lines of a server's output, with a bound on each. Of a longer line only its two ends are kept: they name the request it answers.

interface LineEvents {
  readonly onLine: (line: string) => void;
  readonly onCut: (head: string, tail: string) => void;
}

const newline = 10;
/** Room for `{"jsonrpc":"2.0","id":…,` and `,"jsonrpc":"2.0","id":…}`. */
const endBytes = 64;

/** Takes chunks of bytes. Holds at most `maxBytes` of an unfinished line. */
export function createLineReader(maxBytes: number, { onLine, onCut }: LineEvents): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let bytes = 0;
  let head: string | undefined;

  function take(part: Buffer): void {
    bytes += part.length;
    parts.push(part);
    if (bytes <= maxBytes) return;
    const held = Buffer.concat(parts);
    head ??= held.toString('utf8', 0, endBytes);
    // A copy: a part of the chunk would hold all of it.
    parts = [Buffer.from(held.subarray(-endBytes))];
    // The rest of a long line is cut whatever its length is.
    bytes = maxBytes;
  }

  function finish(): void {
    const line = Buffer.concat(parts).toString('utf8');
    const cutHead = head;
    parts = [];
    bytes = 0;
    head = undefined;
    if (cutHead !== undefined) onCut(cutHead, line.slice(-endBytes));
    else if (line.trim() !== '') onLine(line);
  }

  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      take(chunk.subarray(from, at));
      finish();
      from = at + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from));
  };
}

/**
 * The id of the request that a line which was too long answers; undefined if its ends do not say. Ids towards a server are whole
 * numbers. Nothing inside a result can look like either end: the first is its beginning, the second has one closing brace.
 */
export function idOfCutLine(head: string, tail: string): number | undefined {
  const found = /^\{"jsonrpc":\s*"2\.0",\s*"id":\s*(\d+),/.exec(head) ?? /[}\]"\dlse],\s*"id":\s*(\d+)\s*\}$/.exec(tail);
  return found === null ? undefined : Number(found[1]);
}
