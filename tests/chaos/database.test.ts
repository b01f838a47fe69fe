// kill -9 of the database and of NATS under load: visitors are served, the API refuses what it cannot do, and the product
// reconnects to both without a restart.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { startPostgres, type TestPostgres } from '@underpass/control/test-kit-postgres.ts';
import type { SecurityGroup } from '@underpass/rules/entity/entity.ts';
import type { AuditPage } from '@underpass/rules/entity/resource.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { watchFootprints } from '../helpers/footprint.ts';
import { keepVisiting } from '../helpers/load.ts';
import { startNats } from '../helpers/nats.ts';
import { freePorts } from '../helpers/port.ts';
import { type StartedServer, startClientProcess, startProcess, startServerProcess } from '../helpers/process.ts';
import { type Account, tunnelCreated } from '../helpers/product.ts';
import { figureOf } from '../helpers/region.ts';
import { skipWithout } from '../helpers/tool.ts';
import { visitUntil } from '../helpers/visitor.ts';
import { doorOf, signIn, startUpstream } from './stage.ts';

/** The API answers within this time, even if the database is dead. */
const answerMs = 8_000;
/** Enough to drain visitors and NATS. */
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

/** Creates security groups one after the other until one is refused; a project may have 100. */
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

/** Asserts that each acknowledged group exists once with one audit row, and that no other group exists. */
async function assertRows({ call, project }: Account, writes: readonly Writes[]): Promise<void> {
  const { body: groups } = await call<SecurityGroup[]>('GET', `/api/security-groups?project=${project}`);
  const names = groups.map(({ name }) => name).filter((name) => name !== 'default');
  const audited = await readAudit(call, project);
  assert.deepEqual(audited.toSorted(), names.toSorted(), 'each group has exactly one audit row');
  assert.equal(new Set(names).size, names.length, 'a group exists twice');
  const tried = new Set(writes.flatMap((each) => each.tried));
  for (const name of names) assert.ok(tried.has(name), `${name} was never requested`);
  for (const name of writes.flatMap((each) => each.acknowledged))
    assert.ok(names.includes(name), `${name} was acknowledged but is lost`);
}

/** The groups that were created according to the audit log. */
async function readAudit(call: Account['call'], project: string): Promise<string[]> {
  const targets: string[] = [];
  for (let before = ''; ; ) {
    const { body } = await call<AuditPage>('GET', `/api/audit?project=${project}&action=security-group.create${before}`);
    targets.push(...body.entries.map(({ target }) => target));
    if (body.next === null) return targets;
    before = `&before=${body.next}`;
  }
}

/** Runs `underpass-server status`; returns its exit code and the rows that are not well. */
async function unwell(t: TestContext, { env }: StartedServer): Promise<readonly [code: number | null, ...rows: string[]]> {
  const { child, text } = startProcess(t, ['server/main.ts', 'status', '--json'], env);
  await once(child, 'close');
  const rows = JSON.parse(text()) as { part: string; ok: boolean; state: string; lastError: string | null }[];
  const bad = rows.filter(({ ok }) => !ok).map(({ part, state, lastError }) => `${part}: ${state}: ${lastError}`);
  return [child.exitCode, ...bad];
}

const statusOf = async (url: string): Promise<number> => (await fetch(url)).status;

test('a killed database stops only the API, which answers 503 and recovers without a restart', {
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
    assert.equal(await statusOf(`${origin}/healthz`), 200);
    // Control repeats an answer of readyz for a second.
    await eventually(
      () => statusOf(`${origin}/readyz`),
      (status) => status === 503,
    );
    // Metrics still answer, so that operators can watch the edge.
    assert.equal(await figureOf({ metricsPort }, 'underpass_edge_clients'), 2);
    if (round === 0) {
      // Control asks every 5 s whether Postgres answers.
      const [code, , ...others] = await eventually(
        () => unwell(t, product),
        ([, row]) => row?.startsWith('database: does not answer: ') === true,
      );
      assert.equal(code, 7);
      assert.match(others.join(), /region: unknown: the database cannot be had: .*backup: unknown: /);
    }

    await postgres.start();
    await eventually(
      () => statusOf(`${origin}/readyz`),
      (status) => status === 200,
    );
    await assertRows(account, written);
  }
  const { statuses, visits } = await visitors.stop();
  assert.deepEqual(statuses, { 200: visits }, 'a visit failed');
  await comesBack();
});

test('a killed NATS stops neither traffic nor changes nor an orderly stop', { skip: skipWithout('nats-server') }, async (t) => {
  const nats = await startNats(t);
  const product = await startServerProcess(t, { NATS_URL: nats.url });
  const door = doorOf(product);
  await startClientProcess(t, product, await startUpstream(t));
  await visitUntil(door, 200);
  const account = await signIn(product);
  const comesBack = await watchFootprints(t, { server: product.server });
  const visitors = keepVisiting(t, door);

  await eventually(
    () => unwell(t, product),
    ([code]) => code === 0,
  );
  await nats.kill();
  await assertTunnelIsLive(account, 'without');
  // Control asks every 5 s whether NATS answers.
  const [code, ...rows] = await eventually(
    () => unwell(t, product),
    ([, row]) => row === 'bus: does not answer: the connection was lost',
  );
  assert.deepEqual([code, rows.length], [7, 1]);
  await nats.start();
  await assertTunnelIsLive(account, 'with');
  await comesBack();

  await nats.kill();
  const { statuses, visits } = await visitors.stop();
  assert.deepEqual(statuses, { 200: visits }, 'a visit failed');
  const { ms } = await timed(() => product.server.end('SIGTERM'));
  assert.equal(product.server.child.exitCode, 0, product.server.text());
  assert.ok(ms < stopMs, `the stop took ${ms} ms`);
});

/** Creates a tunnel and waits for its route at the edge: the change travels by the bus. */
async function assertTunnelIsLive(account: Account, name: string): Promise<void> {
  const body = { name, region: 'local', ingressDomains: [], proxyProtocol: '', type: 'http' };
  const { status } = await account.call('POST', `/api/tunnels?project=${account.project}`, body);
  assert.ok(status < 300, `the tunnel was refused with ${status}`);
  await tunnelCreated(account, name, 15_000);
}
