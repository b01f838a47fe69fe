// Gives tcp tunnels their public ports, from the range of their region. A port stays with its tunnel, and afterwards for a while
// with the project, so that no other project gets its visitors. A tcp tunnel without a row has no public port.

import { randomInt } from 'node:crypto';
import { dayMs, durations } from '@underpass/rules/limits.ts';
import { isInRange, type PortRange, parsePortRange } from '@underpass/rules/tunnel/port-range.ts';
import type { TcpPortsTable } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { Membership } from '../../request/caller/membership.ts';
import { takeQuota } from '../../request/caller/quota.ts';
import { orInvalid, refuse } from '../../request/http/refusal.ts';

interface PortTaker {
  readonly membership: Membership;
  readonly region: string;
  readonly tunnelId: string;
  readonly tunnelName: string;
  readonly nowMs: number;
}

/** Locks the region's row until the transaction ends: two calls at once cannot take the last port. */
async function lockRange(trx: Queries, region: string): Promise<PortRange> {
  const update = trx.updateTable('regions').set({ name: region }).where('name', '=', region);
  const row = await update.returning('tcp_ports').executeTakeFirst();
  return row?.tcp_ports
    ? orInvalid(parsePortRange(row.tcp_ports))
    : refuse('invalid', `Region '${region}' offers no tcp tunnels`);
}

/**
 * A resting port of the same project, that of the same name if there is one: so a project has no more ports than it had tunnels at
 * once, however often it deletes and makes them.
 */
function ownResting(rows: readonly TcpPortsTable[], { membership, tunnelName }: PortTaker, range: PortRange) {
  const own = rows.filter((row) => row.tunnel_id === null && row.project_id === membership.id && isInRange(range, row.port));
  return own.find((row) => row.tunnel_name === tunnelName) ?? own[0];
}

function freePort(rows: readonly TcpPortsTable[], { first, last }: PortRange, nowMs: number): number | undefined {
  const isTaken = ({ tunnel_id, held_until }: TcpPortsTable): boolean =>
    tunnel_id !== null || held_until === null || held_until > nowMs;
  const taken = new Set(rows.filter(isTaken).map(({ port }) => port));
  const free = Array.from({ length: last - first + 1 }, (_, at) => first + at).filter((port) => !taken.has(port));
  return free.length === 0 ? undefined : free[randomInt(free.length)];
}

/** The project must be locked. */
export async function takePort(trx: Queries, taker: PortTaker): Promise<number> {
  const { membership, region, tunnelId: tunnel_id, tunnelName: tunnel_name, nowMs } = taker;
  const range = await lockRange(trx, region);
  const rows = await trx.selectFrom('tcp_ports').selectAll().where('region', '=', region).execute();
  const own = ownResting(rows, taker, range);
  if (own === undefined) await takeQuota(trx, membership, 'tcpPorts');
  const port = own?.port ?? freePort(rows, range, nowMs);
  if (port === undefined) return refuse('conflict', `Region '${region}' has no free port. Please ask the operator for more.`);
  const holder = { project_id: membership.id, tunnel_id, tunnel_name, held_until: null };
  await trx
    .insertInto('tcp_ports')
    .values({ region, port, ...holder })
    .onConflict((conflict) => conflict.columns(['region', 'port']).doUpdateSet(holder))
    .execute();
  return port;
}

/** Call before the tunnel, or all tunnels of the project, are deleted. */
export async function restPorts(trx: Queries, column: 'tunnel_id' | 'project_id', id: string, nowMs: number): Promise<void> {
  const held_until = nowMs + durations.portRestDays * dayMs;
  await trx.updateTable('tcp_ports').set({ held_until }).where(column, '=', id).where('tunnel_id', 'is not', null).execute();
}

/** `host:port` of those of the tunnels that have a public port. */
export async function readPorts(db: Queries, tunnelIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (tunnelIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('tcp_ports as c')
    .innerJoin('regions as r', 'r.name', 'c.region')
    .select(['c.tunnel_id', 'c.port', 'r.data_plane_host'])
    .where('c.tunnel_id', 'in', tunnelIds)
    .execute();
  return new Map(rows.map(({ tunnel_id, port, data_plane_host }) => [tunnel_id ?? '', `${data_plane_host}:${port}`]));
}
