import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decidePath } from './path-match.ts';
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
    assert.equal(decidePath(rules, target).action, action));
}

test('a path with more readings than an honest one is denied, at a bounded cost', () => {
  const worst = ['..%2f%5c;a//%252e%252e', '%25', '..;/', '%ef%bc%8f', ';', '/.', '%c0%ae', '\\', '%', '%2525', '. /', '//..'];
  for (const piece of worst) {
    const target = `/docs/${piece.repeat(16_384 / piece.length)}`;
    const startMs = performance.now();
    decidePath(rules, target);
    assert.ok(performance.now() - startMs < 100, `${piece} took ${performance.now() - startMs} ms`);
  }
  assert.equal(decidePath(rules, `/docs/${worst[0]!.repeat(50)}`).action, 'deny');
});

test('without rules every path needs a sign-in', () => {
  assert.deepEqual(decidePath([], '/docs'), { action: 'sign-in', rule: null });
});
