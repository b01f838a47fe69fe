// CSV both ways (RFC 4180): writes rows that no spreadsheet runs as a formula, and reads imports with bounds.

/**
 * Where a spreadsheet may begin to read a formula, and gets an apostrophe that makes it text (OWASP, CSV Injection): at the
 * start of a cell, and behind `;`, a tab or a line end, which separate cells where the comma is the decimal sign. Blanks and
 * quotes before the formula do not hide it, and spreadsheets also take the full-width signs.
 */
const formulaStart = /(?<=^|[;\t\r\n])(?=[\s"']*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r])/g;

function renderCell(text: string): string {
  const safe = text.replace(formulaStart, "'");
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export const renderCsvRow = (cells: readonly string[]): string => `${cells.map(renderCell).join(',')}\r\n`;

const quotedCell = /^\s*"((?:[^"]|"")*)"\s*(?=,|$)/;
const plainCell = /^([^",]*)(?=,|$)/;

// Room for an e-mail, a time and a flag.
const lineMaxChars = 1_000;

/** The cells of a line; undefined if it is not CSV. */
export function parseCsvLine(line: string): string[] | undefined {
  if (line.length > lineMaxChars) return undefined;
  const cells: string[] = [];
  for (let rest = `,${line}`; rest !== ''; ) {
    rest = rest.slice(1);
    const quoted = quotedCell.exec(rest);
    const match = quoted ?? plainCell.exec(rest);
    if (!match) return undefined;
    cells.push(quoted ? match[1]!.replaceAll('""', '"') : match[1]!.trim());
    rest = rest.slice(match[0].length);
  }
  return cells;
}

/** The lines that are not empty. Cells with line breaks are not supported. */
export const csvLines = (text: string): string[] =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '');
