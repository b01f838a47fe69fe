import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { generateRecoveryCode, isNextSignCount, mayChangePasskeys, parseRecoveryCode } from './passkey.ts';

test('without a passkey a fresh sign-in may add one; with one only a fresh proof by passkey changes them', (t) => {
  const rows: [boolean, 'none' | 'proven' | 'fresh', number, boolean][] = [
    [true, 'none', 0, true],
    [false, 'none', 0, false],
    // The e-mail link of a stolen mailbox.
    [true, 'none', 1, false],
    [true, 'proven', 1, false],
    [false, 'proven', 1, false],
    [true, 'fresh', 1, true],
    [true, 'fresh', 0, true],
  ];
  eachCase(t, rows, ([fresh, passkey, count, may]) => assert.equal(mayChangePasskeys({ fresh, passkey }, count), may));
});

test('a sign counter grows, or is always 0', (t) => {
  const rows: [number, number, boolean][] = [
    [0, 0, true],
    [0, 1, true],
    [4, 5, true],
    [4, 9, true],
    [5, 5, false],
    [5, 4, false],
    // A copy that does not count.
    [5, 0, false],
  ];
  eachCase(t, rows, ([stored, given, good]) => assert.equal(isNextSignCount(stored, given), good));
});

test('a recovery code is read as people type it', (t) => {
  let n = 0;
  const code = generateRecoveryCode((bound) => n++ % bound);
  assert.equal(code, 'BCDFG-HJKLM-NPQRS-TVWXZ');
  const rows: [string, boolean][] = [
    [code, true],
    [code.toLowerCase(), true],
    [` ${code.replaceAll('-', ' ')} `, true],
    [code.replaceAll('-', ''), true],
    [code.slice(1), false],
    [`${code}B`, false],
    [code.replace('B', 'A'), false],
    // Upper case of this one is two letters that are in the alphabet.
    [code.replace('B', 'ß'), false],
    ['', false],
    ['B'.repeat(10_000), false],
  ];
  eachCase(t, rows, ([text, good]) => {
    const parsed = parseRecoveryCode(text);
    assert.equal(parsed.ok, good);
    if (parsed.ok) assert.equal(parsed.value, code);
  });
});
