// The generated parts of docs/cli.md: help of every command, exit codes, errors, problems. `node client/cli-page.ts` writes them.
// Each part is between `<!-- generated NAME -->` and `<!-- end -->`; a test compares the page with the program.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { problems } from './carry/problem.ts';
import { createProgram } from './cli.ts';
import { type ErrorCode, errors, exitCodeMeanings, exitCodeOf, exitCodes } from './process/error.ts';
import { createProcessIo } from './process/process-io.ts';

const pagePath = fileURLToPath(new URL('../docs/cli.md', import.meta.url));

/** The page with every part generated from the present program. */
export async function renewPage(page: string): Promise<string> {
  const parts = await generatedParts();
  const renewed = page.replace(
    /(<!-- generated ([a-z -]+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start: string, name: string, end: string) => {
      const part = parts.get(name);
      if (part === undefined) throw new Error(`docs/cli.md asks for '${name}', which is not generated`);
      parts.delete(name);
      return `${start}\n${part}\n\n${end}`;
    },
  );
  if (parts.size > 0) throw new Error(`docs/cli.md lacks: ${[...parts.keys()].join(', ')}`);
  return renewed;
}

async function generatedParts(): Promise<Map<string, string>> {
  const program = await createProgram({ io: { ...createProcessIo(), stdout: plain, stderr: plain }, exitCode: 0 });
  const commands = visibleCommands(program).map((command) => [fullName(command), helpOf(command)] as const);
  return new Map([...commands, ['exit codes', exitTable()], ['errors', errorTable()], ['problems', problemTable()]]);
}

const plain = { write: () => {}, isTTY: false, columns: () => 100, rows: () => 24, onResize: () => () => {} };

function visibleCommands(command: Command): readonly Command[] {
  const children = command.createHelp().visibleCommands(command);
  return [command, ...children.filter((child) => child.name() !== 'help').flatMap(visibleCommands)];
}

function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}

function helpOf(command: Command): string {
  const lines: string[] = [];
  command.configureOutput({ writeOut: (text) => lines.push(text) }).outputHelp();
  return `\`\`\`text\n${lines.join('').trimEnd()}\n\`\`\``;
}

function exitTable(): string {
  const rows = Object.entries(exitCodes).map(
    ([name, code]) => `| ${code} | ${exitCodeMeanings[name as keyof typeof exitCodes]} |`,
  );
  return ['| exit code | meaning |', '| --- | --- |', ...rows].join('\n');
}

function errorTable(): string {
  const rows = Object.entries(errors).map(
    ([code, { title, fix }]) => `| \`${code}\` | ${title} | ${fix} | ${exitCodeOf(code as ErrorCode)} |`,
  );
  return ['| code | what | what to do | exit code |', '| --- | --- | --- | --- |', ...rows].join('\n');
}

function problemTable(): string {
  const rows = Object.entries(problems).map(([code, { title, fix }]) => `| \`${code}\` | ${title} | ${fix} |`);
  return ['| code | what | what to do |', '| --- | --- | --- |', ...rows].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(pagePath, await renewPage(readFileSync(pagePath, 'utf8')));
