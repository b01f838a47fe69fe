// Lets a program of the operator change TXT records: `PROGRAM set|delete NAME VALUE`. No shell reads the words, and the program gets
// none of our settings.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DnsUpdater } from './rfc2136/updater.ts';

const timeoutMs = 60_000;
const lastWordsMs = 500;
/** Limits what it says on stderr in an error; the rest is read and dropped. */
const saidChars = 4_096;

export const createDnsHook = (program: string): Pick<DnsUpdater, 'change'> => ({
  change: async ({ action, name, value }) => {
    const env = { PATH: process.env.PATH ?? '' };
    const words = [action === 'add' ? 'set' : 'delete', name, value];
    const stdio = ['ignore', 'ignore', 'pipe'] as const;
    const child = spawn(program, words, { env, stdio: [...stdio], timeout: timeoutMs, killSignal: 'SIGKILL', windowsHide: true });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text.slice(0, saidChars - said.length);
    });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    // A process that it left behind may hold stderr open.
    await Promise.race([finished(child.stderr), sleep(lastWordsMs, undefined, { ref: false })]);
    child.stderr.destroy();
    if (code !== 0) throw new Error(`${program} ${words[0]} ended with ${code ?? signal}: ${said.trim()}`);
  },
});
