import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkOpenings, openingProblems } from './openings.mjs';

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

test('every comment of this repository begins with its subject', () => {
  const { read, problems } = checkOpenings(dirname(dirname(fileURLToPath(import.meta.url))));
  assert.ok(read > 300, `only ${read} files were read`);
  assert.deepEqual(problems, []);
});
