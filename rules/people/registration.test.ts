import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { parseProjectName } from '../text/project-name.ts';
import { parseRegistration, type RegistrationField, registrationFields } from './registration.ts';

type Fields = Partial<Record<RegistrationField, string>>;

const complete: Fields = {
  'first-name': 'Ada',
  'last-name': 'Lovelace',
  email: 'Ada@example.com',
  'accept-terms': 'on',
  'bot-check': 'proof',
};
const oneLine = 'Must be one line of visible characters.';

test('the required fields are enough', () => {
  assert.deepEqual(parseRegistration(complete), {
    ok: true,
    value: {
      firstName: 'Ada',
      lastName: 'Lovelace',
      email: 'ada@example.com',
      company: '',
      github: '',
      x: '',
      botCheck: 'proof',
    },
  });
});

test('the optional fields are kept, trimmed', () => {
  const parsed = parseRegistration({
    ...complete,
    company: ' Engines Ltd ',
    'github-link': '@ada',
    'twitter-link': 'https://x.com/ada',
  });
  assert.ok(parsed.ok);
  assert.equal(parsed.value.company, 'Engines Ltd');
  assert.equal(parsed.value.github, '@ada');
  assert.equal(parsed.value.x, 'https://x.com/ada');
});

test('an empty form has one message per required field', () => {
  assert.deepEqual(parseRegistration({}), {
    ok: false,
    errors: {
      'first-name': 'Required.',
      'last-name': 'Required.',
      email: 'Required.',
      'accept-terms': 'Please accept terms of service.',
      'bot-check': 'Please verify you are a human.',
    },
  });
});

test('one wrong field is refused without the others', (t) => {
  const rows: [RegistrationField, string, string, string?][] = [
    ['first-name', ' ', 'Required.'],
    ['first-name', 'Ada\r\nBcc: eve@example.com', oneLine, 'header injection'],
    ['last-name', 'Love\u0000lace', oneLine],
    ['last-name', 'Love\u2028lace', oneLine, 'a line separator ends a line in some mail programs'],
    ['first-name', '\u202Eada', oneLine, 'reverses the text around it'],
    ['first-name', 'A\u200Bda', oneLine, 'a zero-width space hides in a name'],
    ['first-name', '\u200d\u200c', 'Required.', 'joiners alone show nothing'],
    ['first-name', '\uD800', oneLine, 'half a character'],
    ['first-name', 'a'.repeat(101), 'Must be at most 100 characters; this has 101.'],
    ['company', 'c'.repeat(201), 'Must be at most 200 characters; this has 201.'],
    ['github-link', 'https://github.com/ada\nX: y', oneLine],
    ['twitter-link', 'a\tb', oneLine],
    ['email', 'ada', 'Not a valid email address.'],
    ['accept-terms', '', 'Please accept terms of service.'],
    ['accept-terms', 'false', 'Please accept terms of service.', 'an unticked box that a script sent'],
    ['accept-terms', 'off', 'Please accept terms of service.'],
    ['bot-check', '', 'Please verify you are a human.'],
  ];
  eachCase(t, rows, ([field, value, message]) =>
    assert.deepEqual(parseRegistration({ ...complete, [field]: value }), { ok: false, errors: { [field]: message } }),
  );
});

test('names of the world are names', (t) => {
  const rows = [
    "D'Arcy",
    'José',
    '李',
    'Nguyễn Thị',
    'Łukasz',
    'عائشة',
    'می\u200cخواهم',
    'Zoë-Mae',
    '👩\u200d🚀',
    'a'.repeat(100),
  ];
  eachCase(t, rows, (name) => assert.equal(parseRegistration({ ...complete, 'first-name': name }).ok, true));
});

test('no accepted field spans two lines, whatever is sent', () => {
  const text = fc.string({ unit: fc.constantFrom('a', ' ', '\r', '\n', '\u0085', '\u2028', '\u2029', '\0', 'é') });
  fc.assert(
    fc.property(fc.constantFrom(...registrationFields), text, (field, value) => {
      const parsed = parseRegistration({ ...complete, [field]: value });
      if (!parsed.ok || field === 'bot-check') return;
      for (const kept of Object.values(parsed.value)) assert.doesNotMatch(kept, /[\r\n\u0085\u2028\u2029\0]/);
    }),
    { numRuns: 1000 },
  );
});

test('a project is named in one line', (t) => {
  const rows: [string, string | null][] = [
    [' Home lab ', 'Home lab'],
    ['../..', '../..'],
    ['', null],
    ['a\nb', null],
    ['p'.repeat(63), 'p'.repeat(63)],
    ['p'.repeat(64), null],
  ];
  eachCase(t, rows, ([text, name]) => {
    const parsed = parseProjectName(text);
    assert.equal(parsed.ok ? parsed.value : null, name);
  });
});
