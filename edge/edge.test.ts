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
