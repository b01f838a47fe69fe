// Deletes quick tunnels whose expiry has come, and moves it on for those that a client carries. Runs once a minute in every
// control process; each deletes under the project's lock, so it happens once.

import type { EdgeHealth } from '@underpass/rules/entity/resource.ts';
import type { FeedPort } from '../../edges/feed/port.ts';
import { isTimeInDoubt } from '../../platform/store/known-time.ts';
import { type Queries, takeProjectLock } from '../../platform/store/store.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import type { CallDeps } from '../../request/deps.ts';
import { leaseFrom, quickLeaseMs } from './quick.ts';
import { presenceOf } from './region-presence.ts';
import { deleteTunnelRow } from './write-tunnel.ts';

export interface ExpiryDeps extends Pick<CallDeps, 'store' | 'clock' | 'log'> {
  readonly feed: Pick<FeedPort, 'clientCount' | 'edges' | 'tunnelsChanged'>;
}

/** Whether the reports about this region say who is connected: its edges are there, and none is silent or has just come. */
export const knowsClients = (edges: readonly EdgeHealth[], region: string, nowMs: number): boolean =>
  presenceOf(edges, region, nowMs) === 'known';

const expiring = (db: Queries) =>
  db
    .selectFrom('quick_tunnels as q')
    .innerJoin('tunnels as t', 't.id', 'q.tunnel_id')
    .select(['t.id', 't.name', 't.project_id', 't.region', 'q.expires_at', 'q.ends_at'])
    .where('q.expires_at', 'is not', null)
    // A suspended tunnel stays: its owner could otherwise let it expire and make it again.
    .where('t.suspended_at', 'is', null);

type Row = Awaited<ReturnType<ReturnType<typeof expiring>['execute']>>[number];

const hasEnded = ({ ends_at }: Row, nowMs: number): boolean => ends_at !== null && ends_at <= nowMs;

/** True also while the clients are unknown: control or its edges may have just started. */
const isCarried = ({ feed }: ExpiryDeps, { id, region }: Row, nowMs: number): boolean =>
  feed.clientCount(id) > 0 || !knowsClients(feed.edges(), region, nowMs);

async function renew({ store }: ExpiryDeps, row: Row, nowMs: number): Promise<void> {
  const expires_at = leaseFrom(nowMs, row.ends_at);
  // Half of the lease is enough for a crash of control to pass unnoticed, and spares writes.
  if (row.expires_at! - nowMs > quickLeaseMs / 2 && row.expires_at! <= expires_at) return;
  const update = store.db.updateTable('quick_tunnels').set({ expires_at }).where('tunnel_id', '=', row.id);
  await update.where('expires_at', 'is not', null).execute();
}

/** Reads the row again under the lock: somebody may have kept, renewed or suspended the tunnel. */
const expire = (deps: ExpiryDeps, { id, project_id }: Row, nowMs: number): Promise<boolean> =>
  deps.store.write(async (trx) => {
    if (!(await takeProjectLock(trx, project_id))) return false;
    const row = await expiring(trx).where('t.id', '=', id).executeTakeFirst();
    if (row === undefined || row.expires_at! > nowMs) return false;
    if (!hasEnded(row, nowMs) && isCarried(deps, row, nowMs)) return false;
    await deleteTunnelRow(trx, row, nowMs);
    const detail = { reason: hasEnded(row, nowMs) ? 'its time is over' : 'no client is connected' };
    const about = {
      projectId: project_id,
      actor: 'underpass',
      action: 'tunnel.delete' as const,
      target: row.name,
      address: '',
      detail,
    };
    await writeAudit(trx, about, nowMs);
    return true;
  });

export async function expireTunnels(deps: ExpiryDeps): Promise<void> {
  const nowMs = deps.clock();
  const rows = await expiring(deps.store.db).execute();
  const isOver = (row: Row): boolean => hasEnded(row, nowMs) || (row.expires_at! <= nowMs && !isCarried(deps, row, nowMs));
  const { over = [], open = [] } = Object.groupBy(rows, (row) => (isOver(row) ? 'over' : 'open'));
  for (const row of open) if (isCarried(deps, row, nowMs)) await renew(deps, row, nowMs);
  if (over.length === 0 || (await isTimeInDoubt(deps.store, nowMs, deps.log))) return;
  for (const row of over) if (await expire(deps, row, nowMs)) deps.feed.tunnelsChanged([row.id]);
}
