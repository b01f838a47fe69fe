// CSV both ways (RFC 4180): rows that no spreadsheet runs as a formula, and a bounded reader of imports.

/** A cell that starts like a formula is shown as text: OWASP, CSV Injection. */
const formulaStart = /^[=+\-@\t\r]/;

const renderCell = (text: string): string => {
  const safe = formulaStart.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const renderCsvRow = (cells: readonly string[]): string => `${cells.map(renderCell).join(',')}\r\n`;

const cellPattern = /(?:^|,)(?:"((?:[^"]|"")*)"|([^",]*))/gy;

const parseLine = (line: string): string[] | undefined => {
  const cells: string[] = [];
  let end = 0;
  for (const match of line.matchAll(cellPattern)) {
    cells.push((match[1]?.replaceAll('""', '"') ?? match[2] ?? '').trim());
    end = match.index + match[0].length;
  }
  return end === line.length ? cells : undefined;
};

/** One list of cells a line; undefined for a line that is not CSV. Cells hold no line breaks here. */
export const parseCsv = (text: string): (string[] | undefined)[] =>
  text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .map(parseLine);
