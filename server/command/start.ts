// underpass-server start: runs the server until a stop signal, or until its successor has taken over.

import { type Command, Option } from 'commander';
import { exitCodes, renderError } from '../process/error.ts';
import { createLog } from '../process/log.ts';
import { translateFault } from '../process/refusal.ts';
import { type Elder, meetElder } from '../serve/elder.ts';
import { tellServiceManager } from '../upgrade/service-manager.ts';
import type { Handover } from '../upgrade/upgrades.ts';
import { requireSettings, type Shell } from './command-line.ts';

export function addStartCommand(program: Command, shell: Shell): void {
  program
    .command('start', { isDefault: true })
    .description('run the server in the role that UNDERPASS_ROLE says')
    .addOption(new Option('--successor', 'take over from the server that starts this one').hideHelp())
    .action(async ({ successor = false }: { successor?: boolean }) => {
      const elder = successor ? await meetElder() : undefined;
      shell.exitCode = await runServer(shell, elder).catch((error: unknown) => {
        elder?.failed(renderError(translateFault(error)).split('\n')[0] ?? '');
        throw error;
      });
    });
}

/** The server itself is most of what this program can load, and no other command needs it. */
const loadServer = () => Promise.all([import('../serve/start.ts'), import('../upgrade/upgrades.ts')]);

/** npm forwards a Ctrl+C that the terminal already sent to the server: count two signals within this time as one. */
const oneSignalMs = 500;

/** The first signal stops in order, once the start is complete; a second one ends the process at once, even during the start. */
async function runServer({ io }: Shell, elder: Elder | undefined): Promise<number> {
  const stop = Promise.withResolvers<undefined>();
  const force = Promise.withResolvers<'forced'>();
  let firstAtMs: number | undefined;
  let heir: Handover | undefined;
  const onStop = (): void => {
    const now = io.now();
    firstAtMs ??= now;
    stop.resolve(undefined);
    if (heir?.isFollowed === false) heir.successor.signal('SIGTERM');
    else if (Math.abs(now - firstAtMs) > oneSignalMs) force.resolve('forced');
  };
  const unlisten = io.onStopSignal(onStop);
  if (elder !== undefined) elder.onOrphaned = onStop;
  const runToEnd = async (): Promise<number> => {
    const settings = requireSettings(io);
    const log = createLog(settings.log);
    const [{ startServer }, { openUpgrades }] = await loadServer();
    const running = await startServer(settings, log, {}, elder);
    io.stdout.write(running.text);
    if (elder === undefined && !(await tellServiceManager(io.env, process.pid)) && io.env.NOTIFY_SOCKET !== undefined)
      log.warn('systemd-notify failed: systemd does not know that the server is ready');
    const upgrades = await openUpgrades(settings, running, log);
    heir = await Promise.race([stop.promise, upgrades.handover]);
    if (heir === undefined) {
      await Promise.all([upgrades.close(), running.close()]);
      return exitCodes.ok;
    }
    const { successor, isFollowed } = heir;
    await running.leave(() => successor.tell('quiet'));
    successor.tell('left');
    // The parent of this process may know no other: it sees the successor's end as this one's.
    return isFollowed ? exitCodes.ok : successor.ended;
  };
  try {
    const ended = await Promise.race([runToEnd(), force.promise]);
    return ended === 'forced' ? exitCodes.forced : ended;
  } finally {
    unlisten();
  }
}
