// What all commands share: options for the account, examples in the help, the exit code.
import { resolve } from 'node:path';
import { browserPortMessage, isBrowserPort } from '@underpass/rules/address/browser-port.ts';
import type { Parsed } from '@underpass/rules/parsed.ts';
import { splitEntries, unwrapHost } from '@underpass/rules/text/typed-list.ts';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { AccountFlags } from '../account/account.ts';
import { readBounded } from '../process/bounded-file.ts';
import { ClientError, fileReason } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import { createOutput, type Output } from '../terminal/output.ts';

/** Passed to every group of commands. */
export interface Shell {
  readonly io: Io;
  /** The exit code of the process. An action that succeeds does not set it. */
  exitCode: number;
  /** Set by `--print url`: gets the address of the tunnel once, when it takes its first visit. */
  readonly printUrl?: (url: string) => void;
}

export interface CommonFlags extends AccountFlags {
  readonly json?: boolean;
}

export function outputOf(shell: Shell, flags: CommonFlags): Output {
  return createOutput(shell.io, flags.json === true);
}

/** Describes a command. --help shows the examples, and a test checks that each one parses. */
export function describe(command: Command, about: string, examples: readonly string[]): Command {
  const block = examples.map((line) => `  $ ${line}`).join('\n');
  command.description(about).addOption(new Option('--json', 'write JSON for programs'));
  if (examples.length > 0) command.addHelpText('after', `\n${examples.length === 1 ? 'Example' : 'Examples'}:\n${block}`);
  return command;
}

export const printUrlText = 'url: carry, and write only the address to standard output, once it takes visitors';

export const printUrlOption = (): Option => new Option('--print <what>', printUrlText).choices(['url']);

/** Standard output gets the address and nothing else with `--print url`: the rest goes to standard error. */
export async function withPrint(shell: Shell, what: string | undefined, act: (inner: Shell) => Promise<void>): Promise<void> {
  if (what !== 'url') return act(shell);
  const { io } = shell;
  const printUrl = (url: string) => io.stdout.write(`${url}\n`);
  const inner: Shell = { io: { ...io, stdout: { ...io.stderr, isTTY: false } }, exitCode: shell.exitCode, printUrl };
  try {
    await act(inner);
  } finally {
    shell.exitCode = inner.exitCode;
  }
}

export function withServer(command: Command): Command {
  return command.addOption(new Option('--server <url>', 'the server (default: UNDERPASS_SERVER, else the last login)'));
}

export function withProject(command: Command): Command {
  return withServer(command).addOption(
    new Option('--project <name>', 'project by name or id (default: UNDERPASS_PROJECT, else that of the login)'),
  );
}

/** Adds a command about a project. */
export function projectCommand(parent: Command, words: string, about: string, examples: readonly string[]): Command {
  return withProject(describe(parent.command(words), about, examples));
}

export interface ConfirmedFlags extends CommonFlags {
  readonly yes?: boolean;
}

/** Adds a command about a project that asks before it acts. */
export function confirmedCommand(parent: Command, words: string, about: string, examples: readonly string[]): Command {
  return projectCommand(parent, words, about, examples).option('-y, --yes', 'do not ask');
}

/** A name in the form that the server stores. A text that is no valid name is sent as typed: the server's error explains it. */
export function canonicalOf(parse: (text: string) => Parsed<string>, text: string): string {
  const parsed = parse(text);
  return parsed.ok ? parsed.value : text;
}

/** Actions call this themselves, because commander reports a missing option before an unknown one. */
export function requireOption<T>(value: T | undefined, flags: string): T {
  if (value === undefined) throw new ClientError('usage', `required option '${flags}' not specified`);
  return value;
}

/** Refuses options that would have no effect. */
export function refuseOptions<Flags extends object>(
  flags: Flags,
  options: readonly (keyof Flags & string)[],
  what: string,
): void {
  const given = options
    .filter((option) => flags[option] !== undefined)
    .map((option) => `--${option.replace(/[A-Z]/g, '-$&').toLowerCase()}`);
  if (given.length > 0) throw new ClientError('usage', `${given.join(' and ')} ${given.length === 1 ? 'is' : 'are'} ${what}`);
}

/** Collects an option that may be repeated. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** Collects an option of names or addresses: a value may be a list, such as `10.0.0.1,10.0.0.2`. */
export function collectEntries(value: string, before: readonly string[] = []): readonly string[] {
  const entries = splitEntries(value);
  return [...before, ...(entries.length === 0 ? [value] : entries)];
}

/** The same for ingress domains: of a pasted URL, the host. */
export function collectHosts(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...collectEntries(value).map(unwrapHost)];
}

export function parseWhole(text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** Parses the port of a page that people open. */
export function parsePagePort(text: string): number {
  const port = parsePort(text);
  if (!isBrowserPort(port)) throw new InvalidArgumentError(browserPortMessage(port));
  return port;
}

export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port < 1 || port > 65_535)
    throw new InvalidArgumentError('It must be a number from 1 to 65535.');
  return port;
}

/** Reads the file that an option names. */
export async function readGiven({ io }: Shell, file: string, maxBytes: number): Promise<string> {
  const path = resolve(io.cwd, file);
  return readBounded(path, maxBytes).catch((cause) => {
    throw new ClientError('usage', `${path} cannot be read (${fileReason(cause)})`, { cause });
  });
}
