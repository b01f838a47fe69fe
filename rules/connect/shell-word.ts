// One word of a POSIX shell command line, whatever it holds (POSIX XCU 2.2.2).

/** Characters that no shell in use gives a meaning to; `=` and `~` mean something at a word's start only. */
const plain = /^[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+:,./=-]*$/;

/** NUL cannot be in an argument at all and is dropped. */
export function quoteShellWord(word: string): string {
  const text = word.replaceAll('\0', '');
  return plain.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A here-document of exactly these lines: nothing in it is expanded, and no line of it ends it early. */
export function renderHereDocument(body: string, delimiter: string): { readonly start: string; readonly rest: string } {
  const text = body.replaceAll('\0', '');
  const lines = new Set(text.split('\n'));
  let word = delimiter;
  while (lines.has(word)) word += '_';
  return { start: `<<'${word}'`, rest: `${text}${text.endsWith('\n') ? '' : '\n'}${word}\n` };
}
