// kill -9 of the database and of NATS under load: what visitors do goes on, what the API cannot do it says, and both
// come back without a restart of the product.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startPostgres, type TestPostgres } from '@underpass/control/test-kit-postgres.ts';
import type { SecurityGroup } from '@underpass/rules/entity.ts';
import type { AuditPage } from '@underpass/rules/resource.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { eventually, keepVisiting } from '../helpers/load.ts';
import { startNats } from '../helpers/nats.ts';
import { freePorts } from '../helpers/port.ts';
import { startClientProcess, startServerProcess } from '../helpers/process.ts';
import { type Account, tunnelCreated } from '../helpers/product.ts';
import { figureOf } from '../helpers/region.ts';
import { skipWithout } from '../helpers/tool.ts';
import { visitUntil } from '../helpers/visitor.ts';
import { doorOf, signIn, startUpstream } from './stage.ts';

/** An API answer is due within this, whatever has died behind it. */
const answerMs = 8_000;
/** The drain of visitors that are still there, and of NATS. */
const stopMs = 15_000;

async function startDatabase(t: TestContext): Promise<{ postgres: TestPostgres; url: string }> {
  const postgres = await startPostgres();
  t.after(() => postgres.close());
  return { postgres, url: await postgres.createDatabase() };
}

interface Writes {
  readonly acknowledged: readonly string[];
  readonly tried: readonly string[];
}

/** Security groups, one after the other, until one is refused; a project may have 100. */
async function writeUntilRefused({ call, project }: Account, prefix: string): Promise<Writes> {
  const tried: string[] = [];
  const acknowledged: string[] = [];
  for (;;) {
    const name = `${prefix}-${tried.length}`;
    tried.push(name);
    const { status } = await call('POST', `/api/security-groups?project=${project}`, { name, allow: ['192.0.2.0/24'] });
    if (status >= 300) return { tried, acknowledged };
    acknowledged.push(name);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const started = performance.now();
  return { value: await work(), ms: performance.now() - started };
}

/** What was acknowledged is there once, with one audit row; nothing is there that was never asked for. */
async function assertRows({ call, project }: Account, writes: readonly Writes[]): Promise<void> {
  const { body: groups } = await call<SecurityGroup[]>('GET', `/api/security-groups?project=${project}`);
  const names = groups.map(({ name }) => name).filter((name) => name !== 'default');
  const audited = await readAudit(call, project);
  assert.deepEqual(audited.toSorted(), names.toSorted(), 'each row has its one audit row');
  assert.equal(new Set(names).size, names.length, 'a row is doubled');
  const tried = new Set(writes.flatMap((each) => each.tried));
  for (const name of names) assert.ok(tried.has(name), `${name} was never asked for`);
  for (const name of writes.flatMap((each) => each.acknowledged))
    assert.ok(names.includes(name), `${name} was acknowledged and is lost`);
}

/** What the audit log says was made. */
async function readAudit(call: Account['call'], project: string): Promise<string[]> {
  const targets: string[] = [];
  for (let before = ''; ; ) {
    const { body } = await call<AuditPage>('GET', `/api/audit?project=${project}&action=security-group.create${before}`);
    targets.push(...body.entries.map(({ target }) => target));
    if (body.next === null) return targets;
    before = `&before=${body.next}`;
  }
}

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;

test('a killed database stops changes and nothing else, says so, and is found again', {
  skip: skipWithout('postgres'),
}, async (t) => {
  const { postgres, url } = await startDatabase(t);
  const [metricsPort = 0] = await freePorts(1);
  const product = await startServerProcess(t, { DATABASE_URL: url, UNDERPASS_METRICS_PORT: String(metricsPort) });
  const door = doorOf(product);
  await startClientProcess(t, product, await startUpstream(t));
  await visitUntil(door, 200);
  await eventually(
    () => figureOf({ metricsPort }, 'underpass_edge_clients'),
    (carriers) => carriers === 2,
  );
  const account = await signIn(product);
  const { call, project } = account;
  const origin = `http://localhost:${product.ports.control}`;
  const visitors = keepVisiting(t, door);
  const comesBack = await watchFootprints(t, { server: product.server });
  const written: Writes[] = [];

  for (let round = 0; round < 3; round++) {
    const writers = Promise.all(['a', 'b', 'c'].map((each) => writeUntilRefused(account, `r${round}${each}`)));
    await new Promise((resolve) => setTimeout(resolve, 150));
    await postgres.kill();
    written.push(...(await writers));

    for (const path of ['/api/user', `/api/tunnels?project=${project}`]) {
      const { value, ms } = await timed(() => call<string>('GET', path));
      assert.equal(value.status, 503, `${path}: ${value.status} ${JSON.stringify(value.body)}`);
      assert.match(value.body, /database/i);
      assert.ok(ms < answerMs, `${path} took ${ms} ms`);
    }
    assert.deepEqual([await statusOf(`${origin}/healthz`), await statusOf(`${origin}/readyz`)], [200, 503]);
    // A scrape goes on: the edge is still to be watched.
    assert.equal(await figureOf({ metricsPort }, 'underpass_edge_clients'), 2);

    await postgres.start();
    await eventually(
      () => statusOf(`${origin}/readyz`),
      (status) => status === 200,
    );
    await assertRows(account, written);
  }
  const { statuses, visits } = await visitors.stop();
  assert.deepEqual(statuses, { 200: visits }, 'a visitor noticed');
  await comesBack();
});

test('a killed NATS stops nothing: traffic, changes, a stop in order', { skip: skipWithout('nats-server') }, async (t) => {
  const nats = await startNats(t);
  const product = await startServerProcess(t, { NATS_URL: nats.url });
  const door = doorOf(product);
  await startClientProcess(t, product, await startUpstream(t));
  await visitUntil(door, 200);
  const account = await signIn(product);
  const comesBack = await watchFootprints(t, { server: product.server });
  const visitors = keepVisiting(t, door);

  await nats.kill();
  await assertTunnelIsLive(account, 'without');
  await nats.start();
  await assertTunnelIsLive(account, 'with');
  await comesBack();

  await nats.kill();
  const { statuses, visits } = await visitors.stop();
  assert.deepEqual(statuses, { 200: visits }, 'a visitor noticed');
  const { ms } = await timed(() => product.server.end('SIGTERM'));
  assert.equal(product.server.child.exitCode, 0, product.server.text());
  assert.ok(ms < stopMs, `the stop took ${ms} ms`);
});

/** Its route is at the edge: what is made here travels by the bus. */
async function assertTunnelIsLive(account: Account, name: string): Promise<void> {
  const body = { name, region: 'local', ingressDomains: [], proxyProtocol: '', type: 'http' };
  const { status } = await account.call('POST', `/api/tunnels?project=${account.project}`, body);
  assert.ok(status < 300, `the tunnel was refused with ${status}`);
  await tunnelCreated(account, name, 5_000);
}
