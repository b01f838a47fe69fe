// The visitor's side of a gateway: asks for a host over TLS, and joins standard input and output to it.

import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { readHead } from '@underpass/wire/handshake.ts';
import { stepTimeoutMs, unlessAborted } from '../carry/socket.ts';
import type { Io } from '../process/io.ts';
import { pinOf } from './identity.ts';
import { bothEnds, join } from './join.ts';

/** The pin of the certificate that the gateway presents, whose key it has. */
export function presentedPin(socket: TLSSocket): string | null {
  const certificate: X509Certificate | undefined = socket.getPeerX509Certificate();
  return certificate === undefined ? null : pinOf(certificate);
}

/** Sends CONNECT and returns the status of the answer: 200, 403 or 502. Nothing is sent before the pin is checked. */
export async function requestHost(socket: TLSSocket, name: string, signal: AbortSignal): Promise<string> {
  // The port is there for the form; the gateway knows the host's own.
  socket.write(`CONNECT ${name}:22 HTTP/1.1\r\nHost: ${name}:22\r\n\r\n`);
  // The gateway itself may need 10 s for the host.
  const head = await unlessAborted(readHead(socket, 2 * stepTimeoutMs), socket, signal);
  return /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? '';
}

/** Passes standard input and output on until the host ends its side, or until a signal. `lost` makes the error of a broken connection. */
export async function joinStdio(
  io: Io,
  open: (signal: AbortSignal) => Promise<TLSSocket>,
  lost: (cause: unknown) => Error,
): Promise<void> {
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  const off = [io.onSignal('SIGINT', leave), io.onSignal('SIGTERM', leave), io.onSignal('SIGHUP', leave)];
  try {
    const socket = await open(leaving.signal);
    leaving.signal.addEventListener('abort', () => socket.destroy());
    join({ input: io.bytes.input, output: io.bytes.output }, bothEnds(socket));
    // A server that ends its side is done. The program behind the pipe sees that when this process ends.
    await Promise.race([once(socket, 'end'), once(socket, 'close')]).catch((cause) => {
      throw lost(cause);
    });
    socket.destroy();
  } finally {
    for (const forget of off) forget();
  }
}
