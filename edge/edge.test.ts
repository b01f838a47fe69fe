import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { it } from 'node:test';
import { createRig, readUntil, tunnelOf } from './fixture/rig.ts';

it('a request goes through the edge to a client and back', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  const upstream = createServer((request, response) =>
    response.end(`hello ${request.url} ${request.headers['x-forwarded-for']}`),
  );
  await rig.client('t', upstream);
  const visitor = await rig.visit('t.tunnels.test');
  visitor.write('GET /a HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n');
  const answer = await readUntil(visitor, (text) => text.includes('hello'));
  assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
  assert.match(answer, /hello \/a 127\.0\.0\.1$/);
});

it('an edge that drains is not ready, while its open connections finish', async () => {
  await using rig = await createRig([tunnelOf('t')], { metrics: { host: '127.0.0.1', port: 0 } });
  const readiness = async (): Promise<string> => (await fetch(`http://127.0.0.1:${rig.edge.ports.metrics}/readyz`)).text();
  const visitor = await rig.visitRaw('http');
  assert.equal(await readiness(), 'ready\n');
  const drained = rig.edge.drain(10_000);
  assert.equal(await readiness(), 'leaving\n');
  visitor.destroy();
  await drained;
});
