// ssh serve and ssh connect: SSH hosts by name behind one ingress tunnel. Their modules load only when they run.
import { join, resolve } from 'node:path';
import { firstAddress } from '@underpass/rules/names/hostname.ts';
import { formatUpstream } from '@underpass/rules/tunnel/upstream.ts';
import type { Command } from 'commander';
import { configFolder } from '../account/credentials.ts';
import { loadTunnel } from '../config/loaded-tunnel.ts';
import { readToken } from '../config/token.ts';
import { parseTunnelUrl, type TunnelConfig } from '../config/tunnel-config.ts';
import { ClientError, orUsage } from '../process/error.ts';
import type { SshHost } from '../ssh/hosts.ts';
import type { LogEvent } from '../terminal/log-line.ts';
import { carryUntilStopped } from '../tunnels/carry-loop.ts';
import { caOption, tlsOf } from './carry.ts';
import { type CommonFlags, collect, describe, outputOf, projectCommand, requireOption, type Shell } from './command-line.ts';
import { fetchConnectable } from './connect.ts';

interface ServeFlags extends CommonFlags {
  readonly host?: readonly string[];
  readonly allow?: readonly string[];
  readonly url?: string;
  readonly tokenFile?: string;
  readonly domain?: string;
  readonly identity?: string;
  readonly ca?: string;
  readonly health?: string;
  readonly print?: boolean;
}

interface ConnectFlags {
  readonly pin?: readonly string[];
}

export function addSshCommands(program: Command, shell: Shell): void {
  const ssh = program.command('ssh').description('Reach SSH hosts by name through one ingress tunnel.');
  projectCommand(ssh, 'serve [tunnel]', 'Serve SSH hosts behind an ingress tunnel, and print what visitors need.', [
    'underpass ssh serve ssh --host box1=192.168.1.10 --host box2=192.168.1.11:2222',
    'underpass ssh serve ssh --host box1=192.168.1.10 --allow box1=192.0.2.0/24',
    'underpass ssh serve ssh --host box1=192.168.1.10 --print',
    'underpass ssh serve --url https://eu1.example.com --token-file ssh.token --domain ssh.example.com --host box1=192.168.1.10',
  ])
    .option('--host <name=address>', 'a host: NAME=ADDRESS or NAME=ADDRESS:PORT; may be repeated', collect)
    .option('--allow <name=source>', 'only these addresses reach the host: NAME=IP or NAME=CIDR; may be repeated', collect)
    .option('--print', 'print the lines for ~/.ssh/config of visitors, and end')
    .option('--identity <file>', 'key and certificate, made if missing (default: ssh.pem in the config folder)')
    .option('--url <url>', 'URL of the tunnel, instead of its name; then the server is not needed')
    .option('--token-file <file>', 'with --url: file that holds the token (default: UNDERPASS_TOKEN)')
    .option('--domain <domain>', 'with --url: ingress domain of the tunnel')
    .addOption(caOption())
    .option('--health <address>', 'answer /healthz and /readyz on this address, e.g. 127.0.0.1:8471')
    .action((tunnel: string | undefined, flags: ServeFlags) => serve(shell, tunnel, flags));
  describe(ssh.command('connect <host>'), 'Connect standard input and output to an SSH host: the ProxyCommand of visitors.', [
    `underpass ssh connect --pin ${'5c'.repeat(32)} box1.ssh.example.com`,
  ])
    .option('--pin <sha256>', 'SHA-256 of the certificate of "ssh serve"; may be repeated', collect)
    .action((host: string, flags: ConnectFlags) => connect(shell, host, flags));
}

async function serve(shell: Shell, name: string | undefined, flags: ServeFlags): Promise<void> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const { compileSshHosts, parseSshHosts } = await import('../ssh/hosts.ts');
  const hosts = orUsage(parseSshHosts(requireOption(flags.host, '--host <name=address>'), flags.allow ?? []));
  const { loadIdentity } = await import('../gateway/identity.ts');
  const path = flags.identity === undefined ? join(configFolder(io), 'ssh.pem') : resolve(io.cwd, flags.identity);
  const { address, config } =
    flags.url === undefined ? await fromServer(shell, name, flags) : await fromFlags(shell, flags.url, flags);
  const identity = await loadIdentity(path, 'ssh-identity-invalid');
  const lines = await sshConfigOf(hosts, address, identity.pin);
  if (flags.print) return output.result({ pin: identity.pin, text: lines }, lines);
  output.notice(`For ~/.ssh/config of visitors:\n\n${lines}\n`);
  const { startGateway } = await import('../gateway/gateway.ts');
  let report: (event: LogEvent) => void = () => {};
  const gateway = await startGateway({
    kind: 'ssh',
    find: compileSshHosts(hosts),
    identity,
    now: io.now,
    report: (event) => report({ tunnel: config.name, ...event }),
  });
  const upstreams = { type: 'ingress', list: [{ port: 443, upstream: gateway.upstream }] } as const;
  const loaded = await loadTunnel(io, { ...config, upstreams }, output);
  const inside = { onDialled: gateway.onDialled, lines: hosts.map(hostLine) };
  const onReport = (reporter: typeof report): void => {
    report = reporter;
  };
  try {
    shell.exitCode = await carryUntilStopped(io, { output, tunnels: [{ ...loaded, inside }], health: flags.health, onReport });
  } finally {
    gateway.close();
  }
}

const hostLine = ({ name, upstream, allowList }: SshHost): string =>
  `${name} → ${formatUpstream(upstream)}${allowList === null ? '' : ` (only ${allowList.join(', ')})`}`;

async function sshConfigOf(hosts: readonly SshHost[], address: string, pin: string): Promise<string> {
  const { parseSshAddress, renderSshConfig } = await import('../ssh/hosts.ts');
  return renderSshConfig(hosts, orUsage(parseSshAddress(address)), pin);
}

interface Source {
  /** The ingress domain by which visitors reach the tunnel, with the port of the edge. */
  readonly address: string;
  readonly config: Omit<TunnelConfig, 'upstreams'>;
}

async function fromServer(shell: Shell, name: string | undefined, flags: ServeFlags): Promise<Source> {
  if (name === undefined) throw new ClientError('usage', 'name the tunnel, or give --url, --domain and a token');
  const tunnel = await fetchConnectable(shell, name, flags);
  if (tunnel.type !== 'ingress')
    throw new ClientError('usage', `${tunnel.name} is an ${tunnel.type} tunnel; SSH needs an ingress tunnel`);
  const { ingressDomains: domains } = tunnel;
  const domain = firstAddress(domains.filter(({ verified }) => verified)) ?? firstAddress(domains);
  const token = { kind: 'value', token: tunnel.token } as const;
  const config = { name: tunnel.name, url: tunnel.url, token, ...tlsOf(shell, flags) };
  return { address: new URL(requireOption(domain?.url, '--domain <domain>')).host, config };
}

async function fromFlags(shell: Shell, text: string, flags: ServeFlags): Promise<Source> {
  const url = orUsage(parseTunnelUrl(text));
  const address = requireOption(flags.domain, '--domain <domain>');
  const token = { kind: 'value', token: await readToken(shell.io, flags.tokenFile, outputOf(shell, flags)) } as const;
  const name = new URL(url).hostname;
  return { address, config: { name, isUnnamed: true, url, token, ...tlsOf(shell, flags) } };
}

async function connect(shell: Shell, host: string, flags: ConnectFlags): Promise<void> {
  const { parsePin, parseSshTarget } = await import('../ssh/hosts.ts');
  const target = orUsage(parseSshTarget(host));
  const pins = requireOption(flags.pin, '--pin <sha256>').map((text) => orUsage(parsePin(text)));
  const { visitSshHost } = await import('../ssh/visit.ts');
  await visitSshHost(shell.io, target, pins);
}
