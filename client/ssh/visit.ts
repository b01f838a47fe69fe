// The visitor's side: a connection to an SSH host through the gateway behind an ingress tunnel.
import type { TLSSocket } from 'node:tls';
import { dialTls } from '../carry/dial.ts';
import { CarryError } from '../carry/problem.ts';
import { proxyFor } from '../carry/proxy-connect.ts';
import { joinStdio, presentedPin, requestHost } from '../gateway/visit.ts';
import { ClientError } from '../process/error.ts';
import type { Io } from '../process/io.ts';
import type { SshTarget } from './hosts.ts';

/** Joins standard input and output to the host, until one side ends. */
export function visitSshHost(io: Io, target: SshTarget, pins: readonly string[]): Promise<void> {
  const address = `${target.name}.${target.domain}`;
  const lost = (cause: unknown) => new ClientError('ssh-unreachable', `${address} (the connection was lost)`, { cause });
  return joinStdio(io, (signal) => openSshHost(io.env, target, address, pins, signal), lost);
}

/** One of `pins` must be the SHA-256 of the gateway's certificate; nothing is sent before that. */
async function openSshHost(
  env: Io['env'],
  target: SshTarget,
  address: string,
  pins: readonly string[],
  signal: AbortSignal,
): Promise<TLSSocket> {
  const socket = await dialGateway(env, target, signal).catch((cause) => {
    if (!(cause instanceof CarryError)) throw cause;
    throw new ClientError('ssh-unreachable', `${address} (${cause.problem.detail})`, { cause });
  });
  try {
    if (!pins.includes(presentedPin(socket) ?? '')) throw new ClientError('ssh-untrusted', target.domain);
    const status = await requestHost(socket, target.name, signal).catch((cause) => {
      throw new ClientError('ssh-unreachable', `${address} (the gateway does not answer)`, { cause });
    });
    if (status !== '200') throw new ClientError(status === '403' ? 'ssh-refused' : 'ssh-unreachable', address);
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
