import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { collectHeap } from '@underpass/runtime/heap.ts';
import { createRig, tunnelOf } from '../fixture/rig.ts';

const visitors = 24;
/** A ClientHello of some 10 KB. The visitor runs in this process and keeps the list too. */
const long = Array.from({ length: 100 }, (_, at) => `protocol-${at}`.padEnd(100, '-'));
const ownBytes = long.join('').length;
const mostBytesEach = 4_096;
const patienceMs = 5_000;

function heldBytes(): number {
  collectHeap();
  return process.memoryUsage().arrayBuffers;
}

describe('a visitor whose handshake is done', () => {
  it('no longer holds its first flight', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const visit = () => rig.visit('t.tunnels.test', { ALPNProtocols: ['http/1.1', ...long] });
    const first = await visit();
    const before = heldBytes();
    const rest = await Promise.all(Array.from({ length: visitors }, visit));
    const end = performance.now() + patienceMs;
    // V8 frees what it collected in the background, a little later.
    for (let each = Number.POSITIVE_INFINITY; each > mostBytesEach; await new Promise((resolve) => setTimeout(resolve, 10))) {
      each = (heldBytes() - before) / visitors - ownBytes;
      assert.ok(each <= mostBytesEach || performance.now() < end, `${Math.round(each)} bytes for each`);
    }
    assert.equal([first, ...rest].filter(({ alpnProtocol }) => alpnProtocol === 'http/1.1').length, visitors + 1);
  });
});
