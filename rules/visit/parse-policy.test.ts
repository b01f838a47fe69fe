import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachAccepted, eachCase, eachRefused } from '../test-kit.ts';
import { parseOrigin, parseOrigins } from './parse-origins.ts';
import { parsePathPattern, parsePathRules } from './parse-path-rules.ts';
import { parsePeople, parsePerson } from './parse-people.ts';
import { parseIssuer, parseProvider } from './parse-provider.ts';
import { parseSessionHours, parseTokenHeader, parseVisitPassword } from './parse-settings.ts';
import { compilePaths } from './path-match.ts';
import { policyLimits } from './policy-limits.ts';

test('accepts paths in one spelling', (t) => {
  eachAccepted(t, parsePathPattern, [
    ['/', '/'],
    ['/*', '/*'],
    [' /docs/* ', '/docs/*'],
    ['/docs/', '/docs/', 'one page of a folder'],
    ['/Docs', '/Docs', 'case stays'],
    ['/a b/ü', '/a b/ü', 'decoded'],
    ['/.well-known/x', '/.well-known/x', 'a dot alone is no segment here'],
    ['/...', '/...'],
  ]);
});

test('refuses a path that a server could read as another, and says what to do', (t) => {
  const rows: [string, string][] = [
    ['', 'Path is required.'],
    ['docs', "Path must begin with '/'."],
    ['*', "Path must begin with '/'."],
    ['https://a.example/x', "Path must begin with '/'."],
    ['/a?b', "Path must not hold '?': a rule looks at the path alone."],
    ['/a#b', "Call 'b' must begin with an MCP method, as in '/mcp#tools/call delete_*'."],
    ['/a#', "Call '' must begin with an MCP method, as in '/mcp#tools/call delete_*'."],
    ['/a#tools/* x', "Call 'tools/* x' must name one method before the name of a tool."],
    ['/a#tools/call a*b', "The name in call 'tools/call a*b' must be printable ASCII and may hold '*' only at its end."],
    ['/a#tools/call é', "The name in call 'tools/call é' must be printable ASCII and may hold '*' only at its end."],
    ['#tools/list', 'Path is required.'],
    ['/a\\b', "Path must not hold a backslash. Use '/'."],
    ['/a;v=1', "Path must not hold ';'. Parameters of a path do not count for a rule."],
    ['/%61', "Path must not hold '%'. Write the character itself."],
    ['/a%2Fb', "Path must not hold '%'. Write the character itself."],
    ['/a//b', "Path must not hold '//'."],
    ['/a/../b', "Path must not hold '.' or '..' as a part."],
    ['/a/.', "Path must not hold '.' or '..' as a part."],
    ['/a*', "Path may hold '*' only as its last part, as in '/docs/*'."],
    ['/*/b', "Path may hold '*' only as its last part, as in '/docs/*'."],
    ['/a\u202eb', 'Path must be visible characters.'],
    [`/${'x'.repeat(512)}`, 'Path must be at most 512 characters; this has 513.'],
  ];
  eachCase(t, rows, ([text, message]) => assert.deepEqual(parsePathPattern(text), { ok: false, message }));
});

test('a rule decides its own path, for each path that it accepts', () => {
  const segment = fc.string({ minLength: 1, maxLength: 8, unit: fc.constantFrom(...'abcXYZ0129-_~.!$&(),=:@üß ') });
  fc.assert(
    fc.property(fc.array(segment, { minLength: 1, maxLength: 4 }), (segments) => {
      const path = parsePathPattern(`/${segments.join('/')}`);
      if (!path.ok) return;
      const rule = { path: path.value, action: 'deny' } as const;
      assert.deepEqual(compilePaths([rule])(encodeURI(path.value)), { action: 'deny', rule });
    }),
  );
});

test('refuses a second rule for one path, an unknown action and too many rules', () => {
  const two = [
    { path: '/a', action: 'public' },
    { path: ' /a', action: 'deny' },
  ];
  assert.deepEqual(parsePathRules(two), { ok: false, message: "Path '/a' has two rules. Remove one." });
  assert.equal(parsePathRules([{ path: '/a', action: 'allow' }]).ok, false);
  const many = Array.from({ length: policyLimits.rules + 1 }, (_, i) => ({ path: `/${i}`, action: 'deny' }));
  assert.deepEqual(parsePathRules(many), { ok: false, message: 'Provide at most 100 path rules; this list has 101.' });
  assert.deepEqual(parsePathRules([]), { ok: true, value: [] });
});

test('accepts people by address and by domain, in lower case', (t) => {
  eachAccepted(t, parsePerson, [
    [' Ann@Firm.com', 'ann@firm.com'],
    ['*@Firm.COM', '*@firm.com'],
    ['*@bücher.example', '*@xn--bcher-kva.example'],
  ]);
  assert.deepEqual(parsePeople(['a@x.com', 'A@x.com', '*@x.com']), { ok: true, value: ['a@x.com', '*@x.com'] });
});

test('accepts origins as browsers send them', (t) => {
  eachAccepted(t, parseOrigin, [
    [' https://App.example.com ', 'https://app.example.com'],
    ['https://app.example.com/', 'https://app.example.com'],
    ['https://app.example.com:443', 'https://app.example.com', 'the usual port is left out'],
    ['https://app.example.com:8443', 'https://app.example.com:8443'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ]);
  assert.deepEqual(parseOrigins(['https://a.example', 'https://A.example/']), { ok: true, value: ['https://a.example'] });
});

test('refuses what is no origin, and a page without TLS', () => {
  for (const text of [
    ...['', '*', 'null', 'app.example.com', 'http://app.example.com', 'https://', 'https://a.example/x', 'https://a.example?x'],
    ...['https://a.example#', 'https://a@b.example', 'https://*.example.com', 'https:\\\\a.example', 'javascript:alert(1)'],
  ])
    assert.equal(parseOrigin(text).ok, false, text);
  assert.equal(parseOrigins(Array.from({ length: policyLimits.origins + 1 }, (_, i) => `https://a${i}.example`)).ok, false);
});

test('refuses a text that is neither an address nor a domain', (t) => {
  eachRefused(t, parsePerson, 'Required.', [[''], [' ']]);
  for (const text of ['*', '*@', '*@com', 'firm.com', '@firm.com', '*ann@firm.com', '*@*.firm.com', 'a@b@c.com', '*@firm.com ;'])
    assert.equal(parsePerson(text).ok, false, text);
});

const outside = { plainLoopback: false };
const parseOutside = (text: string) => parseIssuer(text, outside);

test('accepts an issuer as its provider writes it', (t) => {
  eachAccepted(t, parseOutside, [
    ['https://accounts.google.com', 'https://accounts.google.com', 'no slash is added'],
    ['https://id.example/realms/a', 'https://id.example/realms/a'],
    ['https://tenant.auth0.example/', 'https://tenant.auth0.example/', 'a slash of its own stays'],
    ['https://id.example:8443', 'https://id.example:8443'],
  ]);
  assert.equal(parseIssuer('http://127.0.0.1:3000', { plainLoopback: true }).ok, true);
});

test('refuses an issuer that no visitor can be sent to safely', () => {
  for (const text of ['', 'x', 'http://id.example', 'http://127.0.0.1:3000', 'ftp://a.example', 'javascript:alert(1)'])
    assert.equal(parseIssuer(text, outside).ok, false, text);
  for (const text of [
    'https://u:p@id.example',
    'https://id.example/?a',
    'https://id.example/#a',
    `https://a.example/${'x'.repeat(600)}`,
  ])
    assert.equal(parseIssuer(text, outside).ok, false, text);
  assert.equal(parseIssuer('http://127.0.0.1.evil.example', { plainLoopback: true }).ok, false);
});

test('refuses a provider that admits nobody, and fills in the label and the claim', () => {
  const given = { issuer: 'https://id.example', clientId: 'c' };
  assert.deepEqual(parseProvider(given, outside), {
    ok: false,
    message: "List who may sign in: an email address, '*@' and a domain, or a group.",
  });
  assert.deepEqual(parseProvider({ ...given, groups: ['staff', 'staff'], label: ' ' }, outside), {
    ok: true,
    value: { ...given, label: 'id.example', people: [], groupClaim: 'groups', groups: ['staff'] },
  });
});

test('a token’s header is in lower case, and none that decides about the request or names the visitor', (t) => {
  eachAccepted(t, parseTokenHeader, [
    ['', 'authorization'],
    ['Authorization', 'authorization'],
    [' X-Api-Key ', 'x-api-key'],
  ]);
  const owned = ['Host', 'Cookie', 'Connection', 'Content-Length', 'Transfer-Encoding', 'X-Forwarded-For', 'X-Underpass-User'];
  for (const name of [
    ...owned,
    'x_underpass_user',
    'X-Client-IP',
    'X-Original-URL',
    'x.real.ip',
    'True-Client-IP',
    'Via',
    'Sec-Fetch-Mode',
    'Proxy-Authorization',
    'Te',
    'a b',
    'a:b',
    'ä',
    'x'.repeat(65),
  ])
    assert.equal(parseTokenHeader(name).ok, false, name);
  const message = "Header 'x-client-ip' already has a meaning of its own. Choose another, such as 'X-Api-Key'.";
  assert.deepEqual(parseTokenHeader('X-Client-IP'), { ok: false, message });
});

test('sessions and passwords have bounds', () => {
  for (const hours of [0, 1.5, 721, -1, Number.NaN]) assert.equal(parseSessionHours(hours).ok, false, String(hours));
  assert.deepEqual(parseSessionHours(720), { ok: true, value: 720 });
  assert.equal(parseVisitPassword('1234567').ok, false);
  assert.equal(parseVisitPassword('x'.repeat(201)).ok, false);
  assert.equal(parseVisitPassword('12345678\n').ok, false);
  assert.deepEqual(parseVisitPassword('  pässword '), { ok: true, value: '  pässword ' }, 'one spelling of ä, blanks stay');
});
