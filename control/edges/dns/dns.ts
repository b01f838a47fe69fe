// Control's use of DNS: proofs of domains, and addresses of hosts for the dashboard's DNS check.

import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type DnsProviderName, findDnsProvider } from '@underpass/rules/names/dns-provider.ts';
import { isLocalhostName } from '@underpass/rules/names/hostname.ts';
import { challengeNames, decideChallenge } from './core/challenge.ts';
import { isInside } from './inside.ts';
import type { DnsPort } from './port.ts';
import type { DnsAnswer, RecordResolver } from './resolver.ts';
import { createSharedAnswers } from './shared-answers.ts';

interface DnsDeps {
  readonly resolver: RecordResolver;
  /** Data-plane hosts and wildcard domains of our regions: users see all their addresses. */
  readonly ownHosts: () => Promise<readonly string[]>;
  /** The least time of a look-up that shows no address. */
  readonly emptyMs?: number;
  /** Milliseconds; monotonic. */
  readonly clock?: () => number;
}

/** Longer than most name servers take. */
const defaultEmptyMs = 500;

const loopback: readonly string[] = ['127.0.0.1', '::1'];

/** Long enough that the people of a project share an answer, short enough that a check after a change sees it. */
const hostKeptMs = 12_000;
/** A zone rarely moves. */
const providerKeptMs = 10 * 60_000;
/** The bound of each of both: about 200 bytes an entry, 2 MB. */
const keptMost = 10_000;

export function createDns({ resolver, ownHosts, emptyMs = defaultEmptyMs, clock = () => performance.now() }: DnsDeps): DnsPort {
  const addresses = async (host: string): Promise<readonly [DnsAnswer, DnsAnswer]> => {
    if (isIP(host) !== 0 || host === '') return [[], []];
    return isLocalhostName(host) ? [loopback, []] : resolver.addresses(host);
  };

  /** The addresses of our own data plane: users see these even if they are inside ones (a private installation). */
  const ownAddresses = async (own: readonly string[]): Promise<ReadonlySet<string>> =>
    new Set((await Promise.all(own.map(addresses))).flat().flatMap((answer) => (answer === 'unknown' ? [] : answer)));

  const keptOwn = createSharedAnswers((hosts) => ownAddresses(hosts.split(' ')), { keptMs: hostKeptMs, most: 1, clock });

  const findVisible = async (host: string, readOwn: typeof ownAddresses): Promise<DnsAnswer> => {
    const own = await ownHosts();
    // Asks for both families in every case, because an extra question for hidden addresses would show in the time.
    const [families, ours] = await Promise.all([addresses(host), readOwn(own)]);
    const found = families.flatMap((answer) => (answer === 'unknown' ? [] : answer));
    const visible = own.includes(host) ? found : found.filter((address) => !isInside(address) || ours.has(address));
    return visible.length === 0 && families.includes('unknown') ? 'unknown' : visible;
  };

  const findProvider = async (zone: string): Promise<DnsProviderName | 'other'> => {
    const servers = await resolver.nameServers(zone);
    return (servers === 'unknown' ? undefined : findDnsProvider(servers)) ?? 'other';
  };

  return {
    checkChallenge: async (apexName, challenge) =>
      decideChallenge(await Promise.all(challengeNames(apexName).map(resolver.txt)), challenge),
    lookup: async (host) => {
      const earliest = pause(emptyMs);
      const visible = await findVisible(host, ownAddresses);
      // A name server nearby answers sooner than a distant one, so the time would reveal whether addresses were hidden.
      if (visible === 'unknown' || visible.length === 0) await earliest;
      return visible;
    },
    alias: async (name) => {
      const found = await resolver.aliases(name);
      return found === 'unknown' ? undefined : found[0]?.toLowerCase().replace(/\.$/, '');
    },
    hosts: createSharedAnswers(
      (host) =>
        findVisible(host, async (own) => {
          const key = own.join(' ');
          return keptOwn.recent(key) ?? keptOwn.ask(key);
        }),
      { keptMs: hostKeptMs, most: keptMost, clock },
    ),
    providers: createSharedAnswers(findProvider, { keptMs: providerKeptMs, most: keptMost, clock }),
  };
}
