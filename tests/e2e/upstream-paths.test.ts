// Upstreams by path, below a base and on a Unix socket, behind an access policy: no spelling of a path leads past a rule.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { startProcess } from '../helpers/process.ts';
import { startProduct, tunnelCreated } from '../helpers/product.ts';
import { say } from '../helpers/visitor.ts';

test('path rules hold for upstreams by path, below a base and on a Unix socket', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-paths-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const asked: string[] = [];
  const start = async (name: string, place: string | number): Promise<number> => {
    const server = createServer(({ url = '' }, response) => {
      asked.push(`${name} ${url}`);
      // A service that resolves what it gets, as many do.
      response.end(`${name} ${new URL(decodeURIComponent(url), 'http://a').pathname}`);
    });
    t.after(() => server.close());
    server.listen(place);
    await once(server, 'listening');
    return typeof place === 'string' ? 0 : (server.address() as AddressInfo).port;
  };
  const [app, api] = [await start('app', 0), await start('api', 0)];
  await start('files', join(folder, 'files.sock'));

  const product = await startProduct(t);
  const account = await product.signIn();
  const { call, project } = account;
  const rules = [
    { path: '/admin/*', action: 'deny' },
    { path: '/*', action: 'public' },
  ];
  const made = await call('POST', `/api/access-policies?project=${project}`, { name: 'open', members: true, rules });
  assert.equal(made.status, 200, JSON.stringify(made.body));
  const tunnel = await tunnelCreated(account, 'first');
  await call('PATCH', `/api/tunnels/first?project=${project}`, { accessPolicy: 'open' });
  writeFileSync(join(folder, 'token'), tunnel.token ?? '', { mode: 0o600 });
  const upstreams = [`http://localhost:${app}/base`, `/api=http://localhost:${api}`, `/files=unix:${join(folder, 'files.sock')}`];
  const flags = ['--url', tunnel.url, '--token-file', join(folder, 'token')];
  const client = startProcess(t, [...['client/main.ts', 'http', ...flags], ...upstreams.flatMap((one) => ['--upstream', one])]);
  await client.seen(/ connected /);

  const { name: host } = tunnel.ingressDomains[0]!;
  const door = { port: product.ports.https, host, caPem: product.caPem };
  const get = (target: string): Promise<string> =>
    say(door, `GET ${target} HTTP/1.1\r\nHost: ${host}:${door.port}\r\nConnection: close\r\n\r\n`);
  // The policy is at the edge, and then the client.
  await eventually(
    () => get('/admin'),
    (answer) => /^HTTP\/1\.1 403 /.test(answer),
  );
  await eventually(
    () => get('/x'),
    (answer) => /^HTTP\/1\.1 200 /.test(answer),
  );
  for (const [target, expected] of [
    ['/x?y', 'app /base/x'],
    ['/api/x', 'api /api/x'],
    ['/apix', 'app /base/apix'],
    ['/files/a', 'files /files/a'],
  ] as const) {
    const answer = await get(target);
    assert.ok(answer.includes(expected), `${target}: ${answer}`);
  }

  asked.length = 0;
  for (const target of [
    ...['/admin', '/admin/x', '/ADMIN', '/%61dmin/x', '//admin/x', '/x/..%2fadmin', '/api/..%2fadmin', '/files/../admin'],
    ...['/../base/admin', '/..%2fbase%2fadmin', '/%2e%2e/base/admin', '/..;/base/admin', '/..\\base\\admin', '/../secret'],
  ])
    assert.match(await get(target), /^HTTP\/1\.1 40[0134] /, target);
  assert.deepEqual(asked, []);
});
