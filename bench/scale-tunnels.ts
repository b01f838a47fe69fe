// One region with many tunnels: what the API, the feed and an edge need, and what visitors notice of a restart of control.
// Control, edge and client run in processes of their own, as in production; the tunnels but one have no client.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { keepVisiting } from '@underpass/tests/helpers/load.ts';
import { figureOf, type StartedEdge, type StartedRegion } from '@underpass/tests/helpers/region.ts';
import {
  type FigureRow,
  measureEach,
  ms,
  peakMb,
  percentiles,
  rssMb,
  seed,
  sleep,
  startVisited,
  tallied,
  timed,
} from './scale-region.ts';

const calls = 100;
const restMs = 5_000;
/** Time after control is back: an edge reconnects within 15 s, then applies what it gets. */
const afterMs = 10_000;

export const measureTunnels = (sizes: readonly number[]): Promise<void> =>
  measureEach(sizes, (size) => `${size} tunnels`, measureRegion);

async function measureRegion(t: TestContext, size: number): Promise<readonly FigureRow[]> {
  const { region, edge, door } = await startVisited(t);
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
  const rows: FigureRow[] = [
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

async function measureCalls({ account: { call, project } }: StartedRegion): Promise<readonly FigureRow[]> {
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
  const rows: FigureRow[] = [];
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

const feedConnected = (edge: StartedEdge): Promise<number> =>
  eventually(
    () => figureOf(edge, 'underpass_edge_feed_connected'),
    (connected) => connected === 1,
    60_000,
  );
