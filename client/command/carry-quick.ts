// What `underpass http PORT` does: makes a quick tunnel for the current folder, carries it, and deletes it at the end.

import { resolve } from 'node:path';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import { parseLasting } from '@underpass/rules/tunnel/quick-tunnel.ts';
import { isLoopbackHost } from '@underpass/rules/tunnel/upstream.ts';
import type { ProjectAccount } from '../account/account.ts';
import { openOrSignIn } from '../account/sign-in.ts';
import type { TunnelUpstreams } from '../carry/api.ts';
import { withTimeout } from '../carry/timeout.ts';
import { type LoadedTunnel, loadTunnel } from '../config/loaded-tunnel.ts';
import { parseQuickUpstream, parseUpstreamHosts, type TunnelConfig, upstreamLines } from '../config/tunnel-config.ts';
import { ClientError, exitCodes } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { copyToClipboard } from '../quick/clipboard.ts';
import { claimSlot } from '../quick/slot.ts';
import { createSteer } from '../quick/steer.ts';
import { renderLogLine } from '../terminal/log-line.ts';
import type { Output } from '../terminal/output.ts';
import { carryUntilStopped, isLive } from '../tunnels/carry-loop.ts';
import { inspectOf, tlsOf } from './carry.ts';
import { outputOf, type Shell } from './command-line.ts';
import type { QuickFlags } from './quick-options.ts';

/** An open page holds connections that never end, so a quick tunnel does not wait for them as long as others. */
const drainMs = 3_000;
const deleteMs = 5_000;

/** What a quick tunnel does unless an option says otherwise: the place for defaults that other tunnels do not have. */
function quickConfig(shell: Shell, tunnel: Tunnel, upstreams: TunnelUpstreams, flags: QuickFlags): TunnelConfig {
  const token = { kind: 'value', token: tunnel.token ?? '' } as const;
  return { name: tunnel.name, url: tunnel.url, token, upstreams, ...tlsOf(shell, flags) };
}

export interface ServeFlags extends QuickFlags {
  readonly list?: boolean;
}

/** Serves the folder's files from a port of this machine, and carries that. */
export async function serveFolder(shell: Shell, folder: string, flags: ServeFlags): Promise<void> {
  const { startFileServer } = await import('../quick/file-server.ts');
  const path = resolve(shell.io.cwd, folder);
  const server = await startFileServer({ folder: path, list: flags.list === true, isWindows: shell.io.platform === 'win32' });
  try {
    const upstream = { scheme: 'http', host: '127.0.0.1', port: server.port } as const;
    const sentHost = `localhost:${server.port}`;
    await carryUpstreams(shell, { type: 'http', list: [{ domain: null, upstream, sentHost }] }, path, flags);
  } finally {
    server.close();
  }
}

export async function carryQuick(shell: Shell, target: string, flags: QuickFlags): Promise<void> {
  const upstreams = parseQuickUpstream(target);
  if (!upstreams.ok) throw new ClientError('usage', upstreams.message, { fix: 'Give a port, HOST:PORT or URL.' });
  const sent = withHosts(upstreams.value, flags);
  await carryUpstreams(shell, sent, shell.io.cwd, flags, hostNote(sent, flags));
}

/** A service of this machine is mostly a development server, which refuses a Host that it does not know. */
function withHosts(upstreams: TunnelUpstreams, flags: QuickFlags): TunnelUpstreams {
  const isLocal = upstreams.list.every(({ upstream }) => isLoopbackHost(upstream.host));
  const sent = parseUpstreamHosts(upstreams, flags.upstreamHost ?? (isLocal ? ['upstream'] : []));
  if (!sent.ok) throw new ClientError('usage', sent.message);
  return sent.value;
}

function hostNote({ list: [first] }: TunnelUpstreams, flags: QuickFlags): string | undefined {
  if (flags.upstreamHost !== undefined || first === undefined || !('sentHost' in first)) return undefined;
  return `The service gets Host: ${first.sentHost}; --upstream-host same keeps the public name.`;
}

/** The tunnel is that of the folder: the same person gets the same address in it again. `note` is shown with the address. */
export async function carryUpstreams(
  shell: Shell,
  upstreams: TunnelUpstreams,
  folder: string,
  flags: QuickFlags,
  note?: string,
): Promise<void> {
  const output = outputOf(shell, flags);
  const lastsSeconds = parseFor(flags);
  const inspect = inspectOf(shell, 'http', flags, true);
  if (inspect !== undefined && inspect.mayFail !== true) await (await import('../inspect/inspector.ts')).checkInspector(inspect);
  const account = await openOrSignIn(shell.io, flags, output);
  const about = [account.api.origin, account.project.id, flags.region ?? '', flags.name ?? ''];
  const slot = await claimSlot(shell.io, folder, about);
  try {
    const endsAtMs = lastsSeconds === undefined ? undefined : shell.io.now() + lastsSeconds * 1000;
    const start = () => startAtServer(account, slot.key, endsAtMs, shell.io.now(), flags);
    const tunnel = await start();
    if (note !== undefined) output.notice(note);
    await announce(shell, tunnel, upstreams, output);
    await carryAndDelete(shell, { account, tunnel, upstreams, start, endsAtMs }, flags);
  } finally {
    await slot.release();
  }
}

function parseFor(flags: QuickFlags): number | undefined {
  if (flags.for === undefined) return undefined;
  const parsed = parseLasting(flags.for);
  if (!parsed.ok) throw new ClientError('usage', parsed.message);
  return parsed.value;
}

async function startAtServer(
  { api, project }: ProjectAccount,
  key: string,
  endsAtMs: number | undefined,
  nowMs: number,
  { name, region, domain, group, access, keep }: QuickFlags,
): Promise<Tunnel> {
  const payload = {
    key,
    ...(name === undefined ? {} : { name }),
    ...(region === undefined ? {} : { region }),
    ...(domain === undefined ? {} : { ingressDomains: domain }),
    ...(group === undefined ? {} : { securityGroup: group }),
    ...(access === undefined ? {} : { accessPolicy: access }),
    ...(keep === undefined ? {} : { keep }),
    ...(endsAtMs === undefined ? {} : { lastsSeconds: Math.max(60, Math.ceil((endsAtMs - nowMs) / 1000)) }),
  };
  return api.call(tunnelCalls.startQuickTunnel, { project: project.id, payload });
}

/** The live status shows the addresses as well; this stays above it, and in the log. */
async function announce({ io }: Shell, tunnel: Tunnel, upstreams: TunnelUpstreams, output: Output): Promise<void> {
  const urls = tunnel.ingressDomains.map(({ url }) => url);
  if (!isLive(io, output.json)) {
    const upstream = upstreamLines(upstreams).join(', ');
    const event = { tunnel: tunnel.name, event: 'opened' as const, urls, upstream };
    io.stdout.write(renderLogLine(event, io.now(), output.json));
    return warnOfUnverified(tunnel, output);
  }
  const [first = ''] = urls;
  const isCopied = first !== '' && (await copyToClipboard(io, first));
  for (const { url, verified } of tunnel.ingressDomains)
    output.notice(`${url}${verified ? '' : '  (unverified)'}${isCopied && url === first ? '  (copied)' : ''}`);
  await showQrCode(io, first);
  output.notice(`${lifeText(tunnel)}\n`);
  warnOfUnverified(tunnel, output);
}

/** The client connects all the same, so everything else looks as if visitors could come. */
function warnOfUnverified({ ingressDomains }: Tunnel, output: Output): void {
  for (const { name, apexName, verified } of ingressDomains)
    if (!verified)
      output.warning(
        `visitors cannot reach ${name} yet, because ${apexName} is not verified. Set its TXT record ("underpass domains list" shows it), then run "underpass domains verify ${apexName}".`,
      );
}

async function showQrCode(io: Io, url: string): Promise<void> {
  if (url === '' || !io.stderr.isTTY) return;
  const { renderQrCode } = await import('../quick/qr-code.ts');
  const code = renderQrCode(url, io);
  if (code !== undefined) io.stderr.write(`\n${code}\n`);
}

function lifeText({ name, expiresAt, endsAt }: Tunnel): string {
  if (expiresAt === undefined) return `Kept: the tunnel ${name} stays after this command.`;
  const end = endsAt === undefined ? 'when this command ends' : `${localTime(endsAt)}, or when this command ends`;
  return `Temporary: the tunnel is deleted ${end}. The same folder gets the same address again.`;
}

/** `on Mon, 23 Nov at 10:30 CET`, in the zone of this machine. */
function localTime(iso: string): string {
  const at = new Date(iso);
  const day = at.toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });
  const time = at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' });
  return `on ${day} at ${time}`;
}

interface Carried {
  readonly account: ProjectAccount;
  readonly tunnel: Tunnel;
  readonly upstreams: TunnelUpstreams;
  readonly start: () => Promise<Tunnel>;
  readonly endsAtMs: number | undefined;
}

/** A tunnel that could not be carried, as with a port in use, is deleted too. */
async function carryAndDelete(shell: Shell, carried: Carried, flags: QuickFlags): Promise<void> {
  let gone: Gone | undefined;
  try {
    gone = await carry(shell, carried, flags);
  } finally {
    const isOurs = gone === undefined && shell.exitCode !== exitCodes.forced;
    if (isOurs) await deleteUnkept(carried.account, carried.tunnel, outputOf(shell, flags));
  }
  if (gone !== undefined) throw gone.error ?? new ClientError('tunnel-deleted', carried.tunnel.name);
}

/** The server no longer has the tunnel, or does not let this user open it again. */
interface Gone {
  readonly error: unknown;
}

async function carry(
  shell: Shell,
  { account: { api, project }, tunnel, upstreams, start, endsAtMs }: Carried,
  flags: QuickFlags,
): Promise<Gone | undefined> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const load = (each: Tunnel): Promise<LoadedTunnel> => loadTunnel(io, quickConfig(shell, each, upstreams, flags), output);
  let gone: Gone | undefined;
  const steer = createSteer({
    now: io.now,
    endsAtMs,
    find: async () => {
      const found = await api.call(tunnelCalls.getTunnel, { project: project.id, name: tunnel.name }).catch(unlessMissing);
      return found && load(found);
    },
    start: async () => load(await start()),
    onGone: (error) => {
      gone = { error };
    },
  });
  const inspect = inspectOf(shell, 'http', flags, true);
  const tunnels = [await load(tunnel)];
  shell.exitCode = await carryUntilStopped(io, { output, tunnels, health: flags.health, inspect, drainMs, steer });
  return gone;
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof ClientError) || error.code !== 'not-found') throw error;
}

/** Somebody may have kept it in the meantime: then it stays. */
async function deleteUnkept({ api, project }: ProjectAccount, { name, expiresAt }: Tunnel, output: Output): Promise<void> {
  if (expiresAt === undefined) return;
  const deletion = api.call(tunnelCalls.deleteTunnel, { project: project.id, name, unkept: '1' }).then(
    () => 'deleted' as const,
    (error: unknown) => error,
  );
  const outcome = await withTimeout(deletion, deleteMs);
  if (outcome === 'deleted') return;
  const code = outcome instanceof ClientError ? outcome.code : undefined;
  if (code === 'not-found') return;
  if (code === 'conflict') return output.notice(`The tunnel ${name} is kept: underpass connect ${name} carries it.`);
  const reason = outcome instanceof Error ? outcome.message : `no answer within ${deleteMs / 1000} s`;
  output.warning(`the tunnel was not deleted (${reason}): the server deletes it in ${durations.quickLeaseMinutes} minutes`);
}
