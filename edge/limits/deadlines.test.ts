import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createSocketPair } from '@underpass/wire/fixture/sockets.ts';
import { Deadlines } from './deadlines.ts';

/** Blocks the whole process for this long, as a pause of the machine does. */
const stand = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

describe('a deadline', () => {
  it('is called once, after its time', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    const deadlines = new Deadlines();
    let calls = 0;
    deadlines.watch({ deadlineMs: deadlines.nowMs + 1_000, onDeadline: () => calls++ });
    t.mock.timers.tick(750);
    assert.equal(calls, 0);
    t.mock.timers.tick(10_000);
    assert.equal(calls, 1);
    deadlines.close();
  });

  it('does not close a connection whose bytes arrived while the process was paused', async () => {
    const deadlines = new Deadlines();
    const [near, far] = await createSocketPair();
    const cut = Promise.withResolvers<string>();
    const visitor = { deadlineMs: deadlines.nowMs + 500, onDeadline: () => cut.resolve('cut') };
    deadlines.watch(visitor);
    far.once('data', () => cut.resolve('heard'));
    near.write('here');
    stand(1_000);
    assert.equal(await cut.promise, 'heard');
    deadlines.close();
    for (const socket of [near, far]) socket.destroy();
  });
});
