import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { Outbox } from './outbox.ts';
import { slabsFor } from './slab.ts';
import { atTurnEnd } from './turn.ts';

/** Takes a write when it is told to; remembers what each held when it came. */
function createTarget() {
  const writes: string[] = [];
  let done: (error?: Error) => void = () => {};
  const target = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      writes.push(chunk.toString('latin1'));
      done = callback;
    },
  });
  target.on('error', () => {});
  const settle = async (error?: Error): Promise<void> => {
    done(error);
    await turn();
  };
  return { target: target as never, writes, settle };
}

const turn = () => new Promise<void>((resolve) => atTurnEnd(resolve));

describe('outbox', () => {
  it('what is put in one turn leaves in one write', async () => {
    const { target, writes } = createTarget();
    const outbox = new Outbox(target, slabsFor.visitor, () => {});
    for (const piece of ['a', 'b', 'c']) {
      outbox.put(Buffer.from(piece));
      outbox.schedule();
    }
    assert.deepEqual(writes, []);
    await turn();
    assert.deepEqual(writes, ['abc']);
  });

  it('one write is on its way at a time; what comes meanwhile follows in one', async () => {
    const { target, writes, settle } = createTarget();
    const written: number[] = [];
    const outbox = new Outbox(target, slabsFor.visitor, (bytes) => void written.push(bytes));
    outbox.put(Buffer.from('one'));
    outbox.flush();
    for (const piece of ['tw', 'o']) {
      outbox.put(Buffer.from(piece));
      outbox.flush();
    }
    assert.deepEqual([writes, outbox.pendingBytes], [['one'], 6]);
    await settle();
    assert.deepEqual([writes, written, outbox.pendingBytes], [['one', 'two'], [3], 3]);
    await settle();
    assert.deepEqual([written, outbox.pendingBytes], [[3, 3], 0]);
  });

  it('the caller may change its bytes at once, and memory is not used again while a write holds it', async () => {
    const { target, writes, settle } = createTarget();
    const outbox = new Outbox(target, slabsFor.visitor, () => {}, true);
    const lent = Buffer.from('first');
    outbox.put(lent);
    outbox.flush();
    lent.fill('x');
    outbox.put(lent);
    await settle();
    await settle();
    assert.deepEqual(writes, ['first', 'xxxxx']);
  });

  it('any size comes through whole and in order, in writes of at most one slab', async () => {
    const { target, writes, settle } = createTarget();
    const outbox = new Outbox(target, slabsFor.carrier, () => {});
    let expected = '';
    for (const size of [1, 65_527, 8, 65_536, 300_000, 7, 16_384]) {
      const piece = String.fromCharCode(97 + (size % 26)).repeat(size);
      const { buffer, at } = outbox.claim(8);
      buffer.write('[header]', at, 'latin1');
      outbox.put(Buffer.from(piece));
      expected += `[header]${piece}`;
    }
    outbox.flush();
    while (outbox.pendingBytes > 0) await settle();
    assert.ok(writes.join('') === expected);
    assert.ok(Math.max(...writes.map((write) => write.length)) <= slabsFor.carrier.bulk.bytes);
  });

  it('finish hands over everything in order, and counts it until it has left', async () => {
    const { target, writes, settle } = createTarget();
    const written: number[] = [];
    const outbox = new Outbox(target, slabsFor.visitor, (bytes) => void written.push(bytes));
    outbox.put(Buffer.from('one'));
    outbox.flush();
    outbox.put(Buffer.from('four'));
    outbox.finish();
    assert.equal(outbox.pendingBytes, 7);
    await settle();
    await settle();
    assert.deepEqual([writes, written, outbox.pendingBytes], [['one', 'four'], [3, 4], 0]);
  });

  it('a failed write ends quietly: its owner hears of it from the target', async () => {
    const { target, settle } = createTarget();
    const outbox = new Outbox(target, slabsFor.visitor, () => {});
    outbox.put(Buffer.from('one'));
    outbox.flush();
    await settle(new Error('broken'));
  });
});
