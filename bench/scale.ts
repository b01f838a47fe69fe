// One region with many tunnels: what the API, the feed and an edge need, and what visitors notice of a restart of control.
// Control, edge and client run in processes of their own, as in production; the tunnels but one have no client.
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createId } from '@underpass/control/store/id.ts';
import { openSqliteStore } from '@underpass/control/store/sqlite.ts';
import type { Queries, Store } from '@underpass/control/store/store.ts';
import { eventually, keepVisiting, type Tally } from '@underpass/tests/helpers/load.ts';
import { freePorts } from '@underpass/tests/helpers/port.ts';
import type { ProcessOf } from '@underpass/tests/helpers/process.ts';
import { figureOf, type StartedEdge, type StartedRegion, startRegion } from '@underpass/tests/helpers/region.ts';
import { visitUntil } from '@underpass/tests/helpers/visitor.ts';

/** Tunnels of each project, so that a page of a project's list is as long at every size. */
const tunnelsPerProject = 20;
const calls = 100;
const restMs = 5_000;
/** After control is back: an edge reconnects within 15 s, then applies what it gets. */
const afterMs = 10_000;

type Row = readonly [figure: string, value: string];

export async function measureScale(sizes: readonly number[]): Promise<void> {
  for (const size of sizes) {
    const rows = await measureSize(size);
    process.stdout.write(`\n## ${size} tunnels\n\n| figure | value |\n| --- | --- |\n`);
    for (const [figure, value] of rows) process.stdout.write(`| ${figure} | ${value} |\n`);
  }
}

async function measureSize(size: number): Promise<readonly Row[]> {
  const closers: (() => unknown)[] = [];
  const scope = { after: (run: () => unknown) => void closers.push(run) } as unknown as TestContext;
  try {
    return await measureRegion(scope, size);
  } finally {
    for (const close of closers.reverse()) await close();
  }
}

async function measureRegion(t: TestContext, size: number): Promise<readonly Row[]> {
  const [port = 0] = await freePorts(1);
  const region = await startRegion(t, port);
  const edge = await region.startEdge({ env: { UNDERPASS_EDGE_HTTPS_PORT: String(port), UNDERPASS_EDGE_WORKERS: '1' } });
  const tunnel = await region.createTunnel('web');
  await region.startClient(tunnel, await startUpstream(t));
  const door = region.doorOf(tunnel, port);
  await visitUntil(door, 200);
  await region.control.end('SIGTERM');
  await seed(region.home, size);
  const bare = rssMb(edge.process);
  const [startMs] = await timed(() => region.restartControl());
  const [edgeMs] = await timed(() => feedConnected(edge));
  const snapshot = join(edge.home, 'edge', 'routes.json');
  await eventually(
    () => statSync(snapshot).size,
    (bytes) => bytes > size * 200,
    60_000,
  );
  const rows: Row[] = [
    ['control starts', ms(startMs)],
    ['edge has the feed after', ms(edgeMs)],
    ['copy of the routes at the edge', `${(statSync(snapshot).size / 1e6).toFixed(1)} MB`],
    ...(await measureCalls(region)),
  ];
  const visitors = keepVisiting(t, door, { pauseMs: 5 });
  await sleep(restMs);
  const rest = visitors.take();
  await region.control.end('SIGKILL');
  await region.restartControl();
  await feedConnected(edge);
  await sleep(afterMs);
  const during = visitors.take();
  rows.push(['visitors at rest', tallied(rest)], ['visitors while control is killed and comes back', tallied(during)]);
  await visitors.stop();
  rows.push(
    ['memory of the edge before, now, at most', `${bare}, ${rssMb(edge.process)}, ${peakMb(edge.process)} MB`],
    ['memory of control now, at most', `${rssMb(region.control)}, ${peakMb(region.control)} MB`],
  );
  await edge.process.end('SIGTERM');
  const [restartMs] = await timed(() => edge.restart());
  rows.push(['edge restarts', ms(restartMs)]);
  return rows;
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

/** Rows as control would write them, except that no client has the token of such a tunnel, and nobody can read it. */
async function seed(home: string, size: number): Promise<void> {
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

async function seedProject(trx: Queries, index: number, token_sealed: string): Promise<void> {
  const now = Date.now();
  const dates = { created_at: now, updated_at: now };
  const [projectId, groupId] = [createId(now), createId(now)];
  const project = { id: projectId, name: `p${index}`, limits: null, suspended_at: null, passkey_required: 0 as const };
  await trx
    .insertInto('projects')
    .values({ ...project, revision: 0, created_at: now })
    .execute();
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
      ids.map((id) => ({
        ...{ id: createId(now), tunnel_id: id, token_hash: Buffer.from(id.padEnd(32, '.')).toString('hex') },
        ...{ token_sealed, created_at: now, expires_at: null },
      })),
    )
    .execute();
}

async function measureCalls({ account: { call, project } }: StartedRegion): Promise<readonly Row[]> {
  const p = `?project=${project}`;
  const body = { region: 'eu', ingressDomains: [], proxyProtocol: '', type: 'http' };
  const expectOk = async (...[method, path, payload]: Parameters<typeof call>): Promise<void> => {
    const { status } = await call(method, path, payload);
    if (status >= 300) throw new Error(`${method} ${path} was refused with ${status}`);
  };
  const live = async (name: string): Promise<void> => {
    for (let status = ''; status !== 'Created'; )
      status = (await call<{ status: string }>('GET', `/api/tunnels/${name}${p}`)).body.status;
  };
  const rows: Row[] = [];
  const measure = async (figure: string, run: (i: number) => Promise<void>, times = calls): Promise<void> => {
    const taken: number[] = [];
    for (let i = 0; i < times; i++) taken.push((await timed(() => run(i)))[0]);
    rows.push([figure, percentiles(taken)]);
  };
  await measure('list of a project', () => expectOk('GET', `/api/tunnels${p}`));
  await measure('page of the operator', () => expectOk('GET', '/api/operator/tunnels'), 20);
  await measure('get', () => expectOk('GET', `/api/tunnels/web${p}`));
  await measure('create', (i) => expectOk('POST', `/api/tunnels${p}`, { ...body, name: `new-${i}` }), 30);
  await measure(
    'create, until it is live at the edge',
    async (i) => {
      await expectOk('POST', `/api/tunnels${p}`, { ...body, name: `live-${i}` });
      await live(`live-${i}`);
    },
    30,
  );
  await measure('update', (i) => expectOk('PATCH', `/api/tunnels/web${p}`, { proxyProtocol: i % 2 === 0 ? 'v2' : '' }), 30);
  await measure('delete', (i) => expectOk('DELETE', `/api/tunnels/new-${i}${p}`), 30);
  return rows;
}

const sleep = (forMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, forMs));

async function timed<T>(run: () => Promise<T>): Promise<readonly [ms: number, value: T]> {
  const began = performance.now();
  const value = await run();
  return [performance.now() - began, value];
}

const feedConnected = (edge: StartedEdge): Promise<number> =>
  eventually(
    () => figureOf(edge, 'underpass_edge_feed_connected'),
    (connected) => connected === 1,
    60_000,
  );

const ms = (value: number): string => `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;

function percentiles(taken: number[]): string {
  const sorted = taken.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return `p50 ${ms(at(0.5))}, p99 ${ms(at(0.99))}`;
}

const tallied = ({ statuses, visits, p99Ms, slowestMs }: Tally): string =>
  `${visits} visits, p99 ${ms(p99Ms)}, slowest ${ms(slowestMs)}, failed ${visits - (statuses[200] ?? 0)}`;

const memoryOf = ({ pid }: ProcessOf, key: string): number =>
  Math.round((Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / 1e6);

const rssMb = (started: ProcessOf): number => memoryOf(started, 'VmRSS');
const peakMb = (started: ProcessOf): number => memoryOf(started, 'VmHWM');
