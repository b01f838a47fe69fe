// completion bash|zsh|fish, and the hidden `complete` that the scripts call: the candidates come from the commands themselves.
import { Argument, type Command, type Option } from 'commander';
import { describe, outputOf, type Shell } from './command-line.ts';
import { completionScripts } from './completion-script.ts';

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
    .action((words: string[]) => {
      for (const { value, about } of candidatesFor(program, words)) shell.io.stdout.write(`${value}\t${about}\n`);
    });
}

interface Candidate {
  readonly value: string;
  readonly about: string;
}

/** Tells the script to offer file names. */
const files: Candidate = { value: ':files', about: '' };

/** `words` are the words after the program's name. The last one is unfinished, or empty if a new word begins. */
function candidatesFor(program: Command, words: readonly string[]): readonly Candidate[] {
  if (words[0] === 'help' && words.length > 1) return candidatesFor(program, words.slice(1));
  const typed = words.at(-1) ?? '';
  const { command, open, arguments: position } = walk(program, words.slice(0, -1));
  const all = open === undefined ? candidatesAt(command, position, typed) : valuesOf(open);
  return all.filter(({ value }) => value === files.value || value.startsWith(typed));
}

/** The command that the finished words name, the option that still needs its value, and the number of arguments so far. */
function walk(program: Command, words: readonly string[]) {
  let command = program;
  let open: Option | undefined;
  let position = 0;
  for (const word of words) {
    if (open !== undefined) open = undefined;
    else if (word.startsWith('-')) open = optionOf(command, word);
    else {
      const next = command.commands.find((item) => item.name() === word);
      if (next === undefined) position++;
      else command = next;
    }
  }
  return { command, open, arguments: position };
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

function candidatesAt(command: Command, position: number, typed: string): readonly Candidate[] {
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
