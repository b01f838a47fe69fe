// Checks docs/spec-map.md: every entry names an existing file, and a test that contains the named words.
// A row is `| spec | where | proof |`; in `where` and `proof`, code spans are paths, `path: words` adds words to find there.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const notThere = 'not there yet';

export function specMapProblems(text, { exists, read }) {
  const rows = rowsOf(text);
  const empty = rows.length === 0 ? ['docs/spec-map.md: holds no rows'] : [];
  return [...empty, ...rows.flatMap((row) => rowProblems(row, { exists, read }))];
}

function rowProblems({ line, spec, where, proof }, { exists, read }) {
  const at = `docs/spec-map.md:${line} (${spec})`;
  if (where.includes(notThere)) return [];
  const missing = [where === '' && 'names no file', proof === '' && 'names no test']
    .filter(Boolean)
    .map((what) => `${at}: ${what}`);
  const spans = [...spansOf(where), ...spansOf(proof)];
  if (spans.length === 0) return [...missing, `${at}: holds no path`];
  return [...missing, ...spans.flatMap((span) => spanProblems(at, span, { exists, read }))];
}

function spanProblems(at, span, { exists, read }) {
  const [path, ...words] = span.split(': ');
  if (!exists(path)) return [`${at}: ${path} does not exist`];
  const wanted = words.join(': ');
  if (wanted === '' || read(path).includes(wanted)) return [];
  return [`${at}: ${path} does not hold '${wanted}'`];
}

function spansOf(cell) {
  return [...cell.matchAll(/`([^`]+)`/g)].map((match) => match[1]);
}

function rowsOf(text) {
  return text
    .split('\n')
    .map((row, index) => ({ row: row.trim(), line: index + 1 }))
    .filter(({ row }) => row.startsWith('|') && !/^\|[\s:|-]+\|$/.test(row))
    .map(({ row, line }) => ({
      line,
      cells: row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    }))
    .filter(({ cells }) => cells[0].toLowerCase() !== 'spec')
    .map(({ line, cells: [spec = '', where = '', proof = ''] }) => ({ line, spec, where, proof }));
}

export function checkSpecMap(root) {
  const path = join(root, 'docs/spec-map.md');
  if (!existsSync(path)) return { name: 'spec map', read: 0, problems: ['docs/spec-map.md does not exist'] };
  const text = readFileSync(path, 'utf8');
  const io = { exists: (file) => existsSync(join(root, file)), read: (file) => readFileSync(join(root, file), 'utf8') };
  return { name: 'spec map', read: rowsOf(text).length, problems: specMapProblems(text, io) };
}
