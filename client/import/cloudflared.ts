// config.yml of cloudflared: one tunnel with a list of ingress rules, each with settings of its own. The first rule that fits a
// request answers it, so each rule is read with those before it.

import {
  guardOf,
  type ImportedTunnel,
  leave,
  ownDomains,
  ownPath,
  ownTcpPort,
  tunnelIfValid,
  tunnelNameOf,
  upstreamUrl,
} from './imported-tunnel.ts';
import type { Reasons, Settings } from './settings.ts';

export const cloudflaredReasons: Reasons = [
  [
    /^credentials[-_](file|contents)$|^origincert$|token(-file)?$/,
    'a secret of Cloudflare, not copied: sign in with "underpass login"',
  ],
  [/^warp-routing/, 'private networks are not available'],
  [/\.access\./, 'an access policy for members takes its place: see "underpass access update --help"'],
  [
    /disableChunkedEncoding$|keepAlive|KeepAlive$|Timeout$|noHappyEyeballs$|matchSNItoHost$/,
    'nothing to set: the client forwards what the visitor sends',
  ],
  [/originServerName$/, 'an https service is checked by the name in its upstream URL'],
  [
    /^(protocol|edge-ip-version|edge-bind-address|region|retries|ha-connections|no-autoupdate|autoupdate-freq|post-quantum|proxy-(keepalive|connect).*)$/,
    'nothing to set: the client finds its way itself',
  ],
  [/^(log|transport-log|metrics|pidfile|tag|grace-period)/, 'see "underpass run --help" for what the client logs and answers'],
];

interface Rule {
  /** Undefined: the service answers for whatever name leads to it. */
  readonly domain: string | undefined;
  readonly upstream: string;
  readonly sentHost: string | undefined;
  readonly ca: string | undefined;
  readonly isInsecure: boolean;
  readonly isGuarded: boolean;
}

/** What an earlier rule keeps from those after it. */
interface Earlier {
  readonly host: string;
  readonly hasPath: boolean;
}

/** Rules of one tunnel share who may visit and how an https service is checked; rules that differ become tunnels of their own. */
export function importCloudflared(file: Settings): readonly ImportedTunnel[] {
  const name = nameOf(file.text('tunnel') ?? '');
  const entries = file.each('ingress');
  const earlier = entries.map((entry) => ({ host: entry.text('hostname')?.toLowerCase() ?? '', hasPath: hasPath(entry) }));
  const rules = entries.flatMap((entry, index) => readRule(name, entry, file.below('originRequest'), earlier.slice(0, index)));
  const tunnels = groupsOf(rules).map((list) => tunnelOf(name, list));
  if (entries.length > 0) file.leave('url', 'cloudflared does not read it either where "ingress" has rules');
  return entries.length > 0 ? tunnels : importSingle(name, file);
}

/** A service without TLS has nothing to check, so its rule joins the first group that admits the same visitors. */
function groupsOf(rules: readonly Rule[]): readonly (readonly Rule[])[] {
  const ways = new Map<boolean, string>();
  const wayOf = ({ isGuarded, ca, isInsecure }: Rule): string => JSON.stringify([isGuarded, ca, isInsecure]);
  for (const rule of rules.filter(isHttps)) if (!ways.has(rule.isGuarded)) ways.set(rule.isGuarded, wayOf(rule));
  const groups = Map.groupBy(rules, (rule) =>
    isHttps(rule) ? wayOf(rule) : (ways.get(rule.isGuarded) ?? String(rule.isGuarded)),
  );
  return [...groups.values()];
}

const isHttps = ({ upstream }: Rule): boolean => /^https(\+h2)?:/.test(upstream);

/** A UUID says nothing, and what is longer than a name may be a token. */
function nameOf(tunnel: string): string {
  return tunnel === '' || /^[0-9a-f-]{36}$/.test(tunnel) || tunnel.length > 63 ? 'cloudflared' : tunnelNameOf(tunnel);
}

/** The older form: one service, at the root. */
function importSingle(name: string, file: Settings): readonly ImportedTunnel[] {
  const service = file.text('url');
  if (service === undefined || service.startsWith('http_status:')) return [];
  const flags: Readonly<Record<string, string>> = {
    noTLSVerify: 'no-tls-verify',
    caPool: 'origin-ca-pool',
    httpHostHeader: 'http-host-header',
  };
  const shared = file.below('originRequest');
  const readOrigin = (key: string): string | undefined => shared.text(key) ?? file.text(flags[key] ?? key);
  const isOther = ['bastion', 'hello-world'].some((key) => file.text(key) === 'true') || readOrigin('bastionMode') === 'true';
  const why = isOther ? unavailable('bastion') : unavailable(upstreamUrl(service));
  if (why !== undefined) {
    file.leave('url', why);
    return [];
  }
  const [domain] = ownDomains(file, 'hostname', isPeerDomain);
  return tunnelIfValid(
    tunnelOf(name, [ruleOf(domain, upstreamUrl(service), readOrigin, shared.has('access'))]),
    file.below('url'),
  );
}

function tunnelOf(name: string, rules: readonly Rule[]): ImportedTunnel {
  const [first] = rules as readonly [Rule];
  const { ca, isInsecure, isGuarded } = rules.find(isHttps) ?? { ...first, ca: undefined, isInsecure: false };
  const forDomain = (domain: string | undefined, text: string): string => (domain === undefined ? text : `${domain}=${text}`);
  const hosts = rules.flatMap(({ domain, sentHost }) => (sentHost === undefined ? [] : [forDomain(domain, sentHost)]));
  return {
    name,
    type: 'http',
    upstreams: rules.map(({ domain, upstream }) => forDomain(domain, upstream)),
    domains: rules.flatMap(({ domain }) => domain ?? []),
    ...(hosts.length > 0 && { upstreamHosts: hosts }),
    ...(ca !== undefined && { upstreamCa: ca }),
    isInsecure,
    ...guardOf(false, isGuarded),
  };
}

function readRule(name: string, settings: Settings, shared: Settings, earlier: readonly Earlier[]): readonly Rule[] {
  const service = settings.text('service') ?? '';
  const own = settings.below('originRequest');
  const readOrigin = (key: string): string | undefined => {
    const ofAll = shared.text(key);
    return own.text(key) ?? ofAll;
  };
  const host = settings.text('hostname')?.toLowerCase() ?? '';
  // What visitors of other names get: here the edge answers them.
  if (isForAll(host) && !hasPath(settings) && /^http_status:(404|503)$/.test(service)) return [];
  const kept = earlier.filter((rule) => fits(rule.host, host));
  const why =
    whyUnanswered(settings, host, earlier, kept) ?? unavailable(readOrigin('bastionMode') === 'true' ? 'bastion' : service);
  if (why !== undefined) return leave(settings, why);
  const [domain] = isForAll(host) ? [] : ownDomains(settings, 'hostname', isPeerDomain);
  if (domain === undefined && !isForAll(host)) return [];
  // An earlier rule keeps some paths from this service: they would be open here.
  const isGuarded = own.has('access') || shared.has('access') || kept.length > 0;
  const rule = ruleOf(domain, upstreamUrl(service), readOrigin, isGuarded);
  return tunnelIfValid(tunnelOf(name, [rule]), settings).map(() => rule);
}

function whyUnanswered(
  settings: Settings,
  host: string,
  earlier: readonly Earlier[],
  kept: readonly Earlier[],
): string | undefined {
  if (hasPath(settings)) return ownPath;
  if (isForAll(host) && earlier.length > 0) return 'the edge answers for names that no tunnel has';
  return kept.some((rule) => !rule.hasPath) ? 'an earlier rule answers for its name' : undefined;
}

function ruleOf(
  domain: string | undefined,
  upstream: string,
  readOrigin: (key: string) => string | undefined,
  isGuarded: boolean,
): Rule {
  // A WebSocket is a request of HTTP.
  const url = upstream.replace(/^ws/, 'http');
  return {
    domain,
    upstream: readOrigin('http2Origin') === 'true' ? url.replace(/^https:/, 'https+h2:') : url,
    sentHost: readOrigin('httpHostHeader') || undefined,
    ca: readOrigin('caPool') || undefined,
    isInsecure: readOrigin('noTLSVerify') === 'true',
    isGuarded,
  };
}

/** Regular expressions that fit every path are no path. */
function hasPath(settings: Settings): boolean {
  return settings.has('path') && !['', '/', '^/', '/*', '.*', '/.*', '^/.*'].includes(settings.text('path') ?? '');
}

const isForAll = (host: string): boolean => host === '' || host === '*';

function fits(pattern: string, host: string): boolean {
  return isForAll(pattern) || pattern === host || (pattern.startsWith('*.') && host.endsWith(pattern.slice(1)));
}

const isPeerDomain = (name: string): boolean => /\.(trycloudflare|cfargotunnel)\.com$/.test(name);

function unavailable(service: string): string | undefined {
  if (/^((http|ws)s?:\/\/|unix:)/.test(service)) return undefined;
  if (service.startsWith('ssh:')) return 'reach SSH hosts with "underpass ssh": see its help';
  if (service.startsWith('unix+tls:')) return 'a socket file with TLS is not available';
  if (/^(tcp|rdp|smb|bastion|socks)/.test(service)) return ownTcpPort;
  return `the service ${service.split(':')[0]} is not available`;
}
