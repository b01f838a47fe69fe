import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderLastChunk } from './chunk.ts';

describe('trailers of a request', () => {
  it('pass, except fields that only a head may have', () => {
    const trailers = [
      ['x-sum', 'a'],
      ['host', 'b.example'],
      ['content-length', '2'],
      ['x_real_ip', '1.1.1.1'],
      ['x-forwarded-email', 'root@a.example'],
      ['x-two', ['b', 'c']],
      ['x-none', undefined],
      ['x-split', 'd\r\nhost: b.example'],
      ['x a', 'e'],
    ] as const;
    assert.equal(renderLastChunk(trailers).toString('latin1'), '0\r\nx-sum: a\r\nx-two: b\r\nx-two: c\r\n\r\n');
  });
});
