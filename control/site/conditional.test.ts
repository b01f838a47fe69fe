// Parts of files and unchanged files, case by case (RFC 9110 13 and 14).

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Delivery, decideDelivery } from './conditional.ts';

const file = { size: 100, etag: '"2s-x"' };
const decide = (headers: Record<string, string>, method = 'GET'): Delivery => decideDelivery(method, new Headers(headers), file);
const whole = { kind: 'whole' };
const unsatisfiable = { kind: 'unsatisfiable' };
const part = (start: number, end: number) => ({ kind: 'part', start, end });

describe('Range', () => {
  const cases: readonly [string, object, string][] = [
    ['bytes=0-9', part(0, 9), 'the first ten'],
    ['bytes=90-', part(90, 99), 'from here to the end'],
    ['bytes=-10', part(90, 99), 'the last ten'],
    ['bytes=-1000', part(0, 99), 'more than there is'],
    ['bytes=0-1000', part(0, 99), 'an end beyond the file'],
    ['bytes=99-99', part(99, 99), 'the last byte'],
    ['Bytes = 0 - 9', part(0, 9), 'the unit in any case, spaces'],
    ['bytes=100-', unsatisfiable, 'a start beyond the file'],
    ['bytes=-0', unsatisfiable, 'nothing'],
    ['bytes=9-0', whole, 'backwards: not a range at all'],
    ['bytes=-', whole, 'no number'],
    ['bytes=0-1,3-4', whole, 'several parts: a server may send the whole'],
    ['lines=0-9', whole, 'another unit'],
    ['bytes=a-b', whole, 'no numbers'],
    ['bytes=99999999999999999999-', whole, 'a number beyond any file'],
  ];
  for (const [header, expected, why] of cases)
    it(`${header}: ${why}`, () => assert.deepEqual(decide({ range: header }), expected));

  it('is ignored for HEAD', () => assert.deepEqual(decide({ range: 'bytes=0-9' }, 'HEAD'), whole));

  it('is ignored with If-Range of another version of the file', () => {
    assert.deepEqual(decide({ range: 'bytes=0-9', 'if-range': file.etag }), part(0, 9));
    assert.deepEqual(decide({ range: 'bytes=0-9', 'if-range': '"other"' }), whole);
    assert.deepEqual(decide({ range: 'bytes=0-9', 'if-range': `W/${file.etag}` }), whole, 'weak tags promise no bytes');
    assert.deepEqual(decide({ range: 'bytes=0-9', 'if-range': 'Sat, 21 Nov 2026 00:00:00 GMT' }), whole);
  });

  it('never reads outside the file', () => {
    const number = fc.oneof(
      fc.constant(''),
      fc.nat({ max: 300 }).map(String),
      fc.bigInt({ min: 0n, max: 10n ** 16n }).map(String),
    );
    fc.assert(
      fc.property(number, number, fc.nat({ max: 200 }), (first, last, size) => {
        const headers = new Headers({ range: `bytes=${first}-${last}` });
        const decided = decideDelivery('GET', headers, { size, etag: '"e"' });
        if (decided.kind === 'part') assert.ok(decided.start >= 0 && decided.start <= decided.end && decided.end < size);
      }),
    );
  });
});

describe('If-None-Match', () => {
  for (const header of [file.etag, `W/${file.etag}`, `"a", ${file.etag}`, '*']) {
    it(`${header} gets 304, whatever range the request has`, () => {
      assert.deepEqual(decide({ 'if-none-match': header, range: 'bytes=0-9' }), { kind: 'unchanged' });
      assert.deepEqual(decide({ 'if-none-match': header }, 'HEAD'), { kind: 'unchanged' });
    });
  }
  it('another tag gets the whole file', () => assert.deepEqual(decide({ 'if-none-match': '"a"' }), whole));
});
