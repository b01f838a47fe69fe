// One string as a double-quoted YAML scalar, whatever it holds (YAML 1.2.2, 5.7 and 7.3.1).

/** Always quoted: `no`, `1e3` and `a: b` stay the strings that they are. All but printable ASCII is escaped. */
export function quoteYamlScalar(text: string): string {
  return `"${Array.from(text.toWellFormed(), escapeCharacter).join('')}"`;
}

/** Quotes for args: of a container, where Kubernetes would expand `$(NAME)`; `$$` is a dollar sign. */
export function quoteContainerArgument(text: string): string {
  return quoteYamlScalar(text.replaceAll('$', '$$$$'));
}

function escapeCharacter(character: string): string {
  const code = character.codePointAt(0)!;
  if (character === '"' || character === '\\') return `\\${character}`;
  if (code >= 0x20 && code < 0x7f) return character;
  if (code === 0x0a) return '\\n';
  if (code <= 0xff) return `\\x${hex(code, 2)}`;
  return code <= 0xffff ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
