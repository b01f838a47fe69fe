// The command line as a function: arguments and the outside world go in, the exit code comes out. underpass-server.ts is the process.

import { Command, CommanderError } from 'commander';
import type { Shell } from './command/command-line.ts';
import { addConfigCommand } from './command/config.ts';
import { addKeepingCommands } from './command/keeping.ts';
import { addPeopleCommands } from './command/people.ts';
import { addResourceCommands } from './command/resources.ts';
import { addStartCommand } from './command/start.ts';
import { addStatusCommand } from './command/status.ts';
import { addUpgradeCommand } from './command/upgrade.ts';
import { exitCodeOf, exitCodes, renderError, ServerError } from './process/error.ts';
import type { Io } from './process/io.ts';
import { translateFault } from './process/refusal.ts';
import { build } from './process/version.ts';

/** Commands in the order of --help. */
const groups = [
  addStartCommand,
  addStatusCommand,
  addUpgradeCommand,
  addConfigCommand,
  addPeopleCommands,
  addResourceCommands,
  addKeepingCommands,
];

export async function run(argv: readonly string[], io: Io): Promise<number> {
  const shell: Shell = { io, exitCode: exitCodes.ok };
  let help = '';
  const keepHelp = (text: string): void => {
    help += text;
  };
  try {
    await createProgram(shell, keepHelp).parseAsync([...argv], { from: 'user' });
    return shell.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
    if (error instanceof CommanderError && error.code === 'commander.help') {
      // A group such as `suspend` without one of its commands.
      io.stderr.write(help);
      return exitCodes.usage;
    }
    const told =
      error instanceof CommanderError ? new ServerError('usage', error.message.replace(/^error: /, '')) : translateFault(error);
    io.stderr.write(renderError(told));
    return exitCodeOf(told);
  }
}

function createProgram(shell: Shell, writeErr: (text: string) => void): Command {
  const { stdout } = shell.io;
  const program = new Command('underpass-server')
    .description('Runs Underpass: control, edge, or both. Settings are environment variables: see underpass-server config.')
    .version(build, '-V, --version', 'print the version')
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr })
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of groups) add(program, shell);
  return program;
}
