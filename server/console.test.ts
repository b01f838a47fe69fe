// One server, one address: the edge serves the dashboard under its own host, beside clients and tunnels.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { readConsoleHost } from '@underpass/control/edges/region/console-host.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { Session } from '@underpass/rules/entity/resource.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { freePorts } from '../tests/helpers/port.ts';
import { createLog } from './process/log.ts';
import { type Environment, readSettings } from './settings/settings.ts';
import { openState } from './state/state.ts';
import { carry, dropHome, makeHome, openServer, type TestServer, visit } from './test-kit.ts';

const host = 'console.localhost';

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

for (const workers of ['1', '2']) {
  describe(`the dashboard on the edge's own port, ${workers} worker(s)`, () => {
    let home: string;
    let server: TestServer;
    let ca: string;
    let cookie = '';
    let port = 0;

    before(async () => {
      home = await makeHome();
      [port = 0] = await freePorts(1);
      const env: Environment = {
        UNDERPASS_ORIGIN: `https://${host}:${port}`,
        UNDERPASS_EDGE_HTTPS_PORT: String(port),
        UNDERPASS_EDGE_WORKERS: workers,
        UNDERPASS_TRUSTED_BALANCERS: '127.0.0.1',
      };
      server = await openServer(home, env);
      ca = await readFile(join(home, 'ca.pem'), 'utf8');
    });
    after(() => dropHome(home));

    const proxyHeader = (address: string): string => `PROXY TCP4 ${address} 192.0.2.1 40000 443\r\n`;

    /** TLS with this name, as a visitor from this address. */
    const dial = async (servername: string, address = '203.0.113.9', protocols = ['h2', 'http/1.1']): Promise<TLSSocket> => {
      const raw = connectTcp(port, '127.0.0.1');
      await once(raw, 'connect');
      raw.write(proxyHeader(address));
      const socket = connect({ socket: raw, ca, servername, ALPNProtocols: protocols });
      await once(socket, 'secureConnect');
      return socket;
    };

    const ask = async (
      method: string,
      path: string,
      {
        body,
        headers = {},
        servername = host,
        address,
      }: { body?: string; headers?: Record<string, string>; servername?: string; address?: string } = {},
    ): Promise<Answer> => {
      const socket = await dial(servername, address, ['http/1.1']);
      const request = httpRequest({
        method,
        path,
        headers: { host: `${host}:${port}`, origin: server.origin, ...(cookie === '' ? {} : { cookie }), ...headers },
        createConnection: () => socket,
      });
      request.end(body);
      const [response] = await once(request, 'response');
      let text = '';
      for await (const chunk of response) text += chunk;
      return { status: response.statusCode, headers: response.headers, text };
    };

    const signIn = async (address?: string): Promise<void> => {
      const token = /\/magiclink\/(\S+)/.exec(server.running.text)?.[1] ?? '';
      const answer = await ask('POST', '/auth/login', {
        body: new URLSearchParams({ token }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': '198.51.100.66' },
        ...(address === undefined ? {} : { address }),
      });
      assert.equal(answer.status, 204, answer.text);
      const [line = ''] = answer.headers['set-cookie'] ?? [];
      assert.match(line, /^__Host-[^;]+; .*Secure/i);
      assert.match(line, /HttpOnly/i);
      cookie = line.split(';')[0] ?? '';
    };

    test('serves the sign-in page over HTTP/1.1 with a certificate for its host, and sets HSTS', async () => {
      const socket = await dial(host);
      assert.equal(socket.authorized, true);
      assert.equal(socket.alpnProtocol, 'http/1.1');
      assert.equal(socket.getPeerCertificate().subjectaltname, `DNS:${host}`);
      socket.destroy();
      const answer = await ask('GET', '/openapi.json');
      assert.equal(answer.status, 200);
      assert.match(String(answer.headers['strict-transport-security']), /max-age=\d{8}/);
    });

    test('a sign-in sets a cookie only for this host, and control sees the address of the visitor', async () => {
      await signIn('203.0.113.77');
      const sessions = JSON.parse((await ask('GET', '/api/sessions')).text) as Session[];
      assert.deepEqual(
        sessions.map((session) => session.address),
        ['203.0.113.77'],
      );
      assert.equal((await ask('GET', '/api/address', { address: '203.0.113.78' })).text, '{"address":"203.0.113.78"}');
    });

    test('limits count each visitor separately', async () => {
      const statusFrom = async (address: string): Promise<number> =>
        (await ask('POST', '/auth/device', { address, body: '{"name":"x"}', headers: { 'content-type': 'application/json' } }))
          .status;
      const statuses = [];
      for (let times = 0; times < 40 && statuses.at(-1) !== 429; times++) statuses.push(await statusFrom('203.0.113.10'));
      assert.equal(statuses.at(-1), 429);
      assert.equal(await statusFrom('203.0.113.11'), 200);
    });

    test('live events arrive without delay', async () => {
      const { defaultProject } = JSON.parse((await ask('GET', '/api/user')).text) as { defaultProject: string };
      const socket = await dial(host);
      socket.write(`GET /api/events?project=${defaultProject} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\n\r\n`);
      let text = '';
      for await (const chunk of socket) {
        text += chunk;
        if (text.includes(': live')) break;
      }
      assert.match(text, /content-type: text\/event-stream/i);
    });

    test('a page of a megabyte arrives whole, and control gets a body', async () => {
      const csv = `email\n${'x'.repeat(600_000)}\n`;
      const answer = await ask('POST', '/api/operator/subscriptions/import', {
        body: csv,
        headers: { 'content-type': 'text/csv' },
      });
      assert.ok([200, 400, 413].includes(answer.status), answer.text.slice(0, 200));
      const file = join(home, 'ca.pem');
      assert.equal((await ask('GET', '/ca.pem')).text, await readFile(file, 'utf8'));
    });

    test('edges on other machines reach the feed at the same address', async () => {
      const { key } = JSON.parse((await ask('POST', '/api/operator/regions/local/key')).text) as { key: string };
      const upgrade = async (bearer: string): Promise<string> => {
        const socket = await dial(host);
        const head = `Connection: Upgrade\r\nUpgrade: underpass-feed\r\nAuthorization: Bearer ${bearer}\r\nUnderpass-Region: local`;
        socket.write(`GET /feed HTTP/1.1\r\nHost: ${host}\r\n${head}\r\n\r\n`);
        const [chunk] = await once(socket, 'data');
        socket.destroy();
        return String(chunk).split('\r\n')[0] ?? '';
      };
      assert.match(await upgrade(key), /^HTTP\/1\.1 101 /);
      assert.match(await upgrade('x'.repeat(43)), /^HTTP\/1\.1 401 /);
    });

    test('port 80 redirects to https', async () => {
      const raw = connectTcp(server.running.ports.http ?? 0, '127.0.0.1');
      await once(raw, 'connect');
      raw.write(`${proxyHeader('203.0.113.9')}GET /login HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      let text = '';
      for await (const chunk of raw) text += chunk;
      assert.match(text, /^HTTP\/1\.1 301 /);
      assert.match(text, new RegExp(`location: https://${host}:${port}/login\r\n`));
    });

    test("refuses a tunnel for its host, and a tunnel's server name does not lead to it", async () => {
      const { defaultProject } = JSON.parse((await ask('GET', '/api/user')).text) as { defaultProject: string };
      const create = async (name: string, ingressDomains: readonly string[]) =>
        ask('POST', `/api/tunnels?project=${defaultProject}`, {
          body: JSON.stringify({ name, region: 'local', ingressDomains, proxyProtocol: '', type: 'http' }),
          headers: { 'content-type': 'application/json' },
        });
      const refused = await create('thief', [host]);
      assert.equal(refused.status, 400, refused.text);
      const made = JSON.parse((await create('other', [])).text) as Tunnel;
      const name = made.ingressDomains[0]?.name ?? '';
      assert.notEqual(name, '');
      // A request for the dashboard under a tunnel's server name is misdirected (421). A request for the tunnel under the dashboard's name gets the dashboard.
      await eventually(
        async () => JSON.parse((await ask('GET', `/api/tunnels/other?project=${defaultProject}`)).text) as Tunnel,
        (tunnel) => tunnel.status === 'Created',
      );
      assert.equal((await ask('GET', '/api/user', { servername: name, headers: { host } })).status, 421);
      assert.equal((await ask('GET', '/api/user', { headers: { host: name } })).status, 200);
    });

    test('tunnels and clients work beside it', async () => {
      const plain = await makeHome();
      const other = await openServer(plain, {
        UNDERPASS_ORIGIN: `https://${host}:444`,
        UNDERPASS_EDGE_CONSOLE: 'true',
        UNDERPASS_EDGE_WORKERS: workers,
      });
      const token = (await readFile(join(plain, 'first-tunnel.token'), 'utf8')).trim();
      const ownCa = await readFile(join(plain, 'ca.pem'), 'utf8');
      const name = /https:\/\/([a-z0-9-]+\.tunnels\.localhost)/.exec(other.running.text)?.[1] ?? '';
      const client = await carry(other.running.ports.https ?? 0, ownCa, { dataPlaneHost: 'local.localhost', token }, 'hello');
      for (let times = 0; times < 8; times++) assert.equal(await visit(other.running.ports.https ?? 0, ownCa, name), 'hello');
      client.close();
      await other.running.close();
      await dropHome(plain);
    });

    test('a stop ends live views instead of waiting for them', async () => {
      const { defaultProject } = JSON.parse((await ask('GET', '/api/user')).text) as { defaultProject: string };
      const socket = await dial(host);
      socket.write(`GET /api/events?project=${defaultProject} HTTP/1.1\r\nHost: ${host}\r\nCookie: ${cookie}\r\n\r\n`);
      await once(socket, 'data');
      const ended = once(socket.resume(), 'close');
      const start = performance.now();
      await server.running.close();
      await ended;
      assert.ok(performance.now() - start < 20_000, `${performance.now() - start} ms: a drain takes 30 s`);
    });
  });
}

describe('whether the edge serves the dashboard', () => {
  const production = {
    UNDERPASS_PRODUCTION: 'true',
    SMTP_URL: 'smtps://a:b@mail.example.com',
    UNDERPASS_ACME_DIRECTORY: 'https://acme.example/dir',
  };
  const basics = {
    ...production,
    UNDERPASS_ORIGIN: 'https://console.example.com',
    UNDERPASS_OPERATOR_EMAIL: 'ops@example.com',
    UNDERPASS_MAIL_FROM: 'no-reply@example.com',
    UNDERPASS_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
    UNDERPASS_DATA_PLANE_HOST: 'eu.example.com',
    UNDERPASS_WILDCARD_DOMAIN: 'tunnels.example.com',
  };
  const cases: readonly (readonly [string, Environment, boolean, string])[] = [
    ['a public https origin and nothing in front', {}, true, '127.0.0.1'],
    ['a trusted proxy is named', { UNDERPASS_TRUSTED_PROXIES: '127.0.0.1' }, false, '::'],
    ['it is switched off', { UNDERPASS_EDGE_CONSOLE: 'false' }, false, '::'],
    ['another port', { UNDERPASS_ORIGIN: 'https://console.example.com:8444' }, false, '::'],
    ['control alone', { UNDERPASS_ROLE: 'control' }, false, '::'],
    ['an address of its own for the API', { UNDERPASS_CONTROL_LISTEN: '192.0.2.7' }, true, '192.0.2.7'],
  ];
  for (const [what, env, expected, listen] of cases) {
    test(`${what}: ${expected ? 'yes' : 'no'}`, () => {
      const result = readSettings({ ...basics, ...env }, () => '');
      assert.ok(result.ok, result.ok ? '' : result.problems.join('\n'));
      assert.deepEqual([result.settings.edgeConsole, result.settings.controlListen], [expected, listen]);
    });
  }

  const refused: readonly (readonly [string, Environment, RegExp])[] = [
    [
      'without https',
      { UNDERPASS_PRODUCTION: 'false', UNDERPASS_ORIGIN: 'http://console.example.com' },
      /needs an https address/,
    ],
    ['with the host that clients dial', { UNDERPASS_ORIGIN: 'https://eu.example.com' }, /needs two names/],
    ['in role control', { UNDERPASS_ROLE: 'control' }, /is for role all/],
  ];
  for (const [what, env, problem] of refused) {
    test(`refuses it ${what}`, () => {
      const result = readSettings({ ...basics, UNDERPASS_EDGE_CONSOLE: 'true', ...env }, () => '');
      assert.match(result.ok ? '' : result.problems.join('\n'), problem);
    });
  }
});

test('once control runs apart from its edges, it orders no certificate for the dashboard any more', async (t) => {
  const home = await makeHome();
  t.after(() => dropHome(home));
  const [port = 0] = await freePorts(1);
  const env = { UNDERPASS_ORIGIN: `https://${host}:${port}`, UNDERPASS_EDGE_HTTPS_PORT: String(port) };
  const hosts: (string | undefined)[] = [];
  for (const role of ['all', 'control']) {
    const { running, settings } = await openServer(home, { ...env, UNDERPASS_ROLE: role });
    await running.close();
    const state = await openState(settings, createLog('silent'));
    hosts.push((await readConsoleHost(state.store.db))?.host);
    await state.close();
  }
  assert.deepEqual(hosts, [host, undefined]);
});
