// Joins a stream to a socket. Bytes pass untouched; back-pressure, half-close and reset pass both ways.

import type { Duplex } from 'node:stream';
import type { Stream } from './api.ts';
import { poolsFor } from './socket/buffer-pool.ts';
import { resetSocket } from './socket/reset-socket.ts';
import { readShared } from './socket/shared-read.ts';
import { SocketWriter } from './socket/socket-writer.ts';

/**
 * Called once, with the first bytes from the socket, or null if it ends without any. Returns true if it deals with the stream
 * itself; the relay then drops the socket, because nothing else would end it.
 */
export type TakeFirst = (first: Buffer | null) => boolean;

/** What a relay needs of a stream. */
export type RelayedStream = Pick<Stream, 'onData' | 'onEnd' | 'onReset' | 'onDrain' | 'write' | 'end' | 'reset' | 'consume'>;

/**
 * The socket needs allowHalfOpen. Sets all callbacks of the stream but onClose and onOpened. When the socket fails, the
 * stream is reset with `upstream-reset`.
 */
export function relaySocket(stream: RelayedStream, socket: Duplex, takeFirst?: TakeFirst): void {
  const writer = new SocketWriter(socket, (bytes) => stream.consume(bytes), { pools: poolsFor.upstream });
  stream.onData = (chunk) => writer.write(chunk);
  stream.onEnd = () => writer.end();
  stream.onReset = () => resetSocket(socket);
  stream.onDrain = () => void socket.resume();
  let ask = takeFirst;
  let taken = false;
  const isTaken = (first: Buffer | null): boolean => {
    const asked = ask;
    ask = undefined;
    if (asked?.(first) === true) {
      taken = true;
      resetSocket(socket);
    }
    return taken;
  };
  readShared(socket, (chunk) => {
    if (!isTaken(chunk) && !stream.write(chunk)) socket.pause();
  });
  socket.on('end', () => isTaken(null) || stream.end());
  socket.on('error', () => isTaken(null) || stream.reset('upstream-reset'));
  // After two proper ends the stream lives on: bytes that wait for credit in it must still arrive.
  socket.on('close', () => {
    if ((!socket.readableEnded || !socket.writableFinished) && !isTaken(null)) stream.reset('upstream-reset');
  });
}
