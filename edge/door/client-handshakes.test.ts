import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ClientHandshakes } from './client-handshakes.ts';

const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, index) => from + index);

/** A queue, its clients by number, and those whose handshakes have begun. */
function createScene(t: TestContext) {
  const queue = new ClientHandshakes();
  const time = { nowMs: 0 };
  t.mock.method(performance, 'now', () => time.nowMs);
  const sockets: Socket[] = [];
  const begun: number[] = [];
  /** Each from an address of its own if none is given. */
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
  it('begin one in each turn, so other work runs in between, and begin with the newest', async (t) => {
    const { begun, add } = createScene(t);
    add(4);
    const counts: number[] = [];
    while (begun.length < 4) {
      await nextTurn();
      counts.push(begun.length);
    }
    assert.deepEqual(counts, [1, 2, 3, 4]);
    assert.deepEqual(begun, numbers(4).reverse());
    await turns(4);
    add(1);
    await nextTurn();
    assert.equal(begun.at(-1), 4, 'an empty queue starts again');
  });

  it('wait while connections arrive, four for each handshake that began', async (t) => {
    const { begun, add } = createScene(t);
    const counts: number[] = [];
    for (let turn = 0; turn < 11; turn++) {
      add(1);
      await nextTurn();
      counts.push(begun.length);
    }
    assert.deepEqual(counts, [1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3]);
    await turns(8);
    assert.equal(begun.length, 11, 'no more connections arrive');
  });

  it('run 128 at most; one that ends, or whose client has gone, makes room for another', async (t) => {
    const { queue, sockets, begun, add } = createScene(t);
    add(200);
    await turns(600);
    assert.equal(begun.length, 128);
    queue.done(sockets[begun[0] as number] as Socket);
    await turns(2);
    assert.equal(begun.length, 129);
    sockets[begun[1] as number]?.destroy();
    await turns(8);
    assert.equal(begun.length, 130);
  });

  it('that stall give up their slots after a second', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { time, begun, add } = createScene(t);
    add(200);
    await turns(600);
    time.nowMs = 1_001;
    t.mock.timers.tick(1_000);
    await turns(600);
    assert.equal(begun.length, 200);
  });

  it('of one address that never ends any leave slots for others, however long it continues', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { queue, time, sockets, begun, add } = createScene(t);
    add(500, 'attacker');
    await turns(600);
    assert.equal(begun.length, 96);
    add(1);
    add(200, 'attacker');
    await turns(600);
    assert.deepEqual(begun.slice(96), [500], 'who came before two hundred more is let in at once');
    queue.done(sockets[500] as Socket);
    queue.done(sockets[begun[0] as number] as Socket);
    await turns(2);
    assert.equal(begun.length, 98, 'a slot that the address frees stays with it');
    time.nowMs = 1_001;
    t.mock.timers.tick(1_000);
    await turns(600);
    assert.equal(begun.length, 98 + 96, 'stalled handshakes have given up their slots');
  });

  it('that end do not cause a search through all of thousands that wait behind one address', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { queue, sockets, begun, add } = createScene(t);
    let looks = 0;
    add(2_000, 'herd');
    await turns(600);
    for (const socket of sockets) Object.defineProperty(socket, 'destroyed', { get: () => ++looks < 0 });
    queue.done(sockets[begun[0] as number] as Socket);
    await turns(2);
    assert.equal(begun.length, 97);
    assert.ok(looks < 300, `${looks} looks`);
  });

  it('begin at once if hundreds of newer ones have gone', async (t) => {
    const { sockets, begun, add } = createScene(t);
    add(301);
    for (const gone of sockets.slice(1)) gone.destroy();
    await turns(3);
    assert.deepEqual(begun, [0]);
  });

  it('do not begin for a client that has gone, and reset one that waited too long to finish in time', async (t) => {
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
