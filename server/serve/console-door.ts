// Takes the dashboard's visitors from the edge of this machine: a socket in a folder that only this user can open. Each
// connection begins with a PROXY header, which control trusts without further checks.

import { once } from 'node:events';
import { lstat, mkdtemp, readdir, rm, rmdir, unlink } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { peekProxyHeader } from '@underpass/edge/core/proxy-protocol.ts';

export interface ConsoleDoor {
  readonly path: string;
  /** The visitor's address, if the connection came through this door. */
  addressOf(socket: Socket): string | undefined;
  close(): Promise<void>;
}

/** The edge sends its header at once. */
const headerMs = 5_000;
/** A header without extensions has 52 bytes at most. */
const headerBytes = 256;

const folderPrefix = 'underpass-console-';

/** True if the process that made the socket is gone. Any other error counts as alive. */
const isDead = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(path);
    probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
    probe.on('connect', () => {
      probe.destroy();
      resolve(false);
    });
  });

/** Removes only folders of this user, and only what a server puts there: all users share the temp folder. */
async function dropDead(folder: string): Promise<void> {
  const socket = join(folder, 'socket');
  if ((await lstat(folder)).uid !== process.getuid?.() || !(await isDead(socket))) return;
  await unlink(socket);
  await rmdir(folder);
}

/** Removes what killed servers left behind. A folder that cannot be removed does not stop the start. */
async function sweepFolders(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) if (name.startsWith(folderPrefix)) await dropDead(join(tmpdir(), name)).catch(() => {});
}

async function openFolder(): Promise<{ path: string; drop: () => Promise<void> }> {
  // Windows pipes have their own namespace, outside the file system.
  if (process.platform === 'win32') return { path: `\\\\.\\pipe\\underpass-console-${process.pid}`, drop: async () => {} };
  // mkdtemp gives only this user access. The home folder's path may exceed the 107 bytes that a socket path may have.
  await sweepFolders();
  const folder = await mkdtemp(join(tmpdir(), folderPrefix));
  return { path: join(folder, 'socket'), drop: () => rm(folder, { recursive: true, force: true }) };
}

type Take = (socket: Socket, address: string) => void;

/** Removes the header, then passes the socket on like a newly accepted one. */
function receive(socket: Socket, take: Take): void {
  let bytes = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), headerMs);
  const read = (chunk: Buffer): void => {
    bytes = Buffer.concat([bytes, chunk]);
    const peek = peekProxyHeader(bytes);
    if (peek.kind === 'more' && bytes.length <= headerBytes) return;
    socket.off('data', read);
    clearTimeout(timer);
    if (peek.kind !== 'header') {
      socket.destroy();
      return;
    }
    socket.pause();
    if (bytes.length > peek.bytes) socket.unshift(bytes.subarray(peek.bytes));
    take(socket, peek.ends?.sourceAddress ?? '');
  };
  socket.on('error', () => {});
  socket.once('close', () => clearTimeout(timer));
  socket.on('data', read);
}

export async function openConsoleDoor(server: HttpServer): Promise<ConsoleDoor> {
  const { path, drop } = await openFolder();
  const addresses = new WeakMap<Socket, string>();
  const door = createServer((socket) =>
    receive(socket, (taken, address) => {
      addresses.set(taken, address);
      server.emit('connection', taken);
      taken.resume();
    }),
  );
  door.listen(path);
  await once(door, 'listening');
  return {
    path,
    addressOf: (socket) => addresses.get(socket),
    close: async () => {
      door.close();
      await drop();
    },
  };
}
