// frpc.toml, and the older frpc.ini, whose names are turned into those of the newer file.

import { guardOf, type ImportedTunnel, ownDomains, tunnelIfValid, tunnelNameOf } from './imported-tunnel.ts';
import type { Path, Reasons, Settings } from './settings.ts';

export const frpReasons: Reasons = [
  [/^auth\.|(^|\.)(token|secretKey|sk)$|^user$/, 'a secret or name of frp, not copied: sign in with "underpass login"'],
  [
    /^(serverAddr|serverPort|serverPorts|natHoleStunServer|dnsServer)$/,
    'sign in to your server with "underpass login --server URL"',
  ],
  [/^visitors\./, 'tunnels that only a client reaches are not available'],
  [/subdomain$/, 'the region here generates a name, or add a domain of your own'],
  [/http(User|Password|Pwd)$|routeByHTTPUser$/, 'an access policy with a new password takes its place'],
  [/(requestHeaders|responseHeaders)\./, 'the edge does not change header fields of your choice'],
  [/loadBalancer\./, 'nothing to set: several clients of one tunnel share its visitors'],
  [/healthCheck\./, 'nothing to set: clients watch their upstreams, and --health answers probes'],
  [/useEncryption$|useCompression$|^transport\./, 'nothing to set: the way to the edge is always TLS, and never compressed'],
  [/bandwidthLimit/, 'a tunnel has no limit of its own'],
  [
    /^webServer\.|^log\.|^start$|^includes$|^loginFailExit$|^udpPacketSize$|metadatas\.|annotations\./,
    'a setting of the frp program',
  ],
];

export function importFrp(file: Settings): readonly ImportedTunnel[] {
  return file.each('proxies').flatMap(importProxy);
}

const unavailableTypes: Readonly<Record<string, string>> = {
  tcp: 'public TCP ports are not available',
  udp: 'UDP is not available',
  tcpmux: 'TCP services behind one port are not available',
  stcp: 'tunnels that only a client reaches are not available',
  xtcp: 'tunnels that only a client reaches are not available',
  sudp: 'UDP is not available',
};

function importProxy(settings: Settings): readonly ImportedTunnel[] {
  const type = settings.text('type') ?? 'tcp';
  const given = settings.text('name') ?? type;
  if (type !== 'http' && type !== 'https') return leave(settings, unavailableTypes[type] ?? `type ${type} is not available`);
  const locations = settings.texts('locations');
  if (locations.length > 0 && !locations.includes('/')) return leave(settings, 'a domain has one upstream for all its paths');
  const plugin = settings.below('plugin');
  const kind = plugin.text('type');
  const local = `${bracketed(settings.text('localIP') ?? '127.0.0.1')}:${settings.text('localPort') ?? ''}`;
  const place = plugin.text('localAddr') ?? local;
  const version = settings.below('transport').text('proxyProtocolVersion');
  const host = settings.text('hostHeaderRewrite') ?? plugin.text('hostHeaderRewrite');
  const common = {
    name: tunnelNameOf(given),
    domains: ownDomains(settings, 'customDomains', () => false),
    ...guardOf(type === 'http' && settings.has('httpUser', 'httpPassword'), false),
    ...((version === 'v1' || version === 'v2') && ({ proxyProtocol: version } as const)),
  };
  const http = (scheme: string): readonly ImportedTunnel[] =>
    tunnelIfValid(
      {
        ...common,
        type: 'http',
        upstreams: [`${scheme}://${place}`],
        ...(host !== undefined && { upstreamHosts: [host] }),
        isInsecure: scheme === 'https',
      },
      settings,
    );
  // The plugins that end TLS at the client, so the service has no certificate of its own: the edge ends it here.
  if (kind === 'https2http' || (kind === 'https2https' && type === 'https')) {
    plugin.leave('crtPath', 'the edge ends TLS, with a certificate that the service gets');
    plugin.leave('keyPath', 'the edge ends TLS, with a certificate that the service gets');
    return http(kind === 'https2http' ? 'http' : 'https');
  }
  if (kind === 'http2https') return http('https');
  if (kind === 'static_file') return leave(settings, 'serve a folder with "underpass serve FOLDER"');
  if (kind !== undefined && kind !== 'http2http') return leave(settings, `the plugin ${kind} is not available`);
  if (type === 'http') return http('http');
  return tunnelIfValid({ ...common, type: 'ingress', upstreams: [`443=${local}`] }, settings);
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function leave(settings: Settings, why: string): readonly ImportedTunnel[] {
  settings.leaveAll(why);
  return [];
}

/** Names of frpc.ini that the newer file spells in another way than by camel case alone. */
const renamed: Readonly<Record<string, Path>> = {
  local_ip: ['localIP'],
  http_pwd: ['httpPassword'],
  token: ['auth', 'token'],
  sk: ['secretKey'],
  proxy_protocol_version: ['transport', 'proxyProtocolVersion'],
  use_encryption: ['transport', 'useEncryption'],
  use_compression: ['transport', 'useCompression'],
  bandwidth_limit: ['transport', 'bandwidthLimit'],
  group: ['loadBalancer', 'group'],
  group_key: ['loadBalancer', 'groupKey'],
  plugin: ['plugin', 'type'],
  plugin_local_addr: ['plugin', 'localAddr'],
  plugin_crt_path: ['plugin', 'crtPath'],
  plugin_key_path: ['plugin', 'keyPath'],
  plugin_host_header_rewrite: ['plugin', 'hostHeaderRewrite'],
};

const lists = new Set(['custom_domains', 'locations']);

/** Where a line of frpc.ini stands in the newer file, and its value there. */
export function frpIniSetting(key: string, value: string): readonly [path: Path, value: unknown] {
  const path = renamed[key] ?? prefixed(key) ?? [camelCase(key)];
  return [path, lists.has(key) ? value.split(',').map((item) => item.trim()) : value];
}

function prefixed(key: string): Path | undefined {
  const [, kind = '', name = ''] = /^(header|plugin|health_check|log|admin)_(.+)$/.exec(key) ?? [];
  const group = { header: 'requestHeaders', plugin: 'plugin', health_check: 'healthCheck', log: 'log', admin: 'webServer' }[kind];
  return group === undefined ? undefined : [group, kind === 'header' ? name : camelCase(name)];
}

function camelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
