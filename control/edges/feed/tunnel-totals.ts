// What has passed through each tunnel since its first traffic: the counters of the figures that owners read (docs/figures.md). The
// tally of minutes adds to them in the transaction that writes the minutes, so they survive restarts of edges and of control.

import { addFigures, type Figures, parseFigures, renderFigures } from '@underpass/rules/tunnel/figures.ts';
import { sql } from 'kysely';
import type { Queries } from '../../platform/store/store.ts';
import type { TunnelMinute } from './minute-tally.ts';

interface TunnelTotals {
  readonly rxBytes: number;
  readonly txBytes: number;
  readonly connections: number;
  readonly figures: Figures;
}

type Added = TunnelTotals & { readonly tunnelId: string };

const addTotalsOf = (a: Added, b: Added): Added => ({
  tunnelId: a.tunnelId,
  rxBytes: a.rxBytes + b.rxBytes,
  txBytes: a.txBytes + b.txBytes,
  connections: a.connections + b.connections,
  figures: addFigures(a.figures, b.figures),
});

/** One for each tunnel that had traffic, in the order of ids: two processes that write at once then wait for each other in turn. */
function sumByTunnel(minutes: readonly TunnelMinute[]): readonly Added[] {
  const moved = minutes.filter((row) => row.rxBytes + row.txBytes + row.connections + row.figures.length > 0);
  const sums = [...Map.groupBy(moved, (row) => row.tunnelId).values()].map((rows) =>
    rows.reduce(addTotalsOf, { ...rows[0]!, ...noTotals }),
  );
  return sums.sort((a, b) => (a.tunnelId < b.tunnelId ? -1 : 1));
}

const noTotals: TunnelTotals = { rxBytes: 0, txBytes: 0, connections: 0, figures: [] };

/** Tunnels that were deleted have no totals. */
export async function addTotals(trx: Queries, minutes: readonly TunnelMinute[]): Promise<void> {
  const sums = sumByTunnel(minutes);
  if (sums.length === 0) return;
  const added = sums.map((row) => sql`(${row.tunnelId}, ${row.rxBytes}, ${row.txBytes}, ${row.connections})`);
  const own = (column: string) => sql.ref(`tunnel_totals.${column}`);
  const big = (column: string) => sql`cast(${sql.ref(`added.${column}`)} as bigint)`;
  // Locks each row until its figures are written.
  const { rows } = await sql<{ id: string; figures: string | null }>`
    with added (id, rx, tx, opened) as (values ${sql.join(added)})
    insert into tunnel_totals (tunnel_id, rx_bytes, tx_bytes, connections)
    select added.id, ${big('rx')}, ${big('tx')}, ${big('opened')} from added join tunnels on tunnels.id = added.id
    where true order by added.id
    on conflict (tunnel_id) do update set
      rx_bytes = ${own('rx_bytes')} + excluded.rx_bytes,
      tx_bytes = ${own('tx_bytes')} + excluded.tx_bytes,
      connections = ${own('connections')} + excluded.connections
    returning tunnel_id as id, figures`.execute(trx);
  const known = new Map(rows.map((row) => [row.id, parseFigures(row.figures)]));
  await writeFigures(
    trx,
    sums.filter(({ tunnelId, figures }) => figures.length > 0 && known.has(tunnelId)),
    known,
  );
}

async function writeFigures(trx: Queries, sums: readonly Added[], known: ReadonlyMap<string, Figures>): Promise<void> {
  if (sums.length === 0) return;
  const texts = sums.map(
    ({ tunnelId, figures }) => sql`(${tunnelId}, ${renderFigures(addFigures(known.get(tunnelId)!, figures))})`,
  );
  await sql`with sums (id, figures) as (values ${sql.join(texts)})
    update tunnel_totals set figures = (select sums.figures from sums where sums.id = tunnel_id)
    where tunnel_id in (select id from sums)`.execute(trx);
}
