// version: what this program is.
import type { Command } from 'commander';
import { version } from '../process/version.ts';
import { type CommonFlags, describe, outputOf, type Shell } from './command-line.ts';

export function addVersionCommand(program: Command, shell: Shell): void {
  describe(program.command('version'), 'Print the version.', ['underpass version --json']).action((flags: CommonFlags) =>
    outputOf(shell, flags).result({ version }, version),
  );
}
