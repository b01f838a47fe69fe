// underpass-server config: every setting, its value in force, and what is wrong.

import type { Command } from 'commander';
import { exitCodes } from '../process/error.ts';
import { readSettings } from '../settings/settings.ts';
import { renderSettings, renderSettingsPage, showSettings } from '../settings/settings-page.ts';
import type { Shell } from './command-line.ts';

export function addConfigCommand(program: Command, shell: Shell): void {
  const { io } = shell;
  program
    .command('config')
    .description('print every setting with its value; secrets are hidden')
    .option('--json', 'print JSON')
    .option('--markdown', 'print the page of the documentation')
    .action((options: { json?: boolean; markdown?: boolean }) => {
      if (options.markdown) {
        io.stdout.write(renderSettingsPage());
        return;
      }
      const settings = showSettings(io.env, io.readFile);
      const result = readSettings(io.env, io.readFile);
      const problems = result.ok ? [] : result.problems;
      const { warnings } = result;
      if (options.json) io.stdout.write(`${JSON.stringify({ settings, problems, warnings }, null, 2)}\n`);
      else io.stdout.write([renderSettings(settings), ...problems, ...warnings].join('\n').trimEnd().concat('\n'));
      if (problems.length > 0) shell.exitCode = exitCodes.settings;
    });
}
