// What a block of a name does to tunnels: their hosts under it stop being live, as if their domain were not verified. So edges forget
// the route, no certificate is ordered, and no visitor signs in there. `blocked` marks the hosts, so that the end of a block finds them.

import { blockedNameMessage, blockingNames } from '@underpass/rules/names/block.ts';
import { isWildcardName, servingNames } from '@underpass/rules/names/hostname.ts';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { piecesOf } from '../../platform/store/pieces.ts';
import type { Queries, Store } from '../../platform/store/store.ts';
import { refuse } from '../../request/http/refusal.ts';

/** Each has at most some 120 names that could block it; most have three. */
const hostsAtOnce = 200;

/** Hosts among these that a block holds. A caller that asks for many wildcards may know which ones cover a blocked name. */
export async function blockedAmong(
  db: Queries,
  hosts: readonly string[],
  coversBlocked: (wildcard: string) => Promise<boolean> = (wildcard) => hasBlockUnder(db, wildcard),
): Promise<ReadonlySet<string>> {
  const held = new Set<string>();
  for (const some of piecesOf(hosts, hostsAtOnce)) {
    const names = [...new Set(some.flatMap(blockingNames))];
    if (names.length === 0) continue;
    const found = db.selectFrom('blocks').select('value').where('kind', '=', 'name').where('value', 'in', names);
    const values = new Set((await found.execute()).map(({ value }) => value));
    for (const host of some) if (blockingNames(host).some((name) => values.has(name))) held.add(host);
  }
  for (const wildcard of hosts.filter(isWildcardName)) if (await coversBlocked(wildcard)) held.add(wildcard);
  return held;
}

/** Edges know no blocked names: a wildcard that covers one would serve it. */
async function hasBlockUnder(db: Queries, wildcard: string): Promise<boolean> {
  const found = db.selectFrom('blocks').select('value').where('kind', '=', 'name');
  const under = await found.where(sql<SqlBool>`value like ${likeUnder(wildcard.slice(2))} escape '\\'`).execute();
  return under.some(({ value }) => servingNames(value)[1] === wildcard);
}

/** The same for many wildcards: reads the blocks once. */
function createBlockSearch(db: Queries): (wildcard: string) => Promise<boolean> {
  const read = async () => {
    const rows = await db.selectFrom('blocks').select('value').where('kind', '=', 'name').execute();
    return new Set(rows.map(({ value }) => servingNames(value)[1]));
  };
  let covering: ReturnType<typeof read> | undefined;
  return async (wildcard) => {
    covering ??= read();
    return (await covering).has(wildcard);
  };
}

export async function refuseBlocked(db: Queries, hosts: readonly string[]): Promise<void> {
  const [first] = await blockedAmong(db, hosts);
  if (first !== undefined) refuse('forbidden', blockedNameMessage(first));
}

const likeUnder = (name: string): string => `%.${name.replace(/[\\%_]/g, '\\$&')}`;

/** True for hosts that a block of the name holds: itself, those below it, and the wildcard that covers it. */
const isUnder = (name: string): RawBuilder<SqlBool> =>
  sql<SqlBool>`(host in (${name}, ${servingNames(name)[1]}) or host like ${likeUnder(name)} escape '\\')`;

const tunnelsOf = (rows: readonly { readonly tunnel_id: string }[]): readonly string[] => [
  ...new Set(rows.map(({ tunnel_id }) => tunnel_id)),
];

/** Call it once the block was written, in its transaction. Returns the tunnels that the edges must drop or look at again. */
export const darken = async (trx: Queries, name: string): Promise<readonly string[]> =>
  tunnelsOf(
    await trx
      .updateTable('tunnel_hosts')
      .set({ live_host: null, blocked: 1 })
      .where(isUnder(name))
      .where('blocked', 'is', null)
      .returning('tunnel_id')
      .execute(),
  );

/** Call it once the block was deleted. A host that another block holds stays dark; one whose domain is no longer verified waits for it. */
export async function lighten(trx: Queries, name: string): Promise<readonly string[]> {
  const dark = trx.selectFrom('tunnel_hosts').selectAll().where('blocked', '=', 1).where(isUnder(name));
  const rows = await dark.execute();
  const stillHeld = await blockedAmong(
    trx,
    rows.map(({ host }) => host),
  );
  const free = rows.filter(({ host }) => !stillHeld.has(host));
  for (const { tunnel_id, project_id, host, apex_name } of free) {
    const isVerified = apex_name === '' || (await isOwned(trx, project_id, apex_name));
    const isTaken = await trx.selectFrom('tunnel_hosts').select('host').where('live_host', '=', host).executeTakeFirst();
    const live_host = isVerified && isTaken === undefined ? host : null;
    const own = trx.updateTable('tunnel_hosts').set({ blocked: null, live_host }).where('tunnel_id', '=', tunnel_id);
    await own.where('host', '=', host).execute();
  }
  return tunnelsOf(free);
}

async function isOwned(db: Queries, projectId: string, apexName: string): Promise<boolean> {
  const found = db.selectFrom('domains').select('id').where('project_id', '=', projectId).where('owned_apex', '=', apexName);
  return (await found.executeTakeFirst()) !== undefined;
}

/**
 * Darkens hosts that became live beside a block: a tunnel that was made in the same moment, or by a control of the previous release.
 * Reads live hosts only if names are blocked.
 */
export async function darkenMissed({ db, write }: Pick<Store, 'db' | 'write'>): Promise<readonly string[]> {
  const first = await db.selectFrom('blocks').select('id').where('kind', '=', 'name').limit(1).executeTakeFirst();
  const coversBlocked = createBlockSearch(db);
  const missed: string[] = [];
  for (let last = ''; first !== undefined; ) {
    const live = db.selectFrom('tunnel_hosts').select('live_host').where('live_host', '>', last).orderBy('live_host');
    const hosts = (await live.limit(hostsAtOnce).execute()).map(({ live_host }) => live_host!);
    for (const host of await blockedAmong(db, hosts, coversBlocked)) missed.push(...(await write((trx) => darken(trx, host))));
    if (hosts.length < hostsAtOnce) break;
    last = hosts.at(-1)!;
  }
  return missed;
}
