import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compilePaths, pathReadings } from './path-match.ts';
import type { PathRule } from './path-rule.ts';

const rules: readonly PathRule[] = [
  { path: '/docs/admin/*', action: 'deny' },
  { path: '/docs/*', action: 'public' },
  { path: '/about', action: 'public' },
  { path: '/über', action: 'public' },
  { path: '/a b', action: 'public' },
  { path: '/Mail', action: 'deny' },
];

const cases: readonly (readonly [target: string, action: string, why?: string])[] = [
  ['/', 'sign-in', 'no rule matches'],
  ['/docs', 'public'],
  ['/docs/', 'public'],
  ['/docs/x?next=/../../docs/admin', 'public', 'the query is no path'],
  ['/docsx', 'sign-in'],
  ['/DOCS/x', 'sign-in', 'public means exactly what it says'],
  ['/docs/ADMIN/', 'deny', 'deny covers any letter case'],
  ['/docs/admin', 'deny', 'the first rule wins'],
  ['/about', 'public'],
  ['/about/', 'sign-in', 'another path'],
  ['/about/x', 'sign-in'],
  ['/mail/', 'deny', 'deny covers a last slash'],
  ['/mail/x', 'sign-in', 'this path alone'],
  ['/%C3%BCber', 'public'],
  ['/a%20b', 'public'],
  ['/%61bout', 'sign-in', 'a server that does not decode takes it for another path'],
  ['/docs/100%25', 'public'],
  ['/docs/%2525', 'sign-in', 'decoded a third time it fails'],
  ['/docs/%25252541', 'sign-in', 'decoded a third time it still changes'],
  ['/docs/%', 'sign-in'],
  ['/docs/%zz', 'sign-in'],
  ['/docs/%e9', 'sign-in', 'not UTF-8'],
  ['/docs/%c0%ae', 'sign-in', 'overlong'],
  ['/docs/%u0041', 'sign-in'],
  ['/docs/%00', 'sign-in'],
  ['/docs/%0d%0a', 'sign-in'],
  ['/docs/\xe9', 'sign-in', 'a raw byte outside ASCII'],
  ['*', 'sign-in'],
  ['', 'sign-in'],
  ['docs/x', 'sign-in'],
  ['/docs/x/..%2fadmin', 'deny'],
  ['/docs/x/..;/admin', 'deny'],
  ['/docs/a%20b/..;/admin', 'deny'],
  ['/docs/admin%20', 'deny', 'Windows drops a space at the end of a name'],
  ['/docs/admin%20/x', 'deny', 'the same within the path'],
  ['/docs/adm%69n', 'deny'],
  ['/docs/%c0%ae%c0%ae/docs/admin', 'deny', 'malformed and still read'],
  ['//host/docs/admin', 'deny', '`new URL` takes "host" for a host'],
];
for (const [target, action, why] of cases) {
  test(`${JSON.stringify(target)} is ${action}${why === undefined ? '' : `: ${why}`}`, () =>
    assert.equal(compilePaths(rules)(target).action, action));
}

const busyMs = (): number => process.threadCpuUsage().user / 1_000;

test('a path with more readings than an honest one is denied, at a bounded cost', () => {
  const worst = [
    '..%2f%5c;a//%252e%252e',
    '%25',
    '..;/',
    '%ef%bc%8f',
    ';',
    '/.',
    '%c0%ae',
    '\\',
    '%',
    '%2525',
    '. /',
    '//..',
    '%ef%b7%ba;',
  ];
  for (const piece of worst) {
    const target = `/docs/${piece.repeat(16_384 / piece.length)}`;
    const startMs = busyMs();
    compilePaths(rules)(target);
    const tookMs = busyMs() - startMs;
    assert.ok(tookMs < 100, `${piece} took ${tookMs} ms`);
  }
  assert.equal(compilePaths(rules)(`/docs/${worst[0]!.repeat(50)}`).action, 'deny');
});

const rulesOf = (...rules: readonly (readonly [path: string, action: PathRule['action']])[]) =>
  compilePaths(rules.map(([path, action]) => ({ path, action })));

test('escapes are decoded as decodeURIComponent does, without an exception for each broken run', (t) => {
  const pieces = [
    '%20',
    '%7D',
    '%c3%a9',
    '%C3',
    '%A9',
    '%e2%82%ac',
    '%e0%80%80',
    '%ed%a0%80',
    '%f0%9f%98%80',
    '%f4%90%80%80',
    '%c0%af',
  ];
  const runs = pieces.flatMap((one) => pieces.flatMap((two) => pieces.map((three) => one + two + three)));
  const decoded = (run: string): string => {
    try {
      return decodeURIComponent(run);
    } catch {
      return run;
    }
  };
  for (const run of [...pieces, ...runs]) assert.equal([...pathReadings(`/${run}`)!][0], `/${decoded(run)}`, run);
  const decode = t.mock.method(globalThis, 'decodeURIComponent');
  assert.equal(rulesOf(['/public/*', 'public'])(`/public/${'%80a'.repeat(4_000)}`).action, 'sign-in');
  const thrown = decode.mock.calls.filter(({ error }) => error !== undefined).length;
  assert.ok(thrown < 100, `${thrown} exceptions for one path take an edge 10 ms`);
});

test('a rule that only a folding server matches hides no stricter rule after it', () => {
  const folds: readonly (readonly [first: string, second: string, target: string, server: string])[] = [
    ['/Admin/*', '/admin/*', '/admin/x', 'tells upper from lower case'],
    ['/É/*', '/e/*', '/%C3%A9/x', 'drops marks'],
    ['/straße/*', '/strasse/*', '/STRASSE/x', 'has no other upper case for ß'],
    ['/ﬁle/*', '/file/*', '/file', 'does not normalise'],
    ['/mail', '/mail/*', '/mail/', 'does not ignore a last slash'],
  ];
  for (const [first, second, target, server] of folds)
    assert.equal(rulesOf([first, 'sign-in'], [second, 'deny'])(target).action, 'deny', `${target} at a server that ${server}`);
});

test('a rule that every server matches decides before the rules after it', () => {
  const decide = rulesOf(['/Admin/*', 'sign-in'], ['/admin/*', 'deny'], ['/café/*', 'public'], ['/*', 'deny']);
  for (const [target, action] of [
    ['/Admin/x', 'sign-in'],
    ['/caf%C3%A9/x', 'public'],
    ['/x', 'deny'],
  ] as const)
    assert.equal(decide(target).action, action, target);
});

test('honest paths outside ASCII stay public', () => {
  const decide = rulesOf(
    ['/private/*', 'sign-in'],
    ['/日本語/管理/*', 'deny'],
    ['/日本語/*', 'public'],
    ['/café', 'public'],
    ['/Straße', 'public'],
    ['/会社（株）', 'public'],
    ['/①', 'public'],
    ['/हिन्दी/*', 'public'],
  );
  for (const path of ['/日本語/ページ', '/café', '/Straße', '/会社（株）', '/①', '/हिन्दी/पृष्ठ'])
    assert.equal(decide(encodeURI(path)).action, 'public', path);
  assert.equal(decide(encodeURI('/日本語/管理/x')).action, 'deny');
});

test('a request that acts on a folder needs what the strictest rule within it needs', () => {
  const decide = rulesOf(['/docs/admin/*', 'deny'], ['/docs/Team', 'sign-in'], ['/docs/*', 'public'], ['/files/*', 'public']);
  for (const [target, action] of [
    ['/docs', 'deny'],
    ['/docs/', 'deny'],
    ['/docs/x/..', 'deny'],
    ['/DOCS/ADMIN', 'deny'],
    ['/docs/x', 'public'],
    ['/docs/team', 'sign-in'],
    ['/files/a%20b', 'public'],
    ['/', 'deny'],
  ] as const)
    assert.equal(decide(target, 'tree').action, action, target);
});

test('a request that may name any path needs what the strictest rule of all needs', () => {
  assert.equal(rulesOf(['/*', 'public'])('/x', 'service').action, 'sign-in');
  assert.equal(rulesOf(['/*', 'public'], ['/admin', 'deny'])('/x', 'service').action, 'deny');
  assert.equal(rulesOf()('/x', 'service').action, 'sign-in');
});

test('without rules every path needs a sign-in', () => {
  assert.deepEqual(compilePaths([])('/docs'), { action: 'sign-in', rule: null });
});
