// The configuration of one tunnel: its URL, token and upstreams, from flags or from the file of `underpass run`.

import { accept, type Parsed, refuse } from '@underpass/rules/parsed.ts';
import { parseUrl } from '@underpass/rules/text/parse-url.ts';
import { aTunnel, type TunnelType, tunnelTypeNames } from '@underpass/rules/tunnel/tunnel-type.ts';
import {
  formatUpstream,
  parseHttpUpstream,
  parseIngressUpstream,
  parseTcpService,
  parseUpstreamHost,
} from '@underpass/rules/tunnel/upstream.ts';
import type { CarriedHttpUpstream, TunnelUpstreams } from '../carry/api.ts';

export type TokenSource =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'env'; readonly name: string }
  /** A token that is already read: from standard input or the API. */
  | { readonly kind: 'value'; readonly token: string };

export interface TunnelConfig {
  /** The tunnel's name in the log and on screen; unique in a file. */
  readonly name: string;
  /** The name is only that of the region: the name that an edge sends replaces it. */
  readonly isUnnamed?: boolean;
  readonly url: string;
  readonly token: TokenSource;
  readonly upstreams: TunnelUpstreams;
  /** CAs to trust for the region, besides the system's. */
  readonly caFile?: string;
  /** CAs to trust for https upstreams. */
  readonly upstreamCaFile?: string;
  /** Accepts any certificate of https upstreams. */
  readonly upstreamInsecure: boolean;
  /** The tunnel is private; missing: it is not. */
  readonly private?: PrivateConfig;
}

export interface PrivateConfig {
  /** Holds the key of this client, and is made at the first start. Missing: reach.pem in the configuration folder. */
  readonly keyFile?: string;
  /** Serves only holders of tickets that were made with the key: an operator cannot make one. */
  readonly ticketsOnly: boolean;
}

/** An entry of the file without a secret: URL and token are those of the account's tunnel of this name. */
export type NamedTunnel = Omit<TunnelConfig, 'url' | 'token' | 'isUnnamed'> & {
  readonly url?: undefined;
  readonly token?: undefined;
};

/** The upstream of `underpass tcp PORT`. */
export const parseQuickTcp = (text: string): Parsed<TunnelUpstreams> =>
  parseUpstreams('tcp', [text.replace(/^\s*:?(\d+)\s*$/, 'localhost:$1')]);

/** The upstream of `underpass http PORT`. A port is that of `localhost`: development servers listen on either of its addresses. */
export function parseQuickUpstream(text: string): Parsed<TunnelUpstreams> {
  const port = /^:?(\d+)$/.exec(text.trim())?.[1];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535))
    return refuse(`Port must be from 1 to 65535, is '${port}'`);
  // A word alone would be taken for a host, and the user meant a port, a command or a tunnel's name.
  if (/^[a-z]\w*$/i.test(text.trim())) return refuse(`'${text}' is not a port, HOST:PORT or URL`);
  const parsed = parseUpstreams('http', [port === undefined ? text : `http://localhost:${port}`]);
  const isForDomain = parsed.ok && parsed.value.type === 'http' && parsed.value.list.some(({ domain }) => domain !== null);
  return isForDomain ? refuse(`'${text}' is not a port, HOST:PORT or URL`) : parsed;
}

/** Parses one upstream for all domains or one per domain (http), or one per port (ingress). Refuses two for the same visitors. */
export function parseUpstreams(type: TunnelType, texts: readonly string[]): Parsed<TunnelUpstreams> {
  if (texts.length === 0) return refuse('Please provide an upstream');
  const parsed = listParsers[type](texts);
  return parsed.ok ? parsed : refuse(namesOtherType(type, texts) ?? parsed.message);
}

/** A text that fits a tunnel of another type: its user has taken the wrong command, or thinks of the wrong tunnel. */
function namesOtherType(type: TunnelType, texts: readonly string[]): string | undefined {
  for (const other of tunnelTypeNames) {
    const text = texts.find((each) => other !== type && !listParsers[type]([each]).ok && listParsers[other]([each]).ok);
    if (text !== undefined) return `'${text}' is an upstream of ${aTunnel(other)}; ${aTunnel(type)} takes ${upstreamForms[type]}`;
  }
  return undefined;
}

export const upstreamForms: Readonly<Record<TunnelType, string>> = {
  http: 'URL, HOST:PORT or PORT for all domains, DOMAIN=URL, or DOMAIN/PATH=URL',
  ingress: 'HOST for both ports, or 80=HOST:PORT and 443=HOST:PORT',
  tcp: 'PORT of this machine, or HOST:PORT',
};

const listParsers: Readonly<Record<TunnelType, (texts: readonly string[]) => Parsed<TunnelUpstreams>>> = {
  http: parseHttpList,
  ingress: parseIngressList,
  tcp: parseTcpList,
};

function parseHttpList(texts: readonly string[]): Parsed<TunnelUpstreams> {
  const parsed = parseEach(texts, (text) => parseHttpUpstream(inFull(text)));
  if (!parsed.ok) return parsed;
  const twice = firstRepeated(parsed.value.map(({ domain, path = '' }) => `${domain ?? 'all domains'}${path}`));
  return twice === undefined ? accept({ type: 'http', list: parsed.value }) : refuse(`Two upstreams for ${twice}`);
}

/** Short forms that other tunnels take: `3000` is a port of this machine, `localhost:3000` a host that speaks plain HTTP. */
function inFull(text: string): string {
  const [, domain = '', port, place] = /^([^=]*=)?(?::?(\d+)|([^/=]+:\d+))$/.exec(text.trim()) ?? [];
  if (port !== undefined) return `${domain}http://127.0.0.1:${port}`;
  return place === undefined ? text : `${domain}http://${place}`;
}

function parseIngressList(texts: readonly string[]): Parsed<TunnelUpstreams> {
  const parsed = parseEach(texts, parseIngressUpstream);
  if (!parsed.ok) return parsed;
  const list = parsed.value.flat();
  const twice = firstRepeated(list.map(({ port }) => `port ${port}`));
  return twice === undefined ? accept({ type: 'ingress', list }) : refuse(`Two upstreams for ${twice}`);
}

function parseTcpList(texts: readonly string[]): Parsed<TunnelUpstreams> {
  const parsed = parseEach(texts, parseTcpService);
  if (!parsed.ok) return parsed;
  const list = parsed.value.map((upstream) => ({ upstream }));
  return list.length === 1 ? accept({ type: 'tcp', list }) : refuse('A tcp tunnel has one upstream');
}

/** `--upstream-host`: one value for all domains, or `DOMAIN=VALUE` for an upstream of its own. */
export function parseUpstreamHosts(upstreams: TunnelUpstreams, texts: readonly string[]): Parsed<TunnelUpstreams> {
  if (texts.length === 0) return accept(upstreams);
  if (upstreams.type !== 'http') return refuse(hostPassesThrough[upstreams.type]);
  const named = texts
    .map((text) => /^(?:([^=]*)=)?([^=]*)$/.exec(text.trim()) ?? [])
    .map(([, domain, host = '']) => ({ domain, host }));
  const twice = firstRepeated(named.map(({ domain }) => domain?.toLowerCase() ?? 'all domains'));
  if (twice !== undefined) return refuse(`Two upstream hosts for ${twice}`);
  const domains = upstreams.list.map(({ domain }) => domain);
  const unknown = named.find(({ domain }) => domain !== undefined && !domains.includes(domain.toLowerCase()));
  if (unknown !== undefined) return refuse(`'${unknown.domain}' has no --upstream of its own`);
  return sendHosts(
    upstreams.list,
    (each) => named.find(({ domain }) => domain?.toLowerCase() === each) ?? named.find(({ domain }) => domain === undefined),
  );
}

const hostPassesThrough = {
  ingress: 'An ingress tunnel passes TLS through, so --upstream-host is only for http tunnels',
  tcp: 'A tcp tunnel passes bytes through, so --upstream-host is only for http tunnels',
} as const;

function sendHosts(
  list: readonly CarriedHttpUpstream[],
  hostFor: (domain: string | null) => { readonly host: string } | undefined,
): Parsed<TunnelUpstreams> {
  const carried: CarriedHttpUpstream[] = [];
  for (const item of list) {
    const host = parseUpstreamHost(hostFor(item.domain)?.host ?? 'same', item.upstream);
    if (!host.ok) return refuse(host.message);
    carried.push(host.value === null ? item : { ...item, sentHost: host.value });
  }
  return accept({ type: 'http', list: carried });
}

function parseEach<T>(texts: readonly string[], parse: (text: string) => Parsed<T>): Parsed<readonly T[]> {
  const values: T[] = [];
  for (const text of texts) {
    const parsed = parse(text);
    if (!parsed.ok) return refuse(`${parsed.message} (given: '${text}')`);
    values.push(parsed.value);
  }
  return accept(values);
}

function firstRepeated(keys: readonly string[]): string | undefined {
  return keys.find((key, index) => keys.indexOf(key) !== index);
}

/** `https://host[:port][#ca=<64 hex>]`, as the dashboard shows it. */
export function parseTunnelUrl(text: string): Parsed<string> {
  const url = parseUrl(text);
  const bare = url !== null && url.protocol === 'https:' && url.pathname === '/' && url.search === '' && url.username === '';
  const pinned = url === null || url.hash === '' || /^#ca=[0-9a-f]{64}$/.test(url.hash);
  if (bare && pinned) return accept(text);
  return refuse(`'${text}' is not the URL of a tunnel: copy it from the Connect section, https://HOST[:PORT][#ca=...]`);
}

/** `shop.example.com → http://127.0.0.1:8080`, a line each. */
export function upstreamLines({ type, list }: TunnelUpstreams): readonly string[] {
  switch (type) {
    case 'http':
      return list.map(httpLine);
    case 'ingress':
      return list.map(({ port, upstream }) => `port ${port} → ${formatUpstream(upstream)}`);
    case 'tcp':
      return list.map(({ upstream }) => formatUpstream(upstream));
  }
}

function httpLine({ domain, path = '', upstream, sentHost }: CarriedHttpUpstream): string {
  const host = sentHost === undefined ? '' : ` (Host: ${sentHost})`;
  return `${domain ?? 'all domains'}${path} → ${formatUpstream(upstream)}${host}`;
}
