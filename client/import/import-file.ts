// Turns the text of another program's file into our file, the commands that make its tunnels, and the settings without a counterpart.

import { stringify } from 'yaml';
import { cloudflaredReasons, importCloudflared } from './cloudflared.ts';
import { readFrpIni, readToml, readYaml } from './foreign-file.ts';
import { frpReasons, importFrp } from './frp.ts';
import { type ImportedTunnel, withUniqueNames } from './imported-tunnel.ts';
import { importNgrok, ngrokReasons } from './ngrok.ts';
import { type ForeignFile, type LeftOut, openSettings, type Reasons, type Settings } from './settings.ts';

interface Peer {
  readonly title: string;
  /** Whether a file that it does not name is its own, by the settings at the root. */
  readonly knows: (keys: readonly string[]) => boolean;
  readonly importTunnels: (file: Settings) => readonly ImportedTunnel[];
  readonly reasons: Reasons;
  /** What decides who may visit there and stands in no file. */
  readonly elsewhere?: string;
}

export const peers = {
  ngrok: {
    title: 'ngrok',
    knows: (keys) => ['tunnels', 'endpoints', 'agent', 'authtoken'].some((key) => keys.includes(key)),
    importTunnels: importNgrok,
    reasons: ngrokReasons,
  },
  cloudflared: {
    title: 'cloudflared',
    knows: (keys) => ['ingress', 'tunnel', 'credentials-file', 'warp-routing'].some((key) => keys.includes(key)),
    importTunnels: importCloudflared,
    reasons: cloudflaredReasons,
    elsewhere: 'Access applications are not in this file: guard tunnels that had one with "underpass access add --help".',
  },
  frp: {
    title: 'frp',
    knows: (keys) => ['proxies', 'visitors', 'serverAddr'].some((key) => keys.includes(key)),
    importTunnels: importFrp,
    reasons: frpReasons,
  },
} as const satisfies Readonly<Record<string, Peer>>;

export type PeerName = keyof typeof peers;
export const peerNames = Object.keys(peers) as readonly PeerName[];

/** A sentence about what decides who may visit there and stands in no file, or nothing. */
export function elsewhereOf(name: PeerName): readonly string[] {
  const { elsewhere }: Peer = peers[name];
  return elsewhere === undefined ? [] : [elsewhere];
}

export interface Imported {
  readonly from: PeerName;
  readonly tunnels: readonly ImportedTunnel[];
  readonly leftOut: readonly LeftOut[];
}

/** `from`: the program whose file it is; undefined finds out. Undefined if it is no program's that is known. */
export async function importFile(path: string, text: string, from?: PeerName): Promise<Imported | undefined> {
  const file = await readForeign(path, text);
  const keys = Object.keys((file.root as object | null) ?? {});
  const name = from ?? peerNames.find((each) => peers[each].knows(keys));
  if (name === undefined) return undefined;
  const { settings, leftOut } = openSettings(file);
  const tunnels = withUniqueNames(peers[name].importTunnels(settings));
  return { from: name, tunnels, leftOut: leftOut(peers[name].reasons) };
}

/** frp reads each form under each name, so what the text says comes first. */
function readForeign(path: string, text: string): Promise<ForeignFile> | ForeignFile {
  if (/^\s*\[common\]/m.test(text)) return readFrpIni(text);
  if (/^\s*\[\[\w+\]\]|^serverAddr\s*=/m.test(text) || /\.toml\b/.test(path)) return readToml(text);
  return /\.ini\b/.test(path) ? readFrpIni(text) : readYaml(text);
}

/** Our file, as `underpass run` reads it: no secret, each tunnel that of its name in the account. */
export function renderImported({ from, tunnels }: Imported): string {
  const entries = tunnels.map((tunnel) => ({
    name: tunnel.name,
    type: tunnel.type,
    upstream: oneOrMore(tunnel.upstreams),
    ...(tunnel.upstreamHosts && { 'upstream-host': oneOrMore(tunnel.upstreamHosts) }),
    ...(tunnel.upstreamCa && { 'upstream-ca': tunnel.upstreamCa }),
    ...(tunnel.isInsecure && { 'upstream-insecure': true }),
  }));
  return `# Imported from ${peers[from].title}. "underpass run" in this folder carries these tunnels; the file holds no secret.\n${stringify({ tunnels: entries })}`;
}

function oneOrMore(texts: readonly string[]): string | readonly string[] {
  return texts.length === 1 ? texts[0]! : texts;
}

/** The commands that make the tunnels. Names, domains and addresses in them have passed the product's rules. */
export function commandsFor(tunnels: readonly ImportedTunnel[]): readonly string[] {
  return tunnels.flatMap(({ name, type, domains, proxyProtocol, guard, allow = [] }) => {
    const options = [
      ...(type === 'http' ? [] : [`--type ${type}`]),
      ...(domains.length === 0 ? ['--generate-domain'] : domains.map((domain) => `--domain ${domain}`)),
      ...(proxyProtocol === undefined ? [] : [`--proxy-protocol ${proxyProtocol}`]),
      ...(guard === undefined ? [] : [`--access ${name}`]),
    ];
    const isLimited = allow.length > 0;
    return [
      ...(guard === undefined ? [] : [`underpass access add ${name} --${guard}`]),
      ...(isLimited ? [`underpass groups add ${name} ${allow.map((address) => `--allow ${address}`).join(' ')}`] : []),
      `underpass tunnels add ${name} ${options.join(' ')}`,
      ...(isLimited ? [`underpass tunnels update ${name} --group ${name}`] : []),
    ];
  });
}
