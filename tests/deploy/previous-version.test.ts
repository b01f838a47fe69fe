// The version before this one beside this one, in both directions: what a rolling upgrade and its way back meet.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { startPostgres } from '@underpass/control/test-kit-postgres.ts';
import type { Tunnel } from '@underpass/rules/entity.ts';
import { startUpstream } from '../chaos/stage.ts';
import { type Balancer, startBalancer } from '../helpers/balancer.ts';
import { eventually, keepVisiting } from '../helpers/load.ts';
import { startNats } from '../helpers/nats.ts';
import { layPrevious, skipWithoutPrevious } from '../helpers/previous-version.ts';
import type { ProcessOf } from '../helpers/process.ts';
import type { Account } from '../helpers/product.ts';
import { hopSettings, type RegionTunnel, type StartedEdge, type StartedRegion, startRegion } from '../helpers/region.ts';
import { skipWithout } from '../helpers/tool.ts';
import { visit, visitUntil } from '../helpers/visitor.ts';

interface Stage {
  readonly old: string;
  readonly balancer: Balancer;
  readonly region: StartedRegion;
  readonly edges: readonly [StartedEdge, StartedEdge];
  readonly upstream: string;
}

/** Control and two edges of the previous version, which pass visitors on to each other. */
async function startPrevious(t: TestContext, env: Record<string, string> = {}): Promise<Stage> {
  const old = layPrevious(t);
  const balancer = await startBalancer(t);
  const region = await startRegion(t, balancer.port, env, old);
  const start = async (): Promise<StartedEdge> => region.startEdge({ env: await hopSettings(), tree: old });
  const edges = await Promise.all([start(), start()] as const);
  const stage = { old, balancer, region, edges, upstream: await startUpstream(t) };
  useAllEdges(stage);
  return stage;
}

const useAllEdges = ({ balancer, edges }: Stage): void => {
  balancer.backends = edges.map(({ port }) => port);
};

async function expectCleanEnd(process: ProcessOf): Promise<void> {
  await process.end('SIGTERM');
  assert.equal(process.child.exitCode, 0, process.text());
}

/** First another client connects to the other edge, as a client with two carriers has done before an edge is replaced. */
async function replaceEdge(stage: Stage, edge: StartedEdge, tunnel: RegionTunnel, tree?: string): Promise<void> {
  stage.balancer.backends = stage.edges.filter((other) => other !== edge).map(({ port }) => port);
  await stage.region.startClient(tunnel, stage.upstream, {}, tree);
  await expectCleanEnd(edge.process);
  await edge.restart(tree);
  await visitUntil(stage.region.doorOf(tunnel, edge.port), 200);
  useAllEdges(stage);
}

/** A new tunnel reaches both edges, a client at one of them serves visitors of both, and control shows it. */
async function expectNewTunnel(
  stage: Stage,
  name: string,
  { client: tree, at, by }: { readonly client?: string | undefined; readonly at: StartedEdge; readonly by?: Account },
): Promise<void> {
  const { region, balancer, edges, upstream } = stage;
  const tunnel = await region.createTunnel(name, by);
  balancer.backends = [at.port];
  const client = await region.startClient(tunnel, upstream, {}, tree);
  useAllEdges(stage);
  for (const edge of edges) await visitUntil(region.doorOf(tunnel, edge.port), 200);
  const { call, project } = region.account;
  await eventually(
    async () => (await call<Tunnel>('GET', `/api/tunnels/${name}?project=${project}`)).body.connectedClients,
    (clients) => clients === 1,
  );
  await expectCleanEnd(client);
}

/** Creates an access policy that admits nobody of these tests, and attaches it. */
async function guard({ account: { call, project } }: StartedRegion, { name }: RegionTunnel): Promise<void> {
  const made = await call('POST', `/api/access-policies?project=${project}`, { name: 'staff', people: ['ada@example.com'] });
  assert.ok(made.status < 300, JSON.stringify(made.body));
  const attached = await call('PATCH', `/api/tunnels/${name}?project=${project}`, { accessPolicy: 'staff' });
  assert.ok(attached.status < 300, JSON.stringify(attached.body));
}

describe('the previous version beside this one', { skip: skipWithoutPrevious() }, () => {
  test('an upgrade and its way back, part by part on the embedded database, fail no visit', async (t) => {
    const stage = await startPrevious(t);
    const { old, region, edges, balancer, upstream } = stage;
    const [first, second] = edges;
    const tunnel = await region.createTunnel('web');
    const client = await region.startClient(tunnel, upstream, {}, old);
    for (const edge of edges) await visitUntil(region.doorOf(tunnel, edge.port), 200);
    const visitors = keepVisiting(t, region.doorOf(tunnel, balancer.port), { pauseMs: 50 });

    await expectCleanEnd(region.control);
    await region.restartControl();
    await expectNewTunnel(stage, 'old-edges', { at: first });
    await replaceEdge(stage, first, tunnel);
    await expectNewTunnel(stage, 'hop-to-old', { at: second });
    await expectNewTunnel(stage, 'hop-to-new', { client: old, at: first });
    await replaceEdge(stage, second, tunnel);
    await expectCleanEnd(region.control);
    await region.restartControl(old);
    await expectNewTunnel(stage, 'old-control', { at: second });
    await expectCleanEnd(region.control);
    // Without control an edge starts from the copy of the routes that the other version wrote.
    await replaceEdge(stage, first, tunnel, old);

    const { statuses, visits } = await visitors.stop();
    assert.deepEqual(statuses, { 200: visits }, 'a visit failed');
    await expectCleanEnd(client);
  });

  test('an edge of the previous version denies every visitor of a tunnel with an access policy', async (t) => {
    const stage = await startPrevious(t);
    const { old, region, edges, upstream } = stage;
    await expectCleanEnd(region.control);
    await region.restartControl();
    const tunnel = await region.createTunnel('guarded');
    await region.startClient(tunnel, upstream, {}, old);
    const doors = edges.map(({ port }) => region.doorOf(tunnel, port));
    for (const door of doors) await visitUntil(door, 200);
    await guard(region, tunnel);
    for (const door of doors) await visitUntil(door, 403);
    // It denies also after a restart from its own copy.
    await expectCleanEnd(region.control);
    await expectCleanEnd(edges[0].process);
    await edges[0].restart(old);
    await visitUntil(doors[0] ?? assert.fail(), 403);
  });

  test('two controls, one of each version, share a database', { skip: skipWithout('postgres', 'nats-server') }, async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.close());
    const nats = await startNats(t);
    const stage = await startPrevious(t, {
      UNDERPASS_REPLICAS: '2',
      UNDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      DATABASE_URL: await postgres.createDatabase(),
      NATS_URL: nats.url,
    });
    const { region, edges, old } = stage;
    const [atOld, atNew] = edges;
    const next = await region.startSecondControl();
    await expectCleanEnd(atNew.process);
    await atNew.restart(undefined, { UNDERPASS_CONTROL_URL: `http://localhost:${next.port}` });

    await expectNewTunnel(stage, 'by-old', { at: atOld });
    await expectNewTunnel(stage, 'by-new', { client: old, at: atNew, by: next.account });

    const tunnel = await region.createTunnel('closed');
    await region.startClient(tunnel, stage.upstream);
    const doors = edges.map(({ port }) => region.doorOf(tunnel, port));
    const { project } = region.account;
    for (const [{ call }, allow, status] of [
      [next.account, '192.0.2.1', 403],
      [region.account, '0.0.0.0/0', 200],
    ] as const) {
      const change = await call('PATCH', `/api/security-groups/default?project=${project}`, { allow: [allow] });
      assert.ok(change.status < 300, JSON.stringify(change.body));
      for (const door of doors) await visitUntil(door, status);
    }
    await expectCleanEnd(region.control);
    for (const door of doors) assert.equal((await visit(door)).status, 200);
  });
});
