// The DNS look-ups of one call: within the caller's limits and turns, and within the time of the call.

import type { CheckedDomain } from '@underpass/rules/entity/resource.ts';
import type { SilentZones } from '../../edges/dns/core/silent-zones.ts';
import type { DnsPort } from '../../edges/dns/port.ts';
import { LimitReached } from '../../platform/limit/limit-reached.ts';
import type { Limiter } from '../../platform/limit/limiter.ts';
import type { Turns } from '../../platform/limit/turns.ts';
import { takeAllowance, userShare } from '../../request/caller/allowance.ts';
import type { Caller } from '../../request/caller/caller.ts';

export interface LookUpDeps {
  readonly dns: DnsPort;
  readonly dnsTurns: Turns;
  readonly limiter: Limiter;
  readonly silentZones: SilentZones;
}

export type Found = Pick<CheckedDomain, 'ips' | 'unchecked'>;

export interface HostLookUps {
  /** Looks up hosts of verified domains, and our own. Callers share the answers. */
  shared(host: string, zone: string): Promise<Found>;
  /**
   * Looks up a host of a domain that nobody has verified. Not shared: that an answer comes quickly would tell who else asks for a
   * name of a domain that is nobody's yet.
   */
  unproven(host: string): Promise<Found>;
  end(): void;
}

/**
 * A silent name server takes 5 s, and people wait for the other domains. What has no answer by then is kept when it comes, for the
 * next call.
 */
const answerWithinMs = 3_000;

/** Looks a zone's hosts up one by one until it has answered once: its silent name servers hold one turn, not all. */
function createZones() {
  const zones = new Map<string, { answers: boolean; last: Promise<unknown> }>();
  return async (name: string, work: () => Promise<Found>): Promise<Found> => {
    const zone = zones.get(name) ?? { answers: false, last: Promise.resolve() };
    zones.set(name, zone);
    const before = zone.last;
    const found = before.then(work);
    zone.last = before.then(() => (zone.answers ? undefined : found));
    const { ips } = await found;
    if (ips !== undefined) zone.answers = true;
    return found;
  };
}

export function createHostLookUps(
  { dns, dnsTurns, limiter, silentZones }: LookUpDeps,
  caller: Caller,
  fresh: boolean,
): HostLookUps {
  const late = Promise.withResolvers<'unknown'>();
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    late.resolve('unknown');
  }, answerWithinMs);
  const inZone = createZones();

  const lookUp = async (work: () => Promise<readonly string[] | 'unknown'>): Promise<Found> => {
    if (isOver) return { unchecked: 'unanswered' };
    try {
      await takeAllowance(limiter, 'dns', caller);
      const turn = dnsTurns(userShare(caller), async () => (isOver ? 'unknown' : work()));
      const answer = await Promise.race([turn, late.promise]);
      return answer === 'unknown' ? { unchecked: 'unanswered' } : { ips: [...answer] };
    } catch (error) {
      if (error instanceof LimitReached) return { unchecked: 'limited' };
      throw error;
    }
  };

  /** Looks for the host again once it has a turn: another caller may have asked by then. */
  const ask = async (host: string, zone: string): Promise<Found> => {
    const recent = fresh ? undefined : dns.hosts.recent(host);
    if (recent !== undefined && recent !== 'unknown') return { ips: [...recent] };
    if (recent === 'unknown') return { unchecked: 'unanswered' };
    return lookUp(async () => {
      const kept = fresh ? undefined : dns.hosts.recent(host);
      if (kept !== undefined) return kept;
      silentZones.ask(zone, performance.now());
      const answer = await dns.hosts.ask(host);
      if (answer !== 'unknown') silentZones.hear(zone);
      return answer;
    });
  };

  return {
    shared: (host, zone) => inZone(zone, () => ask(host, zone)),
    unproven: (host) =>
      lookUp(async () => {
        await limiter.take('newDomainDnsPerUser', userShare(caller));
        return dns.lookup(host);
      }),
    end: () => clearTimeout(timer),
  };
}
