// Checks the direction of imports between and inside the workspaces, and the purity of rules/ and of every core/.
// It matches imports as text, without a parser, so reading every file takes a tenth of a second.
// `node tools/arrows.mjs --list` prints the layers of each workspace and the circles in it.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Which workspaces each workspace may import (docs/architecture.md). Tests may also use tests/helpers and their own packages. */
export const arrows = {
  rules: [],
  runtime: [],
  wire: ['rules', 'runtime'],
  edge: ['rules', 'runtime', 'wire'],
  client: ['rules', 'runtime', 'wire'],
  control: ['rules', 'runtime', 'wire'],
  dashboard: ['rules'],
  server: ['rules', 'runtime', 'wire', 'control', 'edge'],
  bench: ['rules', 'runtime', 'wire', 'edge', 'client', 'control', 'server', 'tests'],
  tests: ['rules', 'runtime', 'wire', 'edge', 'client', 'control', 'server'],
};

/**
 * Groups of a workspace's folders, lowest first; '.' is the files beside the folders.
 * A folder may import the folders of its own group and of lower groups.
 */
export const layers = {
  rules: [
    ['.'],
    ['text'],
    ['address', 'names', 'people', 'tunnel'],
    ['list', 'entity'],
    ['screen', 'visit'],
    ['connect', 'inspect', 'api'],
  ],
  dashboard: [
    ['unsaved', 'code-loading'],
    ['ui', 'routing'],
    ['api', 'list'],
    ['session', 'live'],
    ['form'],
    ['bot-check', 'passkey'],
    ['shell', 'pages'],
    ['bundle'],
    ['inspector', '.'],
  ],
  client: [
    ['process'],
    ['terminal', 'carry'],
    ['config'],
    ['account', 'gateway', 'inspect', 'tunnels'],
    ['doctor', 'import', 'local-ports', 'mcp', 'quick', 'reach', 'service', 'ssh'],
    ['command', 'library'],
    ['.'],
  ],
  edge: [
    ['core'],
    ['limits'],
    ['routes'],
    ['upstream'],
    ['client', 'hop', 'feed', 'visitor'],
    ['door'],
    ['metrics'],
    ['process'],
    ['workers'],
    ['.'],
  ],
  control: [
    ['platform'],
    ['edges'],
    ['request'],
    ['visitors'],
    ['tunnels'],
    ['people'],
    ['alerts', 'billing', 'operator', 'overview', 'site', 'sweep', 'usage'],
    ['api'],
    ['.'],
  ],
  server: [['settings'], ['process'], ['state'], ['serve'], ['upgrade'], ['command'], ['.']],
  bench: [['core'], ['peers'], ['.']],
  tests: [['helpers'], ['chaos', 'deploy', 'docs'], ['cluster']],
  runtime: [['.']],
  wire: [['core', 'feed', 'http', 'socket', 'ticket'], ['.'], ['path'], ['session']],
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
  return (
    imports
      .filter(({ target }) => target !== undefined && target.folder !== from && !allowed.includes(target.folder))
      .filter(({ target }) => !(isTest(file) && (target.path.startsWith('tests/helpers/') || target.folder === 'tools')))
      .filter(({ target }) => !(from === 'tests' && target.folder === 'tools'))
      // How a program starts itself under the pinned Node.
      .filter(({ target }) => target.path !== 'tools/pinned-node.mjs')
      .map(({ specifier, target }) => `${file}: ${from} may not import ${target.folder} ('${specifier}')`)
  );
}

function impurities(file, imports, code) {
  const foreign = imports
    .filter(({ specifier, target }) => target === undefined && !(specifier === 'zod' && isSchema(file)))
    .map(({ specifier }) => `${file}: a pure file may not import '${specifier}'`);
  const used = impureNames.exec(blankStrings(code));
  return used ? [...foreign, `${file}: a pure file may not use ${used[0]}: pass it in`] : foreign;
}

/** Files of rules/ that describe the API with zod, which is pure itself. */
function isSchema(file) {
  return /^rules\/((entity|api|visit)\/)(schema|schemas|entity|resource|access-policy|payload|query|call)\.ts$/.test(file);
}

function isPure(file) {
  return !isTest(file) && (/^(rules|wire\/http)\//.test(file) || /(^|\/)core\//.test(file));
}

/**
 * Circles and wrong layers inside one workspace. `sources` maps files to their text.
 * Tests, test kits and fixtures do not count: they may reach anywhere in their workspace.
 */
export function insideProblems(workspace, groups, sources) {
  const files = Object.keys(sources).filter((file) => file.startsWith(`${workspace}/`) && isProduct(file));
  const imports = files.flatMap((from) =>
    importsOf(blankComments(sources[from]))
      .map((specifier) => targetOf(from, specifier)?.path)
      .filter((to) => to?.startsWith(`${workspace}/`) && isProduct(to))
      .map((to) => ({ from, to })),
  );
  return [...wrongLayers(workspace, groups, files, imports), ...circlesInside(files, imports)];
}

function wrongLayers(workspace, groups, files, imports) {
  const layerOf = (folder) => groups.findIndex((group) => group.includes(folder));
  const folders = new Set(files.map((file) => nodeIn(workspace, file)));
  const unlisted = [...folders].filter((folder) => layerOf(folder) === -1);
  const absent = groups.flat().filter((folder) => !folders.has(folder));
  const upward = imports
    .map(({ from, to }) => ({ from, to, importer: nodeIn(workspace, from), imported: nodeIn(workspace, to) }))
    .filter(({ importer, imported }) => layerOf(importer) !== -1 && layerOf(imported) > layerOf(importer));
  return [
    ...unlisted.map((folder) => `${workspace}: '${folder}' is in no layer: add it to layers.${workspace} in tools/arrows.mjs`),
    ...absent.map((folder) => `${workspace}: layers.${workspace} in tools/arrows.mjs names '${folder}', which does not exist`),
    ...upward.map(
      ({ from, to, importer, imported }) => `${from}: '${importer}' may not import '${imported}', a higher layer ('${to}')`,
    ),
  ];
}

/** Circles between the files, and between the subfolders of every folder, whose own files count as one node '.'. */
function circlesInside(files, imports) {
  const folders = new Set(files.flatMap((file) => foldersAbove(posix.dirname(file))));
  const betweenFolders = [...folders].sort().flatMap((folder) => {
    const inside = imports.filter(({ from, to }) => from.startsWith(`${folder}/`) && to.startsWith(`${folder}/`));
    return circlesOf(inside, (file) => nodeIn(folder, file)).map((circle) => `${folder}: folders in a circle: ${circle}`);
  });
  const betweenFiles = circlesOf(imports, (file) => file).map((circle) => `files in a circle: ${circle}`);
  return [...betweenFolders, ...betweenFiles];
}

function foldersAbove(folder) {
  const parent = posix.dirname(folder);
  return parent === '.' ? [folder] : [...foldersAbove(parent), folder];
}

/** The immediate subfolder of `folder` that holds `file`, or '.' if `folder` holds it directly. */
function nodeIn(folder, file) {
  const [first, ...rest] = file.slice(folder.length + 1).split('/');
  return rest.length === 0 ? '.' : first;
}

/** One shortest circle for each knot, as text: every step with an import that makes it. */
function circlesOf(imports, nodeOf) {
  const steps = new Map();
  for (const { from, to } of imports) {
    const [node, next] = [nodeOf(from), nodeOf(to)];
    if (!steps.has(node)) steps.set(node, new Map());
    if (node !== next || from === to) steps.get(node).set(next, `${from} imports ${to}`);
  }
  const reported = new Set();
  return [...steps.keys()].sort().flatMap((start) => {
    const circle = reported.has(start) ? undefined : shortestCircle(steps, start);
    if (circle === undefined) return [];
    for (const node of circle) reported.add(node);
    const why = circle.slice(1).map((node, at) => steps.get(circle[at]).get(node));
    return [`${circle.join(' → ')} (${why.join('; ')})`];
  });
}

function shortestCircle(steps, start) {
  const seen = new Set();
  const paths = [[start]];
  for (const path of paths) {
    for (const next of steps.get(path.at(-1))?.keys() ?? []) {
      if (next === start) return [...path, next];
      if (!seen.has(next)) paths.push([...path, next]);
      seen.add(next);
    }
  }
  return undefined;
}

/** Data such as package.json imports nothing, so it is in no circle. */
function isProduct(file) {
  return /\.tsx?$/.test(file) && !isTest(file) && !/(^|\/)fixture\//.test(file);
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
  const sources = readSources(root);
  const problems = Object.entries(sources).flatMap(([file, source]) => arrowProblems(file, source));
  for (const workspace of Object.keys(arrows)) problems.push(...insideProblems(workspace, layers[workspace] ?? [], sources));
  problems.push(...undescribed((path) => existsSync(posix.join(root, path))));
  return { name: 'arrows', read: Object.keys(sources).length, problems };
}

function readSources(root) {
  const files = globSync(`{${Object.keys(arrows).join(',')}}/**/*.{ts,tsx}`, {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist)(\/|$)/.test(path),
  });
  return Object.fromEntries(files.map((file) => [file, readFileSync(posix.join(root, file), 'utf8')]));
}

function listLayers(root) {
  const sources = readSources(root);
  for (const workspace of Object.keys(arrows)) {
    const groups = layers[workspace] ?? [];
    console.log(`${workspace}: ${groups.map((group) => group.join(' ')).join(' ← ')}`);
    for (const problem of insideProblems(workspace, groups, sources)) console.log(`  ${problem}`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)));
  if (process.argv.includes('--list')) listLayers(root);
  else {
    const { problems } = checkArrows(root);
    for (const problem of problems) console.error(problem);
    process.exitCode = problems.length === 0 ? 0 : 1;
  }
}
