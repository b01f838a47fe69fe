// The development mailbox: writes mails to files under the home folder instead of sending them.

import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { KeptMail, SendMail } from './mail.ts';

interface Mailbox {
  readonly send: SendMail;
  /** Newest first. */
  list(): Promise<KeptMail[]>;
}

// Only the newest are kept: a development mailbox is no archive.
const mailsKept = 200;

const fileName = (atMs: number): string => `${String(atMs).padStart(15, '0')}-${randomUUID().slice(0, 8)}.json`;

export function createMailbox(folder: string, clock: () => number): Mailbox {
  const newestFirst = async (): Promise<string[]> => {
    const names = await readdir(folder).catch(() => []);
    return names
      .filter((name) => name.endsWith('.json'))
      .sort()
      .reverse();
  };
  const forgetOld = async (): Promise<void> => {
    for (const name of (await newestFirst()).slice(mailsKept)) await rm(join(folder, name), { force: true });
  };
  return {
    send: async (mail) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const atMs = clock();
      const name = fileName(atMs);
      const kept: KeptMail = { id: name.slice(0, -'.json'.length), at: new Date(atMs).toISOString(), ...mail };
      const path = join(folder, name);
      // Under another name first: a reader must not see half a mail.
      await writeFile(`${path}.part`, JSON.stringify(kept), { mode: 0o600 });
      await rename(`${path}.part`, path);
      await forgetOld();
    },
    list: async () =>
      Promise.all((await newestFirst()).map(async (name) => JSON.parse(await readFile(join(folder, name), 'utf8')) as KeptMail)),
  };
}
