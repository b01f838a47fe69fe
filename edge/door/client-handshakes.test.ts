import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { ClientHandshakes } from './client-handshakes.ts';

/** Sockets that were destroyed have emitted 'close'. */
const closed = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const numbers = (count: number, from = 0): number[] => Array.from({ length: count }, (_, index) => from + index);

/** A queue, its clients by number, and those whose handshakes have begun. */
function createScene(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const queue = new ClientHandshakes();
  /** The process stands still. */
  const sleep = (ms: number): void => {
    nowMs += ms;
  };
  const pass = (ms: number): void => {
    for (let step = 0; step < ms; step++) {
      nowMs++;
      t.mock.timers.tick(1);
    }
  };
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
  return { queue, pass, sleep, sockets, begun, add };
}

describe('handshakes of clients', () => {
  it('begin one every two milliseconds, so visitors have their turns between', (t) => {
    const { pass, begun, add } = createScene(t);
    add(4);
    const counts: number[] = [];
    while (begun.length < 4) {
      pass(1);
      counts.push(begun.length);
    }
    assert.deepEqual(counts, [1, 1, 2, 2, 3, 3, 4]);
    assert.deepEqual(begun, numbers(4));
    add(1);
    pass(2);
    assert.equal(begun.at(-1), 4, 'an empty queue starts again');
  });

  it('run 128 at most; one that ends, or whose client has gone, makes room for another', async (t) => {
    const { queue, pass, sockets, begun, add } = createScene(t);
    add(200);
    pass(600);
    assert.equal(begun.length, 128);
    queue.done(sockets[begun[0] as number] as Socket);
    pass(4);
    assert.equal(begun.length, 129);
    sockets[begun[1] as number]?.destroy();
    await closed();
    pass(4);
    assert.equal(begun.length, 130);
  });

  it('that stall give up their slots after a second', (t) => {
    const { pass, begun, add } = createScene(t);
    add(200);
    pass(600);
    pass(1_300);
    assert.equal(begun.length, 200);
  });

  it('of one address that never ends any leave slots for others, however long it continues', (t) => {
    const { queue, pass, sockets, begun, add } = createScene(t);
    add(500, 'attacker');
    pass(300);
    assert.equal(begun.length, 96);
    add(1);
    add(200, 'attacker');
    pass(300);
    assert.deepEqual(begun.slice(96), [500], 'who came before two hundred more is let in at once');
    queue.done(sockets[500] as Socket);
    queue.done(sockets[begun[0] as number] as Socket);
    pass(4);
    assert.equal(begun.length, 98, 'a slot that the address frees stays with it');
    pass(1_300);
    assert.equal(begun.length, 98 + 96, 'stalled handshakes have given up their slots');
  });

  it('of an address that opens thousands do not delay another address', (t) => {
    const { pass, begun, add } = createScene(t);
    add(5_000, 'attacker');
    pass(20);
    add(2, 'other');
    const before = begun.length;
    pass(7);
    assert.deepEqual(begun.slice(before), [10, 5_000, 11, 5_001]);
  });

  it('begin at once if hundreds of older ones have gone', (t) => {
    const { pass, sockets, begun, add } = createScene(t);
    add(301);
    for (const gone of sockets.slice(0, 300)) gone.destroy();
    pass(4);
    assert.deepEqual(begun, [300]);
  });

  it('do not begin for a client that has gone, and reset one that waited too long to finish in time', async (t) => {
    const { pass, sleep, sockets, begun, add } = createScene(t);
    add(2);
    sockets[0]?.destroy();
    await closed();
    sleep(7_001);
    add(1);
    pass(4);
    assert.deepEqual(begun, [2]);
    assert.ok(sockets[1]?.destroyed);
  });
});
