// Control's use of DNS: proofs of domains, and addresses of hosts for the dashboard's DNS check.

import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { challengeNames, decideChallenge } from './core/challenge.ts';
import { isInside } from './inside.ts';
import type { DnsPort } from './port.ts';
import type { RecordResolver } from './resolver.ts';

export interface DnsDeps {
  readonly resolver: RecordResolver;
  /** Data-plane hosts and wildcard domains of our regions: users see all their addresses. */
  readonly ownHosts: () => Promise<readonly string[]>;
  /** The least time of a look-up that shows no address. */
  readonly emptyMs?: number;
}

/** Longer than most name servers take. */
const defaultEmptyMs = 500;

/** RFC 6761 6.3: names under localhost are loopback and need no query. */
const isLocalhost = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost');
const loopback: readonly string[] = ['127.0.0.1', '::1'];

export function createDns({ resolver, ownHosts, emptyMs = defaultEmptyMs }: DnsDeps): DnsPort {
  const addresses = async (host: string): Promise<readonly string[]> => {
    if (isIP(host) !== 0 || host === '') return [];
    return isLocalhost(host) ? loopback : resolver.addresses(host);
  };

  /** The addresses of our own data plane: users see these even if they are inside ones (a private installation). */
  const ownAddresses = async (own: readonly string[]): Promise<ReadonlySet<string>> =>
    new Set((await Promise.all(own.map(addresses))).flat());

  const findVisible = async (host: string): Promise<readonly string[]> => {
    const own = await ownHosts();
    // Asks for both families in every case, because an extra question for hidden addresses would show in the time.
    const [found, ours] = await Promise.all([addresses(host), ownAddresses(own)]);
    return own.includes(host) ? found : found.filter((address) => !isInside(address) || ours.has(address));
  };

  return {
    checkChallenge: async (apexName, challenge) =>
      decideChallenge(await Promise.all(challengeNames(apexName).map(resolver.txt)), challenge),
    lookup: async (host) => {
      const earliest = pause(emptyMs);
      const visible = await findVisible(host);
      // A name server nearby answers sooner than a distant one, so the time would reveal whether addresses were hidden.
      if (visible.length === 0) await earliest;
      return visible;
    },
  };
}
