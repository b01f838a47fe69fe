// Bytes as a hex dump: offset, 16 bytes, and the printable characters.

const rowBytes = 16;

export function renderHex(bytes: Uint8Array): string {
  const rows: string[] = [];
  for (let at = 0; at < bytes.length; at += rowBytes) rows.push(renderRow(at, bytes.subarray(at, at + rowBytes)));
  return rows.join('\n');
}

function renderRow(at: number, row: Uint8Array): string {
  const hex = Array.from(row, (byte) => byte.toString(16).padStart(2, '0'));
  const halves = [hex.slice(0, 8).join(' '), hex.slice(8).join(' ')].join('  ').padEnd(48);
  const text = Array.from(row, (byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
  return `${at.toString(16).padStart(8, '0')}  ${halves}  ${text}`;
}
