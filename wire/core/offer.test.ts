import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decideVersion, parseInfo } from './hello.ts';
import { compileOffers, encodeOffers, maxOffers, parseOffers } from './offer.ts';

describe('offers', () => {
  const find = compileOffers([
    { key: 'a.example', healthy: true },
    { key: 'b.example', healthy: false },
    { key: ':80', healthy: false },
  ]);
  for (const [kind, host, answer] of [
    ['http', 'a.example', 'healthy'],
    ['http', 'b.example', 'unhealthy'],
    ['http', 'c.example', 'none'],
    ['ingress-80', 'c.example', 'unhealthy'],
    ['ingress-443', 'c.example', 'none'],
  ] as const) {
    it(`answer ${kind} for ${host}: ${answer}`, () => assert.equal(find(kind, host), answer));
  }

  it('of * answer for every host', () => {
    assert.equal(compileOffers([{ key: '*', healthy: false }])('http', 'x.example'), 'unhealthy');
  });

  it('of a wildcard answer for names with one label more, after the name itself and before *', () => {
    const answer = compileOffers([
      { key: '*.apps.example', healthy: true },
      { key: 'a.apps.example', healthy: false },
    ]);
    const asked = (host: string) => answer('http', host);
    assert.deepEqual(['a.apps.example', 'b.apps.example', 'a.b.apps.example', 'apps.example'].map(asked), [
      ...['unhealthy', 'healthy', 'none', 'none'],
    ]);
  });

  it('mean everything when none was sent, and nothing when an empty one was', () => {
    assert.equal(compileOffers(null)('http', 'x.example'), 'healthy');
    assert.equal(compileOffers([])('http', 'x.example'), 'none');
  });

  it('beyond the bounds are refused', () => {
    assert.throws(() => encodeOffers(Array(maxOffers + 1).fill({ key: 'a', healthy: true })), RangeError);
    assert.throws(() => encodeOffers([{ key: 'a'.repeat(254), healthy: true }]), RangeError);
    assert.throws(() => encodeOffers([{ key: '', healthy: true }]), RangeError);
    const received = (length: number) => parseOffers(Uint8Array.from([1, length, ...Buffer.alloc(length, 'a')]));
    assert.equal(received(253)[0]?.key.length, 253);
    for (const length of [0, 254, 255]) assert.throws(() => received(length), /false key length/);
  });
});

describe('a version', () => {
  for (const [ours, theirs, agreed] of [
    [[1, 2], [1, 2], 2],
    [[1, 2], [1, 1], 1],
    [[1, 2], [2, 9], 2],
    [[1, 2], [3, 9], null],
    [[2, 3], [1, 1], null],
  ] as const) {
    it(`of ${ours} with ${theirs} is ${agreed}`, () => {
      const range = ([oldest, newest]: readonly [number, number]) => ({ oldest, newest });
      assert.equal(decideVersion(range(ours), range(theirs)), agreed);
      assert.equal(decideVersion(range(theirs), range(ours)), agreed);
    });
  }
});

it('info keeps known members of the right type and drops the rest', () => {
  const info = parseInfo(
    Buffer.from('{"edge":"e","edges":"2","urls":["a",1],"later":{},"tunnel":null,"type":"udp","__proto__":{"region":"x"}}'),
  );
  assert.deepEqual({ ...info }, { edge: 'e', urls: ['a'] });
});
