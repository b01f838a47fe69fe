import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClientQueue } from './client-queue.ts';

describe('handshakes of clients', () => {
  it('begin in the order in which they came, eight for each turn, so that others have theirs in between', async () => {
    const queue = new ClientQueue();
    const begun: number[] = [];
    for (let index = 0; index < 20; index++) queue.add(new Socket(), () => void begun.push(index));
    const counts: number[] = [];
    while (begun.length < 20) {
      await nextTurn();
      counts.push(begun.length);
    }
    assert.deepEqual(counts, [8, 16, 20]);
    assert.deepEqual(
      begun,
      Array.from({ length: 20 }, (_, index) => index),
    );
    queue.add(new Socket(), () => void begun.push(20));
    await nextTurn();
    assert.equal(begun.at(-1), 20, 'an empty queue begins anew');
  });

  it('are not begun for who has gone, and who waited until it gives up is sent away', async (t) => {
    const queue = new ClientQueue();
    const [gone, late, fresh] = [new Socket(), new Socket(), new Socket()];
    late.on('error', () => {});
    const begun: Socket[] = [];
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    for (const socket of [gone, late]) queue.add(socket, () => void begun.push(socket));
    gone.destroy();
    nowMs = 8_001;
    queue.add(fresh, () => void begun.push(fresh));
    await nextTurn();
    assert.deepEqual(begun, [fresh]);
    assert.ok(late.destroyed);
  });
});
