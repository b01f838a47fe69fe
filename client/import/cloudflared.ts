// config.yml of cloudflared: one tunnel with a list of ingress rules, each with settings of its own.

import { guardOf, type ImportedTunnel, ownDomains, tunnelIfValid, tunnelNameOf, upstreamUrl } from './imported-tunnel.ts';
import type { Reasons, Settings } from './settings.ts';

export const cloudflaredReasons: Reasons = [
  [
    /^credentials-file$|^credentials-contents$|^origincert$|token(-file)?$/,
    'a secret of Cloudflare, not copied: sign in with "underpass login"',
  ],
  [/^warp-routing/, 'private networks are not available'],
  [/\.access\./, 'an access policy for members takes its place: see "underpass access update --help"'],
  [
    /disableChunkedEncoding$|http2Origin$|keepAlive|Timeout$|noHappyEyeballs$/,
    'nothing to set: the client forwards what the visitor sends',
  ],
  [/originServerName$/, 'an https service is checked by the name in its upstream URL'],
  [
    /^(protocol|edge-ip-version|edge-bind-address|region|retries|ha-connections|no-autoupdate|autoupdate-freq)$/,
    'nothing to set: the client finds its way itself',
  ],
  [/^(log|transport-log|metrics|pidfile|tag|grace-period)/, 'see "underpass run --help" for what the client logs and answers'],
];

interface Rule {
  readonly domain: string;
  readonly upstream: string;
  readonly sentHost: string | undefined;
  readonly ca: string | undefined;
  readonly isInsecure: boolean;
  readonly isGuarded: boolean;
}

/** Rules of one tunnel share who may visit and how an https service is checked; rules that differ become tunnels of their own. */
export function importCloudflared(file: Settings): readonly ImportedTunnel[] {
  const name = tunnelNameOf(
    /^[0-9a-f-]{36}$/.test(file.text('tunnel') ?? '') ? 'cloudflared' : (file.text('tunnel') ?? 'cloudflared'),
  );
  const shared = file.below('originRequest');
  const rules = file.each('ingress').flatMap((settings) => readRule(settings, shared));
  const groups = Map.groupBy(rules, ({ ca, isInsecure, isGuarded }) => JSON.stringify([ca, isInsecure, isGuarded]));
  const tunnels = [...groups.values()].flatMap((list) => tunnelIfValid(tunnelOf(name, list), file.below('ingress')));
  const single = file.text('url');
  if (single === undefined || single.startsWith('http_status:')) return tunnels;
  return [...tunnels, ...tunnelIfValid({ name, type: 'http', upstreams: [upstreamUrl(single)], domains: [] }, file.below('url'))];
}

function tunnelOf(name: string, rules: readonly Rule[]): ImportedTunnel {
  const [{ ca, isInsecure, isGuarded }] = rules as readonly [Rule];
  const hosts = rules.flatMap(({ domain, sentHost }) => (sentHost === undefined ? [] : [`${domain}=${sentHost}`]));
  return {
    name,
    type: 'http',
    upstreams: rules.map(({ domain, upstream }) => `${domain}=${upstream}`),
    domains: rules.map(({ domain }) => domain),
    ...(hosts.length > 0 && { upstreamHosts: hosts }),
    ...(ca !== undefined && { upstreamCa: ca }),
    isInsecure,
    ...guardOf(false, isGuarded),
  };
}

function readRule(settings: Settings, shared: Settings): readonly Rule[] {
  const service = settings.text('service') ?? '';
  const hostname = settings.text('hostname');
  if (hostname === undefined) {
    // What visitors of other names get: here the edge answers them.
    if (/^http_status:(404|503)$/.test(service)) return [];
    settings.leaveAll('the edge answers for names that no tunnel has');
    return [];
  }
  const why = settings.has('path') ? 'a domain has one upstream for all its paths' : unavailable(service);
  if (why !== undefined) {
    settings.leaveAll(why);
    return [];
  }
  const own = settings.below('originRequest');
  const readOrigin = (key: string): string | undefined => {
    const ofAll = shared.text(key);
    return own.text(key) ?? ofAll;
  };
  const [domain] = ownDomains(settings, 'hostname', (name) => /\.(trycloudflare|cfargotunnel)\.com$/.test(name));
  if (domain === undefined) return [];
  const rule = {
    domain,
    upstream: upstreamUrl(service),
    sentHost: readOrigin('httpHostHeader'),
    ca: readOrigin('caPool') || undefined,
    isInsecure: readOrigin('noTLSVerify') === 'true',
    isGuarded: own.has('access') || shared.has('access'),
  };
  return [rule];
}

function unavailable(service: string): string | undefined {
  if (/^https?:\/\//.test(service)) return undefined;
  if (service.startsWith('ssh:')) return 'reach SSH hosts with "underpass ssh": see its help';
  if (/^unix(\+tls)?:/.test(service)) return 'an upstream is a URL with a port, not a socket file';
  if (/^(tcp|rdp|smb|bastion|socks)/.test(service)) return 'TCP services other than SSH are not available';
  return `the service ${service.split(':')[0]} is not available`;
}
