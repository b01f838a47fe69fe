// The traffic that a project may have in a month. Beyond it the project's tunnels stand still, as if they were suspended, until the
// month ends or an operator raises the limit.

import { projectQuotas } from '@underpass/rules/limits.ts';
import { monthAt } from '@underpass/rules/text/month.ts';
import { sql } from 'kysely';
import { piecesOf } from '../platform/store/pieces.ts';
import type { Queries } from '../platform/store/store.ts';
import { readQuotas } from '../request/caller/membership.ts';
import type { CallDeps } from '../request/deps.ts';

export const gigabyte = 1e9;
/** The default is more than any project uses: no limit. */
export const hasTrafficLimit = (gigabytes: number): boolean => gigabytes < projectQuotas.gigabytesPerMonth;

type LimitDeps = Pick<CallDeps, 'store' | 'feed' | 'clock'>;

/** Few projects have a limit of their own; only these are summed. */
export const readLimited = (db: Queries) =>
  db
    .selectFrom('projects')
    .select(['id', 'limits', 'over_limit_at'])
    .where((eb) => eb.or([eb('limits', 'like', '%"gigabytesPerMonth"%'), eb('over_limit_at', 'is not', null)]))
    .execute();

const projectsAtOnce = 500;

/** Bytes to and from visitors since then. */
export async function readBytes(
  db: Queries,
  projectIds: readonly string[],
  fromMs: number,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const some of piecesOf(projectIds, projectsAtOnce)) {
    const rows = await db
      .selectFrom('usage_hours')
      .select(['project_id', sql<number>`sum(rx_bytes + tx_bytes)`.as('bytes')])
      .where('project_id', 'in', some)
      .where('hour_at', '>=', fromMs)
      .groupBy('project_id')
      .execute();
    for (const row of rows) found.set(row.project_id, Number(row.bytes));
  }
  return found;
}

/** Looks at every project with a limit. Two to three minutes of traffic beyond it pass: a minute is counted once it is over. */
export async function holdToTrafficLimits({ store, feed, clock }: LimitDeps): Promise<void> {
  const limited = await readLimited(store.db);
  if (limited.length === 0) return;
  const ids = limited.map(({ id }) => id);
  const bytes = await readBytes(store.db, ids, monthAt(clock()).startMs);
  const changed = limited.filter(({ id, limits, over_limit_at }) => {
    const most = readQuotas(limits).gigabytesPerMonth;
    return (hasTrafficLimit(most) && (bytes.get(id) ?? 0) >= most * gigabyte) !== (over_limit_at !== null);
  });
  for (const { id, over_limit_at } of changed) {
    const over = over_limit_at === null ? clock() : null;
    await store.db.updateTable('projects').set({ over_limit_at: over }).where('id', '=', id).execute();
    const tunnels = await store.db.selectFrom('tunnels').select('id').where('project_id', '=', id).execute();
    feed.tunnelsChanged(tunnels.map((tunnel) => tunnel.id));
  }
}
