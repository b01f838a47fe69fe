// Which quick tunnel this command gets: a key for the folder, and a number beside it while other commands run in the same folder.
// The key is an HMAC with a secret of this machine, so the server learns neither the folder nor who else has one of that name.
// The lock is a socket, which ends with its process even in a crash: the file of `proper-lockfile` counts for 10 s more, ends while a
// laptop sleeps, and comes with three packages; a refusal would forbid two commands in one folder.

import { createHmac, randomBytes } from 'node:crypto';
import { mkdir, readFile, realpath, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { configFolder, writePrivateFile } from '../account/credentials.ts';
import { guarded } from '../process/guarded.ts';
import type { Io } from '../process/io.ts';

interface QuickSlot {
  /** What the server gets. */
  readonly key: string;
  readonly release: () => Promise<void>;
}

/** More commands in one folder than a person watches. */
const maxSlots = 20;

/** `about` tells apart commands that have different tunnels in one folder: server, project, name. */
export async function claimSlot(io: Io, folder: string, about: readonly string[]): Promise<QuickSlot> {
  const secret = await machineSecret(io);
  const path = await realpath(folder).catch(() => folder);
  const lockName = digest(secret, [path, ...about]).slice(0, 16);
  for (let slot = 0; ; slot++) {
    const lock = await takeLock(lockPath(io, `${lockName}-${slot}`));
    if (lock === 'held' && slot + 1 < maxSlots) continue;
    return { key: digest(secret, [path, String(slot)]), release: lock === 'held' ? async () => {} : lock };
  }
}

function digest(secret: string, parts: readonly string[]): string {
  return createHmac('sha256', secret).update(JSON.stringify(parts)).digest('base64url');
}

/** Made once. If it cannot be kept, the names of machine and user stand for it: the address stays the same there too. */
async function machineSecret(io: Io): Promise<string> {
  const path = join(configFolder(io), 'machine-key');
  const read = async () => (await readFile(path, 'utf8').catch(() => '')).trim();
  const isSecret = (text: string) => /^[\w-]{43}$/.test(text);
  const known = await read();
  if (isSecret(known)) return known;
  await writePrivateFile(path, `${randomBytes(32).toString('base64url')}\n`).catch(() => {});
  // Another command may have made it at the same time: the last one counts.
  const made = await read();
  return isSecret(made) ? made : `${io.hostName}\n${io.userName}`;
}

function lockPath(io: Io, name: string): string {
  if (io.platform === 'win32') return `\\\\.\\pipe\\underpass-${name}`;
  return join(io.env.XDG_CACHE_HOME || join(io.home, '.cache'), 'underpass', 'quick', name);
}

/**
 * A socket that this process listens on: the system ends it with the process, whichever way that ends. Where no socket can be made,
 * every command takes the first slot.
 */
async function takeLock(path: string): Promise<'held' | (() => Promise<void>)> {
  // Windows ends a pipe with its process. A socket that is a file stays behind a crash.
  if (path.startsWith('\\\\')) return listenAlone(path);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(() => {});
  // Of two commands that find the socket of a crash, the second would remove the new one of the first.
  return guarded(path, async () => {
    if (await answers(path)) return 'held';
    await rm(path, { force: true }).catch(() => {});
    return listenAlone(path);
  });
}

async function listenAlone(path: string): Promise<'held' | (() => Promise<void>)> {
  const server = await listen(path);
  if (!(server instanceof Error)) return () => new Promise<void>((resolve) => void server.close(() => resolve()));
  return server.code === 'EADDRINUSE' ? 'held' : async () => {};
}

function listen(path: string): Promise<Server | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', resolve);
    server.listen(path, () => resolve(server.unref()));
  });
}

const answerMs = 1_000;
const noListener = new Set<string | undefined>(['ECONNREFUSED', 'ENOENT']);

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (isAlive: boolean) => {
      socket.destroy();
      resolve(isAlive);
    };
    // A listener that is too busy to answer is there.
    socket.setTimeout(answerMs, () => end(true));
    // The listener hangs up at once, which the compiled program may report first.
    socket.once('connect', () => end(true)).once('error', ({ code }: NodeJS.ErrnoException) => end(!noListener.has(code)));
  });
}
