import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Upstream } from '../tunnel/upstream.ts';
import { compilePaths } from './path-match.ts';
import { chooseUpstream, targetBelow } from './upstream-path.ts';

const upstream: Upstream = { scheme: 'http', host: '127.0.0.1', port: 3000 };
const below: Upstream = { ...upstream, base: '/base' };
const root = { upstream };
const api = { path: '/api', upstream };
const v2 = { path: '/api/v2', upstream };
const names = new Map<unknown, string>([
  [root, 'root'],
  [api, 'api'],
  [v2, 'v2'],
  [null, 'none'],
  ['unclear', 'unclear'],
]);

describe('the upstream that serves a path', () => {
  const rows: readonly (readonly [string, string, string?])[] = [
    ['/', 'root'],
    ['/x', 'root'],
    ['/api', 'api'],
    ['/api/', 'api'],
    ['/api?x=/api/v2', 'api', 'a query is no path'],
    ['/api/x', 'api'],
    ['/apix', 'root', 'a prefix ends with its segment'],
    ['/api-x/v2', 'root'],
    ['/api/v2', 'v2', 'the longest wins'],
    ['/api/v2x', 'api'],
    ['/API/x', 'root', 'letter case counts'],
    ['/x/api', 'root'],
    ['/api/%20x', 'api'],
    ['/api/a%2Fb', 'api', 'all readings are below it'],
    ['/api/../x', 'unclear'],
    ['/api/%2e%2e/x', 'unclear'],
    ['/api%2fx', 'unclear'],
    ['/api/v2/..%2fx', 'unclear'],
    ['/x/..%2fapi', 'unclear'],
    ['//api/x', 'unclear'],
    ['/api\\x', 'unclear'],
    ['/api;v=1/x', 'unclear'],
    ['/%61pi/x', 'unclear'],
    ['/api%00/x', 'unclear'],
    ['/api%3f/x', 'unclear'],
    ['*', 'unclear'],
    ['', 'unclear'],
  ];
  for (const [target, expected, why] of rows) {
    it(`${target === '' ? 'of nothing' : `of ${target}`} is ${expected}${why === undefined ? '' : `: ${why}`}`, () => {
      assert.equal(names.get(chooseUpstream([root, v2, api], target)), expected);
    });
  }

  it('is none where no upstream has the rest', () => assert.equal(chooseUpstream([api], '/x'), null));
});

describe('a target below the base of its upstream', () => {
  const rows: readonly (readonly [string, string | null])[] = [
    ['/', '/base/'],
    ['/x?y=/../z', '/base/x?y=/../z'],
    ['/a..b/.c/d', '/base/a..b/.c/d'],
    ['/a//b', '/base/a//b'],
    ['/a%2fb', '/base/a%2fb'],
    ['/..', null],
    ['/../x', null],
    ['/../basex', null],
    ['/a/../b', null],
    ['/a/../../x', null],
    ['/../base/admin', null],
    ['/..%20/x', null],
    ['/.%20./x', null],
    ['/%2e%2e/x', null],
    ['/.%2e/x', null],
    ['/%252e%252e/x', null],
    ['/..%2fx', null],
    ['/..%5cx', null],
    ['/..\\x', null],
    ['/..;/x', null],
    ['/..%00/x', null],
    ['/%c0%ae%c0%ae/x', null],
    ['/%u002e%u002e/x', null],
    ['/.. /x', null],
  ];
  for (const [target, expected] of rows) {
    it(`${target} is ${expected ?? 'refused'}`, () => assert.equal(targetBelow(below, target), expected));
  }

  it('is judged in linear time: one visitor must not hold up all others', () => {
    const before = performance.now();
    for (const tail of ['', 'a', '/a', ' ', ' /.'])
      for (const long of ['.'.repeat(16_000), '. '.repeat(8000), '/..'.repeat(5000), '/'.repeat(16_000), ';'.repeat(16_000)])
        targetBelow(below, `/${long}${tail}`);
    assert.ok(performance.now() - before < 2000);
  });

  it('stays as it is without a base', () => assert.equal(targetBelow(upstream, '/../x'), '/../x'));

  it('never leaves the base for a server that decodes and resolves, in whatever order', () => {
    const piece = fc.constantFrom(
      '..',
      '.',
      '%2e',
      '%2E',
      '/',
      '%2f',
      '\\',
      '%5c',
      ';',
      'a',
      '%25',
      '2e',
      'base',
      '?',
      '%00',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const moved = targetBelow(below, `/${pieces.join('')}`);
        if (moved === null) return;
        const path = moved.split('?')[0]!;
        for (const how of [path, decoded(path), decoded(decoded(path)), decoded(path).replaceAll('\\', '/')])
          assert.match(`${new URL(how.replaceAll('?', '%3f').replaceAll('#', '%23'), 'http://a').pathname}/`, /^\/base\//);
      }),
      { numRuns: 5000 },
    );
  });

  it('is judged by the rules as the visitor wrote it', () => {
    const decide = compilePaths([{ path: '/admin/*', action: 'deny' }]);
    // The rule names what visitors see: with the base /base the service gets /base/admin.
    assert.equal(decide('/admin/x').action, 'deny');
    assert.equal(targetBelow(below, '/admin/x'), '/base/admin/x');
    // Each spelling that the upstream could take for /base/admin is denied or refused.
    for (const target of ['/x/../admin/x', '/./admin', '/%61dmin', '//admin', '/ADMIN', '/../base/admin']) {
      const denied = decide(target).action === 'deny';
      assert.ok(denied || targetBelow(below, target) === null, target);
    }
  });
});

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
