// All sockets read into one buffer of the process. The bytes are lent: they are valid until the callback returns.
// A buffer of its own for each read, garbage soon after, cost a sixth of all CPU of bulk transfers (docs/decisions/006).

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** The size of Node's own reads. */
const readBytes = 65_536;
const shared = Buffer.allocUnsafeSlow(readBytes);

interface UserBufferHandle {
  useUserBuffer(buffer: Uint8Array): void;
}

interface Internals {
  readonly buffer: symbol;
  readonly callback: symbol;
}

/**
 * Node offers this as `onread`, for sockets that it dials itself. Accepted sockets, and TLS over an existing socket, have
 * the same internals without a public way to them. Null in a runtime whose internals differ: each read then has a
 * buffer of its own, and everything else is the same.
 */
const internals = findInternals();

function findInternals(): Internals | null {
  // Bun has its own sockets.
  if (process.versions.bun !== undefined) return null;
  const options = { onread: { buffer: shared, callback: () => true } };
  const symbols = Object.getOwnPropertySymbols(new Socket(options as object));
  const [buffer, callback] = ['kBuffer', 'kBufferCb'].map((name) => symbols.find(({ description }) => description === name));
  return buffer === undefined || callback === undefined ? null : { buffer, callback };
}

/**
 * Calls take with what the socket reads, instead of 'data' events. Do not read the socket in another way afterwards.
 * pause(), resume(), 'end' and 'close' work as usual, with one exception: a paused TLS socket still delivers what it has
 * already taken from the network, some 64 KiB. take must not cause another read in the same turn.
 */
export function readShared(socket: Duplex, take: (bytes: Buffer) => void): void {
  if (internals === null || !(socket instanceof Socket)) {
    socket.on('data', take);
    return;
  }
  if (socket.readableLength === 0) {
    useSharedBuffer(socket, internals, take);
    return;
  }
  // What arrived earlier lies in buffers of its own, and comes first.
  const takeEarly = (bytes: Buffer): void => {
    take(bytes);
    if (socket.readableLength > 0) return;
    socket.off('data', takeEarly);
    useSharedBuffer(socket, internals, take);
  };
  socket.on('data', takeEarly);
}

function useSharedBuffer(socket: Socket, { buffer, callback }: Internals, take: (bytes: Buffer) => void): void {
  const own = socket as Socket & { readonly _handle?: UserBufferHandle | null } & Record<symbol, unknown>;
  own[buffer] = shared;
  own[callback] = (bytes: number) => {
    take(shared.subarray(0, bytes));
    return true;
  };
  // A socket without a handle asks for the buffer once it has one.
  own._handle?.useUserBuffer(shared);
  // pause() stops the reads of the handle only once the socket has this buffer, so a paused socket is paused again.
  if (socket.isPaused()) socket.pause();
  else socket.resume();
}
