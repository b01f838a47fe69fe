// docs/errors.md and the error tables of the code: one heading for every code, and no other headings.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { problems } from '@underpass/client/carry/problem.ts';
import { errors, exitCodeMeanings, exitCodes } from '@underpass/client/process/error.ts';
import { namedRefusals } from '@underpass/control/request/http/refusal.ts';
import { visitorErrors } from '@underpass/edge/core/visitor-error.ts';
import * as server from '@underpass/server/process/error.ts';

const page = readFileSync(fileURLToPath(new URL('../../docs/errors.md', import.meta.url)), 'utf8');

/** The headings of one section, each with the paragraph below it. */
function entriesOf(part: string): Map<string, string> {
  const [, rest = ''] = page.split(`\n## ${part}\n`);
  const [text = ''] = rest.split('\n## ');
  return new Map([...text.matchAll(/^### (.+)\n\n(.+)$/gm)].map(([, heading = '', paragraph = '']) => [heading, paragraph]));
}

describe('docs/errors.md', () => {
  test('explains every error that a visitor can see, with its status, title and words', () => {
    const entries = entriesOf('What visitors see');
    assert.deepEqual(
      [...entries.keys()].sort(),
      Object.keys(visitorErrors)
        .map((code) => `\`${code}\``)
        .sort(),
    );
    for (const [code, { status, title, text }] of Object.entries(visitorErrors)) {
      assert.ok(entries.get(`\`${code}\``)?.startsWith(`**${title}** (${status}). ${text}`), code);
    }
  });

  test('explains every problem of carrying, with its title and fix', () => {
    const entries = entriesOf('While a tunnel is carried');
    assert.deepEqual(
      [...entries.keys()].sort(),
      Object.keys(problems)
        .map((code) => `\`${code}\``)
        .sort(),
    );
    for (const [code, { title, fix }] of Object.entries(problems))
      assert.ok(entries.get(`\`${code}\``)?.startsWith(`**${title}.** ${fix}`), code);
  });

  test('explains every way in which a command fails, with its title, fix and exit code', () => {
    const entries = entriesOf('When a command fails');
    const headings = Object.entries(errors).map(([code, { exit }]) => `\`${code}\` (${exitCodes[exit]})`);
    assert.deepEqual([...entries.keys()].sort(), headings.sort());
    for (const [code, { title, fix, exit }] of Object.entries(errors))
      assert.ok(entries.get(`\`${code}\` (${exitCodes[exit]})`)?.startsWith(`**${title}.** ${fix}`), code);
  });

  test('explains every way in which the server fails, with its title, fix and exit code', () => {
    const entries = entriesOf('When the server fails');
    const headings = Object.entries(server.errors).map(([code, { exit }]) => `\`${code}\` (${server.exitCodes[exit]})`);
    assert.deepEqual([...entries.keys()].sort(), headings.sort());
    for (const [code, { title, fix, exit }] of Object.entries(server.errors))
      assert.ok(entries.get(`\`${code}\` (${server.exitCodes[exit]})`)?.startsWith(`**${title}.** ${fix}`), code);
    const [, part = ''] = page.split('\n## When the server fails\n');
    const listed = [...part.matchAll(/^\| (\d+) \| /gm)].map(([, code]) => Number(code));
    assert.deepEqual(listed, Object.values(server.exitCodes));
  });

  test('explains every refusal of the API that has a code', () => {
    const entries = entriesOf('When a call is refused');
    const codes = Object.values(namedRefusals).map((code) => `\`${code}\``);
    assert.deepEqual([...entries.keys()].sort(), codes.sort());
  });

  test('lists every exit code with its meaning', () => {
    for (const [name, code] of Object.entries(exitCodes))
      assert.ok(page.includes(`| ${code} | ${exitCodeMeanings[name as keyof typeof exitCodes]} |`), name);
  });
});
