// The command line as a function: arguments and the outside world go in, the exit code comes out. main.ts is the process.
import { Command, CommanderError } from 'commander';
import { addAccountCommands } from './command/account.ts';
import { addCarryCommands } from './command/carry.ts';
import { addCompletionCommands } from './command/completion.ts';
import { addConnectCommand } from './command/connect.ts';
import { addDoctorCommand } from './command/doctor.ts';
import { addDomainCommands } from './command/domains.ts';
import { addGroupCommands } from './command/groups.ts';
import { addConfigCommands } from './command/run-config.ts';
import { addServiceCommands } from './command/service.ts';
import { addTunnelCommands } from './command/tunnels.ts';
import { addUpdateCommand } from './command/update.ts';
import type { Shell } from './command-line.ts';
import { ClientError, exitCodes } from './error.ts';
import type { Io } from './io.ts';
import { reportError } from './output.ts';
import { version } from './version.ts';

export async function run(argv: readonly string[], io: Io): Promise<number> {
  const shell: Shell = { io, exitCode: exitCodes.ok };
  try {
    await createProgram(shell).parseAsync([...argv], { from: 'user' });
    return shell.exitCode;
  } catch (error) {
    return endOf(error, argv, io);
  }
}

function endOf(error: unknown, argv: readonly string[], io: Io): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.ok;
    if (error.code === 'commander.help') return exitCodes.usage;
    return reportError(new ClientError('usage', error.message.replace(/^error: /, '')), io, wantsJson(argv));
  }
  return reportError(error, io, wantsJson(argv));
}

function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? undefined : end).includes('--json');
}

export function createProgram(shell: Shell): Command {
  const program = new Command('underpass')
    .description('Underpass puts a service of yours on the internet: the way under the firewall.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help of a command')
    .configureHelp({ sortOptions: false, minWidthToWrap })
    .configureOutput(outputOfHelp(shell.io))
    .showSuggestionAfterError()
    .exitOverride();
  for (const add of groups) add(program, shell);
  return program;
}

/** Of descriptions: a terminal of 60 columns leaves 24 beside the longest option. */
const minWidthToWrap = 20;

/** In the order in which --help lists them. */
const groups = [
  addCarryCommands,
  addConnectCommand,
  addConfigCommands,
  addAccountCommands,
  addTunnelCommands,
  addDomainCommands,
  addGroupCommands,
  addDoctorCommand,
  addServiceCommands,
  addUpdateCommand,
  addCompletionCommands,
];

function outputOfHelp({ stdout, stderr }: Io) {
  return {
    writeOut: (text: string) => stdout.write(text),
    writeErr: (text: string) => stderr.write(text),
    outputError: () => {},
    getOutHelpWidth: () => (stdout.isTTY ? stdout.columns() : 100),
    getErrHelpWidth: () => (stderr.isTTY ? stderr.columns() : 100),
    getOutHasColors: () => false,
    getErrHasColors: () => false,
  };
}
