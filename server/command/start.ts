// underpass-server start: runs the server until a stop signal.

import type { Command } from 'commander';
import { exitCodes } from '../process/error.ts';
import { createLog } from '../process/log.ts';
import { startServer } from '../serve/start.ts';
import { requireSettings, type Shell } from './command-line.ts';

export function addStartCommand(program: Command, shell: Shell): void {
  program
    .command('start', { isDefault: true })
    .description('run the server in the role that UNDERPASS_ROLE says')
    .action(async () => {
      shell.exitCode = await runServer(shell);
    });
}

/** npm forwards a Ctrl+C that the terminal already sent to the server: count two signals within this time as one. */
const oneSignalMs = 500;

/** The first signal stops in order, once the start is complete; a second one ends the process at once, even during the start. */
async function runServer({ io }: Shell): Promise<number> {
  const stop = Promise.withResolvers<void>();
  const force = Promise.withResolvers<'forced'>();
  let firstAtMs: number | undefined;
  const unlisten = io.onStopSignal(() => {
    const now = io.now();
    firstAtMs ??= now;
    stop.resolve();
    if (Math.abs(now - firstAtMs) > oneSignalMs) force.resolve('forced');
  });
  const runToEnd = async (): Promise<void> => {
    const settings = requireSettings(io);
    const running = await startServer(settings, createLog(settings.log));
    io.stdout.write(running.text);
    await stop.promise;
    await running.close();
  };
  try {
    const ended = await Promise.race([runToEnd(), force.promise]);
    return ended === 'forced' ? exitCodes.forced : exitCodes.ok;
  } finally {
    unlisten();
  }
}
