// Dials an edge: TCP (or CONNECT through a proxy), TLS with the right CA, then the upgrade with the token.
// Every failure is a CarryError with a code of problem.ts.

import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { carrierPath, carrierProtocol, clientIdHeader, edgeHeader, softwareHeader } from '@underpass/wire/core/upgrade.ts';
import { HandshakeError, requestUpgrade } from '@underpass/wire/handshake.ts';
import type { HttpProxy } from '../process/proxy.ts';
import { lookUp, serverNameOf } from './lookup.ts';
import { CarryError, type ProblemCode } from './problem.ts';
import { connectThroughProxy } from './proxy-connect.ts';
import { raceAddresses } from './race.ts';
import type { RegionUrl } from './region-url.ts';
import { connected, dialTcp, stepTimeoutMs, unlessAborted } from './socket.ts';

export interface DialOptions {
  readonly region: RegionUrl;
  readonly proxy: HttpProxy | null;
  readonly token: string;
  readonly clientId: string;
  readonly software: string;
  readonly caPem: string | undefined;
  /** Rotates the addresses: each try and each carrier begins with another one. */
  readonly dialIndex: number;
  readonly signal: AbortSignal;
}

type TrustedDial = Pick<DialOptions, 'region' | 'proxy' | 'caPem' | 'dialIndex' | 'signal'>;

export interface DialledCarrier {
  readonly socket: TLSSocket;
  /** The edge's id; null if it sent none. */
  readonly edge: string | null;
  /** The edge's address, or the proxy's. */
  readonly address: string;
}

export async function dialEdge(options: DialOptions): Promise<DialledCarrier> {
  const socket = await dialTrusted(options);
  try {
    const headers = await upgrade(socket, options);
    return { socket, edge: headers.get(edgeHeader) ?? null, address: socket.remoteAddress ?? '' };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** TLS to the region, with a certificate of the right CA. */
export async function dialTrusted(options: TrustedDial): Promise<TLSSocket> {
  return dialTls(options, { ca: await trustedAuthorities(options) });
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
  denied: 'token-refused',
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

async function trustedAuthorities(options: TrustedDial): Promise<string[] | undefined> {
  const { pin } = options.region;
  if (pin === null)
    return options.caPem === undefined ? undefined : (await import('../process/authorities.ts')).authoritiesWith(options.caPem);
  const known = learned.get(pin) ?? (await learnAuthority(options, pin));
  learned.set(pin, known);
  return [known];
}

/** Reads the edge's chain over a connection that carries nothing else, and returns the certificate that the pin names. */
async function learnAuthority(options: TrustedDial, pin: string): Promise<string> {
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

/** TLS to the host, over TCP or through the proxy. `trust` says which certificate is accepted. */
export async function dialTls(
  options: Pick<DialOptions, 'region' | 'proxy' | 'dialIndex' | 'signal'>,
  trust: ConnectionOptions,
): Promise<TLSSocket> {
  const { region } = options;
  const under = await (options.proxy === null ? dialRegion(options) : connectThroughProxy(options.proxy, region, options.signal));
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

/** Races the region's addresses, in an order that `dialIndex` rotates. */
async function dialRegion({ region, dialIndex, signal }: Pick<DialOptions, 'region' | 'dialIndex' | 'signal'>): Promise<Socket> {
  const found = await lookUp(region.host).catch(() => []);
  if (found.length === 0) throw new CarryError('name-unresolved', region.host);
  const first = dialIndex % found.length;
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
