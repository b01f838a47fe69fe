// frpc.toml, and the older frpc.ini, whose names are turned into those of the newer file.

import { inBrackets } from '@underpass/rules/address/address.ts';
import {
  guardOf,
  type ImportedTunnel,
  leave,
  ownDomains,
  ownPath,
  ownTcpPort,
  tunnelIfValid,
  tunnelNameOf,
} from './imported-tunnel.ts';
import type { Path, Reasons, Settings } from './settings.ts';

export const frpReasons: Reasons = [
  [/^auth\.|(^|\.)(token|secretKey)$|^user$/, 'a secret or name of frp, not copied: sign in with "underpass login"'],
  [/^(serverAddr|serverPort|serverPorts)$/, 'sign in to your server with "underpass login --server URL"'],
  [/subdomain$/, 'the region here generates a name, or add a domain of your own'],
  [/http(User|Password|Pwd)$|routeByHTTPUser$/, 'an access policy with a new password takes its place'],
  [/(requestHeaders|responseHeaders)(\.|$)/, 'the edge does not change header fields of your choice'],
  [/^transport\.(proxyURL|httpProxy)$/, 'set HTTPS_PROXY: the client takes it from the environment'],
  [/remotePort$/, 'an http tunnel is visited on the ports 80 and 443'],
  [/^includes$/, 'import each of these files too'],
  [/^(virtualNet|featureGates)(\.|$)/, 'private networks are not available'],
  [/loadBalancer\./, 'nothing to set: several clients of one tunnel share its visitors'],
  [/healthCheck\./, 'nothing to set: clients watch their upstreams, and --health answers probes'],
  [/useEncryption$|useCompression$|^transport\./, 'nothing to set: the way to the edge is always TLS, and never compressed'],
  [/bandwidthLimit/, 'a tunnel has no limit of its own'],
  [
    /^webServer\.|^log\.|^(loginFailExit|udpPacketSize|natHoleStunServer|dnsServer|store\.path)$|metadatas\.|annotations\.|privilegeMode$/,
    'a setting of the frp program',
  ],
];

export function importFrp(file: Settings): readonly ImportedTunnel[] {
  const started = file.texts('start');
  const isOff = (proxy: Settings): boolean =>
    proxy.text('enabled') === 'false' || (started.length > 0 && !started.includes(proxy.text('name') ?? ''));
  const all = file.each('proxies');
  for (const proxy of all.filter(isOff)) proxy.leaveAll('switched off in this file');
  const proxies = all.filter((proxy) => !isOff(proxy));
  for (const visitor of file.each('visitors')) visitor.leaveAll(privateTunnel);
  const parts = new Set(proxies.filter(isPart).flatMap(addressesOf));
  const hasOtherPart = (proxy: Settings): boolean => addressesOf(proxy).some((address) => parts.has(address));
  const plain = proxies.filter((proxy) => isPlain(proxy) && !hasOtherPart(proxy));
  // The first of a name counts.
  const byName = new Map(plain.toReversed().map((proxy) => [nameId(proxy), proxy]));
  const halves = new Map(proxies.filter(passesTls).map((proxy) => [proxy, byName.get(nameId(proxy))]));
  const taken = new Set(halves.values());
  return proxies
    .filter((proxy) => !taken.has(proxy))
    .flatMap((proxy) => importProxy(proxy, halves.get(proxy), hasOtherPart(proxy)));
}

/** The names under which visitors find a proxy. */
function addressesOf(proxy: Settings): readonly string[] {
  return [
    ...proxy.texts('customDomains').map((name) => name.toLowerCase()),
    ...proxy.texts('subdomain').map((name) => `${name}.`),
  ];
}

/** Whether a proxy answers for some paths alone. */
function isPart(proxy: Settings): boolean {
  const locations = proxy.texts('locations');
  return locations.length > 0 && !locations.includes('/');
}

/** An https proxy and an http proxy of the same names are the ports 443 and 80 of one ingress tunnel. */
const nameId = (proxy: Settings): string => JSON.stringify([addressesOf(proxy).toSorted(), proxyProtocolOf(proxy)]);

function passesTls(proxy: Settings): boolean {
  return proxy.text('type') === 'https' && !proxy.has('plugin');
}

/** Whether an http proxy has nothing that an ingress tunnel could not do. */
function isPlain(proxy: Settings): boolean {
  return (
    proxy.text('type') === 'http' &&
    !proxy.has('plugin', 'httpUser', 'httpPassword', 'routeByHTTPUser', 'hostHeaderRewrite', 'locations')
  );
}

function proxyProtocolOf(proxy: Settings): 'v1' | 'v2' | undefined {
  const version = proxy.below('transport').text('proxyProtocolVersion');
  return version === 'v1' || version === 'v2' ? version : undefined;
}

function localAddress(proxy: Settings): string {
  return `${inBrackets(proxy.text('localIP') ?? '127.0.0.1')}:${proxy.text('localPort') ?? ''}`;
}

const privateTunnel =
  'add a private tunnel with "underpass tunnels add NAME --type tcp --private"; visitors use "underpass reach"';

const unavailableTypes: ReadonlyMap<string, string> = new Map([
  ['tcp', ownTcpPort],
  ['udp', 'UDP is not available'],
  ['tcpmux', 'TCP services behind one port are not available'],
  ['stcp', privateTunnel],
  ['xtcp', privateTunnel],
  ['sudp', 'UDP is not available'],
]);

/** `plain`: the proxy of port 80 that belongs to it. `hasOtherPart`: another proxy answers for some paths of its names. */
function importProxy(settings: Settings, plain: Settings | undefined, hasOtherPart: boolean): readonly ImportedTunnel[] {
  const type = settings.text('type') ?? 'tcp';
  const given = settings.text('name') ?? type;
  if (type !== 'http' && type !== 'https') return leave(settings, unavailableTypes.get(type) ?? `type ${type} is not available`);
  if (isPart(settings)) return leave(settings, ownPath);
  const plugin = settings.below('plugin');
  const kind = plugin.text('type');
  const local = localAddress(settings);
  const place = plugin.text('localAddr') ?? local;
  const version = proxyProtocolOf(settings);
  const host = settings.text('hostHeaderRewrite') ?? plugin.text('hostHeaderRewrite');
  const common = {
    name: tunnelNameOf(given),
    domains: ownDomains(settings, 'customDomains', () => false),
    // Paths that another proxy has would be open here, and so would those for one user.
    ...(type === 'http' && guardOf(settings.has('httpUser', 'httpPassword'), hasOtherPart || settings.has('routeByHTTPUser'))),
    ...(version && { proxyProtocol: version }),
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
  const upstreams = [...(plain === undefined ? [] : [`80=${localAddress(plain)}`]), `443=${local}`];
  plain?.skip('name', 'customDomains', 'subdomain');
  return tunnelIfValid({ ...common, type: 'ingress', upstreams }, settings);
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

const lists = new Set(['custom_domains', 'locations', 'start']);

/** Where a line of frpc.ini stands in the newer file, and its value there. */
export function frpIniSetting(key: string, value: string): readonly [path: Path, value: unknown] {
  const path = (Object.hasOwn(renamed, key) ? renamed[key] : undefined) ?? prefixed(key) ?? [camelCase(key)];
  return [path, lists.has(key) ? value.split(',').map((item) => item.trim()) : value];
}

function prefixed(key: string): Path | undefined {
  const [, kind, name = ''] = /^(plugin_header|header|plugin|health_check|log|admin|meta)_(.+)$/.exec(key) ?? [];
  if (kind === 'plugin_header') return ['plugin', `requestHeaders.${name}`];
  if (kind !== undefined) return [groups[kind]!, kind === 'header' || kind === 'meta' ? name : camelCase(name)];
  if (/^(oidc_|authenticat)/.test(key)) return ['auth', camelCase(key)];
  if (/^(pprof_enable|disable_log_color)$/.test(key)) return ['log', camelCase(key)];
  return ofTransport.test(key) ? ['transport', camelCase(key)] : undefined;
}

const groups: Readonly<Record<string, string>> = {
  header: 'requestHeaders',
  plugin: 'plugin',
  health_check: 'healthCheck',
  log: 'log',
  admin: 'webServer',
  meta: 'metadatas',
};

const ofTransport =
  /^(tls_|tcp_mux|quic_|heartbeat_|dial_server_|pool_count$|protocol$|http_proxy$|connect_server_local_ip$|disable_custom_tls_first_byte$|bandwidth_limit_mode$)/;

function camelCase(key: string): string {
  return key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
