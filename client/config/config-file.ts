// Parses the file of `underpass run`: several tunnels in one process. It names every wrong line and guesses nothing.
// Keys are the long flags of `underpass http` and `underpass ingress`.

import { isAbsolute, join } from 'node:path';
import type { Parsed } from '@underpass/rules/parsed.ts';
import { isTunnelType, type TunnelType, tunnelTypeNames } from '@underpass/rules/tunnel/tunnel-type.ts';
import { isMap, isScalar, isSeq, LineCounter, type Node, type Pair, parseDocument, type Scalar, type YAMLMap } from 'yaml';
import { parseListenAddress } from './listen-address.ts';
import {
  type NamedTunnel,
  parseTunnelUrl,
  parseUpstreamHosts,
  parseUpstreams,
  type TokenSource,
  type TunnelConfig,
} from './tunnel-config.ts';

export interface Config {
  readonly health: string | undefined;
  readonly tunnels: readonly (TunnelConfig | NamedTunnel)[];
}

interface ConfigProblem {
  readonly line: number;
  readonly message: string;
}

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

export const configFileName = 'underpass.yaml';

/** A tunnel takes some 200 bytes. */
export const maxConfigBytes = 1024 * 1024;

const rootKeys = ['health', 'tunnels'];
/** A tunnel without these is that of the account by its name. */
const addressKeys = ['url', 'token-file', 'token-env'];
const tunnelKeys = [
  ...['name', 'type', ...addressKeys, 'upstream', 'upstream-host'],
  ...['ca', 'upstream-ca', 'upstream-insecure', 'private', 'tickets-only', 'key-file'],
];

/** Paths that begin with `~/` are below `home`; other relative paths are below `folder`. */
export function parseConfig(text: string, folder: string, home: string): ConfigResult {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, strict: true });
  const problems: ConfigProblem[] = [];
  const report = (offset: number, message: string) =>
    problems.push({ line: lines.linePos(offset).line, message: shortLine(message) });
  for (const error of [...document.errors, ...document.warnings]) report(error.pos[0], error.message);
  const reader: Reader = { folder, home, report };
  const config = problems.length === 0 ? readRoot(document.contents, reader) : undefined;
  if (config !== undefined && problems.length === 0) return { ok: true, config };
  return { ok: false, problems: problems.sort((a, b) => a.line - b.line) };
}

interface Reader {
  readonly folder: string;
  readonly home: string;
  readonly report: (offset: number, message: string) => void;
}

function readRoot(node: unknown, reader: Reader): Config | undefined {
  const map = asMap(node, rootKeys, 'the file', reader);
  if (map === undefined) return undefined;
  const list = map.get('tunnels', true) as unknown;
  if (!isSeq(list) || list.items.length === 0) {
    return void reader.report(offsetOf(list ?? map), "'tunnels' must be a list of at least one tunnel");
  }
  const tunnels = list.items.flatMap((item) => readTunnel(item, reader) ?? []);
  refuseRepeatedNames(list.items, reader);
  const health = readText(map, 'health', reader);
  parseAt(map, 'health', health, parseListenAddress, reader);
  return { health, tunnels };
}

function refuseRepeatedNames(items: readonly unknown[], reader: Reader): void {
  const seen = new Set<unknown>();
  for (const item of items) {
    const name = isMap(item) ? item.get('name') : undefined;
    if (name !== undefined && seen.has(name)) reader.report(offsetOf(item), `two tunnels are named '${String(name)}'`);
    seen.add(name);
  }
}

function readTunnel(node: unknown, reader: Reader): TunnelConfig | NamedTunnel | undefined {
  const map = asMap(node, tunnelKeys, 'a tunnel', reader);
  if (map === undefined) return undefined;
  const name = required(map, 'name', reader);
  const type = readType(map, reader);
  const upstreams = type && readUpstreams(map, type, reader);
  const files = { ...readPath(map, 'ca', 'caFile', reader), ...readPath(map, 'upstream-ca', 'upstreamCaFile', reader) };
  const upstreamInsecure = readSwitch(map, 'upstream-insecure', reader);
  const own = { ...files, ...readPrivate(map, type, reader) };
  if (!addressKeys.some((key) => map.has(key)))
    return name && upstreams ? { name, upstreams, upstreamInsecure, ...own } : undefined;
  const url = parseAt(map, 'url', required(map, 'url', reader), parseTunnelUrl, reader);
  const token = readTokenSource(map, reader);
  if (!name || !url || !token || !upstreams) return undefined;
  return { name, url, token, upstreams, upstreamInsecure, ...own };
}

function readPath<K extends string>(map: YAMLMap, key: string, as: K, reader: Reader): { [key in K]?: string } {
  const path = readText(map, key, reader);
  return path === undefined ? {} : ({ [as]: resolvePath(reader, path) } as { [key in K]: string });
}

/** The file says it, and nobody else: a client that is not told so refuses to carry a private tunnel. */
function readPrivate(map: YAMLMap, type: TunnelType | undefined, reader: Reader): Pick<TunnelConfig, 'private'> {
  const ticketsOnly = readSwitch(map, 'tickets-only', reader);
  if (!readSwitch(map, 'private', reader)) {
    const stray = ['tickets-only', 'key-file'].find((key) => map.has(key));
    if (stray !== undefined) reader.report(offsetOf(map.get(stray, true) ?? map), `'${stray}' needs 'private: true'`);
    return {};
  }
  if (type !== 'tcp') reader.report(offsetOf(map.get('private', true)), "only a tcp tunnel can be 'private'");
  return { private: { ticketsOnly, ...readPath(map, 'key-file', 'keyFile', reader) } };
}

function readType(map: YAMLMap, reader: Reader): TunnelType | undefined {
  const type = required(map, 'type', reader);
  if (type === undefined || isTunnelType(type)) return type;
  return void reader.report(offsetOf(map.get('type', true)), `'type' must be ${tunnelTypeNames.join(' or ')}, not '${type}'`);
}

function readTokenSource(map: YAMLMap, reader: Reader): TokenSource | undefined {
  const file = readText(map, 'token-file', reader);
  const name = readText(map, 'token-env', reader);
  if (map.has('token-file') === map.has('token-env')) {
    return void reader.report(offsetOf(map), "a tunnel needs either 'token-file' or 'token-env'");
  }
  if (file !== undefined) return { kind: 'file', path: resolvePath(reader, file) };
  return name === undefined ? undefined : { kind: 'env', name };
}

function readUpstreams(map: YAMLMap, type: TunnelType, reader: Reader) {
  const upstreams = parseAt(map, 'upstream', readTexts(map, 'upstream', reader), (texts) => parseUpstreams(type, texts), reader);
  if (upstreams === undefined || !map.has('upstream-host')) return upstreams;
  const hosts = readTexts(map, 'upstream-host', reader);
  return parseAt(map, 'upstream-host', hosts, (texts) => parseUpstreamHosts(upstreams, texts), reader);
}

function readTexts(map: YAMLMap, key: string, reader: Reader): readonly string[] | undefined {
  const node = map.get(key, true) as unknown;
  const items = isSeq(node) ? node.items : node === undefined || node === null ? [] : [node];
  const texts = items.map((item) => (isScalar(item) ? textOf(item) : undefined));
  if (texts.includes(undefined)) return void reader.report(offsetOf(node), `'${key}' must be a text or a list of texts`);
  return texts as string[];
}

/** YAML reads a port without quotes as a number. */
function textOf({ value, source }: Scalar): string | undefined {
  if (typeof value === 'number') return source;
  return typeof value === 'string' ? value : undefined;
}

/** What `parse` makes of the value, or undefined and a problem at the key's line. */
function parseAt<A, B>(
  map: YAMLMap,
  key: string,
  value: A | undefined,
  parse: (value: A) => Parsed<B>,
  reader: Reader,
): B | undefined {
  if (value === undefined) return undefined;
  const parsed = parse(value);
  if (parsed.ok) return parsed.value;
  return void reader.report(offsetOf(map.get(key, true) ?? map), parsed.message);
}

function required(map: YAMLMap, key: string, reader: Reader): string | undefined {
  if (!map.has(key)) return void reader.report(offsetOf(map), `'${key}' is missing`);
  return readText(map, key, reader);
}

function readText(map: YAMLMap, key: string, reader: Reader): string | undefined {
  if (!map.has(key)) return undefined;
  const value = map.get(key);
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  return void reader.report(offsetOf(map.get(key, true) ?? map), `'${key}' must be a text`);
}

function readSwitch(map: YAMLMap, key: string, reader: Reader): boolean {
  const value = map.get(key) ?? false;
  if (typeof value === 'boolean') return value;
  reader.report(offsetOf(map.get(key, true) ?? map), `'${key}' must be true or false`);
  return false;
}

function asMap(node: unknown, known: readonly string[], what: string, reader: Reader): YAMLMap | undefined {
  if (!isMap(node)) return void reader.report(offsetOf(node), `${what} must hold keys: ${known.join(', ')}`);
  for (const pair of node.items as Pair<Node>[]) {
    const key = isScalar(pair.key) ? String(pair.key.value) : '';
    if (!known.includes(key)) reader.report(offsetOf(pair.key), `unknown key '${key}'; known: ${known.join(', ')}`);
  }
  return node;
}

function offsetOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}

function resolvePath({ folder, home }: Reader, path: string): string {
  if (path.startsWith('~/')) return join(home, path.slice(2));
  return isAbsolute(path) ? path : join(folder, path);
}

/** A message about a URL with its pin takes 200 characters. A message about a file that is no YAML may quote all of it. */
const maxMessageChars = 300;

function shortLine(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return line.length > maxMessageChars ? `${line.slice(0, maxMessageChars)}…` : line;
}
