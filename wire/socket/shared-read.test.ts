import assert from 'node:assert/strict';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { createSocketPair } from '../fixture/sockets.ts';
import { readShared } from './shared-read.ts';
import { atTurnEnd } from './turn-end.ts';

/** Collects the text that it reads; until(n) waits for n bytes of it. */
function createTaker() {
  let text = '';
  let wanted: { readonly bytes: number; readonly resolve: () => void } | null = null;
  return {
    take(this: void, bytes: Buffer): void {
      text += bytes.toString('latin1');
      if (wanted !== null && text.length >= wanted.bytes) wanted.resolve();
    },
    get text() {
      return text;
    },
    until: (bytes: number) =>
      new Promise<void>((resolve) => {
        if (text.length >= bytes) resolve();
        else wanted = { bytes, resolve };
      }),
  };
}

const turn = () => new Promise<void>((resolve) => atTurnEnd(resolve));

describe('shared reads', () => {
  it('use one buffer for every socket of the process', async () => {
    const [near, far] = await createSocketPair();
    const buffers = new Set<ArrayBufferLike>();
    for (const socket of [near, far]) readShared(socket, (bytes) => void buffers.add(bytes.buffer));
    near.write('a');
    far.write('b');
    while (near.bytesRead + far.bytesRead < 2) await turn();
    assert.equal(buffers.size, 1);
    for (const socket of [near, far]) socket.destroy();
  });

  it('deliver bytes that arrived before the reader first, in order', async () => {
    const [near, far] = await createSocketPair();
    far.unshift('first ');
    near.write('second');
    while (far.bytesRead < 6) {
      far.read(0);
      await turn();
    }
    const taker = createTaker();
    readShared(far, taker.take);
    near.write(' third');
    await taker.until(18);
    assert.equal(taker.text, 'first second third');
    for (const socket of [near, far]) socket.destroy();
  });

  it('deliver nothing from a paused socket until it resumes, and its end after its last byte', async () => {
    const [near, far] = await createSocketPair();
    const taker = createTaker();
    readShared(far, taker.take);
    near.write('one ');
    await taker.until(4);
    far.pause();
    near.end('two');
    for (let round = 0; round < 20; round++) await turn();
    assert.equal(taker.text, 'one ');
    far.resume();
    await once(far, 'end');
    assert.equal(taker.text, 'one two');
    for (const socket of [near, far]) socket.destroy();
  });

  it('keep a socket paused when its reader pauses it while taking earlier bytes', async () => {
    const [near, far] = await createSocketPair();
    near.write('early');
    while (far.bytesRead < 5) {
      far.read(0);
      await turn();
    }
    const taker = createTaker();
    readShared(far, (bytes) => {
      taker.take(bytes);
      far.pause();
    });
    await taker.until(5);
    near.write('late');
    for (let round = 0; round < 20; round++) await turn();
    assert.equal(taker.text, 'early');
    far.resume();
    await taker.until(9);
    for (const socket of [near, far]) socket.destroy();
  });

  it('read a stream that is not a socket', async () => {
    const [near, far] = duplexPair();
    const taker = createTaker();
    readShared(far, taker.take);
    near.write('bytes');
    await taker.until(5);
    assert.equal(taker.text, 'bytes');
  });
});
