// The list of one kind of thing in a project, and the end of one of them: these commands are alike for every kind.
import type { Command } from 'commander';
import { openProject, type ProjectAccount } from '../account/account.ts';
import { renderTable } from '../terminal/output.ts';
import { confirm } from '../terminal/prompt.ts';
import { type CommonFlags, type ConfirmedFlags, confirmedCommand, outputOf, projectCommand, type Shell } from './command-line.ts';

interface Listed<Row extends object> {
  /** What they belong to, as the argument of the command: `<policy>`. */
  readonly of?: string;
  readonly about: string;
  readonly example: string;
  /** `name`: the argument. */
  readonly read: (account: ProjectAccount, name: string) => Promise<readonly Row[]>;
  readonly columns: readonly string[];
  readonly cells: (row: Row) => readonly string[];
  /** Stands in place of a table without rows. */
  readonly none?: string;
}

/** Adds `list` to a group of commands. */
export function addList<Row extends object>(group: Command, shell: Shell, listed: Listed<Row>): void {
  const { of, about, example, read, columns, cells, none } = listed;
  const command = projectCommand(group, of === undefined ? 'list' : `list ${of}`, about, [example]).alias('ls');
  command.action(async () => {
    const flags = command.opts<CommonFlags>();
    const rows = await read(await openProject(shell.io, flags), command.args[0] ?? '');
    const text = rows.length === 0 && none !== undefined ? none : renderTable(columns, rows.map(cells));
    outputOf(shell, flags).result(rows, text);
  });
}

export interface Ended {
  /** The arguments; the last names the thing. */
  readonly words: string;
  readonly about: string;
  readonly example: string;
  readonly warning: string;
  /** Asks, and says what was done, as in `End the share link`. */
  readonly deed: `${'Delete' | 'End'}${string}`;
  /** The name in the form that the server stores. */
  readonly canonical?: (text: string) => string;
  readonly end: (account: ProjectAccount, name: string, holder: string) => Promise<unknown>;
}

/** Adds `rm` to a group of commands. */
export function addEnd(group: Command, shell: Shell, ended: Ended): void {
  const { words, about, example, warning, deed, canonical = String, end } = ended;
  const command = confirmedCommand(group, `rm ${words}`, about, [example]);
  command.action(async () => {
    const flags = command.opts<ConfirmedFlags>();
    const name = canonical(command.args.at(-1) ?? '');
    const account = await openProject(shell.io, flags);
    await confirm(shell.io, warning, `${deed} ${name}?`, flags.yes);
    await end(account, name, command.args[0] ?? '');
    outputOf(shell, flags).result({ deleted: name }, `${deed.startsWith('End') ? 'Ended' : 'Deleted'} ${name}.`);
  });
}
