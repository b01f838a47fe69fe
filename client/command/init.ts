// init: writes the file that `underpass run` finds in the current folder, from the ports that listen on this machine. It asks for
// everything that it writes; init-questions.ts has the questions.

import { lstat, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { defaultTunnelType } from '@underpass/rules/tunnel/tunnel-type.ts';
import { formatUpstream, isLoopbackHost } from '@underpass/rules/tunnel/upstream.ts';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { ProjectAccount } from '../account/account.ts';
import { openOrSignIn } from '../account/sign-in.ts';
import { configFileName, parseConfig } from '../config/config-file.ts';
import { readRunFiles } from '../inspect/run-file.ts';
import { findListening, type ListeningPort } from '../local-ports/listening-ports.ts';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { createAsk } from '../terminal/prompt.ts';
import { type CommonFlags, outputOf, projectCommand, type Shell } from './command-line.ts';
import { rememberFile } from './confirmed-file.ts';
import { askPorts, askReplacing, askTunnel, type Chosen } from './init-questions.ts';
import { regionFor } from './tunnels.ts';

export function addInitCommand(program: Command, shell: Shell): void {
  projectCommand(program, 'init', 'Write underpass.yaml for services of this machine: asks which ports, and for their tunnels.', [
    'underpass init',
  ]).action((flags: CommonFlags) => init(shell, flags));
}

async function init(shell: Shell, flags: CommonFlags): Promise<void> {
  const { io } = shell;
  if (!io.stdin.isTTY) {
    const fix = `Run it in a terminal, or write ${configFileName} yourself: "Several tunnels in one process" in docs/cli.md shows one.`;
    throw new ClientError('usage', 'init asks questions, so it needs a terminal', { fix });
  }
  const output = outputOf(shell, flags);
  const path = join(io.cwd, configFileName);
  const ask = createAsk(io);
  const isThere = await exists(path);
  if (isThere) await askReplacing(ask, path);
  const account = await openOrSignIn(io, flags, output);
  const ports = await askPorts(io, ask, await findServices(io));
  const known = await account.api.call(tunnelCalls.listTunnels, { project: account.project.id });
  const chosen: Chosen[] = [];
  for (const port of ports) chosen.push(await askTunnel(io, ask, port, known, chosen));
  const made = await createTunnels(account, chosen);
  const text = renderFile(chosen);
  await writeNew(path, text, isThere);
  await remember(io, path, text);
  const result = chosen.map(({ name, port }) => ({ name, upstream: upstreamOf(port) }));
  output.result({ file: path, tunnels: result }, renderResult(path, chosen, [...known, ...made], flags));
}

/** Finds ports, leaving out the clients that run and their inspectors, which are for this machine only. */
async function findServices(io: Io): Promise<readonly ListeningPort[]> {
  const inspectors = (await readRunFiles(io)).map(({ port }) => port);
  return (await findListening(io)).filter(({ port, program }) => program !== 'underpass' && !inspectors.includes(port));
}

async function createTunnels(account: ProjectAccount, chosen: readonly Chosen[]): Promise<readonly Tunnel[]> {
  const names = chosen.filter(({ plan }) => plan === 'create').map(({ name }) => name);
  const region = names.length === 0 ? '' : await regionFor(account, undefined);
  const made: Tunnel[] = [];
  for (const name of names) {
    const payload = { name, region, ingressDomains: [], proxyProtocol: '', type: defaultTunnelType } as const;
    made.push(await account.api.call(tunnelCalls.createTunnel, { project: account.project.id, payload }));
  }
  return made;
}

const upstreamOf = ({ host, port }: Pick<ListeningPort, 'host' | 'port'>): string =>
  formatUpstream({ scheme: 'http', host, port });

const head = `# "underpass run" in this folder carries these tunnels. The file holds no secret: each tunnel is the one of its name in your account.
# "upstream-host: upstream" gives the service its own name as Host, which development servers want. Without it, the service gets the
# public name.
`;

function renderFile(chosen: readonly Chosen[]): string {
  const tunnels = chosen.map(({ name, port }) => ({
    name,
    type: defaultTunnelType,
    upstream: upstreamOf(port),
    ...(isLoopbackHost(port.host) ? { 'upstream-host': 'upstream' } : {}),
  }));
  return head + stringify({ tunnels });
}

async function exists(path: string): Promise<boolean> {
  // A link counts, wherever it leads.
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** A file that came while the questions were asked stays. One that may be replaced is, as a whole; if it is a link, its target stays. */
async function writeNew(path: string, text: string, mayReplace: boolean): Promise<void> {
  const draft = mayReplace ? `${path}.${process.pid}.tmp` : path;
  try {
    await writeFile(draft, text, { flag: 'wx' });
    if (mayReplace) await rename(draft, path);
  } catch (cause) {
    throw new ClientError('file-not-written', `${path} (${fileReason(cause)})`, { cause });
  }
}

/** Saves the author from confirming the file once more. If that cannot be kept, `underpass run` asks. */
async function remember(io: Io, path: string, text: string): Promise<void> {
  const parsed = parseConfig(text, io.cwd, io.home);
  if (!parsed.ok) throw new Error(`init wrote a wrong file: ${JSON.stringify(parsed.problems)}`);
  await rememberFile(io, { path, text, config: parsed.config }).catch(() => {});
}

function renderResult(path: string, chosen: readonly Chosen[], tunnels: readonly Tunnel[], flags: CommonFlags): string {
  const lines = chosen.map(({ name, port }) => {
    const [domain] = tunnels.find((tunnel) => tunnel.name === name)?.ingressDomains ?? [];
    return `  ${domain?.url ?? name} → ${upstreamOf(port)}`;
  });
  const missing = chosen.filter(({ plan }) => plan === 'later').map(({ name }) => name);
  const given = [flags.server && ` --server ${flags.server}`, flags.project && ` --project ${flags.project}`].join('');
  return [
    `Wrote ${path}:`,
    ...lines,
    ...missing.map((name) => `First create ${name}: underpass tunnels add ${name} --domain NAME${given}`),
    `Next: underpass run${given}`,
  ].join('\n');
}
