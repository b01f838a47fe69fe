// CSV both ways (RFC 4180): rows that no spreadsheet runs as a formula, and a bounded reader of imports.

/** A cell that starts like a formula is shown as text: OWASP, CSV Injection. */
const formulaStart = /^[=+\-@\t\r]/;

const renderCell = (text: string): string => {
  const safe = formulaStart.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const renderCsvRow = (cells: readonly string[]): string => `${cells.map(renderCell).join(',')}\r\n`;

const quotedCell = /^\s*"((?:[^"]|"")*)"\s*(?=,|$)/;
const plainCell = /^([^",]*)(?=,|$)/;

// An address, a time and a flag, with room.
const lineMaxChars = 1_000;

const parseLine = (line: string): string[] | undefined => {
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
};

/** One list of cells a line; undefined for a line that is not CSV. Cells hold no line breaks here. */
export const parseCsv = (text: string): (string[] | undefined)[] =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map(parseLine);
