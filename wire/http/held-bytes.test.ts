import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { headLimits } from './head-scan.ts';
import { HeldBytes } from './held-bytes.ts';

describe('HeldBytes', () => {
  it('keeps all bytes in order, and earlier views unchanged', () => {
    const sent = Buffer.from(Array.from({ length: 3_000 }, (_, i) => i & 255));
    const held = new HeldBytes(sent.subarray(0, 1));
    const early = held.all;
    for (let at = 1, bytes = 0; at < sent.length; at += bytes) {
      bytes = (bytes % 7) + 1;
      assert.ok(held.add(sent.subarray(at, at + bytes)).equals(sent.subarray(0, at + bytes)));
    }
    assert.equal(held.length, sent.length);
    assert.ok(early.equals(sent.subarray(0, 1)));
  });

  it('copies the bytes that it is given', () => {
    const lent = Buffer.from('GET');
    const held = new HeldBytes(lent);
    lent.fill(0);
    assert.equal(held.all.toString(), 'GET');
  });

  it('copies at most sixteen times while it grows to 32 KiB byte by byte', () => {
    const held = new HeldBytes(Buffer.of(0));
    const places = new Set<string>();
    const buffers: ArrayBufferLike[] = [];
    for (let i = 1; i < headLimits.headBytes; i++) {
      const { buffer, byteOffset } = held.add(Buffer.of(0));
      if (!buffers.includes(buffer)) buffers.push(buffer);
      places.add(`${buffers.indexOf(buffer)} ${byteOffset}`);
    }
    assert.ok(places.size <= 16, `${places.size} places`);
  });

  it('allocates at most the head limit until it holds more', () => {
    const held = new HeldBytes(Buffer.alloc(headLimits.headBytes - 2));
    const roomOf = ({ buffer }: Buffer) => buffer.byteLength;
    assert.equal(roomOf(held.add(Buffer.of(0))), headLimits.headBytes);
    assert.equal(roomOf(held.add(Buffer.alloc(10))), headLimits.headBytes + 9);
  });
});
