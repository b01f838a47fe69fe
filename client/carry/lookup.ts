// Names to addresses. `localhost` and what is under it are loopback without asking anybody (RFC 6761 6.3): libc does not know.

import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { isLocal } from './proxy.ts';
import { withTimeout } from './timeout.ts';

const lookupTimeoutMs = 10_000;

const loopback: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** Of names that are asked for now. Nobody can take a question back, and libc answers four at a time: all visitors behind
    a resolver that is silent would stand in line before the region's name. */
const asked = new Map<string, Promise<readonly LookupAddress[]>>();

function ask(host: string): Promise<readonly LookupAddress[]> {
  const before = asked.get(host);
  if (before !== undefined) return before;
  const answer = lookup(host, { all: true }).finally(() => asked.delete(host));
  asked.set(host, answer);
  return answer;
}

export async function lookUp(host: string): Promise<readonly LookupAddress[]> {
  if (isLocal(host)) return loopback;
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const found = await withTimeout(ask(host), lookupTimeoutMs);
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

/** For TLS, which names a server by a name only (RFC 6066 3); Node throws where it is an address. */
export const serverNameOf = (host: string): { readonly servername?: string } => (isIP(host) === 0 ? { servername: host } : {});
