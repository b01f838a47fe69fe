import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { Outbox } from './outbox.ts';
import { slabsFor } from './slab.ts';
import { atTurnEnd } from './turn.ts';

/** Takes a write when it is told to; remembers what each held when it came. */
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
      assert.equal(outbox.pendingBytes, expected.length);
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

  it('memory that is full leaves at once, without waiting for the turn to end', () => {
    const { target, writes } = createTarget();
    const outbox = new Outbox(target, slabsFor.visitor, () => {});
    outbox.put(Buffer.from('little'));
    outbox.put(Buffer.alloc(slabsFor.visitor.first.bytes, 'b'));
    assert.deepEqual(
      writes.map(({ length }) => length),
      [slabsFor.visitor.first.bytes],
    );
  });

  it('little takes little memory, bulk takes more', () => {
    const sizes = [1, 8_191, 8_192].map((bytes) => {
      const { target, memory } = createTarget();
      const outbox = new Outbox(target, slabsFor.visitor, () => {});
      outbox.put(Buffer.alloc(bytes));
      outbox.flush();
      return memory[0]?.buffer.byteLength;
    });
    const { first, bulk } = slabsFor.visitor;
    assert.deepEqual(sizes, [first.bytes, first.bytes, bulk.bytes]);
  });

  it('memory that has left is written into again, but never where the target may still look at it', async () => {
    for (const recycles of [true, undefined]) {
      const { target, memory, settle } = createTarget();
      const outbox = new Outbox(target, slabsFor.visitor, () => {}, recycles);
      for (const piece of ['one', 'two']) {
        outbox.put(Buffer.from(piece));
        outbox.flush();
        await settle();
      }
      const [one, two] = memory as [Buffer, Buffer];
      assert.equal(one.buffer === two.buffer, recycles === true);
      assert.equal(one.toString(), recycles ? 'two' : 'one');
    }
  });

  it('who is told that bytes have left finds them counted, and what is full on its way', async () => {
    const { target, writes, settle } = createTarget();
    const seen: unknown[] = [];
    const outbox = new Outbox(target, slabsFor.visitor, (bytes) => void seen.push([bytes, outbox.pendingBytes, writes.length]));
    outbox.put(Buffer.from('one'));
    outbox.flush();
    outbox.put(Buffer.alloc(65_536 + 4));
    while (outbox.pendingBytes > 0) await settle();
    assert.deepEqual(seen, [
      [3, 65_540, 2],
      [65_536, 4, 2],
      [4, 0, 3],
    ]);
  });

  it('pieces of one turn leave together, however quickly the target takes a write', async () => {
    const writes: string[] = [];
    const target = new Writable({
      write(chunk: Buffer, _encoding, callback) {
        writes.push(chunk.toString());
        callback();
      },
    });
    const outbox = new Outbox(target as never, slabsFor.visitor, () => {});
    outbox.put(Buffer.from('one'));
    outbox.flush();
    // As the reads of TLS: each in a tick of its own, after which it is told of writes that were taken at once.
    for (const piece of ['tw', 'o']) {
      outbox.put(Buffer.from(piece));
      outbox.schedule();
      await new Promise<void>((resolve) => process.nextTick(resolve));
    }
    for (let round = 0; round < 5; round++) await turn();
    assert.deepEqual(writes, ['one', 'two']);
  });

  it('an answer that comes back within a write does not get between the pieces of what is being put', async () => {
    const { target, writes, settle } = createTarget();
    const outbox = new Outbox(target, slabsFor.visitor, () => {});
    const write = target as { write: (...given: never[]) => boolean };
    const own = write.write.bind(target);
    let answered = false;
    write.write = (...given) => {
      const room = own(...given);
      if (!answered) {
        answered = true;
        outbox.put(Buffer.from('answer'));
      }
      return room;
    };
    const sent = 'abcde'.repeat(30_000);
    outbox.put(Buffer.from(sent));
    outbox.flush();
    while (outbox.pendingBytes > 0) await settle();
    assert.ok(writes.join('') === `${sent}answer`);
  });

  it('finish hands over as much as there is, and nothing that comes later', async () => {
    const { target, writes, settle } = createTarget();
    const outbox = new Outbox(target, slabsFor.visitor, () => {});
    const sent = 'abcde'.repeat(60_000);
    outbox.put(Buffer.from(sent));
    outbox.finish();
    outbox.put(Buffer.from('late'));
    outbox.flush();
    outbox.schedule();
    outbox.finish();
    for (let round = 0; round < 20; round++) await settle();
    assert.ok(writes.join('') === sent);
  });

  it('a failed write ends quietly: nobody is told that it left, its owner hears of it from the target', async () => {
    const { target, writes, settle } = createTarget();
    const outbox = new Outbox(target, slabsFor.visitor, () => assert.fail('it has not left'));
    outbox.put(Buffer.from('one'));
    outbox.flush();
    outbox.put(Buffer.from('two'));
    await settle(new Error('broken'));
    assert.deepEqual([writes, outbox.pendingBytes], [['one'], 6]);
  });
});
