// Connects to one of several addresses. If one does not answer soon, dials the next at the same time (RFC 8305), so a broken
// IPv6 route or a dead machine costs a quarter of a second and not a whole connection timeout.

import type { Socket } from 'node:net';

/** RFC 8305 5: the recommended delay. */
const nextAddressMs = 250;

/** Dials in the given order. The first connection wins and the other dials are aborted. Rejects with the error of the last dial. */
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
