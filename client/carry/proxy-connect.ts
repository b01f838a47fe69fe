// Connects through an HTTP proxy with CONNECT.

import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { inBrackets } from '@underpass/rules/address/address.ts';
import { type HandshakeError, readHead } from '@underpass/wire/handshake.ts';
import { chooseProxy, type Env, type HttpProxy } from '../process/proxy.ts';
import { lookUp, serverNameOf } from './lookup.ts';
import { CarryError, type Problem } from './problem.ts';
import { raceAddresses } from './race.ts';
import { connected, dialTcp, stepTimeoutMs, type Translate, unlessAborted } from './socket.ts';

export interface ConnectTarget {
  /** The host without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Null means: dial directly. Throws proxy-invalid. */
export function proxyFor(env: Env, host: string, port: number): HttpProxy | null {
  const chosen = chooseProxy(env, host, port);
  if (!chosen.ok) throw new CarryError('proxy-invalid', chosen.message);
  return chosen.value;
}

/** Rejects with proxy-unreachable or proxy-refused. */
export async function connectThroughProxy(proxy: HttpProxy, target: ConnectTarget, signal: AbortSignal): Promise<Socket> {
  const place = `${proxy.host}:${proxy.port}`;
  const translate: Translate = (error) => new CarryError('proxy-unreachable', `${place} (${error?.code ?? 'timeout'})`);
  const found = await lookUp(proxy.host).catch((error) => Promise.reject(translate(error)));
  const addresses = found.map(({ address }) => address);
  const tcp = await raceAddresses(addresses, signal, (address, either) => dialTcp(address, proxy.port, either, translate));
  const socket = proxy.tls ? connectTls({ socket: tcp, host: proxy.host, ...serverNameOf(proxy.host) }) : tcp;
  if (proxy.tls) await connected(socket, 'secureConnect', signal, translate);
  await requestConnect(socket, proxy, target, place, signal);
  return socket;
}

/** Why the proxy does not connect to the target; null if it does. */
export async function checkProxy(proxy: HttpProxy, target: ConnectTarget): Promise<Problem | null> {
  try {
    (await connectThroughProxy(proxy, target, new AbortController().signal)).destroy();
    return null;
  } catch (error) {
    if (!(error instanceof CarryError)) throw error;
    return error.problem;
  }
}

async function requestConnect(
  socket: Socket,
  proxy: HttpProxy,
  { host, port }: ConnectTarget,
  place: string,
  signal: AbortSignal,
): Promise<void> {
  const target = `${inBrackets(host)}:${port}`;
  const authorization = proxy.authorization === null ? '' : `Proxy-Authorization: ${proxy.authorization}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
  const head = await unlessAborted(readHead(socket, stepTimeoutMs), socket, signal).catch((error: HandshakeError) => {
    socket.destroy();
    throw new CarryError('proxy-unreachable', `${place} (${error.code})`);
  });
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1] ?? 'no HTTP';
  if (status.startsWith('2')) return;
  socket.destroy();
  throw new CarryError('proxy-refused', `${place} answers ${status}`);
}
