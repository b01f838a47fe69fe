// Joins a stream to a socket, or two streams to each other: bytes untouched, back-pressure, half-close and reset kept both ways.

import type { Duplex } from 'node:stream';
import type { Stream } from './api.ts';
import { readBorrowed } from './borrowed.ts';
import type { ResetCode } from './core/code.ts';
import { breakOff, Outlet } from './outlet.ts';
import { slabsFor } from './slab.ts';

/**
 * The socket must have been made with allowHalfOpen. Takes over the callbacks of the stream, onClose and onOpened apart.
 * brokenCode is what the peer is told when the socket fails.
 */
export function relaySocket(stream: Stream, socket: Duplex, brokenCode: ResetCode): void {
  const outlet = new Outlet(socket, (bytes) => stream.consume(bytes), { slabs: slabsFor.upstream });
  stream.onData = (chunk) => outlet.write(chunk);
  stream.onEnd = () => outlet.end();
  stream.onReset = () => breakOff(socket);
  stream.onDrain = () => void socket.resume();
  readBorrowed(socket, (chunk) => {
    if (!stream.write(chunk)) socket.pause();
  });
  socket.on('end', () => stream.end());
  socket.on('error', () => stream.reset(brokenCode));
  // After two proper ends what waits in the stream for credit still has to arrive.
  socket.on('close', () => {
    if (!socket.readableEnded || !socket.writableFinished) stream.reset(brokenCode);
  });
}

/** A hop: what arrives on one stream leaves on the other. The opened side's acceptance is passed back. */
export function relayStreams(arrived: Stream, opened: Stream): void {
  opened.onOpened = () => arrived.accept();
  pour(arrived, opened);
  pour(opened, arrived);
}

function pour(from: Stream, to: Stream): void {
  let owedBytes = 0;
  from.onData = (chunk) => {
    if (to.write(chunk)) from.consume(chunk.length);
    else owedBytes += chunk.length;
  };
  to.onDrain = () => {
    const bytes = owedBytes;
    owedBytes = 0;
    from.consume(bytes);
  };
  from.onEnd = () => to.end();
  from.onReset = (code) => to.reset(code === 'carrier-lost' ? 'cancelled' : code);
}
