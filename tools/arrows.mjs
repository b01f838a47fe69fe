// Holds the direction of imports between the folders, and the purity of rules/ and of every core/.
// Works on text: imports are few shapes, and a check that reads them all takes a tenth of a second.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Who may import whom (docs/architecture.md). Tests may also use tests/helpers and what is their own. */
export const arrows = {
  rules: [],
  wire: ['rules'],
  edge: ['rules', 'wire'],
  client: ['rules', 'wire'],
  control: ['rules', 'wire'],
  dashboard: ['rules'],
  server: ['rules', 'wire', 'control', 'edge'],
  bench: ['rules', 'wire', 'edge', 'client', 'control', 'server', 'tests'],
  tests: ['rules', 'wire', 'edge', 'client', 'control', 'server'],
};

const impureNames =
  /\b(Date\.now|Math\.random|process\.\w+|setTimeout|setInterval|setImmediate|queueMicrotask|fetch|performance\.\w+|console\.\w+|globalThis|localStorage|crypto\.\w+)\b(?=\s*[(.;,)\]]|$)|\bnew Date\(\s*\)/m;

/** Problems of one file, as lines. `file` is relative to the root, with slashes. */
export function arrowProblems(file, source) {
  const code = blankComments(source);
  const imports = importsOf(code).map((specifier) => ({ specifier, target: targetOf(file, specifier) }));
  const problems = [...wrongArrows(file, imports)];
  if (isPure(file)) problems.push(...impurities(file, imports, code));
  return problems;
}

function wrongArrows(file, imports) {
  const [from] = file.split('/');
  const allowed = arrows[from];
  if (allowed === undefined) return [];
  return imports
    .filter(({ target }) => target !== undefined && target.folder !== from && !allowed.includes(target.folder))
    .filter(({ target }) => !(isTest(file) && (target.path.startsWith('tests/helpers/') || target.folder === 'tools')))
    .filter(({ target }) => !(from === 'tests' && target.folder === 'tools'))
    .map(({ specifier, target }) => `${file}: ${from} may not import ${target.folder} ('${specifier}')`);
}

function impurities(file, imports, code) {
  const foreign = imports
    .filter(({ target }) => target === undefined)
    .map(({ specifier }) => `${file}: a pure file may not import '${specifier}'`);
  const used = impureNames.exec(blankStrings(code));
  return used ? [...foreign, `${file}: a pure file may not use ${used[0]}: pass it in`] : foreign;
}

function isPure(file) {
  return !isTest(file) && (file.startsWith('rules/') || /(^|\/)core\//.test(file));
}

function isTest(file) {
  return /\.test\.tsx?$/.test(file) || /(^|\/)test-kit/.test(file);
}

function importsOf(code) {
  const shapes = /(?:\bfrom\s*|\bimport\s*\(\s*|\bimport\s+)(['"])([^'"\n]+)\1/g;
  return [...code.matchAll(shapes)].map((match) => match[2]);
}

/** The folder and path that a specifier leads to, or undefined for a package or a Node module. */
function targetOf(file, specifier) {
  if (specifier.startsWith('@underpass/')) {
    const path = specifier.slice('@underpass/'.length);
    return { folder: path.split('/')[0], path };
  }
  if (!specifier.startsWith('.')) return undefined;
  const path = posix.normalize(posix.join(posix.dirname(file), specifier));
  return { folder: path.split('/')[0], path };
}

function blankComments(source) {
  return source.replace(/(["'`])(?:\\.|(?!\1)[^\\\n])*\1|\/\*[\s\S]*?\*\/|(^|[^:\\])\/\/[^\n]*/g, (match, quote, lead) =>
    quote ? match : (lead ?? '') + ' '.repeat(match.length - (lead ?? '').length),
  );
}

function blankStrings(code) {
  return code.replace(/(["'])(?:\\.|(?!\1)[^\\\n])*\1|`(?:\\.|[^`\\])*`/g, (match) =>
    match[0] === '`' ? match.replace(/[^$]*?(\$\{[^}]*\})|[^$]+/g, '$1') : '""',
  );
}

/** Folders that do not say what they own. */
export function undescribed(exists) {
  return [...Object.keys(arrows), 'deploy', 'tools', 'docs']
    .filter((folder) => !exists(`${folder}/README.md`))
    .map((folder) => `${folder}/README.md: is missing; it says what the folder owns, who may import it and where to start`);
}

export function checkArrows(root) {
  const files = globSync(`{${Object.keys(arrows).join(',')}}/**/*.{ts,tsx}`, {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist)(\/|$)/.test(path),
  });
  const problems = files.flatMap((file) => arrowProblems(file, readFileSync(posix.join(root, file), 'utf8')));
  problems.push(...undescribed((path) => existsSync(posix.join(root, path))));
  return { name: 'arrows', read: files.length, problems };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { problems } = checkArrows(dirname(dirname(fileURLToPath(import.meta.url))));
  for (const problem of problems) console.error(problem);
  process.exit(problems.length === 0 ? 0 : 1);
}
