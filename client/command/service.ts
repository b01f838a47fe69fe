// service install|status|uninstall: the tunnel as a service of this machine (systemd, launchd, task scheduler).

import { realpath } from 'node:fs/promises';
import type { ConnectUpstreams } from '@underpass/rules/connect/command.ts';
import { resourceName } from '@underpass/rules/connect/resource-name.ts';
import { type TunnelType, tunnelTypeNames } from '@underpass/rules/tunnel/tunnel-type.ts';
import { formatUpstream } from '@underpass/rules/tunnel/upstream.ts';
import { type Command, Option } from 'commander';
import { configHome } from '../account/credentials.ts';
import type { TunnelUpstreams } from '../carry/api.ts';
import { readToken } from '../config/token.ts';
import { parseTunnelUrl } from '../config/tunnel-config.ts';
import { domainUpstreams, upstreamsOfFlags } from '../config/upstream-flags.ts';
import { ClientError, orUsage } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { installService, serviceRuns, uninstallService } from '../service/install.ts';
import { planLaunchd } from '../service/launchd.ts';
import type { Scope, ServicePlan, ServiceSpec } from '../service/plan.ts';
import { isPrivatePath, planSystemd } from '../service/systemd.ts';
import { planWindowsTask } from '../service/windows-task.ts';
import { type CommonFlags, collect, describe, outputOf, projectCommand, type Shell } from './command-line.ts';
import { fetchConnectable, upstreamTexts } from './connect.ts';

interface ScopeFlags extends CommonFlags {
  readonly system?: boolean;
  readonly user?: boolean;
}

interface InstallFlags extends ScopeFlags {
  readonly upstream?: readonly string[];
  readonly url?: string;
  readonly type?: TunnelType;
  readonly tokenFile?: string;
}

export function addServiceCommands(program: Command, shell: Shell): void {
  const service = program.command('service').description('Run a tunnel as a service of this machine.');
  withScope(
    projectCommand(service, 'install <tunnel>', 'Install and start the service of a tunnel. Run it again to apply changes.', [
      'underpass service install shop --upstream http://127.0.0.1:8080',
      'underpass service install shop --system --url https://eu1.example.com --type http --token-file shop.token --upstream shop.example.com=http://127.0.0.1:8080',
    ]),
  )
    .option('--upstream <upstream>', 'as for http and ingress; may be repeated', collect)
    .option('--url <url>', 'URL of the tunnel; with --type and --token-file the server is not needed')
    .addOption(new Option('--type <type>', 'with --url: type of the tunnel').choices(tunnelTypeNames))
    .option('--token-file <file>', 'with --url: file that holds the token, - for standard input')
    .action((name: string, flags: InstallFlags) => install(shell, name, flags));
  withScope(
    describe(service.command('status <tunnel>'), 'Say whether the service runs.', ['underpass service status shop']),
  ).action((name: string, flags: ScopeFlags) => status(shell, name, flags));
  withScope(
    describe(service.command('uninstall <tunnel>'), 'Stop the service and remove its files, the token included.', [
      'underpass service uninstall shop',
    ]),
  ).action((name: string, flags: ScopeFlags) => uninstall(shell, name, flags));
}

function withScope(command: Command): Command {
  return command
    .option('--system', 'for this machine (default for root)')
    .addOption(new Option('--user', 'for this user (default for other users)').conflicts('system'));
}

async function install(shell: Shell, name: string, flags: InstallFlags): Promise<void> {
  const { io } = shell;
  const files = await filesOf(io, flags);
  const cached = files.self.find((path) => /[\\/]_npx[\\/]/.test(path));
  if (cached !== undefined) throw new ClientError('service-program-temporary', cached);
  const { tunnel, upstreams, token } =
    flags.url === undefined ? await fromServer(shell, name, flags) : await fromFlags(shell, name, flags);
  const spec = { ...files, tunnel, upstreams };
  refusePrivateProgram(io, spec);
  const plan = planFor(io, spec);
  const changed = await installService(io, plan, token);
  const text = [`${changed ? 'Installed' : 'Already installed'}, restarted: ${plan.definition.path}`, ...plan.hints].join('\n');
  outputOf(shell, flags).result({ service: plan.definition.path, token: plan.tokenPath, changed }, text);
}

interface Installable {
  readonly tunnel: ServiceSpec['tunnel'];
  readonly upstreams: ConnectUpstreams;
  readonly token: string;
}

async function fromServer(shell: Shell, name: string, flags: InstallFlags): Promise<Installable> {
  const tunnel = await fetchConnectable(shell, name, flags);
  const texts = upstreamTexts(tunnel, flags);
  const parsed = upstreamsOfFlags(tunnel.type, texts);
  const upstreams: ConnectUpstreams =
    parsed.type === 'http' ? { type: 'http', upstreams: domainUpstreams(tunnel, texts) } : passedUpstreams(parsed);
  return { tunnel: { name: tunnel.name, url: tunnel.url }, upstreams, token: tunnel.token };
}

async function fromFlags(shell: Shell, name: string, flags: InstallFlags): Promise<Installable> {
  const url = orUsage(parseTunnelUrl(flags.url ?? ''));
  if (flags.type === undefined)
    throw new ClientError('usage', `--url needs ${tunnelTypeNames.map((type) => `--type ${type}`).join(' or ')}`);
  const parsed = upstreamsOfFlags(flags.type, flags.upstream ?? []);
  const upstreams = parsed.type === 'http' ? httpUpstreams(parsed) : passedUpstreams(parsed);
  const token = await readToken(shell.io, flags.tokenFile, outputOf(shell, flags));
  return { tunnel: { name, url }, upstreams, token };
}

function httpUpstreams({ list }: Extract<TunnelUpstreams, { type: 'http' }>): ConnectUpstreams {
  const upstreams = list.map(({ domain, path = '', upstream }) => {
    if (domain === null) throw new ClientError('usage', '--url needs DOMAIN=URL in every --upstream');
    return { domain: `${domain}${path}`, upstream: formatUpstream(upstream) };
  });
  return { type: 'http', upstreams };
}

function passedUpstreams(upstreams: Exclude<TunnelUpstreams, { type: 'http' }>): ConnectUpstreams {
  if (upstreams.type === 'ingress') return ingressUpstreams(upstreams);
  return { type: 'tcp', upstream: upstreams.list.map(({ upstream }) => formatUpstream(upstream)).join() };
}

/** The short form that people write: one host, if both ports go to the same one. */
function ingressUpstreams({ list }: Extract<TunnelUpstreams, { type: 'ingress' }>): ConnectUpstreams {
  const [first] = list;
  const plain =
    list.length > 1 &&
    list.every(
      ({ port, upstream }) => upstream.socket === undefined && upstream.port === port && upstream.host === first?.upstream.host,
    );
  if (first !== undefined && plain) return { type: 'ingress', upstream: first.upstream.host };
  return { type: 'ingress', upstream: list.map(({ port, upstream }) => `${port}=${formatUpstream(upstream)}`) };
}

async function status(shell: Shell, name: string, flags: ScopeFlags): Promise<void> {
  const plan = planFor(shell.io, await bareSpec(shell.io, name, flags));
  const state = await serviceRuns(shell.io, plan);
  if (state === 'missing') throw new ClientError('service-missing', plan.definition.path);
  outputOf(shell, flags).result(
    { service: plan.definition.path, state },
    `${state}: ${plan.definition.path}\n${plan.hints.join('\n')}`,
  );
}

async function uninstall(shell: Shell, name: string, flags: ScopeFlags): Promise<void> {
  const plan = planFor(shell.io, await bareSpec(shell.io, name, flags));
  const removed = await uninstallService(shell.io, plan);
  const text = removed ? `Removed ${plan.definition.path} and its token.` : `There was no service of ${name}.`;
  outputOf(shell, flags).result({ service: plan.definition.path, removed }, text);
}

/** Paths depend only on the name, so this is enough to find and remove a service. */
async function bareSpec(io: Io, name: string, flags: ScopeFlags): Promise<ServiceSpec> {
  return { ...(await filesOf(io, flags)), tunnel: { name, url: '' }, upstreams: { type: 'http', upstreams: [] } };
}

async function filesOf(io: Io, flags: ScopeFlags): Promise<Omit<ServiceSpec, 'tunnel' | 'upstreams'>> {
  const root = io.userId === 0;
  const scope: Scope = flags.system || (!flags.user && root) ? 'system' : 'user';
  const self = await Promise.all(io.self.map((path) => realpath(path).catch(() => path)));
  return { scope, self, home: io.home, configHome: configHome(io), userName: io.userName, userId: io.userId ?? 0 };
}

function planFor(io: Io, spec: ServiceSpec): ServicePlan {
  if (io.platform === 'darwin') return planLaunchd(spec);
  return io.platform === 'win32' ? planWindowsTask(spec) : planSystemd(spec);
}

/** The unit runs as a dynamic user that cannot see home folders, so the program must be where every user may run it. */
function refusePrivateProgram(io: Io, { scope, self, tunnel }: ServiceSpec): void {
  const place = self.find(isPrivatePath);
  if (io.platform !== 'linux' || scope !== 'system' || place === undefined) return;
  const installed = `"sudo /usr/local/bin/underpass service install ${resourceName(tunnel.name)} ..."`;
  const fix =
    self.length === 1
      ? `Run "sudo install -m 0755 ${place} /usr/local/bin/underpass", then ${installed}.`
      : `Install a released underpass to /usr/local/bin. Then run ${installed}.`;
  throw new ClientError('service-program-private', place, { fix });
}
