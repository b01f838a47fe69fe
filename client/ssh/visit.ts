// The visitor's side: a connection to an SSH host through the gateway behind an ingress tunnel.
import { once } from 'node:events';
import type { TLSSocket } from 'node:tls';
import { readHead } from '@underpass/wire/handshake.ts';
import { dialTls } from '../carry/dial.ts';
import { CarryError } from '../carry/problem.ts';
import { proxyFor } from '../carry/proxy-connect.ts';
import { stepTimeoutMs, unlessAborted } from '../carry/socket.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { SshTarget } from './hosts.ts';
import { pinOf } from './identity.ts';
import { bothEnds, join } from './join.ts';

/** Joins standard input and output to the host, until one side ends. */
export async function visitSshHost(io: Io, target: SshTarget, pins: readonly string[]): Promise<void> {
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  const off = [io.onSignal('SIGINT', leave), io.onSignal('SIGTERM', leave), io.onSignal('SIGHUP', leave)];
  try {
    const socket = await openSshHost(io.env, target, pins, leaving.signal);
    leaving.signal.addEventListener('abort', () => socket.destroy());
    join({ input: io.bytes.input, output: io.bytes.output }, bothEnds(socket));
    // An SSH server that ends its side is done. ssh sees that when this process ends.
    await Promise.race([once(socket, 'end'), once(socket, 'close')]).catch((cause) => {
      throw new ClientError('ssh-unreachable', `${target.name}.${target.domain} (the connection was lost)`, { cause });
    });
    socket.destroy();
  } finally {
    for (const forget of off) forget();
  }
}

/** One of `pins` must be the SHA-256 of the gateway's certificate; nothing is sent before that. */
async function openSshHost(env: Io['env'], target: SshTarget, pins: readonly string[], signal: AbortSignal): Promise<TLSSocket> {
  const address = `${target.name}.${target.domain}`;
  const socket = await dialGateway(env, target, signal).catch((cause) => {
    if (!(cause instanceof CarryError)) throw cause;
    throw new ClientError('ssh-unreachable', `${address} (${cause.problem.detail})`, { cause });
  });
  try {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined || !pins.includes(pinOf(certificate))) throw new ClientError('ssh-untrusted', target.domain);
    await requestHost(socket, target.name, address, signal);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function dialGateway(env: Io['env'], { domain, port }: SshTarget, signal: AbortSignal): Promise<TLSSocket> {
  const region = { host: domain, port, authority: port === 443 ? domain : `${domain}:${port}`, pin: null };
  // The pin stands in for the authorities: only the gateway has the key of that certificate.
  const trust = { rejectUnauthorized: false, minVersion: 'TLSv1.3' } as const;
  const socket = await dialTls({ region, proxy: proxyFor(env, domain, port), dialIndex: 0, signal }, trust);
  socket.allowHalfOpen = true;
  return socket;
}

const statusErrors = { '403': 'ssh-refused', '502': 'ssh-unreachable' } as const;

async function requestHost(socket: TLSSocket, name: string, address: string, signal: AbortSignal): Promise<void> {
  // The port is there for the form; the gateway knows the host's own.
  socket.write(`CONNECT ${name}:22 HTTP/1.1\r\nHost: ${name}:22\r\n\r\n`);
  // The gateway itself may need 10 s for the host.
  const head = await unlessAborted(readHead(socket, 2 * stepTimeoutMs), socket, signal).catch((cause) => {
    throw new ClientError('ssh-unreachable', `${address} (the gateway does not answer)`, { cause });
  });
  const status = /^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? '';
  if (status === '200') return;
  const code = statusErrors[status as keyof typeof statusErrors] ?? 'ssh-unreachable';
  throw new ClientError(code, address);
}
