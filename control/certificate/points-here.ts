// Whether a host's addresses are those of its region: nothing is asked of an authority for a host that is not.

import { decideDnsCheck } from '@underpass/rules/dns-record.ts';
import type { DnsPort } from '../dns/port.ts';
import type { Queries } from '../store/store.ts';

export async function pointsHere(db: Queries, dns: Pick<DnsPort, 'lookup'>, name: string, region: string): Promise<boolean> {
  const row = await db.selectFrom('regions').select('data_plane_host').where('name', '=', region).executeTakeFirst();
  if (row === undefined) return false;
  const [found, ours] = await Promise.all([dns.lookup(name), dns.lookup(row.data_plane_host)]);
  return decideDnsCheck(found, ours) === 'dns_ok';
}
