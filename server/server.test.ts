import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { ConnectedClient } from '@underpass/rules/entity/resource.ts';
import { rateLimits } from '@underpass/rules/limits.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { requestUpgrade } from '@underpass/wire/handshake.ts';
import { createLog } from './process/log.ts';
import { controlSettings } from './serve/control-settings.ts';
import { type Running, startServer } from './serve/start.ts';
import {
  appliedMs,
  type Browser,
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

describe('role all', () => {
  let home: string;
  let server: TestServer;
  let browser: Browser;
  let project: string;
  let ca: string;
  const clients: TestClient[] = [];

  before(async () => {
    home = await makeHome();
    server = await openServer(home);
    browser = await signIn(server);
    project = (await browser.read<{ defaultProject: string }>('/api/user')).defaultProject;
    ca = await readFile(join(home, 'ca.pem'), 'utf8');
  });
  after(async () => {
    for (const client of clients) client.close();
    await server.running.close();
    await dropHome(home);
  });

  const port = (): number => server.running.ports.https ?? 0;
  const readTunnel = (name: string): Promise<Tunnel> => browser.read<Tunnel>(`/api/tunnels/${name}?project=${project}&metrics=1`);
  const makeTunnel = async (name: string): Promise<Tunnel> => {
    const body = { name, region: 'local', ingressDomains: [], proxyProtocol: '', type: 'http' };
    const made = await browser.send('POST', `/api/tunnels?project=${project}`, body);
    assert.ok(made.ok, await made.text());
    return readTunnel(name);
  };
  const carryTunnel = async (tunnel: Pick<Tunnel, 'dataPlaneHost' | 'token'>, text: string): Promise<TestClient> => {
    const client = await carry(port(), ca, tunnel, text);
    clients.push(client);
    return client;
  };

  test('the first start makes a tunnel, and the files that it names carry it at once', async () => {
    const tokenPath = join(home, 'first-tunnel.token');
    assert.equal((await stat(tokenPath)).mode & 0o777, 0o600);
    const host = /https:\/\/([a-z0-9-]+\.tunnels\.localhost)/.exec(server.running.text)?.[1] ?? '';
    const token = (await readFile(tokenPath, 'utf8')).trim();
    await carryTunnel({ dataPlaneHost: 'local.localhost', token }, 'first');
    assert.equal(await visit(port(), ca, host), 'first');
  });

  test('the first start prints the folder that holds the mails', async () => {
    assert.ok(server.running.text.includes(`${server.origin}/dev/mailbox`), server.running.text);
    const headers = { cookie: browser.cookie };
    assert.equal((await fetch(server.url('/dev/mailbox'), { headers })).status, 200);
  });

  test('a tunnel created by the API is live at the edge within seconds', async () => {
    const start = performance.now();
    const tunnel = await makeTunnel('quick');
    await eventually(
      () => readTunnel('quick'),
      (each) => each.status === 'Created',
    );
    assert.ok(performance.now() - start < appliedMs);
    await carryTunnel(tunnel, 'quick');
    assert.equal(await visit(port(), ca, tunnel.ingressDomains[0]?.name ?? ''), 'quick');
  });

  test('shows its client as connected, counts its bytes, and gives the pin of the authority', async () => {
    const tunnel = await makeTunnel('counted');
    await carryTunnel(tunnel, 'x'.repeat(30_000));
    await visit(port(), ca, tunnel.ingressDomains[0]?.name ?? '');
    const shown = await eventually(
      () => readTunnel('counted'),
      (each) => each.connectedClients === 1 && (each.metrics?.tx ?? 0) >= 30_000 / 300,
    );
    assert.match(shown.url, /^https:\/\/local\.localhost:\d+#ca=[0-9a-f]{64}$/);
    const list = await browser.read<ConnectedClient[]>(`/api/tunnels/counted/clients?project=${project}`);
    assert.equal(list.length, 1);
  });

  test('a token rotated without an overlap stops working within seconds, and its client is disconnected', async () => {
    const tunnel = await makeTunnel('leaked');
    const client = await carryTunnel(tunnel, 'old');
    const start = performance.now();
    await browser.send('POST', `/api/tunnels/leaked/token/rotate?project=${project}&overlap=0`);
    await eventually(
      async () => client.session.closed,
      (closed) => closed,
    );
    assert.ok(performance.now() - start < appliedMs);
    await assert.rejects(carry(port(), ca, tunnel, 'old'), /token-refused/);
    await carryTunnel(await readTunnel('leaked'), 'new');
    assert.equal(await visit(port(), ca, tunnel.ingressDomains[0]?.name ?? ''), 'new');
  });

  test('a deleted tunnel and its client leave the edge within seconds', async () => {
    const tunnel = await makeTunnel('gone');
    const host = tunnel.ingressDomains[0]?.name ?? '';
    const client = await carryTunnel(tunnel, 'gone');
    assert.equal(await visit(port(), ca, host), 'gone');
    const start = performance.now();
    await browser.send('DELETE', `/api/tunnels/gone?project=${project}`);
    await eventually(
      () => visit(port(), ca, host),
      (text) => text !== 'gone',
    );
    await eventually(
      async () => client.session.closed,
      (closed) => closed,
    );
    assert.ok(performance.now() - start < appliedMs);
  });

  test('the edge obeys a changed allow-list within seconds', async () => {
    const tunnel = await makeTunnel('walled');
    const host = tunnel.ingressDomains[0]?.name ?? '';
    await carryTunnel(tunnel, 'open');
    assert.equal(await visit(port(), ca, host), 'open');
    const start = performance.now();
    await browser.send('POST', `/api/security-groups?project=${project}`, { name: 'nobody', allow: ['203.0.113.1'] });
    const patch = { ingressDomains: [host], proxyProtocol: '', securityGroup: 'nobody' };
    const patched = await browser.send('PATCH', `/api/tunnels/walled?project=${project}`, patch);
    assert.equal(patched.status, 200);
    await eventually(
      () => visit(port(), ca, host),
      (text) => text !== 'open',
    );
    assert.ok(performance.now() - start < appliedMs);
  });

  test("serves the authority's certificate", async () => {
    const answer = await fetch(server.url('/ca.pem'));
    assert.equal(await answer.text(), ca);
  });

  test('answers health and readiness', async () => {
    assert.equal((await fetch(server.url('/healthz'))).status, 200);
    assert.equal((await fetch(server.url('/readyz'))).status, 200);
  });
});

describe('a restart', () => {
  test('keeps tunnels, keys and names, and prints how to sign in, where mails are and how to stop', async () => {
    const home = await makeHome();
    const first = await openServer(home);
    await signIn(first);
    const host = /https:\/\/([a-z0-9-]+\.tunnels\.localhost)/.exec(first.running.text)?.[1] ?? '';
    await first.running.close();
    const second = await openServer(home, { UNDERPASS_METRICS_PORT: '0' });
    const ca = await readFile(join(home, 'ca.pem'), 'utf8');
    const token = (await readFile(join(home, 'first-tunnel.token'), 'utf8')).trim();
    const port = second.running.ports.https ?? 0;
    const client = await carry(port, ca, { dataPlaneHost: 'local.localhost', token }, 'again');
    assert.equal(await visit(port, ca, host), 'again');
    const metrics = await (await fetch(`http://127.0.0.1:${second.running.ports.metrics}/metrics`)).text();
    assert.match(metrics, /^process_resident_memory_bytes /m);
    assert.match(metrics, /^underpass_edge_requests_total 1$/m);
    client.close();
    await second.running.close();
    await dropHome(home);
    for (const said of ['npx underpass-server login-link', `${second.origin}/dev/mailbox`, 'Ctrl+C'])
      assert.ok(second.running.text.includes(said), `${said} in ${second.running.text}`);
    assert.doesNotMatch(second.running.text, /magiclink/);
  });

  test('prints the whole welcome after a first start that failed at a port', async () => {
    const home = await makeHome();
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    await assert.rejects(openServer(home, { UNDERPASS_EDGE_HTTPS_PORT: String(port) }), { code: 'port-in-use' });
    taken.close();
    const server = await openServer(home);
    await signIn(server);
    const [, host = ''] = /curl --cacert \S+ https:\/\/([^:/]+)/.exec(server.running.text) ?? [];
    const [, tokenPath = ''] = /--token-file (\S+)/.exec(server.running.text) ?? [];
    const ca = await readFile(join(home, 'ca.pem'), 'utf8');
    const token = (await readFile(tokenPath, 'utf8')).trim();
    const https = server.running.ports.https ?? 0;
    const client = await carry(https, ca, { dataPlaneHost: 'local.localhost', token }, 'told');
    assert.equal(await visit(https, ca, host), 'told');
    client.close();
    await server.running.close();
    await dropHome(home);
  });
});

test('a server with SMTP has no mailbox, and its start names none', async () => {
  const home = await makeHome();
  const env = { SMTP_URL: 'smtp://127.0.0.1:1' };
  const first = await openServer(home, env);
  const { cookie } = await signIn(first);
  const mailbox = await fetch(first.url('/dev/mailbox'), { headers: { cookie } });
  assert.doesNotMatch(await mailbox.text(), /No mail yet/);
  await first.running.close();
  const second = await openServer(home, env);
  await second.running.close();
  for (const { text } of [first.running, second.running]) assert.doesNotMatch(text, /mailbox/);
  await dropHome(home);
});

describe('control and edge apart', () => {
  let controlHome: string;
  let edgeHome: string;
  let control: TestServer;
  let edge: Running | undefined;
  let browser: Browser;
  let key: string;

  before(async () => {
    controlHome = await makeHome();
    edgeHome = await makeHome();
    control = await openServer(controlHome, { UNDERPASS_ROLE: 'control' });
    browser = await signIn(control);
    const region = {
      name: 'eu',
      description: 'Europe',
      dataPlaneHost: 'eu.localhost',
      tlsTermination: true,
      wildcardIngressDomain: 'eu-tunnels.localhost',
    };
    assert.ok((await browser.send('POST', '/api/operator/regions', region)).ok);
    key = ((await (await browser.send('POST', '/api/operator/regions/eu/key')).json()) as { key: string }).key;
  });
  after(async () => {
    await edge?.close();
    await control.running.close();
    await dropHome(controlHome);
    await dropHome(edgeHome);
  });

  const edgeEnv = (over: object = {}) => ({
    UNDERPASS_ROLE: 'edge',
    UNDERPASS_CONTROL_URL: control.url(''),
    UNDERPASS_EDGE_KEY: key,
    UNDERPASS_REGION: 'eu',
    UNDERPASS_DATA_PLANE_HOST: 'eu.localhost',
    ...over,
  });

  test('an edge in another process connects with its key and carries', async () => {
    edge = await startServer(testSettings(edgeHome, edgeEnv({ UNDERPASS_EDGE_WORKERS: '2' })), createLog('silent'));
    assert.match(edge.text, /^underpass \S+ \(edge\), region eu, ports \d+, \d+\n$/);
    const { defaultProject: project } = await browser.read<{ defaultProject: string }>('/api/user');
    const body = { name: 'far', region: 'eu', ingressDomains: [], proxyProtocol: '', type: 'http' };
    assert.ok((await browser.send('POST', `/api/tunnels?project=${project}`, body)).ok);
    const path = `/api/tunnels/far?project=${project}`;
    const tunnel = await eventually(
      () => browser.read<Tunnel>(path),
      (each) => each.status === 'Created',
    );
    const ca = await readFile(join(controlHome, 'ca.pem'), 'utf8');
    const client = await carry(edge.ports.https ?? 0, ca, tunnel, 'far');
    assert.equal(await visit(edge.ports.https ?? 0, ca, tunnel.ingressDomains[0]?.name ?? ''), 'far');
    client.close();
  });

  const knock = async (headers: { token: string; region: string }): Promise<string> => {
    const socket = connect({ host: '127.0.0.1', port: control.running.ports.control ?? 0 });
    await once(socket, 'connect');
    const upgrade = {
      host: 'x',
      path: '/feed',
      protocol: 'underpass-feed',
      token: headers.token,
      headers: { 'underpass-region': headers.region },
      timeoutMs: 60_000,
    };
    return requestUpgrade(socket, upgrade)
      .then(
        () => 'open',
        () => 'refused',
      )
      .finally(() => socket.destroy());
  };

  test('the feed opens to the key of its own region only', async () => {
    assert.equal(await knock({ token: key, region: 'eu' }), 'open');
    assert.equal(await knock({ token: key, region: 'local' }), 'refused');
    assert.equal(await knock({ token: `${key.slice(0, -1)}_`, region: 'eu' }), 'refused');
    assert.equal(await knock({ token: 'x'.repeat(1_000), region: 'eu' }), 'refused');
  });

  test('refuses an address that tries many keys, before it looks one up', async () => {
    const head = `Connection: Upgrade\r\nUpgrade: underpass-feed\r\nAuthorization: Bearer ${key}\r\nUnderpass-Region: eu`;
    const statusOf = async (localAddress: string): Promise<string> => {
      const socket = connect({ host: '127.0.0.1', port: control.running.ports.control ?? 0, localAddress });
      socket.write(`GET /feed HTTP/1.1\r\nHost: x\r\n${head.replace(key, localAddress === '127.0.0.9' ? 'wrong' : key)}\r\n\r\n`);
      const [chunk] = await once(socket, 'data');
      socket.destroy();
      return String(chunk).slice(9, 12);
    };
    const tries = Array.from({ length: rateLimits.apiPerAddress.points }, () => '127.0.0.9');
    for (let i = 0; i < tries.length; i += 50) await Promise.all(tries.slice(i, i + 50).map(statusOf));
    assert.deepEqual([await statusOf('127.0.0.9'), await statusOf('127.0.0.8')], ['429', '101']);
  });
});

test('control looks for the dashboard and the releases in their folders, also if these are built after the start', () => {
  const { dashboard, releases } = controlSettings(testSettings('/nowhere'));
  assert.deepEqual(
    [dashboard, releases].map((path) => path?.replace(/^.*\/(?=dashboard|client)/, '')),
    ['dashboard/dist', 'client/dist/releases'],
  );
});

describe('a start fails', () => {
  test('in one line while another server uses the folder, and succeeds after that server ends', async () => {
    const home = await makeHome();
    const first = await openServer(home);
    await assert.rejects(openServer(home), { code: 'home-in-use', message: home });
    await first.running.close();
    await (await openServer(home)).running.close();
    await dropHome(home);
  });

  test('in one line that names the setting of a port in use', async () => {
    const taken = createServer((socket: Socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const home = await makeHome();
    for (const setting of ['UNDERPASS_PORT', 'UNDERPASS_EDGE_HTTPS_PORT']) {
      await assert.rejects(openServer(home, { [setting]: String(port) }), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'port-in-use');
        assert.equal(error.message, `127.0.0.1:${port} (${setting})`);
        return true;
      });
    }
    taken.close();
    await dropHome(home);
  });
});
