// Reads the files of other programs as plain values that know their lines: YAML, TOML and INI. Messages about wrong files name a line
// and quote nothing, for the files hold secrets.

import { type Document, isCollection, isMap, isPair, isScalar, LineCounter, type Node, parseDocument, visit } from 'yaml';
import { ClientError } from '../process/error.ts';
import { frpIniSetting } from './frp.ts';
import type { ForeignFile, Path } from './settings.ts';

export function readYaml(text: string): ForeignFile {
  const lines = new LineCounter();
  // `merge`: the other programs take `<<: *shared` too, and what it brings may close a tunnel.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, merge: true });
  const [error] = document.errors;
  const wrongAt = error?.pos[0] ?? notPlainAt(document);
  if (wrongAt !== undefined) throw wrongFile(lines.linePos(wrongAt).line, 'YAML', text);
  const lineOf = (path: Path): number => {
    // The line of the key: a value may begin on the next one.
    const parent = path.length > 1 ? document.getIn(path.slice(0, -1), true) : document.contents;
    const pair = isMap(parent)
      ? parent.items.find((item) => isPair(item) && isScalar(item.key) && String(item.key.value) === path.at(-1))
      : undefined;
    const node = (pair?.key ?? document.getIn(path, true)) as Node | undefined;
    // What an alias brings has the line of the entry that takes it.
    if (node === undefined && path.length > 1) return lineOf(path.slice(0, -1));
    return lines.linePos(node?.range?.[0] ?? 0).line;
  };
  const root = plainOf(document);
  if (root === undefined) throw wrongFile(1, 'YAML with few aliases', text);
  return { root, lineOf };
}

/** One alias for each host of a long file. */
const maxAliases = 500;

/**
 * Where the file has no plain values: a map as the key of another, as YAML reads `{{ name }}`, whose setting would count as missing;
 * an alias without an anchor, as YAML reads `*.example.com`; an alias within its own anchor, which has no end.
 */
function notPlainAt(document: Document.Parsed): number | undefined {
  let found: number | undefined;
  let aliases = 0;
  const stopAt = (node: { readonly range?: readonly [number, ...unknown[]] | null }): symbol => {
    found = node.range?.[0] ?? 0;
    return visit.BREAK;
  };
  visit(document, {
    Pair: (_, { key }) => (isCollection(key) ? stopAt(key) : undefined),
    Alias: (_, alias, parents) => {
      // To resolve one is to walk the file.
      const target = ++aliases > maxAliases ? undefined : alias.resolve(document);
      return target === undefined || parents.includes(target) ? stopAt(alias) : undefined;
    },
  });
  return found;
}

/** Undefined where the aliases grow without bounds; these files need few. */
function plainOf(document: Document.Parsed): unknown {
  try {
    return document.toJS({ maxAliasCount: maxAliases });
  } catch (error) {
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

export async function readToml(text: string): Promise<ForeignFile> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    return { root: parse(text), lineOf: tomlLines(text) };
  } catch (error) {
    if (error instanceof TomlError) throw wrongFile(error.line, 'TOML', text);
    throw error;
  }
}

/** The lines of a TOML file by path. The parser tells none, so this follows the headers and keys; a setting within a value is at its key. */
function tomlLines(text: string): (path: Path) => number {
  const lines = new Map<string, number>();
  const counts = new Map<string, number>();
  let table: Path = [];
  const note = (path: Path, line: number): void => void (lines.has(idOf(path)) || lines.set(idOf(path), line));
  for (const [index, line] of text.split('\n').entries()) {
    const header = /^\s*(\[\[?)\s*([^\]]+?)\s*\]/.exec(line);
    const key = /^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=/.exec(line)?.[1];
    if (header !== null) {
      table = placeOf(keyParts(header[2]!), header[1] === '[[', counts);
      note(table, index + 1);
    } else if (key !== undefined) {
      const path = [...table, ...keyParts(key)];
      for (let length = table.length + 1; length <= path.length; length++) note(path.slice(0, length), index + 1);
    }
  }
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const line = lines.get(idOf(path.slice(0, length)));
      if (line !== undefined) return line;
    }
    return 1;
  };
}

/** `[proxies.plugin]` belongs to the last of `[[proxies]]`. */
function placeOf(parts: readonly string[], isEntry: boolean, counts: Map<string, number>): Path {
  let path: Path = [];
  for (const [index, part] of parts.entries()) {
    path = [...path, part];
    const id = idOf(path);
    const isLast = index === parts.length - 1;
    if (isLast && isEntry) counts.set(id, (counts.get(id) ?? -1) + 1);
    const count = counts.get(id);
    if (count !== undefined) path = [...path, count];
  }
  return path;
}

function keyParts(text: string): readonly string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|([\w-]+)/g)].map(([, double, single, bare]) => double ?? single ?? bare ?? '');
}

const idOf = (path: Path): string => JSON.stringify(path);

/** frpc.ini as the newer file would say it: `[common]` at its root, each other section a proxy or, by its role, a visitor. */
export function readFrpIni(text: string): ForeignFile {
  const root: Record<string, unknown> = { proxies: [], visitors: [] };
  const lines = new Map<string, number>();
  const names = new Map<string, string>();
  // A section that comes twice is one.
  const opened = new Map<string, readonly [Path, Record<string, unknown>]>([['common', [[], root]]]);
  let section = 'common';
  let place: Path = [];
  let target: Record<string, unknown> = {};
  const sections = text.split('\n').map((line) => line.trim());
  for (const [index, line] of sections.entries()) {
    const name = /^\[(.+)\]\s*([#;].*)?$/.exec(line)?.[1];
    const [, key, value = ''] = /^([^=:;#]+?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    section = name ?? section;
    const known = name === undefined ? undefined : opened.get(name);
    if (known !== undefined) [place, target] = known;
    else if (name !== undefined) {
      const kind = isVisitor(sections, index) ? 'visitors' : 'proxies';
      const list = root[kind] as unknown[];
      place = [kind, list.length];
      target = { name };
      list.push(target);
      opened.set(name, [place, target]);
      names.set(idOf(place), name);
      lines.set(idOf(place), index + 1).set(idOf([...place, 'name']), index + 1);
    } else if (key !== undefined) {
      const [path, set] = frpIniSetting(key, value.replace(/^(["'`])(.*)\1$/, '$2'));
      lines.set(idOf([...place, ...path]), index + 1);
      names.set(idOf([...place, ...path]), `${section}.${key}`);
      const [first = '', second] = path as readonly string[];
      target[first] = second === undefined ? set : { ...(target[first] as object | undefined), [second]: set };
    } else if (line !== '' && !/^[#;]/.test(line)) throw wrongFile(index + 1, 'INI', text);
  }
  return { root, lineOf: (path) => lines.get(idOf(path)) ?? 1, nameOf: (path) => names.get(idOf(path)) };
}

function isVisitor(lines: readonly string[], header: number): boolean {
  const end = lines.findIndex((line, index) => index > header && line.startsWith('['));
  return lines.slice(header, end === -1 ? undefined : end).some((line) => /^role\s*[=:]\s*["'`]?visitor\b/.test(line));
}

function wrongFile(line: number, form: string, text: string): ClientError {
  return new ClientError('config-invalid', `line ${line} is not ${form}`, {
    fix: text.includes('{{')
      ? 'The file is a template: fill in its variables first, and import the result.'
      : 'Correct the line, or let the other program check its file.',
  });
}
