// Proofs for wildcards of http tunnels: a CNAME that the user sets once leads `_acme-challenge` to a name in a zone of the operator,
// where we show the proof. The name follows from the challenge of the verified domain, so each project has its own: a record that a
// former project left behind proves nothing for the next one.

import { createHash } from 'node:crypto';
import type { Queries } from '../../platform/store/store.ts';

interface Delegation {
  /** The name in the user's zone that leads to `target`. */
  readonly name: string;
  readonly target: string;
}

const labelChars = 32;

function delegationOf(wildcard: string, challenge: string, zone: string): Delegation {
  const base = wildcard.slice(2);
  const label = createHash('sha256').update(`acme ${challenge} ${base}`).digest('hex').slice(0, labelChars);
  return { name: `_acme-challenge.${base}`, target: `${label}.${zone}` };
}

/** Undefined unless a tunnel has the wildcard under a verified domain. */
export async function findDelegation(db: Queries, wildcard: string, zone: string): Promise<Delegation | undefined> {
  const row = await db
    .selectFrom('tunnel_hosts as h')
    .innerJoin('domains as d', (join) => join.onRef('d.project_id', '=', 'h.project_id').onRef('d.apex_name', '=', 'h.apex_name'))
    .select('d.challenge')
    .where('h.live_host', '=', wildcard)
    .where('d.verified_at', 'is not', null)
    .executeTakeFirst();
  return row && delegationOf(wildcard, row.challenge, zone);
}
