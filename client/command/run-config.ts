// run and check: several tunnels in one process, from a configuration file. SIGHUP reads the file again.
import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { configFolder } from '../account/credentials.ts';
import { type Config, type ConfigResult, configFileName, maxConfigBytes, parseConfig } from '../config/config-file.ts';
import { type LoadedTunnel, loadTunnel } from '../config/loaded-tunnel.ts';
import { upstreamLines } from '../config/tunnel-config.ts';
import { readNamed } from '../process/bounded-file.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { carryUntilStopped } from '../tunnels/carry-loop.ts';
import { type InspectOptions, inspectOf, loadWithKey, withInspectOptions } from './carry.ts';
import { type CommonFlags, describe, outputOf, type Shell, withProject } from './command-line.ts';
import type { FoundFile } from './confirmed-file.ts';

interface RunFlags extends CommonFlags, InspectOptions {
  readonly config?: string;
  readonly health?: string;
}

export function addConfigCommands(program: Command, shell: Shell): void {
  const config = [
    '-c, --config <file>',
    'the file (default: UNDERPASS_CONFIG, ./underpass.yaml, then the one in the config folder)',
  ] as const;
  const run = describe(
    program.command('run'),
    'Carry every tunnel of a configuration file. SIGHUP reads it again and keeps what did not change.',
    ['underpass run --config underpass.yaml'],
  )
    .option(...config)
    .option('--health <address>', 'answer /healthz and /readyz on this address; overrides the file');
  withProject(withInspectOptions(run)).action((flags: RunFlags) => runConfig(shell, flags));
  describe(program.command('check'), 'Check a configuration file and the token files that it names.', [
    'underpass check --config underpass.yaml',
  ])
    .option(...config)
    .action((flags: RunFlags) => checkConfig(shell, flags));
}

async function runConfig(shell: Shell, flags: RunFlags): Promise<void> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const found = await findConfig(io, flags);
  const file = await readConfig(found.path, io);
  const config = found.isOfFolder ? await (await import('./confirmed-file.ts')).confirmFile(io, file, output) : file.config;
  const tunnels = await loadTunnels(shell, config, flags);
  // One page for all http tunnels of the file; what passes the others is encrypted.
  const hasHttp = tunnels.some((tunnel) => tunnel.config.upstreams.type === 'http');
  const options = {
    output,
    tunnels,
    inspect: inspectOf(shell, hasHttp ? 'http' : 'ingress', flags),
    reload: async () => {
      const next = await readConfig(found.path, io);
      const changed = found.isOfFolder ? await (await import('./confirmed-file.ts')).requireConfirmed(io, next) : next.config;
      return loadTunnels(shell, changed, flags);
    },
    health: flags.health ?? file.config.health,
  };
  shell.exitCode = await carryUntilStopped(io, options);
}

async function checkConfig(shell: Shell, flags: RunFlags): Promise<void> {
  const output = outputOf(shell, flags);
  const { path } = await findConfig(shell.io, flags);
  const { config } = await readConfig(path, shell.io);
  // The account is not asked: the check of a file works without a network.
  for (const tunnel of config.tunnels) if (tunnel.url !== undefined) await loadTunnel(shell.io, tunnel, output);
  const tunnels = config.tunnels.map(({ name, url, upstreams }) => ({
    name,
    type: upstreams.type,
    url,
    upstreams: upstreamLines(upstreams),
  }));
  const lines = tunnels.map(({ name, type, upstreams }) => `  ${name} (${type}): ${upstreams.join(', ')}`);
  output.result(
    { file: path, tunnels },
    [`${path} is valid: ${tunnels.length} ${tunnels.length === 1 ? 'tunnel' : 'tunnels'}.`, ...lines].join('\n'),
  );
}

interface FoundConfig {
  readonly path: string;
  /** Nobody named it: it was found in the current folder, which may hold a stranger's files. */
  readonly isOfFolder: boolean;
}

async function findConfig(io: Io, flags: RunFlags): Promise<FoundConfig> {
  const given = flags.config ?? io.env.UNDERPASS_CONFIG;
  if (given) return { path: resolve(io.cwd, given), isOfFolder: false };
  const here = join(io.cwd, configFileName);
  const inHome = join(configFolder(io), configFileName);
  if (here !== inHome && (await exists(here))) return { path: here, isOfFolder: true };
  if (await exists(inHome)) return { path: inHome, isOfFolder: false };
  throw new ClientError('config-not-found', `neither ./${configFileName} nor ${inHome} exists`, {
    fix: 'Run "underpass init": it writes one from the ports of this machine. Or name a file with --config.',
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function readConfig(path: string, { home }: Io): Promise<FoundFile> {
  const text = await readNamed(path, maxConfigBytes, 'config-not-found');
  const result = parseConfig(text, dirname(path), home);
  if (result.ok) return { path, text, config: result.config };
  throw new ClientError('config-invalid', problemText(path, result));
}

/** One screen: a file that is not a configuration can have thousands. */
const mostProblems = 20;

function problemText(path: string, { problems }: Extract<ConfigResult, { ok: false }>): string {
  const lines = problems.slice(0, mostProblems).map(({ line, message }) => `\n  ${path}:${line}: ${message}`);
  const more = problems.length - lines.length;
  return `${lines.join('')}${more === 0 ? '' : `\n  and ${more} more`}`;
}

async function loadTunnels(shell: Shell, { tunnels }: Config, flags: RunFlags): Promise<readonly LoadedTunnel[]> {
  const output = outputOf(shell, flags);
  const named = tunnels.filter((tunnel) => tunnel.url === undefined);
  const found = named.length === 0 ? undefined : await (await import('./named-tunnel.ts')).lookUpTunnels(shell, named, flags);
  const configs = tunnels.flatMap((tunnel) => (tunnel.url === undefined ? (found?.get(tunnel) ?? []) : tunnel));
  return Promise.all(configs.map((config) => loadWithKey(shell, config, output)));
}
