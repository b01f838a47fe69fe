// The path to return to after sign-in. Local storage may contain anything.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseKeptPath } from './return-path.ts';

const now = 1_000;

const cases: readonly (readonly [name: string, stored: string | null, path: string | undefined])[] = [
  ['a fresh path is used', '{"path":"/download?os=linux","untilMs":1001}', '/download?os=linux'],
  ['an expired path is ignored', '{"path":"/activate","untilMs":1000}', undefined],
  ['nothing is stored', null, undefined],
  ['another site is refused', '{"path":"https://evil.example/","untilMs":9999}', undefined],
  ['a protocol-relative address is refused', '{"path":"//evil.example/","untilMs":9999}', undefined],
  ['a backslash that browsers read as a slash is refused', '{"path":"/\\\\evil.example/","untilMs":9999}', undefined],
  ['broken JSON is ignored', '{', undefined],
  ['a list is ignored', '[]', undefined],
  ["the user's own page is used", '{"path":"/account","untilMs":9999,"email":"ada@example.com"}', '/account'],
  ["another user's page is ignored", '{"path":"/account","untilMs":9999,"email":"bob@example.com"}', undefined],
  ['wrong types are ignored', '{"path":1,"untilMs":"x"}', undefined],
];

for (const [name, stored, path] of cases) {
  test(name, () => assert.equal(parseKeptPath(stored, now, 'ada@example.com'), path));
}
