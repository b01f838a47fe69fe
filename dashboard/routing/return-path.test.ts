// Where a sign-in leads back to; what storage holds may have been written by anybody.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseKeptPath } from './return-path.ts';

const NOW = 1_000;

const CASES: readonly (readonly [name: string, stored: string | null, path: string | undefined])[] = [
  ['a fresh path is answered', '{"path":"/activate?code=BCDF-GHJK","untilMs":1001}', '/activate?code=BCDF-GHJK'],
  ['an old one is not', '{"path":"/activate","untilMs":1000}', undefined],
  ['nothing was kept', null, undefined],
  ['another site is refused', '{"path":"https://evil.example/","untilMs":9999}', undefined],
  ['a protocol-relative address is refused', '{"path":"//evil.example/","untilMs":9999}', undefined],
  ['a backslash that browsers read as a slash is refused', '{"path":"/\\\\evil.example/","untilMs":9999}', undefined],
  ['broken JSON is nothing', '{', undefined],
  ['a list is nothing', '[]', undefined],
  ['their own page is answered', '{"path":"/account","untilMs":9999,"email":"ada@example.com"}', '/account'],
  ["another person's is not", '{"path":"/account","untilMs":9999,"email":"bob@example.com"}', undefined],
  ['other types are nothing', '{"path":1,"untilMs":"x"}', undefined],
];

for (const [name, stored, path] of CASES) {
  test(name, () => assert.equal(parseKeptPath(stored, NOW, 'ada@example.com'), path));
}
