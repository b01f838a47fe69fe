import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { unchangedMappings, unmapProgram } from './program-pages.ts';

const mapping = (head: string, anonymousKb: number): string =>
  `${head}\nSize:               8192 kB\nRss:                4096 kB\nAnonymous:       ${anonymousKb} kB\nVmFlags: rd ex mr mw me\n`;
const code = '01a40000-01a42000 r-xp 01838000 fe:00 5694489                            /usr/bin/under pass (deleted)';

const kept: readonly (readonly [head: string, anonymousKb: number, why: string])[] = [
  [code, 12, 'a page was written before it was protected: the file has other bytes'],
  ['0684a000-06868000 rw-p 06641000 fe:00 5694489 /usr/bin/underpass', 0, 'may be written at any time'],
  ['7f0000000000-7f0000002000 r-xp 00000000 00:00 0', 0, 'belongs to no file: compiled JavaScript'],
  ['7f0000000000-7f0000002000 r-xp 00000000 00:00 0                          [vdso]', 0, 'belongs to no file'],
  ['7f0000000000-7f0000002000 rwxp 00000000 fe:00 77 /usr/bin/underpass', 0, 'may be written'],
  ['7f0000000000-7f0000002000 r--s 00000000 fe:00 77 /usr/lib/gconv.cache', 0, 'is shared'],
];
for (const [head, anonymousKb, why] of kept) {
  test(`keeps what ${why}`, () => assert.deepEqual(unchangedMappings(mapping(head, anonymousKb)), []));
}

test('finds code and constants that the file still has', () => {
  const constants = '00200000-01a39000 r--p 00000000 fe:00 5694489 /usr/bin/underpass';
  const smaps = mapping(constants, 0) + mapping(code, 0) + mapping('7ff0-7ff8 rw-p 00000000 00:00 0 [heap]', 4);
  assert.deepEqual(unchangedMappings(smaps), [
    { start: 0x200000n, bytes: 0x1839000n },
    { start: 0x1a40000n, bytes: 0x2000n },
  ]);
});

test('the process goes on with fewer pages of its program', { skip: process.platform !== 'linux' && 'Linux only' }, () => {
  const filePages = () => Number(/RssFile:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  const before = filePages();
  unmapProgram();
  assert.ok(filePages() < before, `${before} kB, then ${filePages()} kB`);
  assert.equal(JSON.stringify({ a: [1, 'two'] }), '{"a":[1,"two"]}');
});
