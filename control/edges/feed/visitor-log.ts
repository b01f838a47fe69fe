// Writes what edges note for visitor logs: once a second, at most so much at once, and only what the settings of each tunnel allow
// at that moment. What an edge says is not trusted to keep to them.

import { truncateAddress, visitorLogBounds } from '@underpass/rules/tunnel/visitor-log.ts';
import type { FeedLogEntry, FeedTunnelLog } from '@underpass/wire/feed/feed.ts';
import { sql } from 'kysely';
import { createId } from '../../platform/store/id.ts';
import { piecesOf } from '../../platform/store/pieces.ts';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries, Store } from '../../platform/store/store.ts';

/** Entries that wait for the next write. */
const mostWaiting = 4_000;
/** Entries of one write: the embedded database takes some 20 ms for them. */
const mostAtOnce = 1_000;
/** Rows of one statement: 18 columns each. */
const rowsAtOnce = 50;
/** A tunnel's log is cut to its bound after so many new rows. */
const cutEvery = 500;
/** A clock of an edge that is wrong by more counts as wrong. */
const mostLateMs = 600_000;

interface Waiting {
  readonly entries: FeedLogEntry[];
  missed: number;
}

type Rules = Pick<Schema['tunnels'], 'visitor_log' | 'visitor_log_query'>;

export class VisitorLogWriter {
  readonly #store: Store;
  readonly #waiting = new Map<string, Waiting>();
  /** Rows of each tunnel since its log was last cut. */
  readonly #since = new Map<string, number>();
  #count = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  add(logs: readonly FeedTunnelLog[]): void {
    for (const { tunnelId, entries, missed } of logs) {
      const log = this.#waiting.get(tunnelId) ?? { entries: [], missed: 0 };
      this.#waiting.set(tunnelId, log);
      const taken = entries.slice(0, Math.max(0, mostWaiting - this.#count));
      log.entries.push(...taken);
      log.missed += missed + entries.length - taken.length;
      this.#count += taken.length;
    }
  }

  /** Writes all that waits: no more comes. */
  async flushAll(nowMs: number): Promise<void> {
    while (this.#waiting.size > 0) await this.flush(nowMs);
  }

  /** A failed write loses its entries: they are of the last second, and the next ones come. */
  async flush(nowMs: number): Promise<void> {
    const batch = this.#take();
    if (batch.length === 0) return;
    const written = new Map<string, number>();
    await this.#store.write(async (trx) => {
      // In the order of ids: two processes that write at once must not deadlock.
      for (const [tunnelId, log] of batch) written.set(tunnelId, await writeLog(trx, tunnelId, log, nowMs));
    });
    for (const [tunnelId, rows] of written) await this.#cut(tunnelId, rows);
  }

  #take(): readonly (readonly [tunnelId: string, log: Waiting])[] {
    const taken: (readonly [string, Waiting])[] = [];
    let room = mostAtOnce;
    for (const [tunnelId, log] of this.#waiting) {
      if (room === 0) break;
      const entries = log.entries.splice(0, room);
      room -= entries.length;
      taken.push([tunnelId, { entries, missed: log.missed }]);
      log.missed = 0;
      if (log.entries.length === 0) this.#waiting.delete(tunnelId);
    }
    this.#count -= mostAtOnce - room;
    return taken.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  async #cut(tunnelId: string, rows: number): Promise<void> {
    const since = (this.#since.get(tunnelId) ?? cutEvery) + rows;
    if (since < cutEvery) this.#since.set(tunnelId, since);
    else if (rows > 0) {
      await cutLog(this.#store.db, tunnelId, await rowsOfTunnel(this.#store.db, tunnelId));
      this.#since.set(tunnelId, 0);
    } else this.#since.delete(tunnelId);
  }
}

/** Locks the tunnel, so a call that switches the log off waits and then deletes these rows too. Returns how many rows it wrote. */
async function writeLog(trx: Queries, tunnelId: string, { entries, missed }: Waiting, nowMs: number): Promise<number> {
  const rules = await trx
    .updateTable('tunnels')
    .set((eb) => ({ visitor_log: eb.ref('visitor_log') }))
    .where('id', '=', tunnelId)
    .where('visitor_log', 'is not', null)
    .returning(['visitor_log', 'visitor_log_query'])
    .executeTakeFirst();
  if (rules === undefined) return 0;
  const rows = entries.map((entry) => rowOf(tunnelId, entry, rules, nowMs));
  if (missed > 0) rows.push(rowOfMissed(tunnelId, missed, nowMs));
  for (const some of piecesOf(rows, rowsAtOnce)) await trx.insertInto('visitor_log').values(some).execute();
  return rows.length;
}

const microseconds = (ms: number): number => Math.min(Number.MAX_SAFE_INTEGER, Math.round(ms * 1_000));
const orNull = (ms: number | null): number | null => (ms === null ? null : microseconds(ms));

function rowOf(tunnelId: string, entry: FeedLogEntry, rules: Rules, nowMs: number): Schema['visitor_log'] {
  const { atMs, address, path, edgeMs, tunnelMs, upstreamMs, totalMs } = entry;
  return {
    id: createId(nowMs),
    tunnel_id: tunnelId,
    at: Math.round(Math.min(nowMs, Math.max(nowMs - mostLateMs, atMs))),
    missed: 0,
    address: rules.visitor_log === 'full' ? address : networkOf(address),
    ...{ who: entry.who, method: entry.method, host: entry.host, status: entry.status, bytes: entry.bytes, code: entry.code },
    ...{ rule: entry.rule ?? null, trace: entry.trace ?? null },
    path: rules.visitor_log_query === 1 ? path : path.replace(/\?.*$/, ''),
    ...{ edge_us: orNull(edgeMs), tunnel_us: orNull(tunnelMs), upstream_us: orNull(upstreamMs), total_us: microseconds(totalMs) },
  };
}

/** An edge that does not know the new setting yet sends whole addresses. */
const networkOf = (address: string): string => truncateAddress(address) || truncateAddress(address.replace(/\/(24|48)$/, ''));

const rowOfMissed = (tunnelId: string, missed: number, nowMs: number): Schema['visitor_log'] => ({
  ...{ id: createId(nowMs), tunnel_id: tunnelId, at: nowMs, missed, address: '', who: '', method: '', host: '', path: '' },
  ...{ status: 0, bytes: 0, code: '', rule: null, trace: null, edge_us: null, tunnel_us: null, upstream_us: null, total_us: 0 },
});

/** A tunnel's share of what its project keeps: with many logs, each has fewer rows. */
async function rowsOfTunnel(db: Queries, tunnelId: string): Promise<number> {
  const { logs } = await db
    .selectFrom('tunnels as own')
    .innerJoin('tunnels as other', 'other.project_id', 'own.project_id')
    .select((eb) => eb.fn.count<number>('other.id').as('logs'))
    .where('own.id', '=', tunnelId)
    .where('other.visitor_log', 'is not', null)
    .executeTakeFirstOrThrow();
  return Math.min(visitorLogBounds.rows, Math.floor(visitorLogBounds.projectRows / Math.max(1, Number(logs))));
}

/** Keeps the newest rows. */
async function cutLog(db: Queries, tunnelId: string, rows: number): Promise<void> {
  const last = await db
    .selectFrom('visitor_log')
    .select('id')
    .where('tunnel_id', '=', tunnelId)
    .orderBy('id', 'desc')
    .offset(rows)
    .limit(1)
    .executeTakeFirst();
  if (last === undefined) return;
  await sql`delete from visitor_log where tunnel_id = ${tunnelId} and id <= ${last.id}`.execute(db);
}
