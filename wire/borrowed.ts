// Reads of all sockets go into one buffer of the process. What is read is lent: it is valid until the callback returns.
// A buffer for each read, of which each is soon garbage, costs a sixth of all CPU of bulk (docs/decisions/006).

import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** Node's own reads are as large. */
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
 * Node has this as `onread`, for sockets that it dials itself. Those that a server accepts, and TLS over a socket that
 * is there already, have the same parts without a door to them. Null where a runtime has other parts.
 */
const internals = findInternals();

function findInternals(): Internals | null {
  // Has sockets of its own making.
  if (process.versions.bun !== undefined) return null;
  const options = { onread: { buffer: shared, callback: () => true } };
  const symbols = Object.getOwnPropertySymbols(new Socket(options as object));
  const [buffer, callback] = ['kBuffer', 'kBufferCb'].map((name) => symbols.find(({ description }) => description === name));
  return buffer === undefined || callback === undefined ? null : { buffer, callback };
}

/** Else each read has its own buffer, and all else is the same. */
export const lendsReads = internals !== null;

/**
 * Calls take with what the socket reads, instead of 'data' events; the socket must not be read otherwise from here on.
 * pause(), resume(), 'end' and 'close' work as ever, but for one thing: a paused TLS socket delivers what it has
 * already taken from the network, some 64 KiB. take must not cause another read in its own turn.
 */
export function readBorrowed(socket: Duplex, take: (bytes: Buffer) => void): void {
  if (internals === null || !(socket instanceof Socket)) {
    socket.on('data', take);
    return;
  }
  if (socket.readableLength === 0) {
    lend(socket, internals, take);
    return;
  }
  // What arrived before lies in buffers of its own, and comes first.
  const takeEarly = (bytes: Buffer): void => {
    take(bytes);
    if (socket.readableLength > 0) return;
    socket.off('data', takeEarly);
    lend(socket, internals, take);
  };
  socket.on('data', takeEarly);
}

function lend(socket: Socket, { buffer, callback }: Internals, take: (bytes: Buffer) => void): void {
  const own = socket as Socket & { readonly _handle?: UserBufferHandle | null } & Record<symbol, unknown>;
  own[buffer] = shared;
  own[callback] = (bytes: number) => {
    take(shared.subarray(0, bytes));
    return true;
  };
  // A socket that has no handle yet asks for the buffer when it gets one.
  own._handle?.useUserBuffer(shared);
  // A socket that is paused stops reading only now that it knows the buffer.
  if (socket.isPaused()) socket.pause();
  else socket.resume();
}
