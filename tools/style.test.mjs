import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkStyle, declarationProblems, openingProblems, renderProblems, typeNameProblems } from './style.mjs';

const refused = [
  ['/** Of one attempt. */\nconst connectTimeoutMs = 3_000;', 1, 'a comment of a constant'],
  ['interface Proof {\n  /** Without a wildcard label. */\n  readonly host: string;\n}', 2, 'a comment of a member'],
  ['/**\n * By then, the edge has gone.\n */\nexport function end() {}', 1, 'a comment of several lines'],
  ['\n// Also replaces the keys,\n// and more.\nexport const signOut = () => {};', 2, 'line comments above a declaration'],
  ['// For tests: a store in memory.\nimport { a } from "./a.ts";', 1, 'the heading of a file'],
  ['#!/usr/bin/env node\n// In place of npm.\n', 2, 'the heading below the line that names the program'],
  ['/** If: both. */\nlet a;', 1, 'a word before a colon'],
];

const allowed = [
  ['/** Time for one attempt. */\nconst connectTimeoutMs = 3_000;', 'a noun'],
  ['/** Adds the rates of several edges. */\nexport function addRates() {}', 'a verb'],
  ['/** When the certificate ends. */\nconst untilMs = 1;', 'a question that the value answers'],
  ['/** Origin of requests. */\nconst origin = "";', 'a word that only begins like a refused one'],
  ['const a = () => {\n  // Before the groups that they refer to.\n  const b = 1;\n};', 'a remark on a step of a function'],
  ['call();\n// After the call, the lock is free.\nnext();', 'a remark on a statement'],
  ['// Reads a page.\n// In order.\nexport const read = 1;', 'a later line'],
];

for (const [source, line, why] of refused)
  test(`refuses ${why}`, () => assert.match(openingProblems('a.ts', source).join('\n'), new RegExp(`^a\\.ts:${line}: begins`)));

for (const [source, why] of allowed) test(`accepts ${why}`, () => assert.deepEqual(openingProblems('a.ts', source), []));

const undeclared = [
  'const end = () => {\n};',
  'export const send = async <T>(a: T, then = (b) => b): Promise<void> => {\n};',
  'const set = (\n  a: string,\n): void => {\n};',
];
for (const source of undeclared)
  test(`refuses ${source.split('\n')[0]}`, () =>
    assert.match(declarationProblems('a.ts', source).join(), /^a\.ts:1: '\w+' has a body/));

test('accepts one expression, a typed constant, and a function inside another', () => {
  const source = 'const a = () => 1;\nconst b: Handler = () => {\n};\nfunction c() {\n  const d = () => {\n  };\n}\n';
  assert.deepEqual(declarationProblems('a.ts', source), []);
});

test('refuses a ref that is written while rendering, and an effect of every render', () => {
  const bodies = [
    ['  latest.current = work;', 'a ref'],
    ['  if (open) shown.current = open;', 'a ref'],
    ['  useEffect(() => keep(steps));', 'an effect'],
    ['  useLayoutEffect(() => {\n    keep(steps);\n\n    go();\n  });', 'an effect'],
  ];
  for (const [body, what] of bodies)
    assert.match(renderProblems('a.ts', `function useA() {\n${body}\n}\n`).join(), new RegExp(`^a\\.ts:2: .*${what}`));
});

test('accepts a ref that is written in an effect or a handler, and effects that name what they depend on', () => {
  const source =
    'function useA() {\n  useEffect(() => {\n    b.current = c;\n  }, [c]);\n  useEffect(() => keep(c), [c]);\n  if (b.current === c) d();\n}\n';
  assert.deepEqual(renderProblems('a.ts', source), []);
});

test('an exported type has its name for itself in its workspace', () => {
  const kinds = ['export interface A {}', 'export type A = 1;', 'export declare abstract class A {}'];
  for (const source of kinds)
    assert.match(
      typeNameProblems([
        ['rules/a.ts', source],
        ['rules/b/c.ts', kinds[0]],
      ]).join(),
      /^rules\/b\/c\.ts: .*'A', as rules\/a\.ts/,
    );
  const others = ['interface A {}', 'export const A = 1;', 'export type AB = 1;'];
  for (const source of others)
    assert.deepEqual(
      typeNameProblems([
        ['rules/a.ts', source],
        ['rules/b.ts', kinds[0]],
      ]),
      [],
    );
  assert.deepEqual(
    typeNameProblems([
      ['rules/a.ts', kinds[0]],
      ['wire/a.ts', kinds[0]],
    ]),
    [],
  );
  assert.deepEqual(typeNameProblems([['rules/a.ts', `${kinds[1]}\n${kinds[1]}`]]), []);
});

test('this repository keeps the style', () => {
  const { read, problems } = checkStyle(dirname(dirname(fileURLToPath(import.meta.url))));
  assert.ok(read > 300, `only ${read} files were read`);
  assert.deepEqual(problems, []);
});
