// underpass-server status: one screen that tells how all parts stand.

import type { StatusRow } from '@underpass/rules/entity/resource.ts';
import type { Command } from 'commander';
import { exitCodes, ServerError } from '../process/error.ts';
import type { ServerLocation } from '../settings/settings.ts';
import { askServer } from '../upgrade/upgrade-door.ts';
import { type OutputOptions, printRows, requireLocation, type Shell } from './command-line.ts';

/** The server itself waits at most 3 s for its database. */
const replyMs = 10_000;

export function addStatusCommand(program: Command, shell: Shell): void {
  program
    .command('status')
    .description('show how all parts stand: control, database, edges, certificates, backup; exit code 7 if one fails')
    .option('--json', 'print JSON')
    .action(async (options: OutputOptions) => {
      const rows = await readRows(requireLocation(shell.io));
      printRows(shell, rows, options, pick);
      if (options.json !== true) shell.io.stdout.write(renderErrors(rows));
      if (rows.some(({ ok }) => !ok)) shell.exitCode = exitCodes.unwell;
    });
}

/** A server that does not answer is a row too: then nothing else of this installation can be seen from here. */
async function readRows(location: ServerLocation): Promise<readonly StatusRow[]> {
  const lost = (state: string, error: unknown): readonly StatusRow[] => [
    {
      ...{ part: location.role === 'edge' ? 'edge' : 'control', name: location.home, ok: false, state, since: null, build: null },
      lastError: error instanceof Error ? error.message : String(error),
    },
  ];
  try {
    return JSON.parse(await askServer(location, { ask: 'status' }, replyMs)) as StatusRow[];
  } catch (error) {
    if (error instanceof ServerError && error.code === 'not-running') return lost('no server runs on this folder', 'not reached');
    return lost('does not answer', error);
  }
}

const pick = ({ ok, part, name, state, since, build }: StatusRow): object => ({
  ...{ '': ok ? 'ok' : '!!', part, name, state, since, build },
});

/** Errors go below the table, because one is longer than a cell. */
const renderErrors = (rows: readonly StatusRow[]): string =>
  rows
    .flatMap(({ part, name, lastError }) =>
      lastError === null ? [] : [`last error of ${`${part} ${name}`.trimEnd()}: ${lastError.replace(/\p{Cc}/gu, '?')}\n`],
    )
    .join('');
