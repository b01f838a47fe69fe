// The clock of the server's machine jumps by an hour, forward and back, while visitors come: durations are unaffected, and
// what expires at a time of day expires then.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { rateLimits } from '@underpass/rules/limits.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { createFakeClock } from '../helpers/fake-clock.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { keepVisiting } from '../helpers/load.ts';
import { freePorts } from '../helpers/port.ts';
import { type ProcessOf, type StartedServer, startClientProcess, startProcess, startServerProcess } from '../helpers/process.ts';
import { type Account, signInBy, tunnelCreated } from '../helpers/product.ts';
import { figureOf } from '../helpers/region.ts';
import { skipWithout } from '../helpers/tool.ts';
import { type Door, visitUntil } from '../helpers/visitor.ts';
import { doorOf, signIn, startUpstream } from './stage.ts';

const hourMs = 3_600_000;
/** A Date header is precise to a second, and may be read late. */
const toleranceMs = 60_000;
/** How long to watch after a jump: several periods of every periodic task. */
const watchMs = 7_000;
/** Share of one core. The visitors of this test need a tenth; a timer that spins would take a whole core. */
const mostLoad = 0.6;

async function cpuMs({ pid }: ProcessOf): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'latin1')).replace(/^.*\) /, '').split(' ');
  // proc(5): utime and stime in ticks, of which there are 100 a second.
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const offsetMs = async (origin: string): Promise<number> =>
  Date.parse((await fetch(`${origin}/healthz`)).headers.get('date') ?? '') - Date.now();

/** Everything that both printed, without the client's line about its traffic, which it prints every minute. */
const saidBy = ({ client, product }: { readonly client: ProcessOf; readonly product: StartedServer }): object => ({
  client: client.text().replace(/^.* traffic .*\n/gm, ''),
  server: product.server.text(),
});

/** Makes a login link by a command that runs on the server's clock. */
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

/** Uses up the rate limit of bot checks; returns how many seconds the refusal says to wait. */
async function spendBotChecks(origin: string): Promise<number> {
  for (let asked = 0; asked <= rateLimits.botCheck.points; asked++) {
    const answer = await fetch(`${origin}/api/bot-check/challenge`);
    await answer.arrayBuffer();
    if (answer.status === 429) return Number(answer.headers.get('retry-after'));
  }
  return 0;
}

/** Asserts that a new tunnel gets a certificate that is valid at the true time, and that its visitor gets 503: it has no client. */
async function assertNewTunnelServes(account: Account, product: StartedServer, name: string): Promise<void> {
  const body = { name, region: 'local', ingressDomains: [], proxyProtocol: '', type: 'http' };
  await account.call('POST', `/api/tunnels?project=${account.project}`, body);
  const { ingressDomains } = await tunnelCreated(account, name);
  const door: Door = { ...doorOf(product), host: ingressDomains[0]?.name ?? '' };
  await visitUntil(door, 503);
}

test('a jump of the clock breaks no connection, keeps no timer busy and blocks no rate limit', {
  skip: skipWithout('faketime'),
}, async (t) => {
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
  // Until both carriers are there.
  await eventually(
    () => figureOf({ metricsPort }, 'underpass_edge_clients'),
    (carriers) => carriers === 2,
  );
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
      assert.equal(await clientsShown(), 1, 'the API always shows the client');
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    const load = ((await cpuMs(product.server)) - cpu) / (performance.now() - at);
    assert.ok(load < mostLoad, `the server keeps ${load} of a core busy`);
    assert.equal(await figureOf({ metricsPort }, 'underpass_edge_clients'), 2);
    assert.deepEqual(saidBy({ client, product }), said, 'neither prints anything');
    assert.equal((await account.call('GET', '/api/user')).status, 200, 'the session stays valid');
  };
  const assertFreshLinkWorksOnce = async (): Promise<void> => {
    const link = await createLink(t, product);
    assert.deepEqual([await redeems(origin, link), await redeems(origin, link)], [true, false]);
  };

  await t.test('an hour forward', async () => {
    await jump(1);
    await assertSteady();
    assert.equal(await redeems(origin, early), false, 'a link expires after 15 minutes');
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
  assert.deepEqual(statuses, { 200: visits }, 'a visit failed');
  await comesBack();
  // Stop it in order: after a kill, libfaketime leaves files named by process id in /dev/shm, and no later process with that id could start.
  await product.server.end('SIGTERM');
});
