// Joins two streams: bytes, back-pressure and half-close pass both ways; when one breaks, the other is destroyed.
import type { Duplex, Readable, Writable } from 'node:stream';

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
    to.input.destroy();
    to.output.destroy();
  };
  from.input.pipe(to.output);
  from.input.on('error', destroy).on('close', () => from.input.readableEnded || destroy());
  from.output.on('error', destroy).on('close', () => from.output.writableFinished || destroy());
}
