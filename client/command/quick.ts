// `underpass http PORT` and `underpass tcp PORT`: a tunnel that the command makes itself. carry-quick.ts does the work, and is loaded only for it.

import type { Command } from 'commander';
import { ClientError } from '../process/error.ts';
import { addCarryCommands, type CarryFlags, caOption, carry } from './carry.ts';
import type { ServeFlags } from './carry-quick.ts';
import { describe, printUrlOption, refuseOptions, type Shell, withPrint } from './command-line.ts';
import { type QuickFlags, quickOptions, withQuickOptions } from './quick-options.ts';

/** Adds `http PORT` and `tcp PORT`, which make their tunnel; without an argument they are the form of the snippets (spec 2, Connect section). */
export function addQuickCommands(program: Command, shell: Shell): void {
  addCarryCommands(program, shell);
  const http = program.commands.find((command) => command.name() === 'http')!;
  const tcp = program.commands.find((command) => command.name() === 'tcp')!;
  withQuickOptions(tcp.argument('[port]', 'PORT or HOST:PORT: makes a quick tunnel for this folder'), {
    lead: 'with a port: ',
    type: 'tcp',
  }).action((port, flags) => carryEither(shell, 'tcp', port, flags));
  addServe(program, shell);
  withQuickOptions(http.argument('[port]', 'PORT, HOST:PORT or URL: makes a quick tunnel for this folder'), {
    lead: 'with a port: ',
  }).action((port, flags) => carryEither(shell, 'http', port, flags));
}

type QuickType = 'http' | 'tcp';
type EitherFlags = CarryFlags & QuickFlags;

async function carryEither(shell: Shell, type: QuickType, port: string | undefined, flags: EitherFlags): Promise<void> {
  if (port === undefined) return withPrint(shell, flags.print, (inner) => carryGiven(inner, type, flags));
  refuseOptions(flags, ['url', 'tokenFile', 'upstream'], 'not for a quick tunnel');
  refuseOptions(
    flags,
    ['private', 'ticketsOnly', 'keyFile'],
    `for a tunnel that exists: underpass tunnels add NAME --type ${type} --private`,
  );
  const { carryQuick } = await import('./carry-quick.ts');
  return withPrint(shell, flags.print, (inner) => carryQuick(inner, type, port, flags));
}

function addServe(program: Command, shell: Shell): void {
  const command = describe(program.command('serve [folder]'), 'Serve the files of a folder through a quick tunnel.', [
    'underpass serve',
    'underpass serve ./dist --for 2h',
  ]);
  withQuickOptions(command)
    .addOption(printUrlOption())
    .option('--list', 'show the names in folders without index.html')
    .addOption(caOption())
    .action(async (folder: string | undefined, flags: ServeFlags) => {
      const { serveFolder } = await import('./carry-quick.ts');
      return withPrint(shell, flags.print, (inner) => serveFolder(inner, folder ?? '.', flags));
    });
}

function carryGiven(shell: Shell, type: QuickType, flags: EitherFlags): Promise<void> {
  refuseOptions(flags, quickOptions, `for a quick tunnel: underpass ${type} PORT`);
  if (flags.url === undefined && flags.upstream === undefined)
    throw new ClientError('usage', 'give the port of your service, or --url and --upstream of a tunnel that exists', {
      fix: `Run "underpass ${type} 3000" for a service on port 3000.`,
    });
  return carry(shell, type, flags);
}
