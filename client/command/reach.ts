// reach: a private tunnel's service as a local port, or on standard input and output. Its modules load only when it runs.

import { resolve } from 'node:path';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { parseTunnelName } from '@underpass/rules/tunnel/tunnel-name.ts';
import { parseTicket, type TicketContent } from '@underpass/wire/ticket/reach-ticket.ts';
import { type Command, Option } from 'commander';
import { openProject } from '../account/account.ts';
import { openOrSignIn } from '../account/sign-in.ts';
import { parseListenAddress } from '../config/listen-address.ts';
import { readCa } from '../config/loaded-tunnel.ts';
import { readToken } from '../config/token.ts';
import { ClientError, orUsage } from '../process/error.ts';
import type { LocalPort } from '../reach/listen.ts';
import type { Output } from '../terminal/output.ts';
import { caOption } from './carry.ts';
import { type CommonFlags, canonicalOf, describe, outputOf, refuseOptions, type Shell, withProject } from './command-line.ts';

interface ReachFlags extends CommonFlags {
  readonly listen?: string;
  readonly stdio?: boolean;
  readonly ticketFile?: string;
  readonly key?: string;
  readonly ca?: string;
}

/** Where to, and what opens it now. */
interface Access {
  readonly about: string;
  /** What its key is remembered for. */
  readonly names: readonly string[];
  readonly pin: string | undefined;
  /** True if a pass opens it, which is asked for again when it is refused. */
  readonly isMember: boolean;
  readonly ticket: (isRefused: boolean) => Promise<TicketContent>;
}

export function addReachCommand(program: Command, shell: Shell): void {
  withProject(
    describe(program.command('reach [tunnel]'), 'Reach the service behind a private tunnel, from a local port.', [
      'underpass reach database --listen 127.0.0.1:5432',
      'underpass reach acme/database --listen 5432',
      'underpass reach --ticket-file database.ticket --listen 5432',
      'ssh -o ProxyCommand="underpass reach box --stdio" me@box',
    ]),
  )
    .option('--listen <address>', 'HOST:PORT, or PORT of 127.0.0.1 (default: a free one)')
    .addOption(new Option('--stdio', 'use standard input and output, as a ProxyCommand').conflicts('listen'))
    .option('--ticket-file <file>', 'file that holds a ticket, - for standard input (default: UNDERPASS_TICKET)')
    .option('--key <sha256>', 'the key of the client that carries the tunnel (default: that of the ticket, or of the first time)')
    .addOption(caOption())
    .action((target: string | undefined, flags: ReachFlags) => reach(shell, target, flags));
}

/** `[HOST:]PORT`: other machines reach it only if the user names an address of this one. */
export function parseListen(text: string): LocalPort {
  return orUsage(parseListenAddress(text, { isPortEnough: true }));
}

async function reach(shell: Shell, target: string | undefined, flags: ReachFlags): Promise<void> {
  const { io } = shell;
  const output = outputOf(shell, flags);
  if (flags.stdio && flags.ticketFile === '-')
    throw new ClientError('usage', 'with --stdio the ticket cannot come from standard input');
  const at = parseListen(flags.listen ?? '0');
  const caPem = await readCa(io, flags.ca);
  const pin = flags.key === undefined ? undefined : await parseKey(flags.key);
  const access = await openAccess(shell, target, flags, output);
  const { openReach } = await import('../reach/open-reach.ts');
  const { checkKey } = await import('../reach/known-keys.ts');
  const question = { about: access.about, names: access.names, pin: pin ?? access.pin };
  const options = { env: io.env, caPem, checkPin: (met: string) => checkKey(io, output, question, met) };
  const open = async (signal: AbortSignal) => {
    const first = openReach(await access.ticket(false), options, signal);
    return first.catch(async (error) => {
      if (!access.isMember || !(error instanceof ClientError) || error.code !== 'reach-refused') throw error;
      return openReach(await access.ticket(true), { ...options, isNewPass: true }, signal);
    });
  };
  if (flags.stdio) {
    const { joinStdio } = await import('../gateway/visit.ts');
    const lost = (cause: unknown) => new ClientError('reach-unreachable', `${access.about} (the connection was lost)`, { cause });
    return joinStdio(io, open, lost);
  }
  const { listenForReach } = await import('../reach/listen.ts');
  if (!/^(127\.|::1$|localhost$)/.test(at.host))
    output.warning(`everybody who reaches ${at.host} of this machine reaches ${access.about} by your right`);
  await listenForReach(io, at, {
    open,
    onListening: (listening) => output.result({ listening }, `${access.about} is at ${listening}`),
    onFailed: (error) => output.warning(`${error.message}. ${error.fix}`),
  });
}

async function parseKey(text: string): Promise<string> {
  const { parsePin } = await import('../ssh/hosts.ts');
  return orUsage(parsePin(text));
}

async function openAccess(shell: Shell, target: string | undefined, flags: ReachFlags, output: Output): Promise<Access> {
  if (target !== undefined && parseTicket(target) === null) {
    // Most of a ticket is a secret, which the server of the account must not see.
    if (/^\s*reach_[^/]*$/.test(target)) throw new ClientError('ticket-malformed', 'the argument');
    return accessOfMember(shell, target, flags, output);
  }
  refuseOptions(flags, ['project', 'server'], 'not for a ticket');
  if (target !== undefined && flags.ticketFile !== undefined)
    throw new ClientError('usage', 'give a tunnel or a ticket, not both');
  const { io } = shell;
  const env = { UNDERPASS_TOKEN: io.env.UNDERPASS_TICKET };
  if (target === undefined && flags.ticketFile === undefined && !io.env.UNDERPASS_TICKET)
    throw new ClientError('usage', 'name the tunnel, or give --ticket-file FILE or UNDERPASS_TICKET');
  const file = flags.ticketFile === undefined || flags.ticketFile === '-' ? flags.ticketFile : resolve(io.cwd, flags.ticketFile);
  const text = target ?? (await readToken({ ...io, env }, file, output));
  const ticket = parseTicket(text);
  if (ticket === null) throw new ClientError('ticket-malformed', flags.ticketFile ?? 'UNDERPASS_TICKET');
  const names = [`${ticket.url} ${ticket.tunnelId}`];
  return { about: ticket.name, names, pin: ticket.pin, isMember: false, ticket: async () => ticket };
}

/**
 * A pass opens connections for some minutes; half of that is left for the way to the edge. Its key is remembered for what the user
 * typed too: control, which names the project, cannot turn a later connection into a first one.
 */
async function accessOfMember(shell: Shell, target: string, flags: ReachFlags, output: Output): Promise<Access> {
  refuseOptions(flags, ['ticketFile'], 'not for a tunnel of your project');
  const { io } = shell;
  const slash = target.lastIndexOf('/');
  const name = canonicalOf(parseTunnelName, target.slice(slash + 1));
  const chosen = slash < 0 ? flags : { ...flags, project: target.slice(0, slash) };
  const { api, project } = await (flags.stdio ? openProject(io, chosen) : openOrSignIn(io, chosen, output));
  const ask = async () => {
    const askedAtMs = io.now();
    const { ticket, until } = await api.call(tunnelCalls.reachTunnel, { project: project.id, name });
    const content = parseTicket(ticket);
    if (content === null) throw new ClientError('server-unknown', api.origin);
    const endsAtMs = Date.parse(until);
    return { content, endsAtMs, staleAtMs: askedAtMs + (endsAtMs - askedAtMs) / 2 };
  };
  let pass = await ask();
  let asking: Promise<void> | undefined;
  const renew = async (): Promise<void> => {
    pass = await ask();
  };
  const typedProject = chosen.project ?? io.env.UNDERPASS_PROJECT ?? '';
  return {
    about: `${project.name}/${name}`,
    names: [`${api.origin} ${project.id}/${name}`, `${api.origin} ${typedProject}/${name}`],
    pin: undefined,
    isMember: true,
    ticket: async (isRefused) => {
      if (isRefused || io.now() >= pass.staleAtMs) {
        asking ??= renew().finally(() => {
          asking = undefined;
        });
        await asking.catch((error) => {
          if (isRefused || io.now() >= pass.endsAtMs) throw error;
        });
      }
      return pass.content;
    },
  };
}
