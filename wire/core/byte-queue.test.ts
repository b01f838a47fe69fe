import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ByteQueue } from './byte-queue.ts';

const size = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40_000 }));
const step = fc.oneof({ weight: 3, arbitrary: fc.tuple(fc.constant('push'), size) }, fc.tuple(fc.constant('take'), size));

describe('a byte queue', () => {
  it('returns the bytes in order, however they were cut into pieces', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const queue = new ByteQueue();
        let expected = Buffer.alloc(0);
        const taken: [Uint8Array, Buffer][] = [];
        for (const [index, [what, bytes]] of steps.entries()) {
          if (what === 'push') {
            const piece = Buffer.alloc(bytes, index);
            queue.push(piece);
            expected = Buffer.concat([expected, piece]);
            piece.fill(255);
          } else if (queue.bytes > 0) {
            const piece = queue.take(bytes);
            assert.ok(piece.length > 0 && piece.length <= bytes);
            taken.push([piece, expected.subarray(0, piece.length)]);
            expected = expected.subarray(piece.length);
          }
          assert.equal(queue.bytes, expected.length);
        }
        assert.ok(Buffer.concat(queue.parts).equals(expected), 'its parts are all bytes that wait');
        for (const [piece, was] of taken) assert.ok(was.equals(piece), 'a taken piece does not change');
        while (queue.bytes > 0) {
          const piece = queue.take(65_536);
          assert.ok(expected.subarray(0, piece.length).equals(piece));
          expected = expected.subarray(piece.length);
        }
      }),
      { numRuns: 300, seed: 8 },
    );
  });

  it('joins small pieces into large ones', () => {
    const queue = new ByteQueue();
    for (let count = 0; count < 100_000; count++) queue.push(Buffer.of(count));
    let pieces = 0;
    for (; queue.bytes > 0; pieces++) queue.take(65_536);
    assert.ok(pieces < 30, `${pieces} pieces`);
  });
});
