// The command line as a function: arguments and the outside world go in, the exit code comes out. underpass.ts is the process.
import { Command, CommanderError, Help } from 'commander';
import type { Shell } from './command/command-line.ts';
import { ClientError, errors, exitCodes } from './process/error.ts';
import type { Io } from './process/io.ts';
import { version } from './process/version.ts';
import { reportError } from './terminal/output.ts';

export async function run(given: readonly string[], io: Io): Promise<number> {
  const shell: Shell = { io, exitCode: exitCodes.ok };
  const words = given[0] === 'help' ? given.slice(1) : spelledOut(given);
  const program = await createProgram(shell, words[0]);
  const argv = given[0] === 'help' ? helpArguments(program, words) : words;
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return shell.exitCode;
  } catch (error) {
    return exitCodeAfter(error, program, argv, io);
  }
}

/** Words that people try first, and the ones that commander knows. */
const spellings: Readonly<Record<string, readonly string[]>> = { '-V': ['--version'], ls: ['tunnels', 'list'] };

function spelledOut([first = '', ...rest]: readonly string[]): readonly string[] {
  return first === '' ? rest : [...(Object.hasOwn(spellings, first) ? spellings[first]! : [first]), ...rest];
}

/** `help tunnels add` is `tunnels add --help`: commander's own help takes one word. Unknown words give the usual error. */
function helpArguments(program: Command, argv: readonly string[]): readonly string[] {
  const { command, words } = leading(program, argv);
  const isWrong = command.commands.length > 0 && words.length < argv.length;
  return isWrong ? argv : [...words, '--help'];
}

function exitCodeAfter(error: unknown, program: Command, argv: readonly string[], io: Io): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.ok;
    if (error.code === 'commander.help') return exitCodes.usage;
    const message = error.message.replace(/^error: /, '').replaceAll('\n', ' ');
    const fix = pointers.find(([pattern]) => pattern.test(message))?.[1] ?? helpFor(program, argv);
    return reportError(new ClientError('usage', message, { fix }), io, wantsJson(argv));
  }
  const isUnfixed = error instanceof ClientError && error.code === 'usage' && error.fix === errors.usage.fix;
  const shown = isUnfixed ? new ClientError('usage', error.message, { fix: helpFor(program, argv), cause: error }) : error;
  return reportError(shown, io, wantsJson(argv));
}

/** Words of other programs, and what does the same here. */
const pointers: readonly (readonly [message: RegExp, fix: string])[] = [
  [/^unknown option '--host-header/, 'Use --upstream-host: it sets the Host that your service gets.'],
  [/^unknown command '(?:authtoken|auth)'/, 'Run "underpass login": it signs this machine in.'],
  [/^unknown command '(?:remove|delete|del)'/, 'Use rm, as in "underpass tunnels rm NAME".'],
  [/^unknown option '--json'/, 'Put --json after the command, as in "underpass tunnels list --json".'],
];

function helpFor(program: Command, argv: readonly string[]): string {
  return `See "${[program.name(), ...leading(program, argv).words].join(' ')} --help".`;
}

/** The leading words that name a command, such as `tunnels add`, and that command. */
function leading(program: Command, argv: readonly string[]): { readonly command: Command; readonly words: readonly string[] } {
  const words: string[] = [];
  let command = program;
  for (const word of argv) {
    const next = command.commands.find((candidate) => candidate.name() === word || candidate.aliases().includes(word));
    if (next === undefined) break;
    command = next;
    words.push(word);
  }
  return { command, words };
}

function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? undefined : end).includes('--json');
}

/** Adds every command, or only those of the file that `first`, the first word of a command line, names. */
export async function createProgram(shell: Shell, first?: string): Promise<Command> {
  const program = new Command('underpass')
    .description('Underpass puts a service of yours on the internet: the way under the firewall.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command...]', 'Show help of a command.')
    .configureHelp({ sortOptions: false, minWidthToWrap, formatItem })
    .configureOutput(outputOfHelp(shell.io))
    .showSuggestionAfterError()
    .exitOverride();
  const named = groups.filter(([words]) => words.includes(first ?? ''));
  // Help of everything, completion and the suggestion for an unknown word need all commands.
  for (const [, load] of named.length > 0 ? named : groups) (await load())(program, shell);
  return program;
}

/** Columns of a description: a terminal of 60 columns leaves 24 beside the longest option. */
const minWidthToWrap = 20;

/** Columns from which a description fits beside its option; in a narrower terminal it goes below. */
const leastColumnsBeside = 60;

function formatItem(term: string, termWidth: number, description: string, helper: Help): string {
  const columns = helper.helpWidth ?? leastColumnsBeside;
  if (columns >= leastColumnsBeside) return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
  const below = helper.boxWrap(description, columns - 6).replaceAll(/^/gm, ' '.repeat(6));
  return `  ${term}\n${below}`;
}

type Group = readonly [firstWords: readonly string[], load: () => Promise<(program: Command, shell: Shell) => void>];

/** Commands in the order of --help. A command line loads only the file of its first word: modules cost memory and time. */
const groups: readonly Group[] = [
  [['http', 'ingress', 'tcp', 'serve'], async () => (await import('./command/quick.ts')).addQuickCommands],
  [['connect'], async () => (await import('./command/connect.ts')).addConnectCommand],
  [['init'], async () => (await import('./command/init.ts')).addInitCommand],
  [['import'], async () => (await import('./command/import.ts')).addImportCommand],
  [['run', 'check'], async () => (await import('./command/run-config.ts')).addConfigCommands],
  [['inspect', 'replay'], async () => (await import('./command/inspect.ts')).addInspectCommands],
  [['mcp'], async () => (await import('./command/mcp.ts')).addMcpCommand],
  [['reach'], async () => (await import('./command/reach.ts')).addReachCommand],
  [['ssh'], async () => (await import('./command/ssh.ts')).addSshCommands],
  [['login', 'logout', 'whoami', 'projects', 'regions'], async () => (await import('./command/account.ts')).addAccountCommands],
  [['tunnels'], async () => (await import('./command/tunnels.ts')).addTunnelCommands],
  [['tickets'], async () => (await import('./command/tickets.ts')).addTicketCommands],
  [['logs'], async () => (await import('./command/logs.ts')).addLogCommand],
  [['token'], async () => (await import('./command/token.ts')).addTokenCommands],
  [['domains'], async () => (await import('./command/domains.ts')).addDomainCommands],
  [['certificates'], async () => (await import('./command/certificates.ts')).addCertificateCommands],
  [['groups'], async () => (await import('./command/groups.ts')).addGroupCommands],
  [['access'], async () => (await import('./command/access.ts')).addAccessCommands],
  [['doctor'], async () => (await import('./command/doctor.ts')).addDoctorCommand],
  [['service'], async () => (await import('./command/service.ts')).addServiceCommands],
  [['update'], async () => (await import('./command/update.ts')).addUpdateCommand],
  [['version', '--version', '-v'], async () => (await import('./command/version.ts')).addVersionCommand],
  [['completion'], async () => (await import('./command/completion.ts')).addCompletionCommands],
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
