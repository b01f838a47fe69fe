// The version before this one beside this one, in both directions: what a rolling upgrade and its way back meet.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { startPostgres } from '@underpass/control/test-kit-postgres.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { startUpstream } from '../chaos/stage.ts';
import { type Balancer, startBalancer } from '../helpers/balancer.ts';
import { keepVisiting, type Load } from '../helpers/load.ts';
import { startNats } from '../helpers/nats.ts';
import { previousVersion, skipWithoutPrevious } from '../helpers/previous-version.ts';
import { type ProcessOf, startProcess } from '../helpers/process.ts';
import { type Account, createApiToken } from '../helpers/product.ts';
import {
  hopSettings,
  type RegionTunnel,
  type SecondControl,
  type StartedEdge,
  type StartedRegion,
  startRegion,
} from '../helpers/region.ts';
import { skipWithout } from '../helpers/tool.ts';
import { getRequest, say, visitUntil } from '../helpers/visitor.ts';

interface Stage {
  readonly t: TestContext;
  readonly old: string;
  readonly balancer: Balancer;
  readonly region: StartedRegion;
  /** Null on the embedded database. The second edge belongs to it. */
  readonly secondControl: SecondControl | null;
  readonly edges: readonly [StartedEdge, StartedEdge];
  readonly upstream: string;
}

/** Control, twice with `replicas`, and two edges of the previous version, which pass visitors on to each other. */
async function startPrevious(t: TestContext, env: Record<string, string> = {}, replicas = 1): Promise<Stage> {
  const old = previousVersion();
  const balancer = await startBalancer(t);
  const region = await startRegion(t, balancer.port, env, old);
  const secondControl = replicas === 2 ? await region.startSecondControl(old) : null;
  const start = async (port: number): Promise<StartedEdge> =>
    region.startEdge({ env: { ...(await hopSettings()), UNDERPASS_CONTROL_URL: `http://localhost:${port}` }, tree: old });
  const edges = await Promise.all([start(region.controlPort), start(secondControl?.port ?? region.controlPort)] as const);
  const stage = { t, old, balancer, region, secondControl, edges, upstream: await startUpstream(t) };
  useAllEdges(stage);
  return stage;
}

function useAllEdges({ balancer, edges }: Stage): void {
  balancer.backends = edges.map(({ port }) => port);
}

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

async function expectOk(answer: Promise<{ readonly status: number; readonly body: unknown }>): Promise<void> {
  const { status, body } = await answer;
  assert.ok(status < 300, JSON.stringify(body));
}

/** Commands of the release in `tree`: a policy with a machine token, the lists, and a quick tunnel that serves visitors. */
async function expectCommands(stage: Stage, name: string, tree = ''): Promise<void> {
  const { t, region, edges, upstream } = stage;
  const token = await createApiToken(region.account);
  const start = (...args: readonly string[]): ProcessOf =>
    startProcess(t, [join(tree, 'client/main.ts'), ...args], {
      UNDERPASS_SERVER: `http://localhost:${region.controlPort}`,
      UNDERPASS_API_TOKEN: token,
      XDG_CONFIG_HOME: region.home,
    });
  const run = async (...args: readonly string[]): Promise<string> => {
    const { child, text } = start(...args);
    await once(child, 'close');
    assert.equal(child.exitCode, 0, `${args.join(' ')}: ${text()}`);
    return text();
  };
  await run('access', 'add', name, '--person', 'ada@example.com');
  const quick = start('http', new URL(upstream).port, '--name', name);
  const [, host = ''] = await quick.seen(/https:\/\/([\w.-]+)/);
  await quick.seen(/ connected /);
  for (const { port } of edges) await visitUntil({ port, host, caPem: region.caPem }, 200);
  const lists = await Promise.all([
    run('tunnels', 'ls'),
    run('access', 'ls'),
    run('access', 'tokens', 'add', name, 'ci', '--json'),
  ]);
  for (const list of lists.slice(0, 2)) assert.match(list, new RegExp(`^${name} `, 'm'));
  await expectCleanEnd(quick);
}

interface Guarded {
  readonly tunnel: RegionTunnel;
  readonly token: string;
}

/** A tunnel that admits one person and a machine token. */
async function guard({ region }: Stage): Promise<Guarded> {
  const { call, project } = region.account;
  const tunnel = await region.createTunnel('guarded');
  await expectOk(call('POST', `/api/access-policies?project=${project}`, { name: 'staff', people: ['ada@example.com'] }));
  const { body } = await call<{ token: string }>('POST', `/api/access-policies/staff/tokens?project=${project}`, { name: 'ci' });
  await expectOk(call('PATCH', `/api/tunnels/guarded?project=${project}`, { accessPolicy: 'staff' }));
  return { tunnel, token: body.token };
}

/** Every edge asks visitors to sign in, and admits the token: then the answer is that the tunnel has no client. */
async function expectGuarded({ region, edges }: Stage, { tunnel, token }: Guarded): Promise<void> {
  for (const { port } of edges) {
    const door = region.doorOf(tunnel, port);
    await visitUntil(door, 401);
    const head = getRequest(door).replace('\r\n\r\n', `\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    assert.match(await say(door, head), /^HTTP\/1\.1 503 /);
  }
}

/** What one control changes is true at the edges of both. */
async function expectShared(stage: Stage, tunnel: RegionTunnel): Promise<void> {
  const { region, secondControl, edges } = stage;
  const { call, project } = region.account;
  const other = (secondControl ?? assert.fail()).account;
  await expectOk(call('PATCH', `/api/tunnels/${tunnel.name}?project=${project}`, { securityGroup: 'closed' }));
  for (const [by, allow, status] of [
    [other.call, '0.0.0.0/0', 200],
    [call, '192.0.2.1', 403],
  ] as const) {
    await expectOk(by('PATCH', `/api/security-groups/closed?project=${project}`, { allow: [allow] }));
    for (const { port } of edges) await visitUntil(region.doorOf(tunnel, port), status);
  }
}

async function expectAllServed(visitors: Load): Promise<void> {
  const { statuses, visits } = await visitors.stop();
  assert.deepEqual(statuses, { 200: visits }, 'a visit failed');
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

    const guarded = await guard(stage);
    await expectCommands(stage, 'new-command');
    await expectCleanEnd(region.control);
    await region.restartControl();
    await expectCommands(stage, 'old-command', old);
    await expectNewTunnel(stage, 'old-edges', { at: first });
    await replaceEdge(stage, first, tunnel);
    await expectGuarded(stage, guarded);
    await expectNewTunnel(stage, 'hop-to-old', { at: second });
    await expectNewTunnel(stage, 'hop-to-new', { client: old, at: first });
    await replaceEdge(stage, second, tunnel);
    await expectCleanEnd(region.control);
    await region.restartControl(old);
    await expectNewTunnel(stage, 'old-control', { at: second });
    await expectGuarded(stage, guarded);
    await expectCleanEnd(region.control);
    // Without control an edge starts from the copy of the routes that the other version wrote.
    await replaceEdge(stage, first, tunnel, old);
    await expectGuarded(stage, guarded);

    await expectAllServed(visitors);
    await expectCleanEnd(client);
  });

  test('a private tunnel: clients and edges of the previous version are refused, and refuse, in words', async (t) => {
    const old = previousVersion();
    const balancer = await startBalancer(t);
    const region = await startRegion(t, balancer.port);
    const [today, before] = [await region.startEdge(), await region.startEdge({ tree: old })];
    const { call, project } = region.account;
    const tunnel = { name: 'database', region: 'eu', type: 'tcp', private: true };
    await expectOk(call('POST', `/api/tunnels?project=${project}`, tunnel));
    const { url, token = '' } = (await call<Tunnel>('GET', `/api/tunnels/database?project=${project}`)).body;
    const tokenFile = join(region.home, 'database.token');
    await writeFile(tokenFile, token, { mode: 0o600 });
    const env = {
      UNDERPASS_SERVER: `http://localhost:${region.controlPort}`,
      UNDERPASS_API_TOKEN: await createApiToken(region.account, 'member'),
      XDG_CONFIG_HOME: region.home,
    };
    const start = (tree: string, ...args: readonly string[]): ProcessOf =>
      startProcess(t, [join(tree, 'client/main.ts'), ...args], env);
    const carry = ['--url', url, '--token-file', tokenFile, '--upstream', 'http://127.0.0.1:9'];

    balancer.backends = [today.port];
    const oldClient = start(old, 'http', ...carry);
    await oldClient.seen(/share no protocol version.*Run "underpass update"/);
    const withoutClient = start('', 'reach', 'database', '--stdio');
    await withoutClient.seen(/no client of the tunnel answers/);
    await oldClient.end();

    balancer.backends = [before.port];
    await start('', 'reach', 'database', '--stdio').seen(/the region is too old for private tunnels/);
    const carrier = start('', 'tcp', '--private', ...carry.with(-1, '127.0.0.1:9'));
    await carrier.seen(/knows no tcp tunnels yet/);
    assert.doesNotMatch(carrier.text(), / connected /);
  });

  test('an upgrade and its way back, process by process on Postgres, fail no visit', {
    skip: skipWithout('postgres', 'nats-server'),
  }, async (t) => {
    const postgres = await startPostgres();
    t.after(() => postgres.close());
    const nats = await startNats(t);
    const env = {
      UNDERPASS_REPLICAS: '2',
      UNDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      DATABASE_URL: await postgres.createDatabase(),
      NATS_URL: nats.url,
    };
    const stage = await startPrevious(t, env, 2);
    const { old, region, edges, balancer, upstream } = stage;
    const [first, second] = edges;
    const other = stage.secondControl ?? assert.fail();
    const { call, project } = region.account;
    await expectOk(call('POST', `/api/security-groups?project=${project}`, { name: 'closed', allow: ['192.0.2.1'] }));
    const tunnel = await region.createTunnel('web');
    const shared = await region.createTunnel('shared');
    const clients = [await region.startClient(tunnel, upstream, {}, old), await region.startClient(shared, upstream, {}, old)];
    for (const edge of edges) await visitUntil(region.doorOf(tunnel, edge.port), 200);
    const visitors = keepVisiting(t, region.doorOf(tunnel, balancer.port), { pauseMs: 50 });

    const migration = startProcess(t, ['server/main.ts', 'migrate'], { UNDERPASS_HOME: region.home, ...env });
    await once(migration.child, 'close');
    assert.equal(migration.child.exitCode, 0, migration.text());
    await expectCleanEnd(other.process);
    await other.restart();
    await expectShared(stage, shared);
    await expectNewTunnel(stage, 'by-old', { at: first });
    await expectNewTunnel(stage, 'by-new', { client: old, at: second, by: other.account });
    await expectCleanEnd(region.control);
    await region.restartControl();
    await replaceEdge(stage, first, tunnel);
    await expectShared(stage, shared);
    await replaceEdge(stage, second, tunnel);
    await expectNewTunnel(stage, 'all-new', { at: first });

    await replaceEdge(stage, first, tunnel, old);
    await replaceEdge(stage, second, tunnel, old);
    await expectCleanEnd(region.control);
    await region.restartControl(old);
    await expectShared(stage, shared);
    await expectCleanEnd(other.process);
    await other.restart(old);
    await expectShared(stage, shared);

    await expectAllServed(visitors);
    for (const client of clients) await expectCleanEnd(client);
  });
});
