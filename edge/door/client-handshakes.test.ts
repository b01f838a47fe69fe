import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClientHandshakes } from './client-handshakes.ts';

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, index) => from + index);

/** A queue, its clients by number, and which of them have begun. */
function createScene(t: TestContext) {
  const queue = new ClientHandshakes();
  const time = { nowMs: 0 };
  t.mock.method(performance, 'now', () => time.nowMs);
  const sockets: Socket[] = [];
  const begun: number[] = [];
  /** Each from an address of its own, where none is given. */
  const add = (count: number, source?: string): void => {
    for (const index of numbers(count, sockets.length)) {
      const socket = new Socket().on('error', () => {});
      sockets.push(socket);
      queue.add(socket, source ?? `source ${index}`, () => void begun.push(index));
    }
  };
  return { queue, time, sockets, begun, add };
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await nextTurn();
};

describe('handshakes of clients', () => {
  it('begin eight for each turn, so that others have theirs in between, and with who came last', async (t) => {
    const { begun, add } = createScene(t);
    add(20);
    const counts: number[] = [];
    while (begun.length < 20) {
      await nextTurn();
      counts.push(begun.length);
    }
    assert.deepEqual(counts, [8, 16, 20]);
    assert.deepEqual(begun, numbers(20).reverse());
    add(1);
    await nextTurn();
    assert.equal(begun.at(-1), 20, 'an empty queue begins anew');
  });

  it('are at most 128 under way: one that is done, or whose client has gone, makes room for one', async (t) => {
    const { queue, sockets, begun, add } = createScene(t);
    add(200);
    await turns(30);
    assert.equal(begun.length, 128);
    queue.done(sockets[begun[0] as number] as Socket);
    await turns(2);
    assert.equal(begun.length, 129);
    sockets[begun[1] as number]?.destroy();
    await turns(4);
    assert.equal(begun.length, 130);
  });

  it('that stall keep nobody out for longer than a second', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { time, begun, add } = createScene(t);
    add(200);
    await turns(30);
    time.nowMs = 1_001;
    t.mock.timers.tick(1_000);
    await turns(30);
    assert.equal(begun.length, 200);
  });

  it('of one address that begins many and ends none leave places for others, however long it goes on', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { queue, time, sockets, begun, add } = createScene(t);
    add(500, 'attacker');
    await turns(30);
    assert.equal(begun.length, 96);
    add(1);
    add(200, 'attacker');
    await turns(30);
    assert.deepEqual(begun.slice(96), [500], 'who came before two hundred more is let in at once');
    queue.done(sockets[500] as Socket);
    queue.done(sockets[begun[0] as number] as Socket);
    await turns(2);
    assert.equal(begun.length, 98, 'a place that one of its own leaves is its own');
    time.nowMs = 1_001;
    t.mock.timers.tick(1_000);
    await turns(30);
    assert.equal(begun.length, 98 + 96, 'those that stalled are overlooked');
  });

  it('of a herd behind one address are not all looked at for each that ends', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { queue, sockets, begun, add } = createScene(t);
    let looks = 0;
    add(2_000, 'herd');
    await turns(30);
    for (const socket of sockets) Object.defineProperty(socket, 'destroyed', { get: () => ++looks < 0 });
    queue.done(sockets[begun[0] as number] as Socket);
    await turns(2);
    assert.equal(begun.length, 97);
    assert.ok(looks < 300, `${looks} looks`);
  });

  it('of those that came before hundreds who have gone are begun at once', async (t) => {
    const { sockets, begun, add } = createScene(t);
    add(301);
    for (const gone of sockets.slice(1)) gone.destroy();
    await turns(3);
    assert.deepEqual(begun, [0]);
  });

  it('are not begun for who has gone, and who waited so long that it would give up in the middle is sent away', async (t) => {
    const { time, sockets, begun, add } = createScene(t);
    add(2);
    sockets[0]?.destroy();
    time.nowMs = 4_001;
    add(1);
    await turns(2);
    assert.deepEqual(begun, [2]);
    assert.ok(sockets[1]?.destroyed);
  });
});
