import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isPlainText, isPlainWord } from './characters.ts';

const cases: readonly [string, boolean, boolean, string][] = [
  ['', true, true, 'nothing is no control character'],
  ['Grüße, 世界 👋🏽', true, true, 'letters of all scripts, and pairs'],
  ['a\nb', false, true, 'a text has lines, a word has not'],
  ['a\r\n\tb', false, true, 'line ends of Windows, tabs'],
  ['a\0b', false, false, 'Postgres stores no NUL'],
  ['\x1b[31m', false, false, 'speaks to terminals'],
  ['a\x7f', false, false, 'delete'],
  ['a\x85b', false, false, 'the second set of controls'],
  ['\ud83d', false, false, 'half of a pair'],
  ['\udc4b\ud83d', false, false, 'a pair the wrong way round'],
];

for (const [text, word, lines, why] of cases) {
  test(`${JSON.stringify(text)}: ${why}`, () => assert.deepEqual([isPlainWord(text), isPlainText(text)], [word, lines]));
}

test('plain text survives UTF-8, and holds no control character except tab and line ends', () => {
  const anything = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });
  fc.assert(
    fc.property(anything, (text) => {
      const isKept = Buffer.from(text, 'utf8').toString('utf8') === text;
      const codes = Array.from(text, (each) => each.codePointAt(0) ?? 0);
      const isControl = (code: number) => code < 32 || (code > 126 && code < 160);
      assert.equal(isPlainWord(text), isKept && !codes.some(isControl));
      assert.equal(isPlainText(text), isKept && !codes.some((code) => isControl(code) && ![9, 10, 13].includes(code)));
    }),
  );
});
