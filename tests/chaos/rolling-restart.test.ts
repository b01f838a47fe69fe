// Edges and control are restarted one after the other. Every edge has visitors from the moment it is ready, also of tunnels
// whose clients are connected to other edges.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { type Balancer, startBalancer } from '../helpers/balancer.ts';
import { keepVisiting, type Load } from '../helpers/load.ts';
import { freePorts } from '../helpers/port.ts';
import { figureOf, type StartedEdge, type StartedRegion, startRegion } from '../helpers/region.ts';
import { visit, visitUntil } from '../helpers/visitor.ts';
import { startUpstream } from './stage.ts';

interface Member {
  readonly edge: StartedEdge;
  /** The edge's way to control. */
  readonly path: Balancer;
  visitors: Load | null;
}

const feedIs =
  (wanted: number) =>
  ({ edge }: Member) =>
    eventually(
      () => figureOf(edge, 'underpass_edge_feed_connected'),
      (connected) => connected === wanted,
    );

test('a rolling restart of a region fails no visit, at any edge that is ready', async (t) => {
  const balancer = await startBalancer(t);
  const region = await startRegion(t, balancer.port);
  const join = async (workers: number): Promise<Member> => {
    const path = await startBalancer(t);
    path.backends = [region.controlPort];
    const [hopPort = 0] = await freePorts(1);
    const env = {
      UNDERPASS_CONTROL_URL: `http://127.0.0.1:${path.port}`,
      UNDERPASS_HOP_PORT: String(hopPort),
      UNDERPASS_HOP_ADDRESS: `127.0.0.1:${hopPort}`,
      UNDERPASS_EDGE_WORKERS: String(workers),
    };
    return { edge: await region.startEdge({ env }), path, visitors: null };
  };
  const members = await Promise.all([1, 1, 2].map(join));
  const balance = (without?: Member): void => {
    balancer.backends = members.filter((member) => member !== without).map(({ edge }) => edge.port);
  };
  balance();
  const tunnel = await region.createTunnel('web');
  await region.startClient(tunnel, await startUpstream(t));
  const doorOf = ({ edge }: Member) => region.doorOf(tunnel, edge.port);
  for (const member of members) await visitUntil(doorOf(member), 200);

  const open = (member: Member): void => {
    member.visitors = keepVisiting(t, doorOf(member), { pauseMs: 5 });
  };
  const close = async ({ visitors }: Member, when: string): Promise<void> => {
    const { statuses, visits } = (await visitors?.stop()) ?? { statuses: {}, visits: 0 };
    assert.deepEqual(statuses, { 200: visits }, when);
  };
  const restart = async (member: Member, when: string): Promise<void> => {
    await close(member, `before ${when}`);
    balance(member);
    await member.edge.process.end('SIGTERM');
    await member.edge.restart();
    assert.equal((await fetch(`http://127.0.0.1:${member.edge.metricsPort}/readyz`)).status, 200);
    open(member);
    balance();
  };

  for (const member of members) open(member);
  for (const member of members) await restart(member, 'a restart');

  // An edge that restarts without control has no client at first, and is the first to dial the new control, which has heard of no
  // other edge.
  for (const member of members) {
    member.path.backends = [];
    member.path.cut();
  }
  await region.control.end('SIGTERM');
  const last = members[0]!;
  await restart(last, 'a restart without control');
  await region.restartControl();
  last.path.backends = [region.controlPort];
  await feedIs(1)(last);
  assert.equal((await visit(doorOf(last))).status, 200);
  for (const { path } of members) path.backends = [region.controlPort];
  await Promise.all(members.map(feedIs(1)));
  for (const member of members) await close(member, 'control was restarted');
});

test('a visitor of a restarted edge waits for the client to come back', async (t) => {
  const [port = 0] = await freePorts(1);
  const region: StartedRegion = await startRegion(t, port);
  const edge = await region.startEdge({ env: { UNDERPASS_EDGE_HTTPS_PORT: String(port) } });
  const tunnel = await region.createTunnel('web');
  const upstream = await startUpstream(t);
  const client = await region.startClient(tunnel, upstream);
  const door = region.doorOf(tunnel, port);
  await visitUntil(door, 200);
  await Promise.all([edge.process.end('SIGKILL'), client.end('SIGKILL')]);
  await edge.restart();
  const answer = visit(door);
  await region.startClient(tunnel, upstream);
  assert.equal((await answer).status, 200);
});
