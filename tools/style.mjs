// Checks what the linter cannot: a comment begins with its subject (a verb, or the noun that it describes), a function of a module
// that has a body in braces is a declaration, so that a constant is a value or one expression, an exported type has a name that no
// other one in its workspace has, and a component of React is pure. Reads text, without a parser.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders whose comments are checked. */
const folders = [
  'rules',
  'wire',
  'runtime',
  'control',
  'edge',
  'client',
  'dashboard',
  'server',
  'bench',
  'tests',
  'deploy',
  'tools',
];

/** First words that are no subject. Questions that the code answers are one: What, How, Which, Who, Whether, When, Where, Why. */
const midSentence = new Set(
  [
    'Of For In From By With Without At After Before Beside Besides On To Until Till Since Under Up Between Beyond Below Above',
    'During Despite Per Over Through Within Against As Into Onto Near Behind Than Like Unlike Except Instead',
    'And But So Because If While Once Although Or Nor Yet Then Though Unless Whereas',
    'Also Too Not Apart Just Otherwise However Still Already Therefore Thus Hence Else There Here Such',
    'It Its They Their Them This These Those That He She His Her Him',
  ]
    .join(' ')
    .split(' '),
);

const declaration = /^(?:(?:export|default|declare|async|abstract) )*(?:const|let|function|class|type|interface|enum)\b/;

/** Comments of one file that begin in the middle of a sentence, as lines `file:line: …`. */
export function openingProblems(file, source) {
  const lines = source.split('\n');
  return lines.flatMap((_, index) => {
    const [word] = (opening(lines, index) ?? '').split(/[\s,:;.]/, 1);
    const begins = `begins with '${word}': begin with a verb, or the noun that the comment describes`;
    return midSentence.has(word) ? [`${file}:${index + 1}: ${begins}`] : [];
  });
}

/** The text that begins in this line, if a checked comment begins here. */
function opening(lines, index) {
  const doc = /^\s*\/\*\*\s*(.*)/.exec(lines[index]);
  if (doc !== null) return doc[1] === '' ? lines[index + 1]?.replace(/^\s*\*\s*/, '') : doc[1];
  const isFirst = index === 0 || !isLineComment(lines[index - 1]);
  return isLineComment(lines[index]) && isFirst && describesCode(lines, index) ? lines[index].slice(2).trim() : undefined;
}

/** True for the heading of a file, and for the comment of a declaration. */
function describesCode(lines, index) {
  const isHeading = index === 0 || (index === 1 && lines[0].startsWith('#!'));
  const next = lines.slice(index).find((line) => !isLineComment(line)) ?? '';
  return isHeading || declaration.test(next);
}

function isLineComment(line) {
  return line.startsWith('//');
}

/** Matches a constant that holds a function with a body in braces, if it has no type of its own. */
const constantFunction =
  /^(?:export )?const (\w+) = (?:async )?(?:<[^>\n]*>)?\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)(?:: [^=\n]+)? => \{$/gm;

/** Functions of one file that should be declarations, as lines `file:line: …`. */
export function declarationProblems(file, source) {
  return [...source.matchAll(constantFunction)].map(({ 1: name, index }) => {
    const line = source.slice(0, index).split('\n').length;
    return `${file}:${line}: '${name}' has a body in braces: declare it as a function`;
  });
}

const exportedType = /^export (?:declare |abstract )*(?:interface|type|class|enum) (\w+)/gm;

/** Exported types that share a name with one of another file of their workspace. `sources`: pairs of a file and its text. */
export function typeNameProblems(sources) {
  const owners = new Map();
  return sources.flatMap(([file, source]) =>
    [...source.matchAll(exportedType)].flatMap(({ 1: name }) => {
      const key = `${file.split('/', 1)} ${name}`;
      const owner = owners.get(key) ?? file;
      owners.set(key, owner);
      return owner === file ? [] : [`${file}: exports the type '${name}', as ${owner} does: give one of them another name`];
    }),
  );
}

const impurities = [
  [/^ {2}(?:if \(.*\) )?\w+\.current = /gm, 'writes a ref while it renders: write it in an effect or a handler'],
  [
    /^ {2}use(?:Layout)?Effect\(\(\) => (?:\{\n(?: {4}.*\n|\n)* {2}\}|[^{\n]*[^\]\n])\);$/gm,
    'has an effect of every render: name what it depends on',
  ],
];

/** What a hook or component of one file does that React may repeat or leave out, as lines `file:line: …`. */
export function renderProblems(file, source) {
  return impurities.flatMap(([pattern, problem]) =>
    [...source.matchAll(pattern)].map(({ index }) => `${file}:${source.slice(0, index).split('\n').length}: ${problem}`),
  );
}

export function checkStyle(root) {
  const patterns = folders.map((folder) => `${folder}/**/*.{ts,tsx,mjs}`);
  const files = globSync(patterns, {
    cwd: root,
    exclude: (path) => /(^|\/)(node_modules|dist)(\/|$)/.test(path),
  });
  const sources = files.sort().map((file) => [file, readFileSync(join(root, file), 'utf8')]);
  const problems = sources.flatMap((pair) => [
    ...openingProblems(...pair),
    ...declarationProblems(...pair),
    ...(pair[0].startsWith('dashboard/') ? renderProblems(...pair) : []),
  ]);
  return { name: 'style', read: files.length, problems: [...problems, ...typeNameProblems(sources)] };
}
