// Callers that have not signed in and hold connections to control's port without using them.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { ConnectionLimiter } from '@underpass/edge/limits/connection-limiter.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { createLog } from '../process/log.ts';
import { openFeedDoor } from './feed-door.ts';
import { createHttpServer, limitCallers } from './http-server.ts';

const idleMs = 100;
const feedRequest = (key: string): string =>
  `GET /feed HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: underpass-feed\r\nUnderpass-Region: local\r\nAuthorization: Bearer ${key}\r\n\r\n`;

async function openPort(t: TestContext, server: Server): Promise<number> {
  const keyOpens = async (region: string): Promise<boolean> => region === 'local';
  const mayAsk = async ({ headers }: IncomingMessage): Promise<boolean> => headers.authorization !== 'Bearer often';
  openFeedDoor(server, { mayAsk, keyOpens, accept: () => {}, log: createLog('silent') });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** Sends this text and never ends its side. Answers both ends of the connection: the caller's and the server's. */
async function dial(t: TestContext, server: Server, text: string): Promise<readonly [Socket, Socket]> {
  const port = await openPort(t, server);
  const accepted = once(server, 'connection');
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {}).write(text);
  const [held] = await accepted;
  t.after(() => {
    socket.destroy();
    held.destroy();
  });
  return [socket, held];
}

for (const [what, text] of [
  ['a feed with a wrong key', feedRequest('wrong').replace('local', 'elsewhere')],
  ['a feed from a caller that asks too often', feedRequest('often')],
] as const) {
  test(`refuses ${what}, and ends the connection although its caller does not`, async (t) => {
    const [socket, held] = await dial(
      t,
      createHttpServer(() => {}),
      text,
    );
    const closed = once(held, 'close');
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 (400|401|429) /);
    await closed;
  });
}

const asking = (start: string, protocol: string, rest = ''): string =>
  `${start} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\n${rest}`;

for (const [what, text] of [
  ['HTTP/2', asking('GET /api/user', 'h2c', '\r\n')],
  ['HTTP/2 by a request with a body', asking('POST /api/domains', 'h2c', 'Content-Length: 2\r\n\r\n{}')],
  ['HTTP/2 on the feed', asking('GET /feed', 'h2c', '\r\n')],
  ['a WebSocket', asking('GET /', 'websocket', '\r\n')],
  ['a feed on another path', asking('GET /api/user', 'underpass-feed', '\r\n')],
] as const) {
  // RFC 9110 7.8: a server may ignore Upgrade, and then answers the request itself.
  test(`answers a request that offers to switch to ${what} like any other`, async (t) => {
    const server = createHttpServer((request, response) => void request.resume().on('end', () => response.end(`${request.url}`)));
    const [socket] = await dial(t, server, text);
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /^HTTP\/1\.1 200 /);
    assert.ok(String(answer).includes(text.split(' ')[1] as string));
  });
}

test('ends the connection of a caller that does not read a large answer', async (t) => {
  const server = createHttpServer((_, response) => void response.end(Buffer.alloc(32 * 1024 ** 2)), idleMs);
  const [socket, held] = await dial(t, server, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.pause();
  await once(held, 'close');
});

test('resets connections over the limit of an address without reading them, and accepts new ones once others end', async (t) => {
  const server = createHttpServer((_, response) => void response.end());
  const limiter = new ConnectionLimiter({ total: Number.POSITIVE_INFINITY, perAddress: 2 }, createLog('silent'));
  limitCallers(server, limiter, ['127.0.0.3']);
  const port = await openPort(t, server);
  const ask = async (localAddress: string): Promise<readonly [string, Socket]> => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    t.after(() => socket.destroy());
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    return once(socket, 'data').then(
      () => ['answered', socket],
      (error) => [error.code, socket],
    );
  };
  const [[, first], [, second], [third], [other]] = [
    await ask('127.0.0.1'),
    await ask('127.0.0.1'),
    await ask('127.0.0.1'),
    await ask('127.0.0.2'),
  ];
  assert.deepEqual([third, other], ['ECONNRESET', 'answered']);
  for (let i = 0; i < 3; i++) assert.equal((await ask('127.0.0.3'))[0], 'answered', 'a proxy has those of many');
  for (const socket of [first, second]) socket.destroy();
  await eventually(() => limiter.addresses <= 1);
  assert.equal((await ask('127.0.0.1'))[0], 'answered');
});

test('an accepted edge may stay silent for longer than other callers', async (t) => {
  const [socket, held] = await dial(
    t,
    createHttpServer(() => {}),
    feedRequest('right'),
  );
  const [answer] = await once(socket, 'data');
  assert.match(String(answer), /^HTTP\/1\.1 101 /);
  // Count from here: only the limit for callers who ask nothing could end it earlier.
  held.setTimeout(1);
  await once(held, 'timeout');
  assert.equal(held.destroyed, false);
});
