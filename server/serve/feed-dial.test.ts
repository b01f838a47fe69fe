// What an edge logs when control refuses its feed.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { dialFeed } from './feed-dial.ts';

test('the log line of a refusal names what to correct: the key, the address of control, or nothing', async (t) => {
  let status = 0;
  const server = createServer((_, response) => response.writeHead(status).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const controlUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const [answer, said] of [
    [401, /refuses UNDERPASS_EDGE_KEY for region north.*regions key north$/],
    [404, /status 404; check UNDERPASS_CONTROL_URL$/],
    [429, /too many tries from this address; the edge asks again by itself$/],
  ] as const) {
    status = answer;
    await assert.rejects(dialFeed({ controlUrl, region: 'north', key: 'k' }), said);
  }
});
