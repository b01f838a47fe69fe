// The clock of the server's machine jumps by an hour, on and back, under visitors: what is measured in
// durations notices nothing, and what ends at a time ends at that time.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity.ts';
import { rateLimits } from '@underpass/rules/limits.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { eventually, keepVisiting } from '../helpers/load.ts';
import { freePorts } from '../helpers/port.ts';
import { type ProcessOf, type StartedServer, startClientProcess, startProcess, startServerProcess } from '../helpers/process.ts';
import { type Account, signInBy, tunnelCreated } from '../helpers/product.ts';
import { figureOf } from '../helpers/region.ts';
import { skipWithout } from '../helpers/tool.ts';
import { type Door, visitUntil } from '../helpers/visitor.ts';
import { doorOf, signIn, startUpstream } from './stage.ts';

const hourMs = 3_600_000;
/** A Date header has seconds, and may be read late. */
const toleranceMs = 60_000;
/** Watched for so long after a jump: several beats of everything that beats. */
const watchMs = 7_000;
/** Of one core; with the visitors of this test it is a tenth. A timer that spins takes all of it. */
const mostLoad = 0.6;

async function cpuMs({ pid }: ProcessOf): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'latin1')).replace(/^.*\) /, '').split(' ');
  // proc(5): utime and stime in ticks, of which there are 100 a second.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const offsetMs = async (origin: string): Promise<number> =>
  Date.parse((await fetch(`${origin}/healthz`)).headers.get('date') ?? '') - Date.now();

/** All that was printed, but for the line of a client that tells every minute what passed. */
const saidBy = ({ client, product }: { readonly client: ProcessOf; readonly product: StartedServer }): object => ({
  client: client.text().replace(/^.* traffic .*\n/gm, ''),
  server: product.server.text(),
});

/** By a command that has the same clock as the server. */
async function createLink(t: TestContext, { env }: StartedServer): Promise<string> {
  const command = startProcess(t, ['server/main.ts', 'login-link', '--json'], env);
  const [, url = ''] = await command.seen(/"url":\s*"([^"]+)"/);
  return url;
}

const redeems = (origin: string, link: string): Promise<boolean> =>
  signInBy(origin, link).then(
    () => true,
    () => false,
  );

/** Spends the limit of bot checks; how many seconds the refusal says to wait. */
async function spendBotChecks(origin: string): Promise<number> {
  for (let asked = 0; asked <= rateLimits.botCheck.points; asked++) {
    const answer = await fetch(`${origin}/api/bot-check/challenge`);
    await answer.arrayBuffer();
    if (answer.status === 429) return Number(answer.headers.get('retry-after'));
  }
  return 0;
}

/** It is made, its certificate counts for who has the true time, and its visitor hears that it has no client. */
async function assertNewTunnelServes(account: Account, product: StartedServer, name: string): Promise<void> {
  const body = { name, region: 'local', ingressDomains: [], proxyProtocol: '', type: 'http' };
  await account.call('POST', `/api/tunnels?project=${account.project}`, body);
  const { ingressDomains } = await tunnelCreated(account, name);
  const door: Door = { ...doorOf(product), host: ingressDomains[0]?.name ?? '' };
  await visitUntil(door, 503);
}

test('a clock that jumps cuts nobody, spins nothing and freezes no limit', { skip: skipWithout('faketime') }, async (t) => {
  const clock = await createFakeClock(t);
  const [metricsPort = 0] = await freePorts(1);
  const product = await startServerProcess(t, { ...clock.env, UNDERPASS_METRICS_PORT: String(metricsPort) });
  const origin = `http://localhost:${product.ports.control}`;
  const client = await startClientProcess(t, product, await startUpstream(t));
  const door = doorOf(product);
  await visitUntil(door, 200);
  const account = await signIn(product);
  const first = `/api/tunnels/first?project=${account.project}`;
  const clientsShown = async (): Promise<number | undefined> => (await account.call<Tunnel>('GET', first)).body.connectedClients;
  await eventually(clientsShown, (count) => count === 1);
  const comesBack = await watchFootprints(t, { server: product.server, client });
  const visitors = keepVisiting(t, door);
  // Both carriers have come and said so.
  await client.seen(/ connected .*\n.* connected /);
  const said = saidBy({ client, product });
  const early = await createLink(t, product);

  const jump = async (hours: number): Promise<void> => {
    await clock.set(hours);
    await eventually(
      () => offsetMs(origin),
      (offset) => Math.abs(offset - hours * hourMs) < toleranceMs,
    );
  };
  const assertSteady = async (): Promise<void> => {
    const [cpu, at] = [await cpuMs(product.server), performance.now()];
    while (performance.now() - at < watchMs) {
      assert.equal(await clientsShown(), 1, 'the client is shown all the time');
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    const load = ((await cpuMs(product.server)) - cpu) / (performance.now() - at);
    assert.ok(load < mostLoad, `the server keeps ${load} of a core busy`);
    assert.equal(await figureOf({ metricsPort }, 'underpass_edge_clients'), 2);
    assert.deepEqual(saidBy({ client, product }), said, 'nobody has anything to say');
    assert.equal((await account.call('GET', '/api/user')).status, 200, 'the session goes on');
  };
  const assertFreshLinkWorksOnce = async (): Promise<void> => {
    const link = await createLink(t, product);
    assert.deepEqual([await redeems(origin, link), await redeems(origin, link)], [true, false]);
  };

  await t.test('an hour on', async () => {
    await jump(1);
    await assertSteady();
    assert.equal(await redeems(origin, early), false, 'a link of 15 minutes is over');
    await assertFreshLinkWorksOnce();
    await assertNewTunnelServes(account, product, 'later');
  });
  await t.test('back to the true time', async () => {
    await jump(0);
    await assertSteady();
    await assertNewTunnelServes(account, product, 'again');
  });
  await t.test('an hour back', async () => {
    const window = rateLimits.botCheck.windowSeconds;
    assert.ok((await spendBotChecks(origin)) <= window);
    await jump(-1);
    const waitSeconds = await spendBotChecks(origin);
    assert.ok(waitSeconds > 0 && waitSeconds <= window, `a limit of ${window} s says to wait ${waitSeconds} s`);
    await assertSteady();
    await assertFreshLinkWorksOnce();
    await assertNewTunnelServes(account, product, 'earlier');
  });
  const { statuses, visits } = await visitors.stop();
  assert.deepEqual(statuses, { 200: visits }, 'a visitor noticed');
  await comesBack();
  // Not killed: libfaketime would leave files of its number in /dev/shm, and no program with that number starts again.
  await product.server.end('SIGTERM');
});
