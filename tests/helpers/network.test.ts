import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { skipWithoutFarMachine, startFarMachine } from './network.ts';

const server = `require('node:net').createServer((socket) => socket.end(Buffer.alloc(500_000)))
  .listen(0, function () { console.log('port ' + this.address().port); });`;

test('a wire of 8 Mbit/s carries a megabyte a second', { skip: skipWithoutFarMachine() }, async (t) => {
  const far = await startFarMachine(t, []);
  await far.spoil({ rate: { megabits: 8, queueMs: 100 } });
  const [, port] = await far.start(t, ['-e', server]).seen(/port (\d+)/);
  const started = performance.now();
  const socket = connect(Number(port), far.farAddress);
  socket.resume();
  await once(socket, 'close');
  const seconds = (performance.now() - started) / 1000;
  assert.equal(socket.bytesRead, 500_000);
  assert.ok(seconds > 0.5, `${seconds} s`);
});
