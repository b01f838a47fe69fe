// What `underpass http PORT` and `underpass tcp PORT` do: make a quick tunnel for the current folder, carry it, and delete it at the end.

import { resolve } from 'node:path';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import { tcpAddress } from '@underpass/rules/tunnel/tcp-address.ts';
import type { ProjectAccount } from '../account/account.ts';
import { requireVerified } from '../account/connectable.ts';
import { openOrSignIn } from '../account/sign-in.ts';
import type { TunnelUpstreams } from '../carry/api.ts';
import { type InsideUpstream, type LoadedTunnel, loadTunnel } from '../config/loaded-tunnel.ts';
import { type TunnelConfig, upstreamLines } from '../config/tunnel-config.ts';
import { ClientError, exitCodes } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { copyToClipboard } from '../quick/clipboard.ts';
import { type Gone, openQuickTunnel, parseFor, type QuickTunnel, quickDrainMs } from '../quick/quick-tunnel.ts';
import { quickUpstreams } from '../quick/quick-upstreams.ts';
import { renderLogLine } from '../terminal/log-line.ts';
import type { Output } from '../terminal/output.ts';
import { carryUntilStopped, isLive, type LoopOptions } from '../tunnels/carry-loop.ts';
import { insideUpstreams } from '../tunnels/inside-server.ts';
import { inspectOf, tlsOf } from './carry.ts';
import { outputOf, type Shell } from './command-line.ts';
import type { QuickFlags } from './quick-options.ts';

/** What a quick tunnel does unless an option says otherwise: the place for defaults that other tunnels do not have. */
function quickConfig(shell: Shell, tunnel: Tunnel, upstreams: TunnelUpstreams, flags: QuickFlags): TunnelConfig {
  const token = { kind: 'value', token: tunnel.token ?? '' } as const;
  return { name: tunnel.name, url: tunnel.url, token, upstreams, ...tlsOf(shell, flags) };
}

export interface ServeFlags extends QuickFlags {
  readonly list?: boolean;
  readonly print?: 'url';
}

/** Serves the folder's files from a port of this machine, and carries that. */
export async function serveFolder(shell: Shell, folder: string, flags: ServeFlags): Promise<void> {
  const { startFileServer } = await import('../quick/file-server.ts');
  const path = resolve(shell.io.cwd, folder);
  const server = await startFileServer({ folder: path, list: flags.list === true, isWindows: shell.io.platform === 'win32' });
  try {
    const upstream = { scheme: 'http', host: '127.0.0.1', port: server.port } as const;
    const sentHost = `localhost:${server.port}`;
    await carryUpstreams(shell, { type: 'http', list: [{ domain: null, upstream, sentHost }] }, path, flags, {});
  } finally {
    server.close();
  }
}

export async function carryQuick(shell: Shell, type: 'http' | 'tcp', target: string, flags: QuickFlags): Promise<void> {
  const sent = quickUpstreams(type, target, flags.upstreamHost);
  await carryUpstreams(shell, sent, shell.io.cwd, flags, { note: hostNote(sent, flags) });
}

/** Carries a part of this process. */
export async function carryInside(shell: Shell, inside: InsideUpstream, flags: QuickFlags, around: Around): Promise<void> {
  await carryUpstreams(shell, insideUpstreams, shell.io.cwd, flags, { ...around, inside });
}

/** What differs between the commands that carry a quick tunnel. */
interface Around {
  /** Shown with the address. */
  readonly note?: string | undefined;
  readonly inside?: InsideUpstream;
  /** Returns the access policy without which the tunnel must not be carried. */
  readonly chooseAccess?: (account: ProjectAccount) => Promise<string>;
  readonly onReport?: LoopOptions['onReport'];
}

function hostNote({ list: [first] }: TunnelUpstreams, flags: QuickFlags): string | undefined {
  if (flags.upstreamHost !== undefined || first === undefined || !('sentHost' in first)) return undefined;
  return `The service gets Host: ${first.sentHost}; --upstream-host same keeps the public name.`;
}

/** The tunnel is that of the folder: the same person gets the same address in it again. */
async function carryUpstreams(
  shell: Shell,
  upstreams: TunnelUpstreams,
  folder: string,
  flags: QuickFlags,
  around: Around,
): Promise<void> {
  const output = outputOf(shell, flags);
  const lastsSeconds = parseFor(flags.for);
  const inspect = inspectOf(shell, upstreams.type, flags, true);
  if (inspect !== undefined && inspect.mayFail !== true) await (await import('../inspect/inspector.ts')).checkInspector(inspect);
  const account = await openOrSignIn(shell.io, flags, output);
  const access = await around.chooseAccess?.(account);
  const quick = await openQuickTunnel(
    shell.io,
    { account, folder, lastsSeconds },
    { ...flags, ...(access === undefined ? {} : { access }), type: upstreams.type === 'tcp' ? 'tcp' : 'http' },
  );
  try {
    if (around.note !== undefined) output.notice(around.note);
    await announce(shell, quick.tunnel, around.inside?.lines ?? upstreamLines(upstreams), output);
    await carryAndDelete(shell, quick, flags, { upstreams, access, ...around });
  } finally {
    await quick.release();
  }
}

/** The live status shows the addresses as well; this stays above it, and in the log. */
async function announce({ io }: Shell, tunnel: Tunnel, upstreams: readonly string[], output: Output): Promise<void> {
  const addresses = addressesOf(tunnel);
  const urls = addresses.map(({ url }) => url);
  if (!isLive(io, output.json)) {
    const upstream = upstreams.join(', ');
    const event = { tunnel: tunnel.name, event: 'opened' as const, urls, upstream };
    io.stdout.write(renderLogLine(event, io.now(), output.json));
    return warnOfUnverified(tunnel, output);
  }
  const [first = ''] = urls;
  const isCopied = first !== '' && (await copyToClipboard(io, first));
  for (const { url, verified } of addresses)
    output.notice(`${url}${verified ? '' : '  (unverified)'}${isCopied && url === first ? '  (copied)' : ''}`);
  if (tunnel.port === undefined) await showQrCode(io, first);
  output.notice(`${lifeText(tunnel)}\n`);
  warnOfUnverified(tunnel, output);
}

function addressesOf(tunnel: Tunnel): readonly { readonly url: string; readonly verified: boolean }[] {
  const address = tcpAddress(tunnel);
  return address === null ? tunnel.ingressDomains : [{ url: address, verified: true }];
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

/** A tunnel that could not be carried, as with a port in use, is deleted too. */
async function carryAndDelete(shell: Shell, quick: QuickTunnel, flags: QuickFlags, carried: Carried): Promise<void> {
  let gone: Gone | undefined;
  try {
    gone = await carry(shell, quick, flags, carried);
  } finally {
    const isOurs = gone === undefined && shell.exitCode !== exitCodes.forced;
    if (isOurs) await remove(quick, outputOf(shell, flags));
  }
  if (gone !== undefined) throw gone.error ?? new ClientError('tunnel-deleted', quick.tunnel.name);
}

interface Carried extends Around {
  readonly upstreams: TunnelUpstreams;
  readonly access: string | undefined;
}

async function carry(shell: Shell, quick: QuickTunnel, flags: QuickFlags, carried: Carried): Promise<Gone | undefined> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  const { upstreams, access, inside, onReport } = carried;
  const load = async (each: Tunnel): Promise<LoadedTunnel> => {
    requireAccess(each, access);
    const loaded = await loadTunnel(io, quickConfig(shell, each, upstreams, flags), output);
    return inside === undefined ? loaded : { ...loaded, inside };
  };
  let gone: Gone | undefined;
  const steer = quick.steer(load, (found) => {
    gone = found;
  });
  const inspect = inspectOf(shell, upstreams.type, flags, true);
  const tunnels = [await load(quick.tunnel)];
  if (shell.printUrl !== undefined) requireVerified(quick.tunnel);
  const ready = { ...quick.readiness, print: shell.printUrl };
  const options = {
    output,
    tunnels,
    health: flags.health,
    inspect,
    drainMs: quickDrainMs,
    steer,
    ready,
    ...(onReport && { onReport }),
  };
  shell.exitCode = await carryUntilStopped(io, options);
  return gone;
}

/** An older server, or somebody since, may have left the tunnel without its policy. */
function requireAccess({ name, accessPolicy }: Tunnel, access: string | undefined): void {
  if (access === undefined || accessPolicy === access) return;
  throw new ClientError('request-refused', `the tunnel ${name} does not have access policy ${access}`, {
    fix: `Run "underpass tunnels update ${name} --access ${access}", or start the command again.`,
  });
}

async function remove({ tunnel: { name, expiresAt }, remove }: QuickTunnel, output: Output): Promise<void> {
  if (expiresAt === undefined) return;
  const removal = await remove();
  if (removal === 'deleted') return;
  if (removal === 'kept') return output.notice(`The tunnel ${name} is kept: underpass connect ${name} carries it.`);
  output.warning(
    `the tunnel was not deleted (${removal.reason}): the server deletes it in ${durations.quickLeaseMinutes} minutes`,
  );
}
