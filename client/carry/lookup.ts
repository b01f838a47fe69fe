// Resolves names. `localhost` and names below it are loopback without a DNS query (RFC 6761 6.3), which libc does not do.

import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction, type NetConnectOpts } from 'node:net';
import { isLocalhostName } from '@underpass/rules/names/hostname.ts';
import type { Upstream } from '@underpass/rules/tunnel/upstream.ts';
import { withTimeout } from './timeout.ts';

const lookupTimeoutMs = 10_000;

const loopback: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * Queries in progress, one per name. A query cannot be cancelled, and libc runs four at a time: with a silent resolver, one
 * query per visitor would block the query for the region's name.
 */
const pending = new Map<string, Promise<readonly LookupAddress[]>>();

function resolveOnce(host: string): Promise<readonly LookupAddress[]> {
  const before = pending.get(host);
  if (before !== undefined) return before;
  const answer = lookup(host, { all: true }).finally(() => pending.delete(host));
  pending.set(host, answer);
  return answer;
}

export async function lookUp(host: string): Promise<readonly LookupAddress[]> {
  if (isLocalhostName(host)) return loopback;
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const found = await withTimeout(resolveOnce(host), lookupTimeoutMs);
  return found ?? Promise.reject(Object.assign(new Error('no answer from DNS'), { code: 'EAI_AGAIN' }));
}

/** The same for net.connect, which tries the addresses one after the other. */
export const lookUpForSocket: LookupFunction = (host, options, done) => {
  lookUp(host).then(
    (found) => {
      if (options.all) done(null, [...found]);
      else done(null, found[0]!.address, found[0]!.family);
    },
    (error: NodeJS.ErrnoException) => done(error, []),
  );
};

/** Options of net.connect for an upstream. */
export const addressOf = ({ host, port, socket }: Upstream): NetConnectOpts =>
  socket === undefined ? { host, port, lookup: lookUpForSocket } : { path: socket };

/** TLS server names are never addresses (RFC 6066 3), and Node throws if given one. */
export const serverNameOf = (host: string): { readonly servername?: string } => (isIP(host) === 0 ? { servername: host } : {});
