// Where the edge of this machine hands over the dashboard's visitors: a socket in a folder of this user alone, on which
// each connection begins with a PROXY header. Believed without question, so nobody else may open it.

import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Server as HttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
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

const openFolder = async (): Promise<{ path: string; drop: () => Promise<void> }> => {
  // Pipes of Windows have a space of names of their own.
  if (process.platform === 'win32') return { path: `\\\\.\\pipe\\underpass-console-${process.pid}`, drop: async () => {} };
  // mkdtemp makes it for this user alone; a home's path may be longer than the 107 bytes that a socket's may have.
  const folder = await mkdtemp(join(tmpdir(), 'underpass-console-'));
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
