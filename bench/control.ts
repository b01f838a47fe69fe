// Calls of control on both databases, from 100 to 100,000 tunnels:
// node bench/control.ts [--sizes 100,100000] [--seconds 3] [--databases sqlite,postgres] [--concurrency 16]
// In one process, without sockets, so that it measures only the call, the query and the commit.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeTally } from '@underpass/control/edges/feed/history.ts';
import { MinuteTally } from '@underpass/control/edges/feed/minute-tally.ts';
import { createKeyRing } from '@underpass/control/platform/secret/key-ring.ts';
import { createId } from '@underpass/control/platform/store/id.ts';
import { openPostgresStore } from '@underpass/control/platform/store/postgres.ts';
import { openSqliteStore } from '@underpass/control/platform/store/sqlite.ts';
import type { Store } from '@underpass/control/platform/store/store.ts';
import { createTestControl, type SignedUp, type TestControl } from '@underpass/control/test-kit.ts';
import { startPostgres } from '@underpass/control/test-kit-postgres.ts';
import { insertTunnelToken } from '@underpass/control/tunnels/tunnel/token.ts';
import { seedOwner } from './scale-region.ts';

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '100,10000,100000' },
    seconds: { type: 'string', default: '3' },
    databases: { type: 'string', default: 'sqlite,postgres' },
    concurrency: { type: 'string', default: '16' },
  },
});
const sizes = values.sizes.split(',').map(Number);
const seconds = Number(values.seconds);
/** Tunnels of each project: the same at every size, so that lists have the same length. */
const tunnelsPerProject = 20;
const concurrency = Number(values.concurrency);
const batchRows = 250;

const keyRing = createKeyRing([Buffer.alloc(32, 7)]);

async function seedProject(test: TestControl, index: number): Promise<void> {
  const { store } = test;
  const now = test.time.now;
  await store.write(async (trx) => {
    const projectId = createId(now);
    await trx
      .insertInto('projects')
      .values({
        id: projectId,
        name: `p${index}`,
        limits: null,
        suspended_at: null,
        passkey_required: 0,
        revision: 0,
        created_at: now,
      })
      .execute();
    await seedOwner(trx, projectId, now);
    const groupId = createId(now);
    const dates = { created_at: now, updated_at: now };
    await trx
      .insertInto('security_groups')
      .values({ id: groupId, project_id: projectId, name: 'default', allow_list: '["0.0.0.0/0"]', ...dates })
      .execute();
    const ids = Array.from({ length: tunnelsPerProject }, () => createId(now));
    const tunnel = {
      project_id: projectId,
      type: 'http' as const,
      region: 'local',
      proxy_protocol: '' as const,
      security_group_id: groupId,
      suspended_at: null,
    };
    await trx
      .insertInto('tunnels')
      .values(ids.map((id, i) => ({ id, name: `t${i}`, ...tunnel, ...dates })))
      .execute();
    const hosts = ids.map((id, i) => `h${i}-${index}-${id}.tunnels.localhost`);
    await trx
      .insertInto('tunnel_hosts')
      .values(
        ids.map((id, i) => ({
          tunnel_id: id,
          project_id: projectId,
          host: hosts[i]!,
          apex_name: '',
          live_host: hosts[i]!,
          position: 0,
        })),
      )
      .execute();
    for (const id of ids) await insertTunnelToken(trx, keyRing, id, now);
  });
}

async function grow(test: TestControl, from: number, to: number): Promise<void> {
  for (let made = from; made < to; made += tunnelsPerProject * batchRows) {
    const count = Math.min(batchRows, Math.ceil((to - made) / tunnelsPerProject));
    for (let i = 0; i < count; i++) await seedProject(test, made + i);
  }
  if (test.store.kind === 'postgres') {
    const { sql } = await import('kysely');
    await sql`analyze`.execute(test.store.db);
  }
}

interface Figures {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU time of this process, which is steady on a busy machine; that of Postgres is separate. */
  readonly cpuMicros: number;
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** Tunnels that were made, and deleted again. */
let names = 0;

/** A column that makes more than one call says how long the one that it measures took. */
type Column = (index: number) => Promise<unknown>;

async function measure(run: Column): Promise<Figures> {
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  let index = 0;
  const before = process.cpuUsage();
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      const started = performance.now();
      const own = await run(index++);
      times.push(typeof own === 'number' ? own : performance.now() - started);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const { user, system } = process.cpuUsage(before);
  times.sort((a, b) => a - b);
  return {
    perSecond: times.length / seconds,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    cpuMicros: (user + system) / times.length,
  };
}

function columns(test: TestControl, user: SignedUp): Readonly<Record<string, Column>> {
  const p = `?project=${user.projectId}`;
  const pair = async (): Promise<{ readonly createMs: number; readonly deleteMs: number }> => {
    const name = `n${names++}`;
    const createMs = await took(() => user.call('POST', `/api/tunnels${p}`, { name, region: 'local' }));
    return { createMs, deleteMs: await took(() => user.call('DELETE', `/api/tunnels/${name}${p}`)) };
  };
  return {
    'GET user': () => user.call('GET', '/api/user'),
    'GET tunnels (20)': () => user.call('GET', `/api/tunnels${p}`),
    'GET tunnel + metrics': (i) => user.call('GET', `/api/tunnels/b${i % tunnelsPerProject}${p}&metrics=1`),
    'GET domains': () => user.call('GET', `/api/domains${p}`),
    'GET groups': () => user.call('GET', `/api/security-groups${p}`),
    'POST tunnel (CPU: and DELETE)': async () => (await pair()).createMs,
    'PATCH tunnel': (i) =>
      user.call('PATCH', `/api/tunnels/b${i % tunnelsPerProject}${p}`, { proxyProtocol: i % 40 < 20 ? 'v2' : '' }),
    'DELETE tunnel (CPU: and POST)': async () => (await pair()).deleteMs,
    'history of a minute, 1,000 tunnels': (i) => writeMinute(test, i),
  };
}

async function took(run: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await run();
  return performance.now() - began;
}

/** Writes a minute as control does for tunnels that have a client. */
async function writeMinute({ store, time }: TestControl, index: number): Promise<void> {
  const tunnels = await store.db.selectFrom('tunnels').select('id').orderBy('id').limit(1_000).execute();
  const tally = new MinuteTally();
  const nowMs = time.now - index * 60_000;
  for (const { id } of tunnels)
    tally.add(
      { tunnelId: id, projectId: undefined, clients: 1, isFirst: true },
      { rxBytes: 1, txBytes: 1, connections: 1, requests: 1, figures: [] },
      nowMs,
    );
  await writeTally(store, tally, nowMs, true);
}

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

/** Lets time pass for control, whose clock a test moves: ids get other times, and windows of limits end. */
function runClock({ time }: TestControl): void {
  const atStart = time.now - performance.now();
  Object.defineProperty(time, 'now', { get: () => Math.floor(atStart + performance.now()) });
}

async function runStore(store: Store): Promise<void> {
  const test = await createTestControl({ store, keyRing });
  runClock(test);
  const user = await test.signUp('bench@example.com');
  for (let i = 0; i < tunnelsPerProject; i++)
    await user.call('POST', `/api/tunnels?project=${user.projectId}`, { name: `b${i}`, region: 'local' });
  let have = tunnelsPerProject;
  for (const size of sizes) {
    await grow(test, have, size);
    have = size;
    // The first size would otherwise also pay for code that runs for the first time.
    if (size === sizes[0]) for (const run of Object.values(columns(test, user))) await measure(run);
    for (const [name, run] of Object.entries(columns(test, user))) {
      const { perSecond, p50, p99, cpuMicros } = await measure(run);
      console.log(row([store.kind, size, name, Math.round(perSecond), p50.toFixed(2), p99.toFixed(2), Math.round(cpuMicros)]));
    }
  }
  await test.close();
  await store.close();
}

async function main(): Promise<void> {
  console.log(row(['database', 'tunnels', 'call', 'per second', 'p50 ms', 'p99 ms', 'CPU µs']));
  console.log(row(Array(7).fill('---')));
  const databases = values.databases.split(',');
  const folder = mkdtempSync(join(tmpdir(), 'underpass-bench-'));
  if (databases.includes('sqlite')) await runStore(await openSqliteStore(join(folder, 'underpass.db')));
  rmSync(folder, { recursive: true });
  if (!databases.includes('postgres')) return;
  const postgres = await startPostgres({ fsync: true });
  await runStore(await openPostgresStore(await postgres.createDatabase(), console.error));
  await postgres.close();
}

await main();
