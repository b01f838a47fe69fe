import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { generateUserCode, parseUserCode } from '../people/device-code.ts';
import { eachAccepted, eachRefused } from '../test-kit.ts';
import { firstWords, secondWords } from '../text/word-list.ts';
import { generateDomain, generateNumberedDomain } from './generated-domain.ts';
import { parseIngressDomain } from './ingress-domain.ts';

test('the words are plain, none twice, and make over 60,000 names', () => {
  for (const words of [firstWords, secondWords]) {
    assert.ok(words.length >= 200);
    assert.equal(new Set(words).size, words.length);
    for (const word of words) assert.match(word, /^[a-z]{3,11}$/);
  }
  assert.ok(firstWords.length * secondWords.length > 60_000);
});

test('a generated name is two words under the wildcard domain, and a valid ingress domain', () => {
  fc.assert(
    fc.property(fc.nat(), fc.nat(), (a, b) => {
      const picks = [a, b];
      const name = generateDomain('tunnels.example.com', (bound) => picks.shift()! % bound);
      assert.match(name, /^[a-z]+-[a-z]+\.tunnels\.example\.com$/);
      assert.deepEqual(parseIngressDomain(name), { ok: true, value: name });
    }),
  );
});

test('a numbered name is one label under the wildcard domain too', () => {
  assert.equal(
    generateNumberedDomain('t.io', () => 7),
    `${firstWords[7]}-${secondWords[7]}-000007.t.io`,
  );
  assert.equal(
    generateNumberedDomain('t.io', (bound) => bound - 1),
    `${firstWords.at(-1)}-${secondWords.at(-1)}-999999.t.io`,
  );
});

test('the first and the last pick are words', () => {
  assert.equal(
    generateDomain('t.io', () => 0),
    `${firstWords[0]}-${secondWords[0]}.t.io`,
  );
  assert.equal(
    generateDomain('t.io', (bound) => bound - 1),
    `${firstWords.at(-1)}-${secondWords.at(-1)}.t.io`,
  );
});

test('a device code is read as people type it', (t) => {
  eachAccepted(t, parseUserCode, [
    ['BCDF-GHJK', 'BCDF-GHJK'],
    ['bcdfghjk', 'BCDF-GHJK'],
    [' bcdf ghjk ', 'BCDF-GHJK'],
    ['b-c-d-f-g-h-j-k', 'BCDF-GHJK'],
  ]);
  eachRefused(t, parseUserCode, 'Enter the code that the terminal shows, such as BCDF-GHJK.', [
    [''],
    ['BCDF-GHJ'],
    ['BCDF-GHJKL'],
    ['ABCD-EFGH', 'vowels are not used'],
    ['BCDF-GH0K'],
    ['BCDF/GHJK'],
    ['ſbcdfghj', 'a long s becomes S in upper case and could stand in for it'],
    ['B'.repeat(100_000)],
  ]);
});

test('every generated device code is read back', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { minLength: 8, maxLength: 8 }), (picks) => {
      const code = generateUserCode((bound) => picks.shift()! % bound);
      assert.match(code, /^[B-Z]{4}-[B-Z]{4}$/);
      assert.deepEqual(parseUserCode(code.toLowerCase()), { ok: true, value: code });
    }),
  );
});
