// The feed between control and an edge is cut, then control is killed: the edge serves by its last routes, and catches up
// once the feed is back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OperatorTunnel } from '@underpass/rules/entity/resource.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { startBalancer } from '../helpers/balancer.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { keepVisiting } from '../helpers/load.ts';
import { freePorts } from '../helpers/port.ts';
import { figureOf, type RegionTunnel, type StartedRegion, startRegion } from '../helpers/region.ts';
import { visit, visitUntil } from '../helpers/visitor.ts';
import { startUpstream } from './stage.ts';

/** A suspension takes effect within a minute. */
const suspendedWithinMs = 60_000;

async function suspend({ account: { call } }: StartedRegion, { name }: RegionTunnel, suspended: boolean): Promise<void> {
  const { body } = await call<readonly OperatorTunnel[]>('GET', `/api/operator/tunnels?q=${name}`);
  const { status } = await call('PATCH', `/api/operator/tunnels/${body[0]?.id}`, { suspended });
  assert.ok(status < 300, `suspending was refused with ${status}`);
}

test('an edge without its feed keeps serving, and applies missed decisions once the feed is back', async (t) => {
  const [publicPort = 0] = await freePorts(1);
  const region = await startRegion(t, publicPort);
  const path = await startBalancer(t);
  path.backends = [region.controlPort];
  const env = { UNDERPASS_EDGE_HTTPS_PORT: String(publicPort), UNDERPASS_CONTROL_URL: `http://127.0.0.1:${path.port}` };
  const edge = await region.startEdge({ env });
  const [kept, stopped] = [await region.createTunnel('kept'), await region.createTunnel('stopped')];
  const [keptDoor, stoppedDoor] = [region.doorOf(kept, publicPort), region.doorOf(stopped, publicPort)];
  const upstream = await startUpstream(t);
  await region.startClient(kept, upstream);
  const client = await region.startClient(stopped, upstream);
  for (const door of [keptDoor, stoppedDoor]) await visitUntil(door, 200);
  const comesBack = await watchFootprints(t, {
    get edge() {
      return edge.process;
    },
    get control() {
      return region.control;
    },
  });
  const visitors = keepVisiting(t, keptDoor);

  path.backends = [];
  path.cut();
  await eventually(
    () => figureOf(edge, 'underpass_edge_feed_connected'),
    (connected) => connected === 0,
  );
  await suspend(region, stopped, true);
  assert.equal((await visit(stoppedDoor)).status, 200, 'an edge that has not heard of the suspension keeps serving');
  await client.end('SIGKILL');
  await region.startClient(stopped, upstream);
  await visitUntil(stoppedDoor, 200);

  path.backends = [region.controlPort];
  const started = performance.now();
  assert.match(await visitUntil(stoppedDoor, 503, suspendedWithinMs), /UNDERPASS_SUSPENDED/);
  t.diagnostic(`suspended ${Math.round(performance.now() - started)} ms after the path was back`);
  const made = await region.createTunnel('made');
  await region.startClient(made, upstream);
  await visitUntil(region.doorOf(made, publicPort), 200);

  await region.control.end('SIGKILL');
  assert.equal((await visit(keptDoor)).status, 200);
  await visitors.stop().then(({ statuses, visits }) => assert.deepEqual(statuses, { 200: visits }, 'a visit failed'));
  await edge.process.end('SIGKILL');
  await edge.restart();
  await visitUntil(keptDoor, 200);
  await visitUntil(region.doorOf(made, publicPort), 200);
  assert.match((await visit(stoppedDoor)).text, /UNDERPASS_SUSPENDED/, 'the copy on disk holds the suspension');

  await region.restartControl();
  await suspend(region, stopped, false);
  // 200 if the old client has already retried, else no client is connected.
  await eventually(
    () => visit(stoppedDoor),
    ({ status, text }) => status === 200 || text.includes('UNDERPASS_NO_CLIENT'),
  );
  // Start a new client: the old one retries ever less often, down to once a minute, because a suspension lasts until the operator acts.
  await region.startClient(stopped, upstream);
  await visitUntil(stoppedDoor, 200);
  await comesBack();
});
