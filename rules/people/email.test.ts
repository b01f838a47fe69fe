import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { eachAccepted, eachRefused } from '../test-kit.ts';
import { parseEmail } from './email.ts';

const local64 = 'l'.repeat(64);
/** 189 characters of host: with a local part of 64 and the at sign, 254. */
const host189 = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(57)}.com`;

test('an address is accepted as one lower-case account name', (t) => {
  eachAccepted(t, parseEmail, [
    ['ada@example.com', 'ada@example.com'],
    ['  ada@example.com\n', 'ada@example.com', 'pasted with its line end'],
    ['Ada.Lovelace@EXAMPLE.Com', 'ada.lovelace@example.com', 'one account however it is typed'],
    ['a+b@example.co.uk', 'a+b@example.co.uk'],
    ["o'brien@example.com", "o'brien@example.com"],
    ['x@a.io', 'x@a.io'],
    ['user@xn--bcher-kva.example', 'user@xn--bcher-kva.example'],
    ['1@2.example', '1@2.example'],
    ['a-b_c@example.com', 'a-b_c@example.com'],
    [`${local64}@example.com`, `${local64}@example.com`, 'the longest local part'],
    [`${local64}@${host189}`, `${local64}@${host189}`, 'the longest address, 254'],
  ]);
});

test('a missing address is required', (t) => {
  eachRefused(t, parseEmail, 'Required.', [[''], ['   '], ['\t\r\n']]);
});

test('refuses everything that is not an address, with the text of the spec', (t) => {
  eachRefused(t, parseEmail, 'Not a valid email address.', [
    ['ada'],
    ['@example.com'],
    ['ada@'],
    ['ada@example', 'no TLD'],
    ['ada@localhost'],
    ['ada@@example.com'],
    ['a@b@example.com', 'mail programs disagree on which at sign counts'],
    ['.ada@example.com'],
    ['ada.@example.com'],
    ['a..b@example.com'],
    ['ada@-example.com'],
    ['ada@example-.com'],
    ['ada@exa_mple.com'],
    ['ada@example.com.', 'an address has no trailing dot'],
    ['ada@example..com'],
    ['ada@127.0.0.1'],
    ['ada@[127.0.0.1]', 'address literals receive no mail here'],
    ['ada lovelace@example.com'],
    ['"ada lovelace"@example.com', 'quoted local parts are refused'],
    ['ada@exam ple.com'],
    ['ada@example.com\r\nBcc: eve@example.com', 'header injection'],
    ['ada@example.com%0d%0aBcc:eve@example.com', 'header injection, encoded'],
    ['ada\n@example.com'],
    ['ada\0@example.com'],
    ['ada@example.com,eve@example.com', 'two recipients'],
    ['ada@example.com;eve@example.com'],
    ['Ada <ada@example.com>'],
    ['ada(comment)@example.com'],
    ['adä@example.com', 'not every relay carries it'],
    ['ada@exämple.com'],
    ['\u212Aa@example.com', 'the Kelvin sign is not the letter k'],
    ['ada@exampl\u0435.com', 'a Cyrillic look-alike'],
    ['\u202Eada@example.com', 'reverses the text behind it'],
    [`l${local64}@example.com`, '65 in the local part'],
    [`${local64}@a${host189}`, '255 in all'],
    [`${'x'.repeat(10_000)}@example.com`],
  ]);
});

test('a parsed address is accepted again unchanged', () => {
  fc.assert(
    fc.property(fc.oneof(fc.emailAddress(), fc.string({ unit: 'binary' })), (text) => {
      const parsed = parseEmail(text);
      if (parsed.ok) assert.deepEqual(parseEmail(parsed.value), parsed);
    }),
    { numRuns: 1000 },
  );
});

test('no accepted address holds a character that means something in a mail header', () => {
  const nasty = fc.string({ unit: fc.constantFrom('a', '@', '.', '\r', '\n', ' ', '<', '>', ',', ';', '"', '\0', 'b.c') });
  fc.assert(
    fc.property(nasty, (text) => {
      const parsed = parseEmail(text);
      assert.ok(!parsed.ok || /^[^\s<>,;"\0]+$/.test(parsed.value));
    }),
    { numRuns: 2000 },
  );
});

test('accepts what zod accepts, within the lengths of the spec', () => {
  const part = fc.stringMatching(/^[a-z0-9_+-]{1,12}$/);
  const label = fc.stringMatching(/^[a-z0-9]{1,12}$/);
  fc.assert(
    fc.property(part, label, fc.stringMatching(/^[a-z]{2,6}$/), (local, host, tld) => {
      const text = `${local}@${host}.${tld}`;
      if (z.email().safeParse(text).success) assert.equal(parseEmail(text).ok, true);
    }),
  );
});
