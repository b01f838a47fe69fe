// Where a client sends visitors' connections, as people type it in the dashboard and on the command line
// (spec 5, Connect snippets). One parser for both, so that a snippet is what the CLI takes.

import { formatAddress, inBrackets, parseAddress, withoutBrackets } from '../address/address.ts';
import { compileAllowList } from '../address/allow-list.ts';
import { isCanonicalHostname, isLocalhostName, lowerAscii } from '../names/hostname.ts';
import { parseIngressDomain } from '../names/ingress-domain.ts';
import { accept, type Parsed, refuse } from '../parsed.ts';
import type { TunnelType } from './tunnel-type.ts';

/** `h2c` and `https+h2` say that the service speaks HTTP/2, as gRPC does: the others get HTTP/1.1, or a visitor's own bytes. */
type UpstreamScheme = 'http' | 'https' | 'h2c' | 'https+h2' | 'tcp';

export interface Upstream {
  readonly scheme: UpstreamScheme;
  /** Name or address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Path of a Unix socket; then host and port mean nothing. */
  readonly socket?: string;
  /** What goes before each path, `/base`. */
  readonly base?: string;
}

/** Which visitors of an http tunnel an upstream serves; null: all that have no upstream of their own. */
export interface HttpUpstream {
  readonly domain: string | null;
  /** Which paths it serves, `/api`: this one and those below it. Missing: all that have no upstream of their own. */
  readonly path?: string;
  readonly upstream: Upstream;
}

export interface IngressUpstream {
  readonly port: IngressPort;
  readonly upstream: Upstream;
}

type IngressPort = (typeof ingressPorts)[number];

/** The ports that an ingress tunnel passes through (spec 1). */
const ingressPorts = [80, 443] as const;

export const defaultUpstreams = {
  http: 'http://127.0.0.1:8080',
  ingress: '127.0.0.1',
  tcp: '127.0.0.1:5432',
} as const satisfies Readonly<Record<TunnelType, string>>;

const upstreamRequired = 'Please provide an upstream';
const schemePorts = { http: 80, https: 443, h2c: 80, 'https+h2': 443 } as const;
/** No port is 0. */
const noPort = 0;

/** An upstream of the connect section: http only (spec 5, Connect snippets). */
export function parsePlainUpstream(text: string): Parsed<Upstream> {
  const trimmed = text.trim();
  if (trimmed === '') return refuse(upstreamRequired);
  if (!/^http:\/\//i.test(trimmed)) return refuse('Upstream must start with http://');
  return parseUrlUpstream(trimmed);
}

/** True if the client speaks TLS with the service. */
export const usesTls = ({ scheme }: Pick<Upstream, 'scheme'>): boolean => scheme === 'https' || scheme === 'https+h2';

/** True if the service gets HTTP/2. */
export const usesHttp2 = ({ scheme }: Pick<Upstream, 'scheme'>): boolean => scheme === 'h2c' || scheme === 'https+h2';

/** `http://host[:port][/base]` or one of the other schemes, or `unix:/run/app.sock`. */
export function parseUrlUpstream(text: string): Parsed<Upstream> {
  const trimmed = text.trim();
  if (trimmed === '') return refuse(upstreamRequired);
  if (/^unix:/i.test(trimmed)) return parseSocket(trimmed, 'http');
  const match = /^(https?|h2c|https\+h2):\/\/([^/?#@\\]+)(\/[^?#\\]*)?$/i.exec(trimmed);
  const scheme = (match?.[1]?.toLowerCase() ?? 'http') as keyof typeof schemePorts;
  const hostPort = match === null ? null : parseHostPort(match[2]!, schemePorts[scheme]);
  if (hostPort === null) return refuse('Upstream must be like http://127.0.0.1:8080');
  return mapParsed(parsePath(match?.[3] ?? ''), (base) => ({ scheme, ...hostPort, ...(base === '' ? {} : { base }) }));
}

/** sun_path has 108 bytes, with the NUL at its end. */
const socketPath = /^\/[\w.@~+,/-]{1,106}$/;

function parseSocket(text: string, scheme: 'http' | 'tcp'): Parsed<Upstream> {
  const socket = text.slice('unix:'.length);
  if (!socketPath.test(socket)) return refuse('Upstream must be like unix:/run/app.sock');
  return accept({ scheme, host: 'localhost', port: noPort, socket });
}

/** Segments that every server reads alike: no dots alone or at an end, no escapes, no parameters. */
const plainPath = /^(?:\/[A-Za-z0-9_~-](?:[A-Za-z0-9._~-]*[A-Za-z0-9_~-])?)+$/;
const mostPathChars = 256;

/** Cuts a slash at the end; the root is empty. */
function parsePath(text: string): Parsed<string> {
  const path = text.endsWith('/') ? text.slice(0, -1) : text;
  if (path === '' || (path.length <= mostPathChars && plainPath.test(path))) return accept(path);
  return refuse(`The path of an upstream has letters, digits and . _ ~ - between single slashes, unlike '${text}'`);
}

/** `HOST:PORT`, or `HOST` if a default port is given. */
export function parseTcpUpstream(text: string, defaultPort?: number): Parsed<Upstream> {
  const trimmed = text.trim();
  if (trimmed === '') return refuse(upstreamRequired);
  const hostPort = parseHostPort(trimmed, defaultPort);
  return hostPort === null ? refuse('Upstream must be like 127.0.0.1:8443') : accept({ scheme: 'tcp', ...hostPort });
}

/** `HOST:PORT`, or `unix:/run/app.sock`. */
function parseTcpOrSocket(text: string, defaultPort?: number): Parsed<Upstream> {
  return /^unix:/i.test(text.trim()) ? parseSocket(text.trim(), 'tcp') : parseTcpUpstream(text, defaultPort);
}

/**
 * `example.com=http://127.0.0.1:8080`, or a URL alone for every domain: `--upstream` of `underpass http`. A path before the `=`
 * (`example.com/api=…`, `/api=…`) is for an upstream that serves what is below it.
 */
export function parseHttpUpstream(text: string): Parsed<HttpUpstream> {
  const equals = text.indexOf('=');
  if (equals < 0) return mapParsed(parseUrlUpstream(text), (upstream) => ({ domain: null, upstream }));
  const place = text.slice(0, equals).trim();
  const slash = place.indexOf('/');
  const name = slash < 0 ? place : place.slice(0, slash);
  const domain = slash === 0 ? accept(null) : parseIngressDomain(name);
  if (!domain.ok) return domain;
  const path = parsePath(slash < 0 ? '' : place.slice(slash));
  if (!path.ok) return path;
  const own = path.value === '' ? {} : { path: path.value };
  return mapParsed(parseUrlUpstream(text.slice(equals + 1)), (upstream) => ({ domain: domain.value, ...own, upstream }));
}

/** `80=HOST:PORT`, or `HOST` for both ports: `--upstream` of `underpass ingress`. */
export function parseIngressUpstream(text: string): Parsed<readonly IngressUpstream[]> {
  const equals = text.indexOf('=');
  if (equals < 0) return parseBothPorts(text);
  const port = ingressPorts.find((candidate) => String(candidate) === text.slice(0, equals).trim());
  if (port === undefined) return refuse(`Ingress port must be ${ingressPorts.join(' or ')}`);
  return mapParsed(parseTcpOrSocket(text.slice(equals + 1), port), (upstream) => [{ port, upstream }]);
}

/** What people type into one field, `80=HOST:PORT 443=HOST:PORT`, apart by spaces or commas: the `--upstream` values. */
export function parseIngressUpstreams(text: string): Parsed<readonly string[]> {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  if (words.length === 0) return refuse(upstreamRequired);
  const ports: IngressPort[] = [];
  for (const word of words) {
    const parsed = parseIngressUpstream(word);
    if (!parsed.ok) return parsed;
    ports.push(...parsed.value.map(({ port }) => port));
  }
  const twice = ports.find((port, index) => ports.indexOf(port) !== index);
  return twice === undefined ? accept(words) : refuse(`Two upstreams for port ${twice}`);
}

/** `HOST:PORT`, a port of this machine or a Unix socket: the upstream of a tcp tunnel. */
export function parseTcpService(text: string): Parsed<Upstream> {
  const port = /^:?(\d+)$/.exec(text.trim())?.[1];
  return parseTcpOrSocket(port === undefined ? text.replace(/^\s*tcp:\/\//i, '') : `127.0.0.1:${port}`);
}

/** True for this machine itself, by name or address; as `hostname` of a URL too. */
export const isLoopbackHost = (host: string): boolean => isLocalhostName(host) || isLoopbackAddress(withoutBrackets(host));

const isLoopbackAddress = compileAllowList(['127.0.0.0/8', '::1']);

/** Canonical text: the parsers above read it back to the same value. */
export function formatUpstream(upstream: Upstream): string {
  if (upstream.socket !== undefined) return `unix:${upstream.socket}`;
  const host = inBrackets(upstream.host);
  const hostPort = `${host}:${upstream.port}`;
  return upstream.scheme === 'tcp' ? hostPort : `${upstream.scheme}://${hostPort}${upstream.base ?? ''}`;
}

/**
 * `same`, `upstream` or a name: the Host that an upstream gets with `--upstream-host`. Null leaves the visitor's.
 * As browsers write it: without the port if that is the scheme's own (RFC 9110 7.2). A loopback address becomes `localhost`,
 * the name under which people open a service of their machine: some development servers accept no other.
 */
export function parseUpstreamHost(text: string, { scheme, host, port }: Upstream): Parsed<string | null> {
  const trimmed = text.trim();
  if (trimmed === 'same') return accept(null);
  const hostPort = trimmed === 'upstream' ? { host, port } : parseHostPort(trimmed, noPort);
  if (hostPort === null) return refuse('Upstream host must be same, upstream or a name like app.example.com');
  const isLoopback = trimmed === 'upstream' && (host === '127.0.0.1' || host === '::1');
  const name = isLoopback ? 'localhost' : inBrackets(hostPort.host);
  const isImplied = hostPort.port === noPort || hostPort.port === (scheme === 'tcp' ? noPort : schemePorts[scheme]);
  return accept(isImplied ? name : `${name}:${hostPort.port}`);
}

function parseBothPorts(text: string): Parsed<readonly IngressUpstream[]> {
  const trimmed = text.trim();
  if (trimmed === '') return refuse(upstreamRequired);
  const host = parseHost(trimmed);
  if (host === null) return refuse('Upstream must be a host name or an address, or 80=HOST:PORT');
  return accept(ingressPorts.map((port) => ({ port, upstream: { scheme: 'tcp', host, port } })));
}

function parseHostPort(text: string, defaultPort: number | undefined): { host: string; port: number } | null {
  const match = /^(\[[^\]]*\]|[^:[\]]*)(?::([0-9]{1,5}))?$/.exec(text);
  if (match === null) return null;
  const host = parseHost(match[1]!);
  const port = match[2] === undefined ? defaultPort : parsePort(match[2]);
  return host === null || port === undefined ? null : { host, port };
}

function parsePort(digits: string): number | undefined {
  const port = Number(digits);
  return port >= 1 && port <= 65_535 && !digits.startsWith('0') ? port : undefined;
}

/** A name may hold underscores inside: container networks hand them out. */
function parseHost(text: string): string | null {
  const bare = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  const address = parseAddress(bare);
  if (address !== null && (bare === text || bare.includes(':'))) return formatAddress(address);
  const name = lowerAscii(text);
  return isCanonicalHostname(name.replaceAll(/(?<=[a-z0-9])_+(?=[a-z0-9])/g, (run) => '-'.repeat(run.length))) ? name : null;
}

function mapParsed<A, B>(parsed: Parsed<A>, change: (value: A) => B): Parsed<B> {
  return parsed.ok ? accept(change(parsed.value)) : parsed;
}
