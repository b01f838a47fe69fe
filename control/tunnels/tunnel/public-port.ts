// Gives tcp tunnels their public ports, from the range of their region. A port stays with its tunnel, and afterwards for a while
// with the project, so that no other project gets its visitors. A tcp tunnel without a row has no public port.

import { randomInt } from 'node:crypto';
import { dayMs, durations } from '@underpass/rules/limits.ts';
import { isInRange, type PortRange, parsePortRange } from '@underpass/rules/tunnel/port-range.ts';
import { type TunnelType, tunnelTypes } from '@underpass/rules/tunnel/tunnel-type.ts';
import { LimitReached } from '../../platform/limit/limit-reached.ts';
import type { Limiter } from '../../platform/limit/limiter.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { userShare } from '../../request/caller/allowance.ts';
import type { Caller } from '../../request/caller/caller.ts';
import type { Membership } from '../../request/caller/membership.ts';
import { withinQuota } from '../../request/caller/quota.ts';
import { orInvalid, refuse } from '../../request/http/refusal.ts';

/** The right of one call to a fresh port. */
export interface FreshPortTurn {
  /** Why the person may have none now. */
  readonly refusal: LimitReached | null;
  isUsed: boolean;
}

interface PortTaker {
  readonly turn: FreshPortTurn;
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

function freePort(rows: readonly Schema['tcp_ports'][], { first, last }: PortRange, nowMs: number): number | undefined {
  const isTaken = ({ tunnel_id, held_until }: Schema['tcp_ports']): boolean =>
    tunnel_id !== null || held_until === null || held_until > nowMs;
  const taken = new Set(rows.filter(isTaken).map(({ port }) => port));
  const free = Array.from({ length: last - first + 1 }, (_, at) => first + at).filter((port) => !taken.has(port));
  return free.length === 0 ? undefined : free[randomInt(free.length)];
}

async function takeTurn(limiter: Limiter, caller: Caller): Promise<FreshPortTurn> {
  try {
    await limiter.take('publicPortPerUser', userShare(caller));
    return { refusal: null, isUsed: false };
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    return { refusal: error, isUsed: false };
  }
}

/**
 * Counts a fresh port of the person before the transaction of `write`, because the limiter may need a connection of its own, and
 * takes it back if the tunnel got a port that rested.
 */
export async function withFreshPortTurn<T>(
  limiter: Limiter,
  { caller, type, isPrivate }: { readonly caller: Caller; readonly type: TunnelType; readonly isPrivate: boolean },
  write: (turn: FreshPortTurn) => Promise<T>,
): Promise<T> {
  if (tunnelTypes[type].foundBy !== 'port' || isPrivate) return write({ refusal: null, isUsed: false });
  const turn = await takeTurn(limiter, caller);
  try {
    return await write(turn);
  } finally {
    if (!turn.isUsed && turn.refusal === null) await limiter.giveBack('publicPortPerUser', userShare(caller));
  }
}

/** The project's resting port of the tunnel's name, else a fresh one while the quota has room, else any that rests with it. */
function choosePort(rows: readonly Schema['tcp_ports'][], taker: PortTaker, range: PortRange): number {
  const { membership, region, tunnelName, turn, nowMs } = taker;
  const here = rows.filter((row) => row.region === region);
  const own = rows.filter((row) => row.project_id === membership.id);
  const held = own.filter((row) => row.tunnel_id !== null).length;
  const resting = here.filter((row) => row.tunnel_id === null && own.includes(row) && isInRange(range, row.port));
  withinQuota(membership, 'tcpPorts', held + 1);
  const isRoomForFresh = held + resting.length < membership.quotas.tcpPorts;
  const known = resting.find((row) => row.tunnel_name === tunnelName)?.port;
  if (known !== undefined) return known;
  const fresh = isRoomForFresh ? freePort(here, range, nowMs) : undefined;
  if (fresh !== undefined && turn.refusal === null) {
    turn.isUsed = true;
    return fresh;
  }
  if (fresh !== undefined && resting.length === 0) throw turn.refusal;
  return resting[0]?.port ?? refuse('conflict', `Region '${region}' has no free port. Please ask the operator for more.`);
}

/** The project must be locked. */
export async function takePort(trx: Queries, taker: PortTaker): Promise<number> {
  const { membership, region, tunnelId: tunnel_id, tunnelName: tunnel_name } = taker;
  const range = await lockRange(trx, region);
  const rows = await trx
    .selectFrom('tcp_ports')
    .selectAll()
    .where((where) => where.or([where('region', '=', region), where('project_id', '=', membership.id)]))
    .execute();
  const port = choosePort(rows, taker, range);
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
