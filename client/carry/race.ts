// One connection to a name of several addresses: the next is tried beside one that says nothing (RFC 8305), so that a broken
// IPv6 or a machine that is gone costs an instant and not the time that a dead connection takes.

import type { Socket } from 'node:net';

/** RFC 8305 5: the delay that is recommended. */
const nextAddressMs = 250;

/** In the order given. The first that stands wins, and the others are given up; the error is that of the last to fail. */
export function raceAddresses(
  addresses: readonly string[],
  signal: AbortSignal,
  dial: (address: string, signal: AbortSignal) => Promise<Socket>,
): Promise<Socket> {
  const decided = new AbortController();
  const either = AbortSignal.any([signal, decided.signal]);
  return new Promise<Socket>((resolve, reject) => {
    const waiting = [...addresses];
    let running = 0;
    let timer: NodeJS.Timeout | undefined;
    const next = (): void => {
      clearTimeout(timer);
      const address = decided.signal.aborted ? undefined : waiting.shift();
      if (address === undefined) return;
      running++;
      if (waiting.length > 0) timer = setTimeout(next, nextAddressMs);
      dial(address, either).then(win, lose);
    };
    const win = (socket: Socket): void => {
      if (decided.signal.aborted) return void socket.destroy();
      clearTimeout(timer);
      decided.abort();
      resolve(socket);
    };
    const lose = (error: unknown): void => {
      next();
      if (--running === 0) reject(error);
    };
    if (waiting.length === 0) reject(new Error('no address'));
    next();
  });
}
