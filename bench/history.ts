// What the history of active tunnels costs control and each database: written, shown, rolled up and dropped.
// node bench/history.ts [--tunnels 20000] [--databases sqlite,postgres] [--minutes 3]
// First a week of quarters and three hours of minutes are filled in; the last rows come from two edges in another process, which
// report traffic of every tunnel every 5 s for some minutes.

import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { historyKeptMs, minuteMs, quarterMs, startOf } from '@underpass/control/edges/feed/core/history-points.ts';
import { readHistory, writeTally } from '@underpass/control/edges/feed/history.ts';
import { FeedHub } from '@underpass/control/edges/feed/hub.ts';
import { MinuteTally } from '@underpass/control/edges/feed/minute-tally.ts';
import { addProject, addRegion, silentLog, TestEdge, testKeyRing } from '@underpass/control/edges/feed/test-kit.ts';
import { createMemoryBus } from '@underpass/control/platform/bus/memory.ts';
import { createId } from '@underpass/control/platform/store/id.ts';
import { openPostgresStore } from '@underpass/control/platform/store/postgres.ts';
import { openSqliteStore } from '@underpass/control/platform/store/sqlite.ts';
import type { Store } from '@underpass/control/platform/store/store.ts';
import { keepHistoryPartitions, rollUpHistory } from '@underpass/control/sweep/history.ts';
import { deleteAllExpired } from '@underpass/control/sweep/sweep.ts';
import { startPostgres } from '@underpass/control/test-kit-postgres.ts';
import type { FeedTunnelReport } from '@underpass/wire/feed/feed.ts';
import { sql } from 'kysely';
import { cpuSeconds, ms, percentiles, timed } from './scale-region.ts';

const { values } = parseArgs({
  options: {
    tunnels: { type: 'string', default: '20000' },
    databases: { type: 'string', default: 'sqlite,postgres' },
    minutes: { type: 'string', default: '3' },
    'edges-at': { type: 'string' },
  },
});
const tunnels = Number(values.tunnels);
const minutes = Number(values.minutes);
const hourMs = 60 * minuteMs;
/** The pace of edges (edge/feed/feed-link.ts). */
const reportEveryMs = 5_000;

/** The other process: two edges, each with a client of every tunnel. */
function runEdges(socket: string): void {
  process.on('message', (ids: readonly string[]) => {
    const startedAtMs = Date.now() + 1;
    const edges = ['edge-1', 'edge-2'].map((edgeId) => {
      const edge = new TestEdge(connect(socket));
      edge.hello('eu', { edgeId, startedAtMs });
      return edge;
    });
    let turn = 0;
    const report = (): void => {
      turn++;
      for (const edge of edges) edge.report(ids.map((id) => reportOf(id, turn, startedAtMs)));
    };
    setInterval(report, reportEveryMs);
  });
  process.on('disconnect', () => process.exit());
}

const reportOf = (tunnelId: string, turn: number, startedAtMs: number): FeedTunnelReport => ({
  ...{ tunnelId, rxBytes: turn * 1_234, txBytes: turn * 56_789, connections: turn, requests: turn * 3 },
  clients: [
    {
      ...{ id: `c-${tunnelId}`, address: '203.0.113.9', version: '0.1.0', sinceMs: startedAtMs },
      ...{ rttMs: 12, provenAtMs: Date.now(), healthy: true },
    },
  ],
});

/** What the database needs, apart from control: Postgres with all of its processes. The embedded one has none of its own. */
interface Database {
  readonly store: Store;
  readonly cpuSeconds: () => number;
  /** Bytes on disk, with the indexes. */
  readonly bytesOf: (table: 'history_minutes' | 'history_quarters') => Promise<number>;
  readonly close: () => Promise<void>;
}

async function openSqlite(): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-bench-'));
  const path = join(folder, 'underpass.db');
  const store = await openSqliteStore(path);
  const sizes = new Map<string, number>();
  return {
    store,
    cpuSeconds: () => 0,
    // The one that was filled last: SQLite does not tell the size of a table.
    bytesOf: async (table) => {
      await sql`pragma wal_checkpoint(truncate)`.execute(store.db);
      const before = [...sizes.values()].reduce((sum, size) => sum + size, 0);
      sizes.set(table, statSync(path).size - before);
      return sizes.get(table) ?? 0;
    },
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function openPostgres(): Promise<Database> {
  const postgres = await startPostgres({ fsync: true });
  const url = await postgres.createDatabase();
  const home = new URL(url.replace('postgresql:', 'http:').replace('///', '//x/')).searchParams.get('host') ?? '';
  const pid = Number(readFileSync(join(home, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
  const store = await openPostgresStore(url, console.error);
  return {
    store,
    cpuSeconds: () => cpuSeconds({ pid }),
    bytesOf: async (table) => {
      const size = sql<{ n: number }>`select sum(pg_total_relation_size(inhrelid))::bigint as n from pg_inherits
        where inhparent = ${table}::regclass`;
      return (await size.execute(store.db)).rows[0]?.n ?? 0;
    },
    close: async () => {
      await store.close();
      await postgres.close();
    },
  };
}

async function addTunnels(store: Store): Promise<readonly string[]> {
  await addRegion(store.db, 'eu');
  const { projectId, groupId } = await addProject(store.db, 'bench');
  const ids = Array.from({ length: tunnels }, () => createId(Date.now()));
  const same = { project_id: projectId, security_group_id: groupId, region: 'eu', type: 'ingress', proxy_protocol: '' } as const;
  const times = { created_at: 1, updated_at: 1, suspended_at: null };
  for (let at = 0; at < ids.length; at += 500) {
    const rows = ids.slice(at, at + 500).map((id) => ({ id, name: id, ...same, ...times }));
    await store.db.insertInto('tunnels').values(rows).execute();
  }
  return ids;
}

/** Rows of every tunnel, by the database itself. */
async function fill(store: Store, table: 'history_minutes' | 'history_quarters', fromMs: number, toMs: number): Promise<number> {
  const stepMs = table === 'history_minutes' ? minuteMs : quarterMs;
  const some = store.kind === 'postgres' ? sql`(random() * 1e9)::bigint` : sql`abs(random()) % 1000000000`;
  let rows = 0;
  for (let at = fromMs; at < toMs; at += stepMs, rows += tunnels) {
    if (at % hourMs === 0) await keepHistoryPartitions(store, at, false, silentLog);
    await sql`insert into ${sql.table(table)} (start_at, tunnel_id, rx_bytes, tx_bytes, connections, clients)
      select ${sql.lit(at)}, id, ${some}, ${some}, ${some} % 1000, 1 from tunnels`.execute(store.db);
  }
  return rows;
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6).toLocaleString('en')} MB`;
const share = (cpu: number, wallMs: number): string => `${((cpu / (wallMs / 1_000)) * 100).toFixed(1)} % of a core`;
function ownSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Wall time, and the CPU of control and of the database. */
async function costOf(database: Database, run: () => Promise<unknown>): Promise<string> {
  const before = [ownSeconds(), database.cpuSeconds()] as const;
  const [wallMs] = await timed(run);
  const own = (ownSeconds() - before[0]) * 1_000;
  return `${ms(wallMs)}, CPU ${ms(own)} + ${ms((database.cpuSeconds() - before[1]) * 1_000)}`;
}

async function measureFilled(database: Database, ids: readonly string[]): Promise<void> {
  const { store } = database;
  const nowMs = startOf(hourMs, Date.now());
  const quarters = await fill(store, 'history_quarters', startOf(hourMs, nowMs - historyKeptMs), nowMs - 3 * hourMs);
  const quarterBytes = await database.bytesOf('history_quarters');
  print('a row of a quarter', `${(quarterBytes / quarters).toFixed(0)} bytes`);
  print('quarters of a week', megabytes((quarterBytes / quarters) * tunnels * (historyKeptMs / quarterMs)));
  const rows = await fill(store, 'history_minutes', nowMs - 3 * hourMs, nowMs);
  const bytes = await database.bytesOf('history_minutes');
  print('a row of a minute', `${(bytes / rows).toFixed(0)} bytes`);
  print('minutes of an hour; of a day, if they were kept', `${megabytes(bytes / 3)}; ${megabytes(bytes * 8)}`);
  if (store.kind === 'postgres') await analyze(store);
  await measureCharts(store, ids, nowMs, 'before a roll-up of three hours');
  print('roll-up of three hours', await costOf(database, () => rollUpHistory(store, nowMs + 10 * minuteMs)));
  await measureCharts(store, ids, nowMs, 'after it');
  const drop = async (): Promise<void> => {
    await keepHistoryPartitions(store, nowMs, true, silentLog);
    await deleteAllExpired(store, nowMs);
  };
  print('pruning two hours of minutes and what is older than a week', await costOf(database, drop));
}

/** Analyses as autovacuum does: one partition after the other, within the time that a statement may take. */
async function analyze({ db }: Store): Promise<void> {
  const partitions = sql<{ name: string }>`select inhrelid::regclass::text as name from pg_inherits
    where inhparent in ('history_minutes'::regclass, 'history_quarters'::regclass)`;
  for (const { name } of (await partitions.execute(db)).rows) await sql`analyze ${sql.table(name)}`.execute(db);
}

async function measureCharts(store: Store, ids: readonly string[], nowMs: number, when: string): Promise<void> {
  for (const range of ['hour', 'day', 'week'] as const) {
    const taken: number[] = [];
    for (let at = 0; at < 200; at++) {
      const id = ids[Math.floor(Math.random() * ids.length)] ?? '';
      taken.push((await timed(() => readHistory(store, id, range, nowMs)))[0]);
    }
    print(`chart of the ${range}, ${when}`, `${percentiles(taken)}, slowest ${ms(Math.max(...taken))}`);
  }
}

async function measureMinute(database: Database, ids: readonly string[]): Promise<void> {
  const tally = new MinuteTally();
  const nowMs = Date.now();
  for (const id of ids)
    tally.add(
      { tunnelId: id, projectId: 'p', clients: 1, isFirst: true },
      { rxBytes: 1_000, txBytes: 1_000, connections: 1, requests: 1, figures: [] },
      nowMs,
    );
  print('writing a minute', await costOf(database, () => writeTally(database.store, tally, nowMs, true)));
}

/** Control's feed as it runs, with edges outside. */
async function measureLive(database: Database, ids: readonly string[]): Promise<void> {
  const { store } = database;
  await store.db.deleteFrom('history_minutes').execute();
  const hub = new FeedHub({
    ...{ store, bus: createMemoryBus(console.error), keyRing: testKeyRing(), clock: Date.now, log: silentLog },
    ...{ givenCertificates: () => [], keyOpens: async () => true, origin: 'https://console.example.com' },
  });
  await hub.start();
  const folder = mkdtempSync(join(tmpdir(), 'underpass-bench-'));
  const socket = join(folder, 'feed');
  const server = createServer((edge) => hub.accept(edge, { region: 'eu' })).listen(socket);
  const edges = fork(import.meta.filename, ['--edges-at', socket]);
  edges.send(ids);
  // The first report counts nothing.
  await sleep(2 * reportEveryMs);
  const [own, its, began] = [ownSeconds(), database.cpuSeconds(), performance.now()];
  await sleep(minutes * minuteMs);
  const wallMs = performance.now() - began;
  print(`control, ${minutes} min of reports and writes`, share(ownSeconds() - own, wallMs));
  print('the database in that time', share(database.cpuSeconds() - its, wallMs));
  const { n } = await store.db.selectFrom('history_minutes').select(sql<number>`count(*)`.as('n')).executeTakeFirstOrThrow();
  print('rows a second', (Number(n) / (wallMs / 1_000)).toFixed(0));
  edges.disconnect();
  await hub.close();
  server.close();
  rmSync(folder, { recursive: true });
}

let database = '';
const print = (what: string, figure: string): void => console.log(`| ${database} | ${what} | ${figure} |`);

async function main(): Promise<void> {
  console.log(`${tunnels} tunnels. Times of control + those of Postgres.\n\n| database | what | figure |\n|---|---|---|`);
  const open = { sqlite: openSqlite, postgres: openPostgres };
  for (const name of ['sqlite', 'postgres'] as const) {
    if (!values.databases.split(',').includes(name)) continue;
    database = name;
    const opened = await open[name]();
    const ids = await addTunnels(opened.store);
    await measureFilled(opened, ids);
    for (let at = 0; at < 3; at++) await measureMinute(opened, ids);
    if (minutes > 0) await measureLive(opened, ids);
    await opened.close();
  }
}

if (values['edges-at'] === undefined) await main();
else runEdges(values['edges-at']);
