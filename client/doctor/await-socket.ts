// Waits for an event of a socket. Resolves to null when it comes, else to the reason why it did not.
import type { Socket } from 'node:net';

const timeoutMs = 5_000;

export function awaitSocket(socket: Socket, event: 'connect' | 'secureConnect'): Promise<string | null> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(`no answer within ${timeoutMs / 1000} s`), timeoutMs);
    const settle = (reason: string | null) => {
      clearTimeout(timer);
      resolve(reason);
    };
    socket.once(event, () => settle(null));
    socket.on('error', (error: NodeJS.ErrnoException) => settle(reasonOf(error)));
    socket.once('close', () => settle('closed by the other side'));
  });
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ENOTFOUND: 'name does not resolve',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ETIMEDOUT: 'timed out',
};

function reasonOf(error: NodeJS.ErrnoException): string {
  return reasons[error.code ?? ''] ?? error.code ?? error.message;
}
