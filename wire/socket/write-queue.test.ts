import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { poolsFor } from './buffer-pool.ts';
import { atTurnEnd } from './turn-end.ts';
import { WriteQueue } from './write-queue.ts';

/** A target that completes a write when the test calls settle(). It keeps a copy of the bytes of each write. */
function createTarget() {
  const writes: string[] = [];
  const memory: Buffer[] = [];
  let done: (error?: Error) => void = () => {};
  const target = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      writes.push(chunk.toString('latin1'));
      memory.push(chunk);
      done = callback;
    },
  });
  target.on('error', () => {});
  const settle = async (error?: Error): Promise<void> => {
    done(error);
    await turn();
  };
  return { target: target as never, writes, memory, settle };
}

const turn = () => new Promise<void>((resolve) => atTurnEnd(resolve));

describe('a write queue', () => {
  it('writes everything that is put in one turn in one write', async () => {
    const { target, writes } = createTarget();
    const queue = new WriteQueue(target, poolsFor.visitor, () => {});
    for (const piece of ['a', 'b', 'c']) {
      queue.put(Buffer.from(piece));
      queue.schedule();
    }
    assert.deepEqual(writes, []);
    await turn();
    assert.deepEqual(writes, ['abc']);
  });

  it('has one write in progress at a time, and writes what is put during it in one write afterwards', async () => {
    const { target, writes, settle } = createTarget();
    const written: number[] = [];
    const queue = new WriteQueue(target, poolsFor.visitor, (bytes) => void written.push(bytes));
    queue.put(Buffer.from('one'));
    queue.flush();
    for (const piece of ['tw', 'o']) {
      queue.put(Buffer.from(piece));
      queue.flush();
    }
    assert.deepEqual([writes, queue.pendingBytes], [['one'], 6]);
    await settle();
    assert.deepEqual([writes, written, queue.pendingBytes], [['one', 'two'], [3], 3]);
    await settle();
    assert.deepEqual([written, queue.pendingBytes], [[3, 3], 0]);
  });

  it('copies the bytes of its caller, and does not reuse a buffer that a write still holds', async () => {
    const { target, writes, settle } = createTarget();
    const queue = new WriteQueue(target, poolsFor.visitor, () => {}, true);
    const lent = Buffer.from('first');
    queue.put(lent);
    queue.flush();
    lent.fill('x');
    queue.put(lent);
    await settle();
    await settle();
    assert.deepEqual(writes, ['first', 'xxxxx']);
  });

  it('writes data of any size completely and in order, at most one buffer at a time', async () => {
    const { target, writes, settle } = createTarget();
    const queue = new WriteQueue(target, poolsFor.carrier, () => {});
    let expected = '';
    for (const size of [1, 65_527, 8, 65_536, 300_000, 7, 16_384]) {
      const piece = String.fromCharCode(97 + (size % 26)).repeat(size);
      const { buffer, at } = queue.claim(8);
      buffer.write('[header]', at, 'latin1');
      queue.put(Buffer.from(piece));
      expected += `[header]${piece}`;
      assert.equal(queue.pendingBytes, expected.length);
    }
    queue.flush();
    while (queue.pendingBytes > 0) await settle();
    assert.ok(writes.join('') === expected);
    assert.ok(Math.max(...writes.map((write) => write.length)) <= poolsFor.carrier.bulk.bytes);
  });

  it('finish() writes everything in order, and counts it until it is written', async () => {
    const { target, writes, settle } = createTarget();
    const written: number[] = [];
    const queue = new WriteQueue(target, poolsFor.visitor, (bytes) => void written.push(bytes));
    queue.put(Buffer.from('one'));
    queue.flush();
    queue.put(Buffer.from('four'));
    queue.finish();
    assert.equal(queue.pendingBytes, 7);
    await settle();
    await settle();
    assert.deepEqual([writes, written, queue.pendingBytes], [['one', 'four'], [3, 4], 0]);
  });

  it('writes a full buffer at once, before the turn ends', () => {
    const { target, writes } = createTarget();
    const queue = new WriteQueue(target, poolsFor.visitor, () => {});
    queue.put(Buffer.from('little'));
    queue.put(Buffer.alloc(poolsFor.visitor.first.bytes, 'b'));
    assert.deepEqual(
      writes.map(({ length }) => length),
      [poolsFor.visitor.first.bytes],
    );
  });

  it('uses a small buffer for a little data and a large one for bulk', () => {
    const sizes = [1, 8_191, 8_192].map((bytes) => {
      const { target, memory } = createTarget();
      const queue = new WriteQueue(target, poolsFor.visitor, () => {});
      queue.put(Buffer.alloc(bytes));
      queue.flush();
      return memory[0]?.buffer.byteLength;
    });
    const { first, bulk } = poolsFor.visitor;
    assert.deepEqual(sizes, [first.bytes, first.bytes, bulk.bytes]);
  });

  it('reuses a written buffer, unless the target may still read it', async () => {
    for (const recycles of [true, undefined]) {
      const { target, memory, settle } = createTarget();
      const queue = new WriteQueue(target, poolsFor.visitor, () => {}, recycles);
      for (const piece of ['one', 'two']) {
        queue.put(Buffer.from(piece));
        queue.flush();
        await settle();
      }
      const [one, two] = memory as [Buffer, Buffer];
      assert.equal(one.buffer === two.buffer, recycles === true);
      assert.equal(one.toString(), recycles ? 'two' : 'one');
    }
  });

  it('calls onWritten after it has counted the bytes and begun the next full write', async () => {
    const { target, writes, settle } = createTarget();
    const seen: unknown[] = [];
    const queue = new WriteQueue(target, poolsFor.visitor, (bytes) => void seen.push([bytes, queue.pendingBytes, writes.length]));
    queue.put(Buffer.from('one'));
    queue.flush();
    queue.put(Buffer.alloc(65_536 + 4));
    while (queue.pendingBytes > 0) await settle();
    assert.deepEqual(seen, [
      [3, 65_540, 2],
      [65_536, 4, 2],
      [4, 0, 3],
    ]);
  });

  it('writes the pieces of one turn together, however quickly the target takes a write', async () => {
    const writes: string[] = [];
    const target = new Writable({
      write(chunk: Buffer, _encoding, callback) {
        writes.push(chunk.toString());
        callback();
      },
    });
    const queue = new WriteQueue(target as never, poolsFor.visitor, () => {});
    queue.put(Buffer.from('one'));
    queue.flush();
    // TLS does this: each read has its own tick, and the callbacks of writes that completed at once follow it.
    for (const piece of ['tw', 'o']) {
      queue.put(Buffer.from(piece));
      queue.schedule();
      await new Promise<void>((resolve) => process.nextTick(resolve));
    }
    for (let round = 0; round < 5; round++) await turn();
    assert.deepEqual(writes, ['one', 'two']);
  });

  it('keeps the pieces of one put() together when an answer comes back within a write', async () => {
    const { target, writes, settle } = createTarget();
    const queue = new WriteQueue(target, poolsFor.visitor, () => {});
    const write = target as { write: (...given: never[]) => boolean };
    const own = write.write.bind(target);
    let answered = false;
    write.write = (...given) => {
      const room = own(...given);
      if (!answered) {
        answered = true;
        queue.put(Buffer.from('answer'));
      }
      return room;
    };
    const sent = 'abcde'.repeat(30_000);
    queue.put(Buffer.from(sent));
    queue.flush();
    while (queue.pendingBytes > 0) await settle();
    assert.ok(writes.join('') === `${sent}answer`);
  });

  it('finish() writes everything that waits, and nothing that is put later', async () => {
    const { target, writes, settle } = createTarget();
    const queue = new WriteQueue(target, poolsFor.visitor, () => {});
    const sent = 'abcde'.repeat(60_000);
    queue.put(Buffer.from(sent));
    queue.finish();
    queue.put(Buffer.from('late'));
    queue.flush();
    queue.schedule();
    queue.finish();
    for (let round = 0; round < 20; round++) await settle();
    assert.ok(writes.join('') === sent);
  });

  it('does not call onWritten for a failed write: the target reports the error', async () => {
    const { target, writes, settle } = createTarget();
    const queue = new WriteQueue(target, poolsFor.visitor, () => assert.fail('it has not left'));
    queue.put(Buffer.from('one'));
    queue.flush();
    queue.put(Buffer.from('two'));
    await settle(new Error('broken'));
    assert.deepEqual([writes, queue.pendingBytes], [['one'], 6]);
  });
});
