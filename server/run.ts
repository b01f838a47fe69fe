// The command line as a function: arguments and the outside world go in, the exit code comes out. underpass-server.ts is the process.

import { Command, CommanderError } from 'commander';
import type { Shell } from './command/command-line.ts';
import { addConfigCommand } from './command/config.ts';
import { addKeepingCommands } from './command/keeping.ts';
import { addPeopleCommands } from './command/people.ts';
import { addPlaceCommands } from './command/places.ts';
import { addStartCommand } from './command/start.ts';
import { exitCodeOf, exitCodes, renderError, ServerError } from './process/error.ts';
import type { Io } from './process/io.ts';
import { translateFault } from './process/refusal.ts';
import { version } from './process/version.ts';

/** In the order of --help. */
const groups = [addStartCommand, addConfigCommand, addPeopleCommands, addPlaceCommands, addKeepingCommands];

export async function run(argv: readonly string[], io: Io): Promise<number> {
  const shell: Shell = { io, exitCode: exitCodes.ok };
  try {
    await createProgram(shell).parseAsync([...argv], { from: 'user' });
    return shell.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
    const told =
      error instanceof CommanderError ? new ServerError('usage', error.message.replace(/^error: /, '')) : translateFault(error);
    io.stderr.write(renderError(told));
    return exitCodeOf(told);
  }
}

function createProgram(shell: Shell): Command {
  const { stdout } = shell.io;
  const program = new Command('underpass-server')
    .description('Runs Underpass: control, edge, or both. Settings are environment variables: see underpass-server config.')
    .version(version, '-V, --version', 'print the version')
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: () => {} })
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of groups) add(program, shell);
  return program;
}
