import assert from 'node:assert/strict';
import { connect as connectHttp2 } from 'node:http2';
import { it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createRig, tunnelOf, whenClosed } from './fixture/rig.ts';

const host = 't.tunnels.test';
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

it('an upstream that does not end a kept connection is let go when its HTTP/2 visitor has gone', async () => {
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
