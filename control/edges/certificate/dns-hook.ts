// Lets a program of the operator change TXT records: `PROGRAM set|delete NAME VALUE`. No shell reads the words, and the program gets
// none of our settings.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { DnsUpdater } from './rfc2136/updater.ts';

const timeoutMs = 60_000;
/** What it prints is read into an error, and no further. */
const printedBytes = 4_096;
const run = promisify(execFile);

export const createDnsHook = (program: string): Pick<DnsUpdater, 'change'> => ({
  change: async ({ action, name, value }) => {
    const env = { PATH: process.env.PATH ?? '' };
    const words = [action === 'add' ? 'set' : 'delete', name, value];
    await run(program, words, { env, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: printedBytes, windowsHide: true });
  },
});
