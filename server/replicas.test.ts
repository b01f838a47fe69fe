// Two control processes share one Postgres and one NATS, and an edge is connected to one of them: what the other one shows.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { startPostgres, type TestPostgres } from '@underpass/control/test-kit-postgres.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { ConnectedClient } from '@underpass/rules/entity/resource.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { requireTool, skipWithout } from '../tests/helpers/tool.ts';
import { createLog } from './process/log.ts';
import { type Running, startServer } from './serve/start.ts';
import {
  appliedMs,
  type Browser,
  browserAt,
  carry,
  dropHome,
  makeHome,
  openServer,
  signIn,
  type TestClient,
  type TestServer,
  testSettings,
  visit,
} from './test-kit.ts';

async function startNats(folder: string): Promise<{ url: string; server: ChildProcess }> {
  const server = spawn(requireTool('nats-server'), ['-a', '127.0.0.1', '-p', '-1', '--ports_file_dir', folder], {
    stdio: 'ignore',
  });
  const read = async (): Promise<string> => {
    const file = (await readdir(folder)).find((name) => name.endsWith('.ports'));
    return file === undefined ? '' : readFile(join(folder, file), 'utf8');
  };
  const text = await eventually(read, (found) => found.trimEnd().endsWith('}'));
  return { url: (JSON.parse(text) as { nats: string[] }).nats[0] ?? '', server };
}

describe('two control processes', { skip: skipWithout('postgres', 'nats-server') }, () => {
  const homes: string[] = [];
  let postgres: TestPostgres;
  let nats: { url: string; server: ChildProcess };
  let one: TestServer;
  let two: TestServer;
  let edge: Running;
  let client: TestClient | undefined;
  let atOne: Browser;
  let atTwo: Browser;
  let project: string;
  let ca: string;

  const freshHome = async (): Promise<string> => {
    const home = await makeHome();
    homes.push(home);
    return home;
  };

  before(async () => {
    postgres = await startPostgres();
    nats = await startNats(await freshHome());
    const shared = {
      UNDERPASS_ROLE: 'control',
      UNDERPASS_REPLICAS: '2',
      UNDERPASS_ORIGIN: 'http://localhost:8400',
      UNDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      DATABASE_URL: await postgres.createDatabase(),
      NATS_URL: nats.url,
    };
    const home = await freshHome();
    one = await openServer(home, shared);
    // They share a home, because the local authority is a file there. In production there is no such file.
    two = await openServer(home, shared);
    atOne = await signIn(one);
    atTwo = browserAt(two, atOne.cookie);
    project = (await atOne.read<{ defaultProject: string }>('/api/user')).defaultProject;
    const region = {
      name: 'eu',
      description: 'Europe',
      dataPlaneHost: 'eu.localhost',
      tlsTermination: true,
      wildcardIngressDomain: 'eu-tunnels.localhost',
    };
    assert.ok((await atOne.send('POST', '/api/operator/regions', region)).ok);
    const { key } = (await (await atOne.send('POST', '/api/operator/regions/eu/key')).json()) as { key: string };
    ca = await readFile(join(home, 'ca.pem'), 'utf8');
    const env = {
      UNDERPASS_ROLE: 'edge',
      UNDERPASS_CONTROL_URL: one.url(''),
      UNDERPASS_EDGE_KEY: key,
      UNDERPASS_REGION: 'eu',
      UNDERPASS_DATA_PLANE_HOST: 'eu.localhost',
    };
    edge = await startServer(testSettings(await freshHome(), env), createLog('silent'));
  });
  after(async () => {
    client?.close();
    await edge.close();
    await two.running.close();
    await one.running.close();
    nats.server.kill();
    await postgres.close();
    for (const home of homes) await dropHome(home);
  });

  const tunnelAt = (browser: Browser, name: string): Promise<Tunnel> =>
    browser.read<Tunnel>(`/api/tunnels/${name}?project=${project}&metrics=1`);
  const port = (): number => edge.ports.https ?? 0;

  test('a tunnel created at the process without the edge is live at the edge within seconds', async () => {
    const body = { name: 'web', region: 'eu', ingressDomains: [], proxyProtocol: '', type: 'http' };
    assert.ok((await atTwo.send('POST', `/api/tunnels?project=${project}`, body)).ok);
    const tunnel = await eventually(
      () => tunnelAt(atTwo, 'web'),
      (each) => each.status === 'Created',
      20_000,
    );
    client = await carry(port(), ca, tunnel, 'hello');
    assert.equal(await visit(port(), ca, tunnel.ingressDomains[0]?.name ?? ''), 'hello');
  });

  test('both show the same clients and metrics, although the edge reports to one', async () => {
    for (const browser of [atOne, atTwo]) {
      const tunnel = await eventually(
        () => tunnelAt(browser, 'web'),
        (each) => each.connectedClients === 1 && (each.metrics?.tx ?? 0) > 0,
      );
      assert.equal(tunnel.status, 'Created');
      assert.equal((await browser.read<ConnectedClient[]>(`/api/tunnels/web/clients?project=${project}`)).length, 1);
    }
    await eventually(
      () => Promise.all([atOne, atTwo].map(async (browser) => (await tunnelAt(browser, 'web')).metrics)),
      ([here, there]) => isDeepStrictEqual(here, there),
    );
  });

  test('blocks made at the process without the edge end what is open there, and their ends bring it back', async () => {
    const block = async (value: string): Promise<() => Promise<Response>> => {
      const made = await atTwo.send('POST', '/api/operator/blocks', { value, reason: 'phishing' });
      assert.ok(made.ok);
      const { id } = (await made.json()) as { id: string };
      return () => atOne.send('DELETE', `/api/operator/blocks/${id}`);
    };
    const name = (await tunnelAt(atOne, 'web')).ingressDomains[0]?.name ?? '';
    const answer = (): Promise<string> => visit(port(), ca, name);
    const bad = connect({ host: '127.0.0.1', port: port(), localAddress: '127.0.0.9' });
    await once(bad, 'connect');
    const ended = once(bad.resume(), 'close', { signal: AbortSignal.timeout(appliedMs) });
    const end = await block('127.0.0.9');
    await ended;
    assert.equal(await answer(), 'hello');
    assert.ok((await end()).ok);
    const endOfName = await block(name);
    await eventually(answer, (text) => text !== 'hello', appliedMs);
    assert.ok((await endOfName()).ok);
    await eventually(answer, (text) => text === 'hello', appliedMs);
  });

  test('a deletion at the process without the edge disconnects the client within seconds', async () => {
    const start = performance.now();
    await atTwo.send('DELETE', `/api/tunnels/web?project=${project}`);
    await eventually(
      async () => client?.session.closed,
      (closed) => closed === true,
    );
    assert.ok(performance.now() - start < appliedMs);
  });

  test('both list the edge', async () => {
    for (const browser of [atOne, atTwo]) {
      const edges = await eventually(
        () => browser.read<{ region: string; connected: boolean }[]>('/api/operator/edges'),
        (list) => list.length === 1,
      );
      assert.deepEqual(
        edges.map((each) => [each.region, each.connected]),
        [['eu', true]],
      );
    }
  });
});
