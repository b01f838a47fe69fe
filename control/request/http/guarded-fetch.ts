// Requests to addresses that members of projects choose: OpenID Connect providers and webhooks. They reach public addresses only:
// control must not become a way into the network that it runs in. `isReachable` decides at the moment of the connection, on the
// address itself.

import { lookup } from 'node:dns/promises';
import { request as requestPlain } from 'node:http';
import { type RequestOptions, request as requestTls } from 'node:https';
import { isIP } from 'node:net';
import { withoutBrackets } from '@underpass/rules/address/address.ts';
import { compileAllowList } from '@underpass/rules/address/allow-list.ts';
import { isLoopbackHost } from '@underpass/rules/tunnel/upstream.ts';
import { isInside } from '../../edges/dns/inside.ts';
import type { DnsPort } from '../../edges/dns/port.ts';

interface GuardedNet {
  /** The addresses of a name; none, or 'unknown', if there is no answer. */
  readonly addressesOf: (host: string) => Promise<readonly string[] | 'unknown'>;
  /** Private addresses that the operator allows. */
  readonly isAllowed: (address: string) => boolean;
  /** Development alone: plain http, and this machine. */
  readonly allowsLoopback: boolean;
}

/**
 * Resolves names as other programs of this machine do, the hosts file included. Each look-up takes a thread until the system gives
 * up, so a name whose servers stay silent delays all others. Only for development, and where the operator allows private networks.
 */
export const systemAddresses = async (host: string): Promise<readonly string[]> =>
  (await lookup(host, { all: true })).map(({ address }) => address);

const isReachable = (address: string, { allowsLoopback, isAllowed }: GuardedNet): boolean =>
  !isInside(address) || isAllowed(address) || (allowsLoopback && isLoopbackHost(address));

/** Why a request was not sent, or its answer not read. Callers tell people by the name. */
function refusal(
  name: 'InsideAddress' | 'PlainHttp' | 'LongAnswer' | 'ProtocolSwitch' | 'SilentNameServers',
  message: string,
): Error {
  return Object.assign(new Error(message), { name });
}

const refuseInside = (host: string): Error => refusal('InsideAddress', `${host} is not a public address`);

/** Fails unless every address is allowed, so that a name with two cannot get past. */
async function reachableAddresses(host: string, net: GuardedNet): Promise<readonly string[]> {
  const found = await net.addressesOf(host);
  if (found === 'unknown') throw refusal('SilentNameServers', `the name servers of ${host} do not answer`);
  if (found.length === 0 || !found.every((address) => isReachable(address, net))) throw refuseInside(host);
  return found;
}

const guardedLookup =
  (net: GuardedNet): NonNullable<RequestOptions['lookup']> =>
  (host, options, done) => {
    const found = reachableAddresses(host, net).then((addresses) =>
      addresses.map((address) => ({ address, family: isIP(address) })),
    );
    found.then(
      // Node asks for all when it races IPv4 and IPv6.
      (all) => (options.all === true ? done(null, all) : done(null, all[0]!.address, all[0]!.family)),
      (error) => done(error, '', 4),
    );
  };

function checkUrl(url: URL, net: GuardedNet): void {
  const host = withoutBrackets(url.hostname);
  if (url.protocol !== 'https:' && !(net.allowsLoopback && url.protocol === 'http:'))
    throw refusal('PlainHttp', 'only https is allowed');
  if (isIP(host) !== 0 && !isReachable(host, net)) throw refuseInside(host);
}

function answerOf(status: number, headers: Record<string, string | string[] | undefined>, body: Buffer): Response {
  const copied = new Headers();
  for (const name of ['content-type', 'www-authenticate', 'location', 'dpop-nonce']) {
    const value = headers[name];
    if (typeof value === 'string') copied.set(name, value);
  }
  const isEmpty = [204, 205, 304].includes(status);
  return new Response(isEmpty ? null : new Uint8Array(body), { status, headers: copied });
}

interface NetSettings {
  readonly production: boolean;
  /** Private networks that the operator allows. */
  readonly networks: readonly string[];
  readonly dns: Pick<DnsPort, 'lookup'>;
}

/** Reaches public addresses and the named networks; in development this machine too. */
export const createGuardedNet = ({ production, networks, dns }: NetSettings): GuardedNet => ({
  addressesOf: production && networks.length === 0 ? (host) => dns.lookup(host) : systemAddresses,
  allowsLoopback: !production,
  isAllowed: compileAllowList(networks),
});

interface GuardedOptions {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export type GuardedFetch = (address: string, options: GuardedOptions) => Promise<Response>;

/** Follows no redirect, and reads no more than a bounded answer. Its caller's signal bounds the time. */
export const createGuardedFetch =
  (net: GuardedNet, answerMaxBytes: number): GuardedFetch =>
  (address, { method, headers, body, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const url = new URL(address);
    checkUrl(url, net);
    const send = url.protocol === 'https:' ? requestTls : requestPlain;
    const options = { method, headers, agent: false, lookup: guardedLookup(net), ...(signal ? { signal } : {}) };
    const sent = send(url, options as RequestOptions, (incoming) => {
      const chunks: Buffer[] = [];
      let size = 0;
      incoming.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > answerMaxBytes) sent.destroy(refusal('LongAnswer', `the answer has more than ${answerMaxBytes} bytes`));
        else chunks.push(chunk);
      });
      incoming.on('end', () => resolve(answerOf(incoming.statusCode ?? 502, incoming.headers, Buffer.concat(chunks))));
      incoming.on('error', reject);
    });
    sent.on('error', reject);
    // Without a listener Node closes the connection and says nothing.
    sent.on('upgrade', (_incoming, socket) => {
      socket.destroy();
      reject(refusal('ProtocolSwitch', 'the answer switches to another protocol'));
    });
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    sent.end(body === undefined || body === null ? undefined : String(body));
    return promise;
  };
