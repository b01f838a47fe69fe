// underpass-server start: runs until it is told to stop.

import type { Command } from 'commander';
import { requireSettings, type Shell } from '../command-line.ts';
import { exitCodes } from '../error.ts';
import { createLog } from '../log.ts';
import { startServer } from '../start.ts';

export function addStartCommand(program: Command, shell: Shell): void {
  program
    .command('start', { isDefault: true })
    .description('run the server in the role that UNDERPASS_ROLE says')
    .action(async () => {
      shell.exitCode = await runServer(shell);
    });
}

/** The first signal stops in order; a second one at once. */
async function runServer({ io }: Shell): Promise<number> {
  const stop = Promise.withResolvers<void>();
  const force = Promise.withResolvers<'forced'>();
  let signals = 0;
  const unlisten = io.onStopSignal(() => {
    signals += 1;
    if (signals === 1) stop.resolve();
    else force.resolve('forced');
  });
  try {
    const settings = requireSettings(io);
    const log = createLog(settings.log);
    const running = await startServer(settings, log);
    io.stdout.write(running.text);
    await stop.promise;
    const ended = await Promise.race([running.close(), force.promise]);
    return ended === 'forced' ? exitCodes.forced : exitCodes.ok;
  } finally {
    unlisten();
  }
}
