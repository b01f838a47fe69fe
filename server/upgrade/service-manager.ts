// Tells systemd which process is the service. Its protocol needs a datagram socket of the unix family, which Node does not have.

import { execFile } from 'node:child_process';
import type { Environment } from '../settings/settings.ts';

const notifyMs = 5_000;

/** True if systemd now takes this process for the main one of the service, and the service for ready. */
export const tellServiceManager = (env: Environment, pid: number): Promise<boolean> =>
  new Promise((resolve) => {
    if (env.NOTIFY_SOCKET === undefined) resolve(false);
    else execFile('systemd-notify', ['--ready', `--pid=${pid}`], { timeout: notifyMs }, (error) => resolve(error === null));
  });
