// Checks by the clock that the domains of tunnels in use still lead to their region: a few at a time, by one control process at a time.
// It keeps the outcome beside the host, for the first screen. A look-up that fails changes nothing.

import { dayMs, hourMs } from '@underpass/rules/limits.ts';
import { decideDnsCheck, lookedUpName } from '@underpass/rules/names/dns-record.ts';
import type { DnsPort } from '../../edges/dns/port.ts';
import { listRegionRows } from '../../edges/region/regions.ts';
import { forEachAtOnce } from '../../platform/job/at-once.ts';
import type { WithLease } from '../../platform/store/lease.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { CallDeps } from '../../request/deps.ts';

interface HostRecheckDeps extends Pick<CallDeps, 'store' | 'clock' | 'log'> {
  readonly dns: { readonly hosts: Pick<DnsPort['hosts'], 'ask'> };
  readonly withLease: WithLease;
}

/** A pass every 5 minutes covers 14,400 hosts in 12 hours. A silent name server holds one of the places for 5 s. */
const hostsPerPass = 100;
const atOnce = 4;
const checkEveryMs = 12 * hourMs;
/** One that led elsewhere is checked sooner: its people may have mended it. */
const checkMissingEveryMs = hourMs / 2;

interface DueHost {
  readonly host: string;
  readonly region: string;
  readonly missingSince: number | null;
  readonly checkedAt: number | null;
}

/** Tunnels that have never had a client are being set up, and those whose client left are checked for a month. */
const mostAwayMs = 30 * dayMs;

const dueHosts = (db: Queries, now: number): Promise<DueHost[]> =>
  db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('tunnels as t', 't.id', 'h.tunnel_id')
    .innerJoin('last_clients as c', 'c.tunnel_id', 'h.tunnel_id')
    .select(['h.live_host as host', 't.region', 'h.dns_missing_since as missingSince', 'h.dns_checked_at as checkedAt'])
    .where('h.live_host', 'is not', null)
    .where('h.apex_name', '!=', '')
    .where('c.seen_at', '>', 0)
    .where((eb) => eb.or([eb('c.left_at', 'is', null), eb('c.left_at', '>', now - mostAwayMs)]))
    .where((eb) =>
      eb.or([
        eb('h.dns_checked_at', 'is', null),
        eb('h.dns_checked_at', '<=', now - checkEveryMs),
        eb.and([eb('h.dns_missing_since', 'is not', null), eb('h.dns_checked_at', '<=', now - checkMissingEveryMs)]),
      ]),
    )
    .orderBy((eb) => eb.fn.coalesce('h.dns_checked_at', eb.val(0)))
    .limit(hostsPerPass)
    .$narrowType<{ host: string }>()
    .execute();

/** The addresses of each region; none of a region whose own name is not known, with which nothing can be compared. */
async function regionAddresses({ store, dns }: HostRecheckDeps): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map<string, readonly string[]>();
  for (const { name, data_plane_host } of await listRegionRows(store.db)) {
    const answer = await dns.hosts.ask(data_plane_host);
    if (answer !== 'unknown') found.set(name, answer);
  }
  return found;
}

/** `ours`: the addresses of the region. */
async function checkOne({ store, dns }: HostRecheckDeps, due: DueHost, ours: readonly string[], now: number): Promise<void> {
  const answer = ours.length === 0 ? 'unknown' : await dns.hosts.ask(lookedUpName(due.host));
  const isFirstMiss = due.missingSince !== null && due.missingSince === due.checkedAt;
  // Without an answer, one miss stays one miss: a second one has to follow it.
  const unanswered = isFirstMiss ? now : due.missingSince;
  const since = answer === 'unknown' ? unanswered : decideDnsCheck(answer, ours) === 'dns_ok' ? null : (due.missingSince ?? now);
  const change = store.db.updateTable('tunnel_hosts').set({ dns_checked_at: now, dns_missing_since: since });
  await change.where('live_host', '=', due.host).execute();
}

/** Returns one pass over the hosts that are due; it answers how many it checked. */
export function createHostRecheck(deps: HostRecheckDeps): () => Promise<number> {
  return async () => {
    let checked = 0;
    await deps.withLease('host-recheck', async () => {
      const now = deps.clock();
      const queue = await dueHosts(deps.store.db, now);
      checked = queue.length;
      if (checked === 0) return;
      const ours = await regionAddresses(deps);
      await forEachAtOnce(queue, atOnce, (due) =>
        checkOne(deps, due, ours.get(due.region) ?? [], now).catch((error: unknown) =>
          deps.log.error({ err: error }, 'dns: a host could not be checked'),
        ),
      );
    });
    return checked;
  };
}

/** Forgets that a host led elsewhere: somebody has just looked, and it leads here. */
export async function noteMended(db: Queries, hosts: readonly string[]): Promise<void> {
  if (hosts.length === 0) return;
  await db.updateTable('tunnel_hosts').set({ dns_missing_since: null }).where('live_host', 'in', hosts).execute();
}
