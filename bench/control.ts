// Calls of control on both databases, from 100 to 100,000 tunnels: node bench/control.ts [--sizes 100,100000] [--seconds 3]
// In one process, without sockets, so that it measures only the call, the query and the commit.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createKeyRing } from '@underpass/control/secret/key-ring.ts';
import { createId } from '@underpass/control/store/id.ts';
import { openPostgresStore } from '@underpass/control/store/postgres.ts';
import { openSqliteStore } from '@underpass/control/store/sqlite.ts';
import type { Store } from '@underpass/control/store/store.ts';
import { createTestControl, type SignedUp, type TestControl } from '@underpass/control/test-kit.ts';
import { startPostgres } from '@underpass/control/test-kit-postgres.ts';
import { insertTunnelToken } from '@underpass/control/tunnel/token.ts';

const { values } = parseArgs({
  options: { sizes: { type: 'string', default: '100,10000,100000' }, seconds: { type: 'string', default: '3' } },
});
const sizes = values.sizes.split(',').map(Number);
const seconds = Number(values.seconds);
/** Tunnels of each project: the same at every size, so that lists have the same length. */
const tunnelsPerProject = 20;
const concurrency = 16;
const batchRows = 250;

const keyRing = createKeyRing([Buffer.alloc(32, 7)]);

const seedProject = async (test: TestControl, index: number): Promise<void> => {
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
};

const grow = async (test: TestControl, from: number, to: number): Promise<void> => {
  for (let made = from; made < to; made += tunnelsPerProject * batchRows) {
    const count = Math.min(batchRows, Math.ceil((to - made) / tunnelsPerProject));
    for (let i = 0; i < count; i++) await seedProject(test, made + i);
  }
  if (test.store.kind === 'postgres') {
    const { sql } = await import('kysely');
    await sql`analyze`.execute(test.store.db);
  }
};

interface Figures {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU time of this process, which is steady on a busy machine; that of Postgres is separate. */
  readonly cpuMicros: number;
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

const measure = async (run: (index: number) => Promise<unknown>): Promise<Figures> => {
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  let index = 0;
  const before = process.cpuUsage();
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      const started = performance.now();
      await run(index++);
      times.push(performance.now() - started);
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
};

const columns = (user: SignedUp): Readonly<Record<string, (index: number) => Promise<unknown>>> => {
  const p = `?project=${user.projectId}`;
  const nextName = { value: 0 };
  return {
    'GET user': () => user.call('GET', '/api/user'),
    'GET tunnels (20)': () => user.call('GET', `/api/tunnels${p}`),
    'GET tunnel + metrics': (i) => user.call('GET', `/api/tunnels/b${i % tunnelsPerProject}${p}&metrics=1`),
    'GET domains': () => user.call('GET', `/api/domains${p}`),
    'GET groups': () => user.call('GET', `/api/security-groups${p}`),
    'POST + DELETE tunnel': async () => {
      const name = `n${nextName.value++}`;
      await user.call('POST', `/api/tunnels${p}`, { name, region: 'local' });
      await user.call('DELETE', `/api/tunnels/${name}${p}`);
    },
  };
};

const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`;

const runStore = async (store: Store): Promise<void> => {
  const test = await createTestControl({ store, keyRing });
  const user = await test.signUp('bench@example.com');
  for (let i = 0; i < tunnelsPerProject; i++)
    await user.call('POST', `/api/tunnels?project=${user.projectId}`, { name: `b${i}`, region: 'local' });
  let have = tunnelsPerProject;
  for (const size of sizes) {
    await grow(test, have, size);
    have = size;
    for (const [name, run] of Object.entries(columns(user))) {
      const { perSecond, p50, p99, cpuMicros } = await measure(run);
      console.log(row([store.kind, size, name, Math.round(perSecond), p50.toFixed(2), p99.toFixed(2), Math.round(cpuMicros)]));
    }
  }
  await test.close();
  await store.close();
};

const main = async (): Promise<void> => {
  console.log(row(['database', 'tunnels', 'call', 'per second', 'p50 ms', 'p99 ms', 'CPU µs']));
  console.log(row(Array(7).fill('---')));
  const folder = mkdtempSync(join(tmpdir(), 'underpass-bench-'));
  await runStore(await openSqliteStore(join(folder, 'underpass.db')));
  rmSync(folder, { recursive: true });
  const postgres = await startPostgres({ fsync: true });
  await runStore(await openPostgresStore(await postgres.createDatabase(), console.error));
  await postgres.close();
};

await main();
