// What the measurements at scale share: a region that ends with the measurement, tunnels in its store, figures as text.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createId } from '@underpass/control/platform/store/id.ts';
import { openSqliteStore } from '@underpass/control/platform/store/sqlite.ts';
import type { Queries, Store } from '@underpass/control/platform/store/store.ts';
import type { Tally } from '@underpass/tests/helpers/load.ts';
import { freePorts } from '@underpass/tests/helpers/port.ts';
import type { ProcessOf } from '@underpass/tests/helpers/process.ts';
import { startRegion } from '@underpass/tests/helpers/region.ts';
import { visitUntil } from '@underpass/tests/helpers/visitor.ts';

/** Tunnels of each project, so that a page of a project's list is as long at every size. */
const tunnelsPerProject = 20;

export type FigureRow = readonly [figure: string, value: string];

/** Measures every size in a region of its own, and prints a table for each. */
export async function measureEach<Size>(
  sizes: readonly Size[],
  titleOf: (size: Size) => string,
  measure: (t: TestContext, size: Size) => Promise<readonly FigureRow[]>,
): Promise<void> {
  for (const size of sizes) {
    const closers: (() => unknown)[] = [];
    const t = { after: (run: () => unknown) => void closers.push(run) } as unknown as TestContext;
    try {
      const rows = await measure(t, size);
      process.stdout.write(`\n## ${titleOf(size)}\n\n| figure | value |\n| --- | --- |\n`);
      for (const [figure, value] of rows) process.stdout.write(`| ${figure} | ${value} |\n`);
    } finally {
      for (const close of closers.reverse()) await close();
    }
  }
}

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer((_, response) => response.end('served'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A region with one edge, and one tunnel that visitors reach. */
export async function startVisited(t: TestContext, workers = 1) {
  const [port = 0] = await freePorts(1);
  const region = await startRegion(t, port);
  const edge = await region.startEdge({
    env: { UNDERPASS_EDGE_HTTPS_PORT: String(port), UNDERPASS_EDGE_WORKERS: String(workers) },
  });
  const tunnel = await region.createTunnel('web');
  await region.startClient(tunnel, await startUpstream(t));
  const door = region.doorOf(tunnel, port);
  await visitUntil(door, 200);
  return { port, region, edge, door };
}

/** The token of a seeded tunnel, which control itself cannot read. */
export const tokenOf = (index: number): string => `token-${index}`;
export const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Rows as control would write them. */
export async function seed(home: string, size: number): Promise<void> {
  const store: Store = await openSqliteStore(join(home, 'underpass.db'));
  const { token_sealed } = await store.db.selectFrom('tunnel_tokens').select('token_sealed').executeTakeFirstOrThrow();
  for (let made = 0; made < size; made += tunnelsPerProject * 25) {
    await store.write(async (trx) => {
      for (let project = made; project < Math.min(size, made + tunnelsPerProject * 25); project += tunnelsPerProject)
        await seedProject(trx, project, token_sealed);
    });
  }
  await store.close();
}

/** A person who owns the project. */
export async function seedOwner(trx: Queries, projectId: string, now: number): Promise<void> {
  const id = createId(now);
  const names = { email: `${id}@example.com`, first_name: 'Ann', last_name: 'Lee' };
  const user = { id, ...names, operator: 0 as const, default_project: projectId, suspended_at: null, created_at: now };
  await trx.insertInto('users').values(user).execute();
  await trx.insertInto('members').values({ project_id: projectId, user_id: id, role: 'owner', created_at: now }).execute();
}

async function seedProject(trx: Queries, index: number, token_sealed: string): Promise<void> {
  const now = Date.now();
  const dates = { created_at: now, updated_at: now };
  const [projectId, groupId] = [createId(now), createId(now)];
  const project = { id: projectId, name: `p${index}`, limits: null, suspended_at: null, passkey_required: 0 as const };
  await trx
    .insertInto('projects')
    .values({ ...project, revision: 0, created_at: now })
    .execute();
  await seedOwner(trx, projectId, now);
  const group = { id: groupId, project_id: projectId, name: 'default', allow_list: '["0.0.0.0/0","::/0"]' };
  await trx
    .insertInto('security_groups')
    .values({ ...group, ...dates })
    .execute();
  const ids = Array.from({ length: tunnelsPerProject }, () => createId(now));
  const same = { project_id: projectId, type: 'http', region: 'eu', proxy_protocol: '', security_group_id: groupId } as const;
  await trx
    .insertInto('tunnels')
    .values(ids.map((id, i) => ({ id, name: `t${i}`, suspended_at: null, ...same, ...dates })))
    .execute();
  const hosts = ids.map((id) => ({ id, host: `h-${id.toLowerCase().replaceAll('_', '-')}.eu-tunnels.localhost` }));
  await trx
    .insertInto('tunnel_hosts')
    .values(
      hosts.map(({ id, host }) => ({ tunnel_id: id, project_id: projectId, host, apex_name: '', live_host: host, position: 0 })),
    )
    .execute();
  // The edges acknowledged them before.
  await trx
    .insertInto('tunnel_routes')
    .values(hosts.map(({ id, host }) => ({ tunnel_id: id, hosts: host })))
    .execute();
  await trx
    .insertInto('tunnel_tokens')
    .values(
      ids.map((id, i) => ({
        ...{
          id: createId(now),
          tunnel_id: id,
          token_hash: hashOf(tokenOf(index + i)),
        },
        ...{ token_sealed, created_at: now, expires_at: null },
      })),
    )
    .execute();
}

export const sleep = (forMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, forMs));

export async function timed<T>(run: () => Promise<T>): Promise<readonly [ms: number, value: T]> {
  const began = performance.now();
  const value = await run();
  return [performance.now() - began, value];
}

export const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

export function percentiles(taken: number[]): string {
  const sorted = taken.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return `p50 ${ms(at(0.5))}, p99 ${ms(at(0.99))}`;
}

export const tallied = ({ statuses, visits, p99Ms, slowestMs }: Tally): string =>
  `${visits} visits, p99 ${ms(p99Ms)}, slowest ${ms(slowestMs)}, failed ${visits - (statuses[200] ?? 0)}`;

const memoryOf = ({ pid }: Pick<ProcessOf, 'pid'>, key: string): number =>
  Math.round((Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / 1e6);

/** The process and those that it started. */
function familyOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...(children === '' ? [] : children.split(' ').flatMap((child) => familyOf(Number(child))))];
}

const sumOf = ({ pid }: Pick<ProcessOf, 'pid'>, figure: (pid: number) => number): number =>
  familyOf(pid).reduce((sum, each) => sum + figure(each), 0);

export const rssMb = (started: ProcessOf): number => sumOf(started, (pid) => memoryOf({ pid }, 'VmRSS'));
export const peakMb = (started: ProcessOf): number => memoryOf(started, 'VmHWM');

/** Ticks of /proc/PID/stat. */
const ticksPerSecond = 100;

export const cpuSeconds = (started: Pick<ProcessOf, 'pid'>): number => sumOf(started, ownCpuSeconds);

function ownCpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}
