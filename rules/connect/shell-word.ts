// Quotes any text as one word of a POSIX shell command line (POSIX XCU 2.2.2).

/** Characters without a meaning in any common shell. `=` has one only at the start of a word. */
const plain = /^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+:,./=-]*$/;

/** Drops NUL, which no argument can contain. */
export function quoteShellWord(word: string): string {
  const text = word.replaceAll('\0', '');
  return plain.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A here-document of exactly these lines. The shell expands nothing in it, and none of its lines equals the delimiter. */
export function renderHereDocument(body: string, delimiter: string): { readonly start: string; readonly rest: string } {
  const text = body.replaceAll('\0', '');
  const lines = new Set(text.split('\n'));
  let word = delimiter;
  while (lines.has(word)) word += '_';
  return { start: `<<'${word}'`, rest: `${text}${text.endsWith('\n') ? '' : '\n'}${word}\n` };
}
