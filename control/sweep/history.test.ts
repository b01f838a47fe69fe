// The history through its life: minutes, quarters, partitions. No byte is lost or counted twice on the way.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { HistoryRange, TunnelHistory } from '@underpass/rules/entity/resource.ts';
import { emptyFigures } from '@underpass/rules/tunnel/figures.ts';
import { sql } from 'kysely';
import { pino } from 'pino';
import { historyKeptMs, minuteMs, quarterMs } from '../edges/feed/core/history-points.ts';
import { readHistory } from '../edges/feed/history.ts';
import { rollUp, writeMinutes } from '../edges/feed/history-rows.ts';
import { addProject, addRegion, addTunnel, silentLog } from '../edges/feed/test-kit.ts';
import { dumpStore, restoreStore } from '../platform/store/dump.ts';
import type { Store } from '../platform/store/store.ts';
import { onBothDatabases } from '../test-kit-databases.ts';
import { keepHistoryPartitions, rollUpHistory } from './history.ts';
import { deleteAllExpired, sweepStore } from './sweep.ts';

/** The start of an hour and a day. */
const start = Date.UTC(2026, 8, 21);
const hourMs = 4 * quarterMs;
const dayMs = 24 * hourMs;

const minute = (tunnelId: string, minuteMs: number, rxBytes = 1, clients = 1) => ({
  ...{ tunnelId, minuteMs, rxBytes, clients },
  ...{ txBytes: 2 * rxBytes, connections: 1, requests: 0, connectedMinutes: 0, projectId: undefined },
  figures: rxBytes === 0 ? [] : emptyFigures().with(1, rxBytes),
});

const totalOf = ({ points, stepSeconds }: TunnelHistory): number =>
  Math.round(points.reduce((sum, point) => sum + point.rx * stepSeconds, 0));
const answersOf = ({ points }: TunnelHistory): number => points.reduce((sum, { answers }) => sum + (answers?.['2xx'] ?? 0), 0);
/** Answers are as many as bytes here: no minute loses or doubles its figures either. */
async function totals(store: Store, id: string, nowMs: number, hasFigures = true): Promise<readonly number[]> {
  const ranges: readonly HistoryRange[] = ['hour', 'day', 'week'];
  return Promise.all(
    ranges.map(async (range) => {
      const history = await readHistory(store, id, range, nowMs);
      if (hasFigures) assert.equal(answersOf(history), totalOf(history));
      return totalOf(history);
    }),
  );
}
const countRows = async ({ db }: Store, table: string): Promise<number> =>
  Number((await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(db)).rows[0]?.n);

onBothDatabases((name, skip, open) =>
  describe(`history on ${name}`, { skip }, () => {
    const opened: Store[] = [];
    /** Starts with three tunnels, of which the third is deleted. */
    const fresh = async () => {
      const store = await open();
      opened.push(store);
      await addRegion(store.db, 'eu');
      const ids = await addProject(store.db, 'p');
      const add = (tunnel: string) => addTunnel(store.db, { ...ids, region: 'eu', name: tunnel, hosts: [] });
      const [one, two, three] = [await add('one'), await add('two'), await add('three')];
      await store.db.deleteFrom('tunnels').where('id', '=', three).execute();
      return { store, one, two, three };
    };
    after(async () => {
      for (const store of opened) await store.close();
    });

    it('shows each minute once at every moment of a roll-up', async () => {
      const { store, one, two, three } = await fresh();
      const nowMs = start + 3 * quarterMs;
      for (const id of [one, two, three])
        await writeMinutes(
          store,
          [0, 1, 14, 15, 29, 44].map((at) => minute(id, start + at * minuteMs, at + 1, at)),
        );
      const seen = [];
      do {
        for (const id of [one, two]) seen.push(await totals(store, id, nowMs));
      } while (await rollUp(store, nowMs, 1));
      assert.deepEqual(seen, Array(seen.length).fill([109, 109, 109]));
      assert.equal(seen.length, 2 * (1 + 2 * 3), 'two quarters, each in three pieces: the last quarter is not settled');
      const quarters = await store.db
        .selectFrom('history_quarters')
        .selectAll()
        .orderBy('start_at')
        .orderBy('tunnel_id')
        .execute();
      assert.deepEqual(
        quarters.map((row) => row.figures),
        [...Array(3).fill(',18'), ...Array(3).fill(',46')],
        'summed up, and not only joined',
      );
      assert.deepEqual(
        quarters.map((row) => [row.start_at - start, row.rx_bytes, row.tx_bytes, row.connections, row.clients]),
        [...Array(3).fill([0, 18, 36, 3, 14]), ...Array(3).fill([quarterMs, 46, 92, 2, 29])],
        'those of a deleted tunnel too: they expire',
      );
    });

    it('adds what other processes write for the same minute, and keeps the most clients', async () => {
      const { store, one } = await fresh();
      for (const clients of [2, 5, 3]) await writeMinutes(store, [minute(one, start, 10, clients)]);
      const { points } = await readHistory(store, one, 'hour', start);
      assert.deepEqual([points.at(-1)?.rx, points.at(-1)?.clients], [0.5, 5]);
    });

    it('adds minutes that come late to their quarter, even in the middle of a roll-up', async () => {
      const { store, one, two } = await fresh();
      const nowMs = start + 2 * quarterMs;
      for (const id of [one, two]) await writeMinutes(store, [minute(id, start)]);
      await rollUp(store, nowMs, 1);
      const late = [one, two].flatMap((id) => [minute(id, start, 10), minute(id, start + minuteMs, 100)]);
      await writeMinutes(store, late);
      while (await rollUp(store, nowMs, 1));
      await writeMinutes(store, late);
      for (const id of [one, two]) assert.deepEqual((await totals(store, id, nowMs)).slice(1), [221, 221]);
    });

    it('adds each minute to the totals of its tunnel once, whatever is rolled up, and to none of a deleted one', async () => {
      const { store, one, two, three } = await fresh();
      const kept = [minute(one, start, 5), minute(two, start, 7), minute(three, start, 9), minute(one, start + minuteMs, 3)];
      await Promise.all([writeMinutes(store, kept), writeMinutes(store, [minute(one, start, 2), minute(two, start, 0, 1)])]);
      await sweepStore(store, start + hourMs, silentLog);
      const rows = await store.db.selectFrom('tunnel_totals').selectAll().orderBy('tunnel_id').execute();
      const seen = rows.map((row) => [row.tunnel_id, row.rx_bytes, row.tx_bytes, row.connections, row.figures]);
      assert.deepEqual(
        seen,
        [
          [one, 10, 20, 3, ',10'],
          [two, 7, 14, 2, ',7'],
        ].sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1)),
      );
    });

    it('is rolled up once by processes that sweep at the same time', async () => {
      const { store, one } = await fresh();
      await writeMinutes(store, [minute(one, start, 7)]);
      await Promise.all([1, 2, 3].map(() => sweepStore(store, start + hourMs, silentLog)));
      assert.deepEqual(await totals(store, one, start + hourMs), [0, 7, 7]);
    });

    it('shows what the previous release writes', async () => {
      const { store, one } = await fresh();
      const row = { tunnel_id: one, rx_bytes: 5, tx_bytes: 0, connections: 0, clients: 1 };
      await store.db
        .insertInto('metric_minutes')
        .values([0, 5 * hourMs, 3 * dayMs].map((ago) => ({ ...row, minute_at: start - ago })))
        .execute();
      await writeMinutes(store, [minute(one, start)]);
      assert.deepEqual(await totals(store, one, start, false), [6, 11, 16]);
    });

    it('keeps what a chart shows and no more, over nine days', async () => {
      const { store, one } = await fresh();
      const endMs = start + 9 * dayMs;
      const sweep = async (at: number): Promise<void> => {
        await rollUpHistory(store, at);
        await keepHistoryPartitions(store, at, true, silentLog);
        await deleteAllExpired(store, at);
      };
      for (let at = start; at < endMs; at += 3 * hourMs) {
        await sweep(at);
        await writeMinutes(store, [minute(one, at + 2 * hourMs + 30 * minuteMs)]);
      }
      await sweep(endMs);
      assert.deepEqual(await totals(store, one, endMs), [1, 8, 56]);
      assert.equal(await countRows(store, 'history_minutes'), 1);
      // Postgres keeps a partition as long as any of it.
      const keptMs = historyKeptMs + (store.kind === 'postgres' ? dayMs : 0);
      const quarters = await countRows(store, 'history_quarters');
      assert.ok(quarters <= keptMs / (3 * hourMs) + 1, `${quarters} quarters`);
    });

    it('is not rolled up or deleted while the time is in doubt', async () => {
      const { store, one } = await fresh();
      await sweepStore(store, start, silentLog);
      await writeMinutes(store, [minute(one, start)]);
      await sweepStore(store, start + 400 * dayMs, silentLog);
      assert.deepEqual([await countRows(store, 'history_minutes'), await countRows(store, 'history_quarters')], [1, 0]);
      assert.deepEqual(await totals(store, one, start), [1, 1, 1]);
    });

    it('comes back from a backup', async () => {
      const { store, one } = await fresh();
      await writeMinutes(store, [minute(one, start)]);
      await sweepStore(store, start + hourMs, silentLog);
      await writeMinutes(store, [minute(one, start + hourMs)]);
      const folder = mkdtempSync(join(tmpdir(), 'underpass-history-'));
      await dumpStore(store, join(folder, 'backup'));
      const other = await open();
      opened.push(other);
      await restoreStore(other, join(folder, 'backup'));
      rmSync(folder, { recursive: true });
      assert.deepEqual(await totals(other, one, start + hourMs), [1, 2, 2]);
      await sweepStore(other, start + historyKeptMs + dayMs, silentLog);
      assert.deepEqual(await totals(other, one, start + hourMs), [1, 2, 2], 'the time is in doubt');
      for (let at = 1; at <= 24; at++) await sweepStore(other, start + historyKeptMs + dayMs + at * hourMs, silentLog);
      assert.deepEqual([await countRows(other, 'history_minutes'), await countRows(other, 'history_quarters')], [0, 0]);
    });

    // SQLite has no partitions.
    if (name === 'node:sqlite') return;

    it('drops partitions whole, and gives way to a backup that reads them', async () => {
      const { store, one } = await fresh();
      const partitions = async (): Promise<readonly string[]> => {
        const named = sql<{ name: string }>`select relname as name from pg_class
            where relname ~ '^history_minutes_[0-9_]+$' order by relname`;
        return (await named.execute(store.db)).rows.map((row) => row.name.slice('history_minutes_'.length));
      };
      await sweepStore(store, start, silentLog);
      await writeMinutes(store, [minute(one, start)]);
      assert.deepEqual(await partitions(), ['2026_09_21_00', '2026_09_21_01', '2026_09_21_02']);
      assert.equal(await countRows(store, 'history_minutes_rest'), 0);
      const told: string[] = [];
      const log = pino({ level: 'info' }, { write: (line: string) => void told.push(JSON.parse(line).msg) });
      await store.read(async (trx) => {
        await trx.selectFrom('history_minutes').selectAll().execute();
        for (const at of [1, 2, 3]) await sweepStore(store, start + at * hourMs, log);
      });
      assert.match(told[0] ?? '', /the next sweep tries again/);
      assert.deepEqual(await partitions(), ['2026_09_21_00', '2026_09_21_01', '2026_09_21_02']);
      await writeMinutes(store, [minute(one, start + 3 * hourMs)]);
      assert.equal(await countRows(store, 'history_minutes_rest'), 1, 'without a partition');
      await sweepStore(store, start + 3 * hourMs, silentLog);
      assert.deepEqual(await partitions(), ['2026_09_21_01', '2026_09_21_02', '2026_09_21_04', '2026_09_21_05']);
      assert.deepEqual(await totals(store, one, start + 3 * hourMs), [1, 2, 2]);
    });
  }),
);
