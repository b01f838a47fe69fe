import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Stream } from '@underpass/wire/api.ts';
import { createRig, readUntil, tunnelOf, whenClosed } from '../fixture/rig.ts';

const host = 't.tunnels.test';
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

it('a kept connection that its upstream does not end is reset after its HTTP/2 visitor has gone', async () => {
  await using rig = await createRig([tunnelOf('t')], { timeouts: { halfClosedMs: 300 } });
  const { session } = await rig.client('t', (socket) => void socket.on('data', () => socket.write(ok)));
  const visitor = await rig.visit(host, { ALPNProtocols: ['h2'] });
  const http2 = connectHttp2(`https://${host}`, { createConnection: () => visitor });
  const stream = http2.request({ ':path': '/' });
  stream.resume();
  await whenClosed(stream);
  assert.equal(session.openStreams, 1);
  http2.close();
  while (session.openStreams > 0) await pause(5);
  assert.equal(rig.edge.stats().deadlines, 0);
});

const get = `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const answered = (text: string) => text.endsWith('ok');

it('a kept connection that its upstream does not end is reset after its HTTP/1.1 visitor broke off', async () => {
  await using rig = await createRig([tunnelOf('t')], { timeouts: { halfClosedMs: 300 } });
  const { session } = await rig.client('t', (socket) => void socket.on('data', () => socket.write(ok)));
  const below = connect(rig.edge.ports.https, '127.0.0.1');
  const visitor = await rig.visit(host, { socket: below });
  visitor.write(get);
  await readUntil(visitor, answered);
  below.resetAndDestroy();
  while (session.openStreams > 0) await pause(5);
  assert.equal(rig.edge.stats().deadlines, 0);
});

it('a kept connection that its upstream ends slowly is not reset when its HTTP/1.1 visitor has ended', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  const { session } = await rig.client('t', () => {});
  const { promise: ended, resolve: end } = Promise.withResolvers<Stream>();
  const { promise: over, resolve: close } = Promise.withResolvers<string>();
  session.onStream = (stream) => {
    stream.accept();
    stream.onData = (chunk) => {
      stream.consume(chunk.length);
      stream.write(Buffer.from(ok));
    };
    stream.onEnd = () => end(stream);
    stream.onReset = close;
    stream.onClose = () => close('ended');
  };
  const visitor = await rig.visit(host);
  visitor.write(get);
  await readUntil(visitor, answered);
  visitor.end();
  const stream = await ended;
  await whenClosed(visitor);
  while (rig.edge.stats().sockets > 1) await pause(5);
  // Frames about the first stream arrive before the next stream.
  const next = await rig.visit(host);
  next.write(get);
  await readUntil(next, answered);
  stream.end();
  assert.equal(await over, 'ended');
});
