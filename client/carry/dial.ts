// Dials an edge: TCP (or CONNECT through a proxy), TLS with the right CA, then the upgrade with the token.
// Every failure is a CarryError with a code of problem.ts.

import type { X509Certificate } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, getCACertificates, type TLSSocket } from 'node:tls';
import { carrierPath, carrierProtocol, clientIdHeader, edgeHeader, softwareHeader } from '@underpass/wire/core/upgrade.ts';
import { HandshakeError, readHead, requestUpgrade } from '@underpass/wire/handshake.ts';
import { lookUp, serverNameOf } from './lookup.ts';
import { CarryError, type ProblemCode } from './problem.ts';
import type { HttpProxy } from './proxy.ts';
import { raceAddresses } from './race.ts';
import type { RegionUrl } from './region-url.ts';

export interface DialOptions {
  readonly region: RegionUrl;
  readonly proxy: HttpProxy | null;
  readonly token: string;
  readonly clientId: string;
  readonly software: string;
  readonly caPem: string | undefined;
  /** Rotates the addresses: each try and each carrier begins with another one. */
  readonly turn: number;
  readonly signal: AbortSignal;
}

export interface DialledCarrier {
  readonly socket: TLSSocket;
  /** The edge's id; null if it sent none. */
  readonly edge: string | null;
  /** The edge's address, or the proxy's. */
  readonly address: string;
}

/** For each step: the TCP connection, the TLS handshake, the HTTP response. */
const stepTimeoutMs = 10_000;

export async function dialEdge(options: DialOptions): Promise<DialledCarrier> {
  const authorities = await trustedAuthorities(options);
  const socket = await dialTls(options, { ca: authorities });
  try {
    const headers = await upgrade(socket, options);
    return { socket, edge: headers.get(edgeHeader) ?? null, address: socket.remoteAddress ?? '' };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

async function upgrade(socket: TLSSocket, options: DialOptions): Promise<ReadonlyMap<string, string>> {
  try {
    const answer = requestUpgrade(socket, {
      host: options.region.authority,
      path: carrierPath,
      protocol: carrierProtocol,
      token: options.token,
      headers: { [clientIdHeader]: options.clientId, [softwareHeader]: options.software },
      timeoutMs: stepTimeoutMs,
    });
    return await unlessAborted(answer, socket, options.signal);
  } catch (error) {
    throw error instanceof HandshakeError ? translateHandshake(error, options.region) : error;
  }
}

const handshakeProblems: Readonly<Record<HandshakeError['code'], ProblemCode>> = {
  'bad-request': 'not-underpass',
  'token-refused': 'token-refused',
  'tunnel-suspended': 'tunnel-suspended',
  version: 'version',
  'too-many-clients': 'too-many-clients',
  unready: 'edge-busy',
  draining: 'edge-busy',
  'not-underpass': 'not-underpass',
  timeout: 'edge-timeout',
  lost: 'connection-lost',
};

function translateHandshake(error: HandshakeError, region: RegionUrl): CarryError {
  const wait = error.retryAfterSeconds === null ? null : error.retryAfterSeconds * 1000;
  return new CarryError(handshakeProblems[error.code], region.authority, wait);
}

/** CA certificates by pin. An edge presents them, and only a certificate that matches the pin is added. */
const learned = new Map<string, string>();

async function trustedAuthorities(options: DialOptions): Promise<string[] | undefined> {
  const { pin } = options.region;
  if (pin === null) return options.caPem === undefined ? undefined : [...getCACertificates('default'), options.caPem];
  const known = learned.get(pin) ?? (await learnAuthority(options, pin));
  learned.set(pin, known);
  return [known];
}

/** Reads the edge's chain over a connection that carries nothing else, and returns the certificate that the pin names. */
async function learnAuthority(options: DialOptions, pin: string): Promise<string> {
  const socket = await dialTls(options, { rejectUnauthorized: false });
  const chain = presentedChain(socket);
  socket.destroy();
  const found = chain.find((certificate) => certificate.fingerprint256.replaceAll(':', '').toLowerCase() === pin);
  if (found === undefined)
    throw new CarryError('certificate-unknown', `${options.region.host} presents no certificate of the CA in the URL`);
  return found.toString();
}

/** Chains are short. The bound stops at a chain that refers to itself. */
const maxChain = 8;

function presentedChain(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  while (next !== undefined && chain.length < maxChain) {
    chain.push(next);
    next = next.issuerCertificate;
  }
  return chain;
}

async function dialTls(options: DialOptions, trust: ConnectionOptions): Promise<TLSSocket> {
  const { region } = options;
  const under = await (options.proxy === null ? dialRegion(options) : dialThroughProxy(options.proxy, options));
  const tls = connectTls({
    socket: under,
    host: region.host,
    ALPNProtocols: ['http/1.1'],
    minVersion: 'TLSv1.2',
    ...serverNameOf(region.host),
    ...trust,
  });
  await connected(tls, 'secureConnect', options.signal, (error) => translateTls(error, region));
  return tls;
}

function translateTls(error: NodeJS.ErrnoException | null, { host }: RegionUrl): CarryError {
  const code = error?.code ?? '';
  if (error === null) return new CarryError('edge-timeout', host);
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return new CarryError('certificate-name', host);
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return new CarryError('certificate-expired', host);
  if (/CERT|ISSUER|SIGNATURE|CHAIN/.test(code)) return new CarryError('certificate-unknown', `${host} (${code})`);
  if (/^ERR_SSL/.test(code)) return new CarryError('not-underpass', `${host} (${code})`);
  return new CarryError('connection-lost', `${host} (${code || error.message})`);
}

/** Races the region's addresses, in an order that `turn` rotates. */
async function dialRegion({ region, turn, signal }: DialOptions): Promise<Socket> {
  const found = await lookUp(region.host).catch(() => []);
  if (found.length === 0) throw new CarryError('name-unresolved', region.host);
  const first = turn % found.length;
  const addresses = [...found.slice(first), ...found.slice(0, first)].map(({ address }) => address);
  return raceAddresses(addresses, signal, (address, either) =>
    dialTcp(address, region.port, either, (error) => translateTcp(error, `${region.authority} at ${address}`)),
  );
}

function translateTcp(error: NodeJS.ErrnoException | null, place: string): CarryError {
  return error === null
    ? new CarryError('edge-timeout', place)
    : new CarryError('edge-unreachable', `${place} (${error.code ?? error.message})`);
}

type Translate = (error: NodeJS.ErrnoException | null) => CarryError;

async function dialTcp(host: string, port: number, signal: AbortSignal, translate: Translate): Promise<Socket> {
  const socket = connectTcp({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 });
  await connected(socket, 'connect', signal, translate);
  return socket;
}

async function dialThroughProxy(proxy: HttpProxy, { region, signal }: DialOptions): Promise<Socket> {
  const place = `${proxy.host}:${proxy.port}`;
  const translate: Translate = (error) => new CarryError('proxy-unreachable', `${place} (${error?.code ?? 'timeout'})`);
  const found = await lookUp(proxy.host).catch((error) => Promise.reject(translate(error)));
  const addresses = found.map(({ address }) => address);
  const tcp = await raceAddresses(addresses, signal, (address, either) => dialTcp(address, proxy.port, either, translate));
  const socket = proxy.tls ? connectTls({ socket: tcp, host: proxy.host, ...serverNameOf(proxy.host) }) : tcp;
  if (proxy.tls) await connected(socket, 'secureConnect', signal, translate);
  await requestConnect(socket, proxy, { region, signal }, place);
  return socket;
}

type ConnectTarget = Pick<DialOptions, 'region' | 'signal'>;

async function requestConnect(socket: Socket, proxy: HttpProxy, { region, signal }: ConnectTarget, place: string): Promise<void> {
  const host = region.host.includes(':') ? `[${region.host}]` : region.host;
  const target = `${host}:${region.port}`;
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

/** An abort destroys the socket, and the promise that waits for its answer rejects. */
function unlessAborted<Value>(answer: Promise<Value>, socket: Socket, signal: AbortSignal): Promise<Value> {
  const stop = (): void => void socket.destroy();
  signal.addEventListener('abort', stop);
  if (signal.aborted) stop();
  return answer.finally(() => signal.removeEventListener('abort', stop));
}

/** Waits for the event. An error, a timeout or an abort destroys the socket and rejects with what `translate` returns. */
function connected(socket: Socket, event: 'connect' | 'secureConnect', signal: AbortSignal, translate: Translate): Promise<void> {
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
    const timer = setTimeout(() => fail(null), stepTimeoutMs);
    signal.addEventListener('abort', aborted);
    // The error listener stays, because the next owner of the socket may add its own a turn later.
    socket.on('error', fail).once(event, succeeded).once('close', closed);
    if (signal.aborted) aborted();
  });
}
