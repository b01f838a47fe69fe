// completion bash|zsh|fish, and the hidden `complete` that the scripts call: the candidates come from the commands themselves.
import { Argument, type Command, type Option } from 'commander';
import type { AccountFlags } from '../account/account.ts';
import type { Io } from '../process/io.ts';
import { printable } from '../terminal/output.ts';
import { describe, outputOf, type Shell } from './command-line.ts';
import { completionScripts } from './completion-script.ts';
import { type KnownNames, knownNames } from './known-names.ts';

type ShellName = keyof typeof completionScripts;

export function addCompletionCommands(program: Command, shell: Shell): void {
  const names = Object.keys(completionScripts);
  describe(program.command('completion'), 'Print the completion script of a shell.', [
    'source <(underpass completion bash)',
    'underpass completion zsh > "$' + '{fpath[1]}/_underpass"',
    'underpass completion fish > ~/.config/fish/completions/underpass.fish',
  ])
    .addArgument(new Argument('<shell>', 'the shell').choices(names))
    .action((name: ShellName, flags: { json?: boolean }) =>
      outputOf(shell, flags).result({ shell: name, script: completionScripts[name] }, completionScripts[name]),
    );
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words: string[]) => {
      for (const { value, about } of await candidatesFor(program, shell.io, words)) {
        shell.io.stdout.write(`${value}\t${about}\n`);
      }
    });
}

interface Candidate {
  readonly value: string;
  readonly about: string;
}

/** Tells the script to offer file names. */
const files: Candidate = { value: ':files', about: '' };

/** `words` are the words after the program's name. The last one is unfinished, or empty if a new word begins. */
async function candidatesFor(program: Command, io: Io, words: readonly string[]): Promise<readonly Candidate[]> {
  if (words[0] === 'help' && words.length > 1) return candidatesFor(program, io, words.slice(1));
  const typed = words.at(-1) ?? '';
  const context = walk(program, words.slice(0, -1));
  const kind = typed.startsWith('-') ? undefined : namesAt(context);
  const names = kind === undefined ? [] : await knownNames(io, kind, context.flags).catch(() => []);
  const all = [...names.filter(isPlain).map((value) => ({ value, about: '' })), ...candidatesAt(context, typed)];
  return all.filter(({ value }) => value === files.value || value.startsWith(typed));
}

/** Other people choose names of projects: one must not look like an option, span lines or control the terminal. */
const isPlain = (name: string): boolean => !/^-|[\n\t]/.test(name) && printable(name) === name;

interface TypedContext {
  readonly command: Command;
  /** The option that still needs its value. */
  readonly open: Option | undefined;
  /** The number of arguments so far. */
  readonly position: number;
  /** Which account the words name. */
  readonly flags: AccountFlags;
}

function walk(program: Command, words: readonly string[]): TypedContext {
  let command = program;
  let open: Option | undefined;
  let position = 0;
  const flags: Record<string, string> = {};
  for (const word of words) {
    if (open !== undefined) {
      flags[open.attributeName()] = word;
      open = undefined;
    } else if (word.startsWith('-')) open = optionOf(command, word);
    else {
      const next = command.commands.find((item) => item.name() === word || item.aliases().includes(word));
      if (next === undefined) position++;
      else command = next;
    }
  }
  return { command, open, position, flags };
}

const namedBy: Readonly<Record<string, KnownNames>> = { tunnel: 'tunnel', '--region': 'region', '--project': 'project' };

/** What the next word names, by the name of its argument or option. */
function namesAt({ command, open, position }: TypedContext): KnownNames | undefined {
  return namedBy[(open === undefined ? command.registeredArguments[position]?.name() : open.long) ?? ''];
}

function optionOf(command: Command, word: string): Option | undefined {
  return command.options.find(
    (option) => (option.long === word || option.short === word) && (option.required || option.optional),
  );
}

function valuesOf(option: Option): readonly Candidate[] {
  if (option.argChoices) return option.argChoices.map((value) => ({ value, about: '' }));
  return option.flags.includes('<file>') ? [files] : [];
}

function candidatesAt({ command, open, position }: TypedContext, typed: string): readonly Candidate[] {
  if (open !== undefined) return valuesOf(open);
  if (typed.startsWith('-')) return visibleOptions(command);
  const visible = command.createHelp().visibleCommands(command);
  const subcommands = visible.map((item) => ({ value: item.name(), about: item.description() }));
  const choices = command.registeredArguments[position]?.argChoices ?? [];
  const words = position === 0 ? [...subcommands, ...choices.map((value) => ({ value, about: '' }))] : [];
  return words.length > 0 ? words : typed === '' ? visibleOptions(command) : [];
}

function visibleOptions(command: Command): readonly Candidate[] {
  const options = command.createHelp().visibleOptions(command);
  return options.flatMap(({ long, description }) => (long ? [{ value: long, about: description }] : []));
}
