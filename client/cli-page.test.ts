import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Command } from 'commander';
import { createProgram } from './cli.ts';
import { renewPage } from './cli-page.ts';
import { parseConfig } from './config/config-file.ts';
import { createProcessIo } from './process/process-io.ts';

test('docs/cli.md shows the current help of every command, every exit code and every error', async () => {
  const page = readFileSync(new URL('../docs/cli.md', import.meta.url), 'utf8');
  assert.equal(page, await renewPage(page), 'run "node client/cli-page.ts"');
});

test('the configuration file in docs/cli.md is valid', () => {
  const page = readFileSync(new URL('../docs/cli.md', import.meta.url), 'utf8');
  const [, text = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const result = parseConfig(text, '/etc/underpass', '/home/ada');
  assert.ok(result.ok);
  assert.equal(result.config.tunnels.length, 3);
});

/** Commands without subcommands. */
function leaves(command: Command): readonly Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

function helpText(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
  return text;
}

test('every command has a description, --json and an example, and every example parses', async () => {
  const program = await createProgram({ io: createProcessIo(), exitCode: 0 });
  for (const command of leaves(program).filter((item) => item.name() !== 'complete')) {
    const help = helpText(command);
    assert.match(command.description(), /\.$/, command.name());
    assert.match(help, /--json/, command.name());
    assert.match(help, /^Examples?:$/m, command.name());
    const examples = [...help.matchAll(/^ {2}\$ (underpass .*)$/gm)].map((match) => match[1] ?? '');
    for (const example of examples) await parses(example);
  }
});

test('help fits a terminal of 60 columns, except the examples, which are not wrapped so that they can be copied', async () => {
  const io = createProcessIo();
  const stdout = { ...io.stdout, isTTY: true, columns: () => 60 };
  for (const command of leaves(await createProgram({ io: { ...io, stdout }, exitCode: 0 }))) {
    const [text = ''] = helpText(command).split(/^Examples?:$/m);
    assert.deepEqual(
      text.split('\n').filter((line) => line.length > 60),
      [],
      command.name(),
    );
  }
});

/** Parses the example without running its action. */
async function parses(example: string): Promise<void> {
  const words = example.replace(/ [|<>] .*$/, '').match(/"[^"]*"|\S+/g) ?? [];
  const program = await createProgram({ io: createProcessIo(), exitCode: 0 });
  for (const command of leaves(program)) command.action(() => {});
  await program.parseAsync(
    words.slice(1).map((word) => word.replaceAll('"', '')),
    { from: 'user' },
  );
}
