// tickets: what somebody without a sign-in reaches a private tunnel with. Each is shown once.

import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { neverLabel } from '@underpass/rules/text/date.ts';
import { parseTicket, renderTicket } from '@underpass/wire/ticket/reach-ticket.ts';
import type { Command } from 'commander';
import { openProject } from '../account/account.ts';
import { ClientError } from '../process/error.ts';
import { type CommonFlags, outputOf, parseWhole, projectCommand, type Shell } from './command-line.ts';
import { addEnd, addList } from './list-commands.ts';

interface AddFlags extends CommonFlags {
  readonly days?: number;
  readonly keyFile?: string;
  readonly bound?: boolean;
}

export function addTicketCommands(program: Command, shell: Shell): void {
  const tickets = program
    .command('tickets')
    .description('Tickets: what somebody without a sign-in reaches a private tunnel with.');
  addList(tickets, shell, {
    of: '<tunnel>',
    about: 'List the tickets of a private tunnel.',
    example: 'underpass tickets list database',
    read: ({ api, project }, name) => api.call(tunnelCalls.listReachTickets, { project: project.id, name }),
    columns: ['ID', 'NAME', 'CREATED BY', 'LAST USED', 'ENDS'],
    cells: (each) => [each.id, each.name, each.createdBy, each.usedAt ?? neverLabel, each.expiresAt ?? neverLabel],
    none: 'No tickets.',
  });
  projectCommand(tickets, 'add <tunnel> <name>', 'Create a ticket and print it once, on the machine that carries the tunnel.', [
    'underpass tickets add database laptop --days 30 > laptop.ticket',
  ])
    .option('--days <number>', 'it ends after this many days (default: never)', parseWhole)
    .option('--key-file <file>', 'key of the client that carries the tunnel (default: reach.pem in the config folder)')
    .option('--no-bound', 'create it on another machine: without the key in it')
    .action((tunnel: string, name: string, flags: AddFlags) => add(shell, tunnel, name, flags));
  addEnd(tickets, shell, {
    words: '<tunnel> <id>',
    about: 'End a ticket, and the connections that it opened.',
    example: 'underpass tickets rm database 01k9 --yes',
    warning: 'Connections that it opened end at once.',
    deed: 'End the ticket',
    end: ({ api, project }, id, name) => api.call(tunnelCalls.deleteReachTicket, { project: project.id, name, id }),
  });
}

async function add(shell: Shell, tunnel: string, name: string, flags: AddFlags): Promise<void> {
  const { io } = shell;
  const bind = flags.bound === false ? undefined : await createBinder(shell, flags);
  const { api, project } = await openProject(io, flags);
  const payload = { name, expiresInDays: flags.days };
  const made = await api.call(tunnelCalls.createReachTicket, { project: project.id, name: tunnel, payload });
  const ticket = bind === undefined ? made.ticket : bind(made);
  const output = outputOf(shell, flags);
  output.notice('This is the only time that the ticket is shown. Who has it reaches the service.');
  output.result({ ...made, ticket }, ticket);
}

/** Adds the key of the client that carries the tunnel, and a grant by it. Makes no key: a client would not have it. */
async function createBinder({ io }: Shell, { keyFile }: AddFlags) {
  const { createGrant, findReachKey } = await import('../gateway/reach-key.ts');
  const key = await findReachKey(io, keyFile === undefined ? undefined : resolve(io.cwd, keyFile));
  if (key === null)
    throw new ClientError('reach-key-missing', '', {
      fix: 'Run this on the machine that carries the tunnel, or name the key with --key-file. With --no-bound the ticket trusts the key that it meets first.',
    });
  return ({ ticket, expiresAt }: { readonly ticket: string; readonly expiresAt: string | null }): string => {
    const content = parseTicket(ticket);
    if (content === null) throw new ClientError('ticket-malformed', '');
    const endsAtMs = expiresAt === null ? null : Date.parse(expiresAt);
    return renderTicket({ ...content, pin: key.pin, grant: createGrant(key, randomBytes(8).toString('hex'), endsAtMs) });
  };
}
