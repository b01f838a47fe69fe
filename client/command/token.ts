// token show|rotate: print only the token of a tunnel on standard output, so that it can go into a file.

import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import type { Command } from 'commander';
import { openProject } from '../account/account.ts';
import { fetchTunnel } from '../account/connectable.ts';
import { ClientError } from '../process/error.ts';
import { confirm } from '../terminal/prompt.ts';
import { type CommonFlags, type ConfirmedFlags, outputOf, projectCommand, type Shell } from './command-line.ts';

interface RotateFlags extends ConfirmedFlags {
  readonly now?: boolean;
}

export function addTokenCommands(program: Command, shell: Shell): void {
  const token = program.command('token').description('The token of a tunnel, which its clients present.');
  projectCommand(token, 'show <tunnel>', 'Print the token.', ['underpass token show shop > shop.token']).action(
    (name: string, flags: CommonFlags) => show(shell, name, flags),
  );
  projectCommand(token, 'rotate <tunnel>', 'Create a new token and print it.', [
    'underpass token rotate shop --yes > shop.token',
    'underpass token rotate shop --now',
  ])
    .option('--now', `end the old token at once, because it leaked (default: in ${durations.tokenOverlapHours} hours)`)
    .option('-y, --yes', 'do not ask')
    .action((name: string, flags: RotateFlags) => rotate(shell, name, flags));
}

async function show(shell: Shell, name: string, flags: CommonFlags): Promise<void> {
  printToken(shell, await fetchTunnel(await openProject(shell.io, flags), name), flags);
}

async function rotate(shell: Shell, name: string, flags: RotateFlags): Promise<void> {
  const account = await openProject(shell.io, flags);
  const tunnel = await fetchTunnel(account, name);
  const end = flags.now ? 'now' : `in ${durations.tokenOverlapHours} hours`;
  await confirm(
    shell.io,
    `Clients with the old token are disconnected ${end}.`,
    `Rotate the token of ${tunnel.name}?`,
    flags.yes,
  );
  const overlap = flags.now ? '0' : undefined;
  const rotated = await account.api.call(tunnelCalls.rotateToken, { project: account.project.id, name: tunnel.name, overlap });
  printToken(shell, rotated, flags);
}

function printToken(shell: Shell, { name, token }: Tunnel, flags: CommonFlags): void {
  if (!token) throw new ClientError('token-hidden', name);
  outputOf(shell, flags).result({ tunnel: name, token }, token);
}
