// Whether names point at their region; control orders certificates only for these. Looks up a name that points elsewhere again,
// after a pause that doubles.

import { decideDnsCheck } from '@underpass/rules/names/dns-record.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { DnsPort } from '../dns/port.ts';
import type { WantedName } from './core/wanted.ts';
import { findDelegation } from './delegation.ts';

const firstPauseMs = 15_000;
const longestPauseMs = 10 * 60_000;

/** Compares the addresses of a host with those of its region. */
export async function pointsHere(db: Queries, dns: Pick<DnsPort, 'lookup'>, name: string, region: string): Promise<boolean> {
  const row = await db.selectFrom('regions').select('data_plane_host').where('name', '=', region).executeTakeFirst();
  if (row === undefined) return false;
  const [found, ours] = await Promise.all([dns.lookup(name), dns.lookup(row.data_plane_host)]);
  return found !== 'unknown' && ours !== 'unknown' && decideDnsCheck(found, ours) === 'dns_ok';
}

/** Whether the record of a user leads the proof of a wildcard to us. */
export async function delegatesHere(db: Queries, dns: Pick<DnsPort, 'alias'>, wildcard: string, zone: string): Promise<boolean> {
  const delegation = await findDelegation(db, wildcard, zone);
  return delegation !== undefined && (await dns.alias(delegation.name)) === delegation.target;
}

export interface AddressCheck {
  /** Looks the name up. */
  readonly isHere: (wanted: WantedName) => Promise<boolean>;
  /** The name pointed elsewhere, and its pause is not over. */
  readonly isPaused: (name: string) => boolean;
  /** Forgets every other name: names come and go with their tunnels, without end. */
  readonly keepOnly: (names: ReadonlySet<string>) => void;
}

export function createAddressCheck(
  pointsHere: (name: string, region: string) => Promise<boolean>,
  clock: () => number,
): AddressCheck {
  const elsewhere = new Map<string, { readonly until: number; readonly pauseMs: number }>();
  return {
    isHere: async ({ name, region }) => {
      const here = await pointsHere(name, region);
      const pauseMs = Math.min((elsewhere.get(name)?.pauseMs ?? firstPauseMs / 2) * 2, longestPauseMs);
      if (here) elsewhere.delete(name);
      else elsewhere.set(name, { until: clock() + pauseMs, pauseMs });
      return here;
    },
    isPaused: (name) => clock() < (elsewhere.get(name)?.until ?? 0),
    keepOnly: (names) => {
      for (const name of elsewhere.keys()) if (!names.has(name)) elsewhere.delete(name);
    },
  };
}
