// ngrok.yml, versions 2 and 3: `tunnels` by name, and the list of `endpoints`.

import {
  allowedAddresses,
  guardOf,
  type ImportedTunnel,
  leave,
  ownDomains,
  ownTcpPort,
  tunnelIfValid,
  tunnelNameOf,
  upstreamUrl,
} from './imported-tunnel.ts';
import type { Reasons, Settings } from './settings.ts';

export function importNgrok(file: Settings): readonly ImportedTunnel[] {
  file.skip('version', 'update_channel', 'update_check', 'console_ui', 'console_ui_color', 'log', 'log_format', 'log_level');
  file.below('agent').skip('update_channel', 'update_check', 'console_ui', 'console_ui_color', 'log', 'log_format', 'log_level');
  return [
    ...file.named('tunnels').flatMap(([name, settings]) => importTunnel(name, settings)),
    ...file.each('endpoints').flatMap(importEndpoint),
  ];
}

export const ngrokReasons: Reasons = [
  [/authtoken$|api_key$/, 'a secret of ngrok, not copied: sign in with "underpass login"'],
  [
    /(^|\.)(heartbeat_(interval|tolerance)|connect_(timeout|interface|cas)|dns_resolver_ips|crl_noverify|remote_management)$/,
    'nothing to set: the client finds its way itself',
  ],
  [/(^|\.)region$|server_addr$|connect_url$/, 'choose with "underpass tunnels add --region"; "underpass regions" lists them'],
  [/basic_auth$|\.auth$/, 'an access policy with a new password takes its place'],
  [
    /\.(oauth|oidc|saml|(traffic_)?policy(_\w+)?|webhook_verification|user_agent_filter)(\.|$)/,
    'an access policy for members takes its place: see "underpass access update --help"',
  ],
  [/subdomain$/, 'an address of ngrok; the region here generates a name, or add a domain of your own'],
  [/deny_cidrs$/, 'a security group lists who may visit, not who may not; an access policy for members takes its place'],
  [/mutual_tls_cas$/, 'let your service check client certificates, behind an ingress tunnel'],
  [/\.(crt|key)$/, 'an ingress tunnel passes TLS through: your service keeps its certificate'],
  [/(request|response)_header/, 'the edge does not change header fields of your choice'],
  [/compression$/, 'the edge does not compress; let your service do it'],
  [/verify_webhook/, 'give the secret to "underpass http --inspect" with --webhook-secret-file'],
  [/inspect$|inspect_db_size$|web_addr$|web_allow_hosts$/, 'add --inspect to "underpass run" for the inspector'],
  [/proxy_url$/, 'set HTTPS_PROXY: the client takes it from the environment'],
  [/root_cas$/, 'the client trusts the CAs of the system, and "ca" in underpass.yaml names more'],
  [/metadata$|description$/, 'only a note'],
  [/pooling[_-]enabled$/, 'nothing to set: several clients of one tunnel share its visitors'],
];

const ngrokDomain = (name: string): boolean => /(^|\.)ngrok(-free)?\.(io|app|dev|pizza|pro)$/i.test(name);

function importTunnel(given: string, settings: Settings): readonly ImportedTunnel[] {
  const proto = settings.text('proto') ?? (settings.texts('schemes').length > 0 ? 'http' : undefined);
  if (settings.has('labels')) return leave(settings, 'a labelled tunnel of an edge of ngrok; it has no address of its own here');
  if (proto === undefined) return leave(settings, 'it names no protocol, as "proto: http" does');
  if (!['http', 'https', 'tls'].includes(proto))
    return leave(settings, proto === 'tcp' ? ownTcpPort : `protocol ${proto} is not available`);
  const domains = ['hostname', 'domain'].flatMap((key) => ownDomains(settings, key, ngrokDomain));
  readSchemes(settings);
  if (settings.text('inspect') === 'true') settings.leave('inspect', 'add --inspect to "underpass run" for the inspector');
  const proxyProtocol = proxyProtocolOf(settings.text('proxy_proto'));
  const allow = allowedAddresses(settings.below('ip_restriction'));
  const guard = guardOf(settings.has('basic_auth', 'auth'), allow === undefined || asksElse(settings));
  const common = { name: tunnelNameOf(given), domains, allow: allow ?? [], ...guard, ...(proxyProtocol && { proxyProtocol }) };
  return importUpstream(settings, settings.text('addr') ?? '80', proto === 'tls', common);
}

function importEndpoint(settings: Settings, index: number): readonly ImportedTunnel[] {
  const urls = settings.texts('url');
  const [, scheme = 'https', host = ''] = /^(?:([a-z]+):\/\/)?([^/:]*)/.exec(urls[0] ?? '') ?? [];
  if (!['http', 'https', 'tls'].includes(scheme))
    return leave(settings, scheme === 'tcp' ? ownTcpPort : `${scheme} endpoints are not available`);
  const isPublic =
    !urls.some((url) => /\.internal(:\d+)?\/?$/i.test(url)) && settings.texts('bindings').every((text) => text === 'public');
  if (!isPublic) return leave(settings, 'an endpoint that the public does not reach; a tunnel here is public');
  const domains = host === '' ? [] : ownDomains(settings, 'url', ngrokDomain, [host]);
  const upstream = settings.below('upstream');
  const proxyProtocol = proxyProtocolOf(upstream.text('proxy_protocol'));
  const common = {
    ...guardOf(false, asksElse(settings)),
    name: tunnelNameOf(settings.text('name') ?? `endpoint-${index + 1}`),
    domains,
    ...(proxyProtocol && { proxyProtocol }),
  };
  return importUpstream(settings, upstream.text('url') ?? '80', scheme === 'tls', common);
}

function importUpstream(
  settings: Settings,
  address: string,
  passesThrough: boolean,
  common: Pick<ImportedTunnel, 'name' | 'domains' | 'allow' | 'guard' | 'proxyProtocol'>,
): readonly ImportedTunnel[] {
  if (address.startsWith('file:')) return leave(settings, 'serve a folder with "underpass serve FOLDER"');
  if (settings.text('websocket_tcp_converter') === 'true') return leave(settings, ownTcpPort);
  if (passesThrough && endsTls(settings))
    return leave(
      settings,
      'ngrok ends TLS for this service; an ingress tunnel passes it through, so give the service the certificate',
    );
  if (passesThrough && common.guard !== undefined)
    return leave(settings, 'an ingress tunnel cannot ask its visitors for anything');
  if (passesThrough) {
    const place = address.replace(/^tls:\/\//, '');
    const upstream = `443=${/^\d+$/.test(place) ? `localhost:${place}` : place}`;
    return tunnelIfValid({ ...common, type: 'ingress', upstreams: [upstream] }, settings);
  }
  const url = upstreamUrl(address);
  const isHttp2 = settings.below('upstream').text('protocol') === 'http2';
  const upstream = isHttp2 ? url.replace(/^http:/, 'h2c:').replace(/^https:/, 'https+h2:') : url;
  const host = settings.text('host_header');
  const sent = host === 'rewrite' ? 'upstream' : host === undefined || host === 'preserve' ? 'same' : host;
  // An https service is not checked there.
  const isInsecure = url.startsWith('https:') && settings.text('verify_upstream_tls') !== 'true';
  return tunnelIfValid(
    { ...common, type: 'http', upstreams: [upstream], ...(sent !== 'same' && { upstreamHosts: [sent] }), isInsecure },
    settings,
  );
}

function asksElse(settings: Settings): boolean {
  return (
    settings.has('oauth', 'oidc', 'saml', 'webhook_verification', 'verify_webhook', 'mutual_tls_cas', 'user_agent_filter') ||
    settings.has('traffic_policy', 'traffic_policy_file', 'traffic_policy_url', 'policy', 'policy_file') ||
    settings.below('ip_restriction').has('deny_cidrs')
  );
}

/** The service gets plain bytes there, and perhaps only from visitors whose certificate ngrok has checked. */
function endsTls(settings: Settings): boolean {
  return (
    settings.has('crt', 'key', 'mutual_tls_cas', 'agent_tls_termination') ||
    !['upstream', undefined].includes(settings.text('terminate_at'))
  );
}

/** Visitors of http:// are sent to https:// here, so a list with http alone has no counterpart. */
function readSchemes(settings: Settings): void {
  const schemes = settings.texts('schemes');
  if (schemes.length > 0 && !schemes.includes('https')) settings.leave('schemes', 'http tunnels are visited by https');
  const tls = settings.text('bind_tls');
  if (tls === 'false') settings.leave('bind_tls', 'http tunnels are visited by https');
}

function proxyProtocolOf(text: string | undefined): 'v1' | 'v2' | undefined {
  return text === '1' ? 'v1' : text === '2' ? 'v2' : undefined;
}
