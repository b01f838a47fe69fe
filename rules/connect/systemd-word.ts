// One word of ExecStart= in a unit file, whatever it holds (systemd.syntax(7) Quoting, systemd.service(5) Command lines).

/** Specifiers (%) and variables ($) are doubled, quotes and control characters escaped; NUL is not allowed there. */
export function quoteSystemdWord(word: string): string {
  const escaped = word
    .replaceAll('\0', '')
    .replace(/[\\"]/g, '\\$&')
    .replaceAll('%', '%%')
    .replaceAll('$', '$$$$')
    .replace(/[\x01-\x1f\x7f]/g, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return `"${escaped}"`;
}
