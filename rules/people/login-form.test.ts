import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { botCheckMaxChars, parseBotCheck } from './bot-check.ts';
import { type LoginField, parseLoginForm } from './login-form.ts';

const verify = 'Please verify you are a human.';

test('a complete form gives the canonical e-mail and the answer of the bot check', () => {
  assert.deepEqual(parseLoginForm({ email: ' Ada@Example.com', 'bot-check': 'proof' }), {
    ok: true,
    value: { email: 'ada@example.com', botCheck: 'proof' },
  });
});

test('each field is refused with its own text, all at once', (t) => {
  const rows: [Partial<Record<LoginField, string>>, Partial<Record<LoginField, string>>][] = [
    [{}, { email: 'Required.', 'bot-check': verify }],
    [
      { email: '', 'bot-check': '' },
      { email: 'Required.', 'bot-check': verify },
    ],
    [{ email: 'ada', 'bot-check': 'proof' }, { email: 'Not a valid email address.' }],
    [{ email: 'ada@example.com' }, { 'bot-check': verify }],
    [{ email: 'ada@example.com', 'bot-check': ' \n' }, { 'bot-check': verify }],
    [{ email: 'ada@example.com', 'bot-check': 'x'.repeat(botCheckMaxChars + 1) }, { 'bot-check': verify }],
  ];
  eachCase(t, rows, ([fields, errors]) => assert.deepEqual(parseLoginForm(fields), { ok: false, errors }));
});

test('passes the longest answer of a bot check on unchanged', () => {
  const answer = ` ${'x'.repeat(botCheckMaxChars - 2)} `;
  assert.deepEqual(parseBotCheck(answer), { ok: true, value: answer });
});
