// Sockets that a dial waits for: each step has a timeout, ends with an abort, and fails with the caller's error.

import type { Socket } from 'node:net';
import { adaptControl, connectNear } from '@underpass/wire/path/tcp-path.ts';

/** Time for each step: the TCP connection, the TLS handshake, the HTTP response. */
export const stepTimeoutMs = 10_000;

/** Null: the time is over. */
export type Translate = (error: NodeJS.ErrnoException | null) => Error;

export async function dialTcp(host: string, port: number, signal: AbortSignal, translate: Translate): Promise<Socket> {
  const socket = connectNear({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 });
  await connected(socket, 'connect', signal, translate);
  adaptControl(socket);
  return socket;
}

/** An abort destroys the socket, and the promise that waits for its answer rejects. */
export function unlessAborted<Value>(answer: Promise<Value>, socket: Socket, signal: AbortSignal): Promise<Value> {
  const stop = (): void => void socket.destroy();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  return answer.finally(() => signal.removeEventListener('abort', stop));
}

/** Waits for the event. An error, a timeout or an abort destroys the socket and rejects with what `translate` returns. */
export function connected(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
  translate: Translate,
  timeoutMs: number = stepTimeoutMs,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', aborted);
      socket.off(event, succeeded).off('close', closed);
      finish();
    };
    const fail = (error: NodeJS.ErrnoException | null): void =>
      settle(() => {
        socket.destroy();
        reject(translate(error));
      });
    const succeeded = (): void => settle(resolve);
    const aborted = (): void => fail(new Error('stopped'));
    const closed = (): void => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
    const timer = setTimeout(() => fail(null), timeoutMs);
    signal.addEventListener('abort', aborted);
    // The error listener stays, because the next owner of the socket may add its own a turn later.
    socket.on('error', fail).once(event, succeeded).once('close', closed);
    if (signal.aborted) aborted();
  });
}
