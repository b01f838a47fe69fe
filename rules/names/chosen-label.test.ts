import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secondWords } from '../text/word-list.ts';
import { isChosenLabel } from './chosen-label.ts';

test('a chosen label is a plain name that nothing else claims', () => {
  for (const name of ['docs', 'a1b', 'my-shop', 'x'.repeat(63)]) assert.equal(isChosenLabel(name), true, name);
  const others = [
    'ab',
    '-a-',
    'Docs',
    'a.b',
    'a_b',
    'x'.repeat(64),
    'www',
    'login',
    'xn--bcher-kva',
    'ab--c',
    '',
    'underpass-login',
    'login-eu',
    'my-account',
  ];
  for (const name of others) assert.equal(isChosenLabel(name), false, name);
});

test('no chosen label looks like one that a region generates', () => {
  const pair = `amber-${secondWords[0]}`;
  for (const name of [pair, `${pair}-123456`, `${pair}-abcdefghij`]) assert.equal(isChosenLabel(name), false, name);
});
