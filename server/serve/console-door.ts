// Where the edge of this machine hands over the dashboard's visitors: a socket in a folder of this user alone, on which
// each connection begins with a PROXY header. Believed without question, so nobody else may open it.

import { once } from 'node:events';
import { lstat, mkdtemp, readdir, rm, rmdir, unlink } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { peekProxyHeader } from '@underpass/edge/core/proxy-protocol.ts';

export interface ConsoleDoor {
  readonly path: string;
  /** The visitor's, where the connection came through this door. */
  addressOf(socket: Socket): string | undefined;
  close(): Promise<void>;
}

/** The edge sends its header at once. */
const headerMs = 5_000;
/** A header without extensions has 52 bytes at most. */
const headerBytes = 256;

const folderPrefix = 'underpass-console-';

/** True where nobody listens: the process that made the socket is gone. Any other doubt is that somebody does. */
const isDead = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = connect(path);
    probe.on('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
    probe.on('connect', () => {
      probe.destroy();
      resolve(false);
    });
  });

/** Of this user alone, and only what we put there: the temp folder is everybody's. */
const dropDead = async (folder: string): Promise<void> => {
  const socket = join(folder, 'socket');
  if ((await lstat(folder)).uid !== process.getuid?.() || !(await isDead(socket))) return;
  await unlink(socket);
  await rmdir(folder);
};

/** What servers left behind that were killed. One that cannot be had is no reason not to start. */
const sweepFolders = async (): Promise<void> => {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) if (name.startsWith(folderPrefix)) await dropDead(join(tmpdir(), name)).catch(() => {});
};

const openFolder = async (): Promise<{ path: string; drop: () => Promise<void> }> => {
  // Pipes of Windows have a space of names of their own.
  if (process.platform === 'win32') return { path: `\\\\.\\pipe\\underpass-console-${process.pid}`, drop: async () => {} };
  // mkdtemp makes it for this user alone; a home's path may be longer than the 107 bytes that a socket's may have.
  await sweepFolders();
  const folder = await mkdtemp(join(tmpdir(), folderPrefix));
  return { path: join(folder, 'socket'), drop: () => rm(folder, { recursive: true, force: true }) };
};

type Take = (socket: Socket, address: string) => void;

/** Reads the header off, and hands the socket on as if it had just been accepted. */
const receive = (socket: Socket, take: Take): void => {
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
};

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
