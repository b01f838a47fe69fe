import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { challengeNames, decideChallenge } from './challenge.ts';
import { decideOwnership } from './ownership.ts';

const proof = [['underpass-domain-verify=abc']];

describe('decideChallenge', () => {
  const cases = [
    ['found at the apex', [proof, []], 'found'],
    ['found under the label', [[], proof], 'found'],
    ['one proof is enough, whatever the other name says', ['unknown', proof], 'found'],
    ['nowhere', [[], []], 'missing'],
    ['no usable answer for one name: the proof may be there', [[], 'unknown'], 'unknown'],
    ['no usable answer at all', ['unknown', 'unknown'], 'unknown'],
    ['split strings are joined', [[['underpass-domain-', 'verify=abc']], []], 'found'],
    ['two records are not joined', [[['underpass-domain-'], ['verify=abc']], []], 'missing'],
    ['a longer value is another value', [[['underpass-domain-verify=abcd']], []], 'missing'],
    ['a shorter value is another value', [[['underpass-domain-verify=ab']], []], 'missing'],
    ['quotes belong to the value', [[['"underpass-domain-verify=abc"']], []], 'missing'],
    ['upper case is another challenge', [[['underpass-domain-verify=ABC']], []], 'missing'],
  ] as const;
  for (const [name, answers, expected] of cases) {
    test(name, () => assert.equal(decideChallenge(answers, 'abc'), expected));
  }

  test('an empty challenge is never found', () => {
    assert.equal(decideChallenge([[['underpass-domain-verify=']]], ''), 'missing');
  });

  test('asks at the apex and at one label under it', () => {
    assert.deepEqual(challengeNames('example.com'), ['example.com', '_underpass-challenge.example.com']);
  });
});

describe('decideOwnership', () => {
  const hour = 3_600_000;
  const fresh = { misses: 0, firstMissedAt: null };

  test('three misses over 72 hours lose the domain', () => {
    assert.deepEqual(decideOwnership('missing', fresh, 0), { kind: 'missed', misses: 1, firstMissedAt: 0 });
    assert.deepEqual(decideOwnership('missing', { misses: 1, firstMissedAt: 0 }, 24 * hour), {
      kind: 'missed',
      misses: 2,
      firstMissedAt: 0,
    });
    assert.deepEqual(decideOwnership('missing', { misses: 2, firstMissedAt: 0 }, 72 * hour), { kind: 'lost' });
  });

  test('many misses within 72 hours keep the domain', () => {
    assert.equal(decideOwnership('missing', { misses: 50, firstMissedAt: 0 }, 72 * hour - 1).kind, 'missed');
  });

  test('two misses keep the domain, however far apart', () => {
    assert.equal(decideOwnership('missing', { misses: 1, firstMissedAt: 0 }, 1000 * hour).kind, 'missed');
  });

  test('a found proof resets the misses, an unknown answer changes nothing', () => {
    assert.deepEqual(decideOwnership('found', { misses: 2, firstMissedAt: 0 }, 100 * hour), { kind: 'kept' });
    assert.deepEqual(decideOwnership('unknown', { misses: 2, firstMissedAt: 0 }, 100 * hour), { kind: 'unknown' });
  });
});
