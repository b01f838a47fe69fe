import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachAccepted, eachRefused } from '../test-kit.ts';
import { abuseTextMaxChars, parseAbuseReport, parseReportedHost } from './abuse-report.ts';

const complete = {
  host: 'https://Bad.Example.com/login?x=1',
  email: 'Eve@Example.org',
  text: ' It copies our bank.\n',
  'bot-check': 'proof',
};

test('a complete report gives host, e-mail and text in canonical form', () => {
  assert.deepEqual(parseAbuseReport(complete), {
    ok: true,
    value: { host: 'bad.example.com', email: 'eve@example.org', text: 'It copies our bank.', botCheck: 'proof' },
  });
});

test('each field is refused with its own text, all at once', () => {
  assert.deepEqual(parseAbuseReport({}), {
    ok: false,
    errors: { host: 'Required.', email: 'Required.', text: 'Required.', 'bot-check': 'Please verify you are a human.' },
  });
});

test('a text over the bound is refused with both numbers', () => {
  assert.deepEqual(parseAbuseReport({ ...complete, text: 'x'.repeat(abuseTextMaxChars + 1) }), {
    ok: false,
    errors: { text: 'Must be at most 4000 characters; this has 4001.' },
  });
});

test('reads the host from an address as the address bar shows it', (t) => {
  eachAccepted(t, parseReportedHost, [
    ['app.example.com', 'app.example.com'],
    ['HTTPS://app.example.com', 'app.example.com'],
    ['http://app.example.com:8443/a/b?c#d', 'app.example.com'],
    ['app.example.com/path', 'app.example.com'],
    [' app.example.com ', 'app.example.com'],
  ]);
});

test('refuses input without a public host', (t) => {
  eachRefused(t, parseReportedHost, 'Please enter a valid address, such as app.example.com.', [
    ['localhost', 'a name with no dot is nobody’s tunnel'],
    ['https://'],
    ['mailto:a@b.example'],
    ['user@app.example.com', 'userinfo hides the real host'],
    ['app example com'],
    ['x'.repeat(5000)],
  ]);
});
