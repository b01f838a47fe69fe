// What an importer makes of a tunnel of another program, and how its parts become our words. Everything that reaches a command line
// or our file has passed the parser of the product's own rules.

import { formatCidr, parseCidr } from '@underpass/rules/address/address.ts';
import { parseIngressDomain } from '@underpass/rules/names/ingress-domain.ts';
import { parseTunnelName } from '@underpass/rules/tunnel/tunnel-name.ts';
import type { TunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import { parseUpstreamHosts, parseUpstreams } from '../config/tunnel-config.ts';
import type { Settings } from './settings.ts';

export interface ImportedTunnel {
  readonly name: string;
  readonly type: TunnelType;
  /** Texts that `--upstream` takes. */
  readonly upstreams: readonly string[];
  /** Texts that `--upstream-host` takes. */
  readonly upstreamHosts?: readonly string[];
  readonly upstreamCa?: string;
  readonly isInsecure?: boolean;
  /** Domains of the user's own; none: the region generates one. */
  readonly domains: readonly string[];
  readonly proxyProtocol?: 'v1' | 'v2';
  /** Addresses that alone may visit. */
  readonly allow?: readonly string[];
  /** Whom a new access policy admits, where the other program asked visitors for something: never more than before. */
  readonly guard?: Guard;
}

/** A password of its own, or, for what has no counterpart, the members of the project alone. */
type Guard = 'password' | 'members';

export function guardOf(asksPassword: boolean, asksElse: boolean): { readonly guard?: Guard } {
  return asksElse ? { guard: 'members' } : asksPassword ? { guard: 'password' } : {};
}

/** The nearest valid name of a tunnel. */
export function tunnelNameOf(text: string): string {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 60);
  const parsed = parseTunnelName(name.replaceAll(/-+$/g, ''));
  return parsed.ok ? parsed.value : 'tunnel';
}

/** Names of a file are unique: a second `web` becomes `web-2`. */
export function withUniqueNames(tunnels: readonly ImportedTunnel[]): readonly ImportedTunnel[] {
  const taken = new Set<string>();
  return tunnels.map((tunnel) => {
    let { name } = tunnel;
    for (let count = 2; taken.has(name); count++) name = `${tunnel.name}-${count}`;
    taken.add(name);
    return { ...tunnel, name };
  });
}

/** Other programs match a pattern or any text that begins alike; here whole segments match. */
export const ownPath = 'paths match by whole segments here: give this upstream as DOMAIN/PATH=URL';

export const ownTcpPort = 'the region chooses the public port: add a tunnel with "underpass tunnels add NAME --type tcp"';

/** Names all settings of a tunnel that has no counterpart. */
export function leave(settings: Settings, why: string): readonly [] {
  settings.leaveAll(why);
  return [];
}

/** The tunnel, unless our own file would refuse it or an earlier tunnel has its domain: then its settings are named. */
export function tunnelIfValid(tunnel: ImportedTunnel, settings: Settings): readonly ImportedTunnel[] {
  const why = whyInvalid(tunnel) ?? whyTaken(tunnel, settings);
  if (why === undefined) return [tunnel];
  return leave(settings, `not imported: ${why}`);
}

function whyInvalid(tunnel: ImportedTunnel): string | undefined {
  // A message of a parser quotes the URL: name and password, or a key behind "?", stay unsaid.
  if (tunnel.upstreams.some((text) => /[@?#]/.test(text))) return 'an upstream is a URL without name, password and query';
  const upstreams = parseUpstreams(tunnel.type, tunnel.upstreams);
  const parsed = upstreams.ok ? parseUpstreamHosts(upstreams.value, tunnel.upstreamHosts ?? []) : upstreams;
  return parsed.ok ? undefined : parsed.message;
}

function whyTaken({ domains }: ImportedTunnel, settings: Settings): string | undefined {
  const taken = [...new Set(domains)].filter((domain) => !settings.claim(domain));
  return taken.length === 0 ? undefined : `${taken.join(', ')} belongs to an earlier tunnel of this file`;
}

/** The address of a local service: a port, HOST:PORT or URL. */
export function upstreamUrl(address: string): string {
  if (address.startsWith('unix:')) return address;
  if (/^https?:\/\/$/.test(address)) return `${address}localhost`;
  if (/^\d+$/.test(address)) return `http://localhost:${address}`;
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address.replace(/\/+$/, '') : `http://${address}`;
  // Kubernetes names often end with the dot of the root.
  return url.replace(/\.(:\d+)?$/, '$1');
}

/** The domains that a tunnel here can have. If there are others, their setting is named. */
export function ownDomains(
  settings: Settings,
  key: string,
  isOfPeer: (name: string) => boolean,
  texts: readonly string[] = settings.texts(key),
): readonly string[] {
  const isWrong = (text: string): boolean => isOfPeer(text) || !parseIngressDomain(text).ok;
  const wrong = texts.filter(isWrong);
  if (wrong.length > 0)
    settings.leave(
      key,
      wrong.some(isOfPeer) ? peerDomain : wrong.some((text) => text.includes('*')) ? wildcard : 'not a domain name',
    );
  return texts.flatMap((text) => {
    const parsed = isWrong(text) ? undefined : parseIngressDomain(text);
    return parsed?.ok ? [parsed.value] : [];
  });
}

const peerDomain = 'a domain of that service; the region here generates a name, or add a domain of your own';
const wildcard = 'a wildcard stands for one whole label, as in *.example.com';

/** Addresses that a security group can list; undefined and named if there are others. */
export function allowedAddresses(settings: Settings): readonly string[] | undefined {
  const texts = settings.texts('allow_cidrs');
  const parsed = texts.map(parseCidr);
  if (parsed.includes(null)) {
    settings.leave('allow_cidrs', 'not all of these are addresses or networks; an access policy for members takes their place');
    return undefined;
  }
  return parsed.map((cidr) => formatCidr(cidr!));
}
