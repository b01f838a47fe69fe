// The work for a head that arrives in pieces is linear in its bytes. Counts reads of bytes, not time.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HeadScan } from './head-scan.ts';
import { RequestHead } from './request-head.ts';
import { ResponseHead } from './response-head.ts';

const longBytes = 2_048;
const long = 'a'.repeat(longBytes);
/** A scan reads a byte of a known field a second time to find its end, and the last byte of each piece once more. */
const looksPerByte = 4;

/** The bytes, with a count of how often one of them was read. */
function watched(bytes: Buffer): { readonly bytes: Buffer; readonly looks: () => number } {
  let looks = 0;
  const view = new Proxy(bytes, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) looks++;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { bytes: view, looks: () => looks };
}

/** Scans the head a byte at a time; returns how many reads that took. */
function looksAt(head: HeadScan, text: string): number {
  const { bytes, looks } = watched(Buffer.from(text, 'latin1'));
  let end = 0;
  for (let to = 1; to <= text.length && end === 0; to++) end = head.scan(bytes, 0, to);
  assert.equal(end, text.length, head.refusedWhy);
  return looks();
}

describe('reads each byte at most four times, of a head that arrives a byte at a time:', () => {
  const requests = {
    'with a long target': `GET /${long} HTTP/1.1\r\nHost: a.example\r\n\r\n`,
    'with a long absolute target': `GET http://a.example/${long} HTTP/1.1\r\nHost: a.example\r\n\r\n`,
    'with a long name': `GET / HTTP/1.1\r\nHost: a.example\r\n${long}: b\r\n\r\n`,
    'with a long value': `GET / HTTP/1.1\r\nHost: a.example\r\nX-A: ${long}\r\n\r\n`,
    'with much white space': `GET / HTTP/1.1\r\nHost:${' '.repeat(longBytes)}a.example\r\n\r\n`,
  };
  for (const [name, text] of Object.entries(requests)) {
    it(`a request ${name}`, () => {
      const looks = looksAt(new RequestHead(), text);
      assert.ok(looks < looksPerByte * text.length, `${looks} looks at ${text.length} bytes`);
    });
  }

  it('a response with a long reason phrase', () => {
    const text = `HTTP/1.1 200 ${long}\r\nContent-Length: 0\r\n\r\n`;
    const looks = looksAt(new ResponseHead(), text);
    assert.ok(looks < looksPerByte * text.length, `${looks} looks at ${text.length} bytes`);
  });
});
