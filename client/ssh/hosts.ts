// The SSH hosts of a gateway: names, addresses, and who may reach each. Pure.

import { compileAllowList } from '@underpass/rules/address/allow-list.ts';
import { parseSourceAddress } from '@underpass/rules/address/source-address.ts';
import { isCanonicalHostname, lowerAscii, parseHostname } from '@underpass/rules/names/hostname.ts';
import { accept, type Parsed, refuse } from '@underpass/rules/parsed.ts';
import { parseTcpUpstream, type Upstream } from '@underpass/rules/tunnel/upstream.ts';

export interface SshHost {
  readonly name: string;
  readonly upstream: Upstream;
  /** Null: every address that reaches the tunnel. */
  readonly allowList: readonly string[] | null;
}

const sshPort = 22;

/** `hosts` are NAME=ADDRESS[:PORT], `rules` NAME=IP/CIDR, as typed. */
export function parseSshHosts(hosts: readonly string[], rules: readonly string[]): Parsed<readonly SshHost[]> {
  const found = new Map<string, SshHost>();
  for (const text of hosts) {
    const [name, place] = splitAtEquals(text);
    const upstream = parseTcpUpstream(place, sshPort);
    if (!isHostName(name)) return refuse(`'${text}' must be like box1=192.168.1.10:22`);
    if (!upstream.ok) return refuse(`${upstream.message} (given: '${text}')`);
    if (found.has(name)) return refuse(`Two addresses for ${name}`);
    found.set(name, { name, upstream: upstream.value, allowList: null });
  }
  for (const text of rules) {
    const [name, source] = splitAtEquals(text);
    const host = found.get(name);
    const rule = parseSourceAddress(source);
    if (host === undefined) return refuse(`'${text}' must begin with the name of a --host, like box1=192.0.2.0/24`);
    if (!rule.ok) return refuse(`${rule.message} (given: '${text}')`);
    found.set(name, { ...host, allowList: [...(host.allowList ?? []), rule.value] });
  }
  return accept([...found.values()]);
}

function splitAtEquals(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  return at < 0 ? ['', ''] : [lowerAscii(text.slice(0, at).trim()), text.slice(at + 1)];
}

/** One label: what a visitor writes before the domain. */
const isHostName = (name: string): boolean => isCanonicalHostname(name) && !name.includes('.');

/** The address behind a name, or null. A visitor cannot tell a name that does not exist from one that it may not reach. */
type FindSshHost = (name: string, visitorAddress: string) => SshHost | null;

export function compileSshHosts(hosts: readonly SshHost[]): FindSshHost {
  const table = new Map(
    hosts.map((host) => [host.name, { host, permits: host.allowList === null ? () => true : compileAllowList(host.allowList) }]),
  );
  return (name, visitorAddress) => {
    const entry = table.get(lowerAscii(name));
    return entry?.permits(visitorAddress) ? entry.host : null;
  };
}

/** Where visitors reach the gateway: an ingress domain of the tunnel, and the port of the edge. */
interface SshAddress {
  readonly domain: string;
  readonly port: number;
}

export interface SshTarget extends SshAddress {
  readonly name: string;
}

const httpsPort = 443;

/** `ssh.example.com`, or with a port `ssh.example.com:8443`. */
export function parseSshAddress(text: string): Parsed<SshAddress> {
  const [, place = '', digits] = /^([^:]*)(?::([1-9][0-9]{0,4}))?$/.exec(text) ?? [];
  const domain = parseHostname(place);
  const port = Number(digits ?? httpsPort);
  const isPlace = domain?.includes('.') === true && port <= 65_535;
  return isPlace ? accept({ domain, port }) : refuse(`'${text}' must be like ssh.example.com`);
}

/** The name of the host in front of the place: `box1.ssh.example.com`. */
export function parseSshTarget(text: string): Parsed<SshTarget> {
  const whole = parseSshAddress(text);
  const [name = '', ...rest] = whole.ok ? whole.value.domain.split('.') : [];
  if (!whole.ok || rest.length < 2) return refuse(`'${text}' must be like box1.ssh.example.com`);
  return accept({ name, domain: rest.join('.'), port: whole.value.port });
}

/** The SHA-256 of a certificate, with or without colons. */
export function parsePin(text: string): Parsed<string> {
  const pin = text.replaceAll(':', '').toLowerCase();
  return /^[0-9a-f]{64}$/.test(pin) ? accept(pin) : refuse(`'${text}' is not a SHA-256: 64 hexadecimal digits`);
}

/**
 * What visitors add to ~/.ssh/config. Every name is written out: a pattern would also match names that a web page or a git
 * submodule makes up, and some versions of ssh hand %h to a shell unchecked (CVE-2023-51385).
 */
export function renderSshConfig(hosts: readonly SshHost[], { domain, port }: SshAddress, pin: string): string {
  const names = hosts.map(({ name }) => `${name}.${domain}`).join(' ');
  const target = port === httpsPort ? '%h' : `%h:${port}`;
  return [`Host ${names}`, `  ProxyCommand underpass ssh connect --pin ${pin} ${target}`, '  ServerAliveInterval 30'].join('\n');
}
