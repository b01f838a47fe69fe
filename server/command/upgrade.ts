// underpass-server upgrade: replaces the running server by the program on disk.

import type { Command } from 'commander';
import { askServer } from '../upgrade/upgrade-door.ts';
import { requireLocation, type Shell } from './command-line.ts';

export function addUpgradeCommand(program: Command, shell: Shell): void {
  program
    .command('upgrade')
    .description('replace the running server by the program on disk, without an interruption')
    .option('--with-settings', 'with the settings of this command instead of those that the server was started with')
    .action(async ({ withSettings = false }: { withSettings?: boolean }) => {
      const { io } = shell;
      const given = Object.entries(io.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
      const request = withSettings ? { settings: Object.fromEntries(given) } : {};
      io.stdout.write(`${await askServer(requireLocation(io), request)}\n`);
    });
}
