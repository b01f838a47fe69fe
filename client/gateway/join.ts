// Joins two streams: bytes, back-pressure and half-close pass both ways; when one breaks, the other is reset.
import { Socket } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';
import { resetSocket } from '@underpass/wire/socket/reset-socket.ts';

export interface Ends {
  readonly input: Readable;
  readonly output: Writable;
}

export const bothEnds = (stream: Duplex): Ends => ({ input: stream, output: stream });

export function join(a: Ends, b: Ends): void {
  carry(a, b);
  carry(b, a);
}

function carry(from: Ends, to: Ends): void {
  const destroy = (): void => {
    // Standard input may be a pipe, which has no reset.
    if (to.input instanceof Socket && to.input.remoteAddress !== undefined) resetSocket(to.input);
    to.input.destroy();
    to.output.destroy();
  };
  from.input.pipe(to.output);
  from.input.on('error', destroy).on('close', () => from.input.readableEnded || destroy());
  from.output.on('error', destroy).on('close', () => from.output.writableFinished || destroy());
}
