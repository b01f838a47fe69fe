// Control's use of DNS: proofs of domains, and addresses of hosts for the dashboard's DNS check.

import { isIP } from 'node:net';
import { challengeNames, decideChallenge } from './core/challenge.ts';
import { isInside } from './inside.ts';
import type { DnsPort } from './port.ts';
import type { RecordResolver } from './resolver.ts';

export interface DnsDeps {
  readonly resolver: RecordResolver;
  /** Data-plane hosts and wildcard domains of our regions: users see all their addresses. */
  readonly ownHosts: () => Promise<readonly string[]>;
}

/** RFC 6761 6.3: names under localhost are loopback; no server is asked for them. */
const isLocalhost = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost');
const loopback: readonly string[] = ['127.0.0.1', '::1'];

export function createDns({ resolver, ownHosts }: DnsDeps): DnsPort {
  const addresses = async (host: string): Promise<readonly string[]> => {
    if (isIP(host) !== 0 || host === '') return [];
    return isLocalhost(host) ? loopback : resolver.addresses(host);
  };

  /** Drops inside addresses, except those of our own data plane (a private installation). */
  const publicOnly = async (found: readonly string[], own: readonly string[]): Promise<readonly string[]> => {
    if (!found.some(isInside)) return found;
    const ours = new Set((await Promise.all(own.map(addresses))).flat());
    return found.filter((address) => !isInside(address) || ours.has(address));
  };

  return {
    checkChallenge: async (apexName, challenge) =>
      decideChallenge(await Promise.all(challengeNames(apexName).map(resolver.txt)), challenge),
    lookup: async (host) => {
      const [found, own] = await Promise.all([addresses(host), ownHosts()]);
      return own.includes(host) ? found : publicOnly(found, own);
    },
  };
}
