// Shared by all commands of underpass-server: settings, output as text or JSON, and the operator's functions.

import type { OperatorDesk } from '@underpass/control/operator/desk.ts';
import type { Command } from 'commander';
import { ServerError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { createLog } from '../process/log.ts';
import { translateRefusal } from '../process/refusal.ts';
import { readLocation, readSettings, type ServerLocation, type Settings } from '../settings/settings.ts';
import { hasDatabase } from '../state/database-file.ts';
import { openState, type State } from '../state/state.ts';

export interface Shell {
  readonly io: Io;
  exitCode: number;
}

export function requireSettings({ env, readFile, stderr }: Io): Settings {
  const result = readSettings(env, readFile);
  // Show warnings first: a misspelt name often explains why another setting is missing.
  for (const warning of result.warnings) stderr.write(`warning: ${warning}\n`);
  if (!result.ok) throw new ServerError('settings-refused', result.problems.map((problem) => `\n  ${problem}`).join(''));
  return result.settings;
}

export function requireLocation({ env }: Io): ServerLocation {
  const result = readLocation(env);
  if (!result.ok) throw new ServerError('settings-refused', result.problem);
  return result.value;
}

export interface OutputOptions {
  readonly json?: boolean;
}

/** Prints one line for each row, in columns, or all rows as JSON. `pick` leaves out what a terminal has no room for. */
export function printRows<Row extends object>(
  { io }: Shell,
  rows: readonly Row[],
  { json = false }: OutputOptions,
  pick: (row: Row) => object = (row) => row,
): void {
  if (json) io.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else io.stdout.write(renderTable(rows.map((row) => pick(row) as Readonly<Record<string, unknown>>)));
}

export function printValue({ io }: Shell, value: object, text: string, { json = false }: OutputOptions): void {
  io.stdout.write(json ? `${JSON.stringify(value, null, 2)}\n` : `${text}\n`);
}

/** Ids have 26 characters, and commands need them whole. */
const cellWidth = 30;

function showCell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (Array.isArray(value)) return value.length < 2 ? showCell(value[0]) : `${showCell(value[0])} +${value.length - 1}`;
  // Another user's text must not send control characters to the terminal.
  const text = String(value).replace(/\p{Cc}/gu, '?');
  const minute = /^(\d{4}-\d\d-\d\dT\d\d:\d\d):[\d.]+Z$/.exec(text)?.[1];
  if (minute !== undefined) return `${minute}Z`;
  return text.length > cellWidth ? `${text.slice(0, cellWidth - 1)}…` : text;
}

function renderTable(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const [first] = rows;
  if (first === undefined) return 'none\n';
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = [columns, ...rows.map((row) => columns.map((column) => showCell(row[column])))];
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Throws without the database: a command without its server's settings would create an empty one and find nothing in it. */
function expectDatabase({ databaseUrl, home }: Settings): void {
  if (databaseUrl !== undefined || hasDatabase(home)) return;
  throw new ServerError('no-state', home);
}

/** Opens the database without starting a server, runs `work`, and closes it. `expect` throws if the folder is not fit for the command. */
export async function withState<T>(
  { io }: Shell,
  work: (state: State, settings: Settings) => Promise<T>,
  expect: (settings: Settings) => void | Promise<void> = expectDatabase,
): Promise<T> {
  const settings = requireSettings(io);
  if (settings.role === 'edge') throw new ServerError('refused', 'an edge has no database; run this where control runs');
  await expect(settings);
  const state = await openState(settings, createLog(settings.log === 'info' ? 'warn' : settings.log));
  try {
    return await work(state, settings);
  } finally {
    await state.close();
  }
}

export function withDesk<T>(shell: Shell, work: (desk: OperatorDesk, settings: Settings) => Promise<T>): Promise<T> {
  return withState(shell, async (state, settings) => {
    // Control is the most of what a command can load, and commands such as upgrade need none of it.
    const { openControlCore } = await import('../serve/control-core.ts');
    const core = await openControlCore(settings, state);
    try {
      await core.hub.load();
      return await work(core.control.operator, settings);
    } catch (error) {
      throw translateRefusal(error);
    } finally {
      await core.close();
    }
  });
}

/** Makes the command print rows of the operator's. Its argument says which. */
export function listing<Row extends object, Options = unknown>(
  shell: Shell,
  command: Command,
  read: (desk: OperatorDesk, text: string | undefined, options: Options) => Promise<readonly Row[]>,
  pick: (row: Row) => object,
): Command {
  const isSought = command.registeredArguments.length > 0;
  return command.option('--json', 'print JSON').action((...given: readonly unknown[]) => {
    const [text, options] = (isSought ? given : [undefined, ...given]) as [string | undefined, OutputOptions & Options];
    return withDesk(shell, async (desk) => printRows(shell, await read(desk, text, options), options, pick));
  });
}

/** Lets the command change the thing that its argument names, and print the result as JSON or as a sentence. */
export function deed<Done extends object, Options = unknown>(
  shell: Shell,
  command: Command,
  work: (desk: OperatorDesk, argument: string, options: Options) => Promise<Done>,
  say: (done: Done) => string = JSON.stringify,
): Command {
  return command.option('--json', 'print JSON').action((argument: string, options: OutputOptions & Options) =>
    withDesk(shell, async (desk) => {
      const done = await work(desk, argument, options);
      printValue(shell, done, say(done), options);
    }),
  );
}
