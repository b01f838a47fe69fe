// docs/protocol.md says what the code does: its tables and its bytes are read and compared.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { goawayCodes, refusals, resetCodes } from './core/code.ts';
import { frameType, maxPayloadBytes } from './core/frame.ts';
import { maxHeadBytes } from './core/head.ts';
import { currentVersion, oldestVersion } from './core/hello.ts';
import vectors from './core/vectors.json' with { type: 'json' };
import { maxFeedMessageBytes } from './feed/feed-stream.ts';
import { defaultLimits } from './session/session.ts';

const page = readFileSync(new URL('../docs/protocol.md', import.meta.url), 'utf8');
const section = (title: string): string =>
  page.split(/^## /m).find((text) => text.slice(text.indexOf(' ') + 1).startsWith(title)) ?? '';
const number = (text: string): number => Number(text.replaceAll(',', ''));

/** Rows of the tables of a section, cells trimmed. */
const rows = (text: string): string[][] =>
  [...text.matchAll(/^\| (.*) \|$/gm)].map((match) => match[1]!.split(' | ').map((cell) => cell.trim().replaceAll('`', '')));

it('every byte vector of the page is one of the vectors', () => {
  const known = new Set([...vectors.frames.map(({ hex }) => hex), vectors.feed.hex]);
  const lines = [...page.matchAll(/```hex\n([^`]*)```/g)].flatMap((match) => match[1]!.trim().split('\n'));
  assert.ok(lines.length > 10);
  for (const line of lines) assert.ok(known.has(line), line);
});

it('the frames of the page are the frames of the code', () => {
  const found = rows(section('Frames')).filter(([type]) => /^\d+$/.test(type!));
  const names = Object.fromEntries(found.map(([type, name]) => [name!.toLowerCase(), Number(type)]));
  assert.deepEqual(names, frameType);
  for (const [type, , , bytes] of found) assert.equal(number(bytes!.split(' ').at(-1)!), maxPayloadBytes[Number(type)]);
});

it('the codes of the page are the codes of the code', () => {
  const [resets, goaways] = section('Codes').split('GOAWAY:');
  const table = (text: string) =>
    Object.fromEntries(
      rows(text)
        .filter(([code]) => /^\d+$/.test(code!))
        .map(([code, name]) => [name, Number(code)]),
    );
  assert.deepEqual(table(resets!), resetCodes);
  assert.deepEqual(table(goaways!), goawayCodes);
});

it('the refusals of the page are the refusals of the code', () => {
  const found = rows(section('Handshake')).filter(([status]) => /^\d+$/.test(status!));
  const ours = Object.entries(refusals).map(([code, { status }]) => `${status} ${code}`);
  assert.deepEqual(found.map(([status, code]) => `${status} ${code}`).sort(), ours.sort());
});

it('the limits and versions of the page are those of the code', () => {
  const limits = new Map(rows(section('Limits')).map(([what, limit]) => [what, limit!]));
  assert.ok(limits.get('request head')!.includes(maxHeadBytes.toLocaleString('en-US')));
  assert.ok(limits.get('streams open from the peer')!.includes(defaultLimits.maxStreams.toLocaleString('en-US')));
  assert.equal(number(limits.get('streams not yet accepted')!), defaultLimits.maxPendingOpens);
  assert.equal(
    limits.get('receive window of a stream'),
    `${defaultLimits.initialWindowBytes / 1024} KiB, growing to ${defaultLimits.maxWindowBytes / 1024 ** 2} MiB`,
  );
  assert.ok(limits.get('windows of a session together')!.startsWith(`${defaultLimits.sessionWindowBytes / 1024 ** 2} MiB`));
  assert.ok(section('The feed').includes(maxFeedMessageBytes.toLocaleString('en-US')));
  const versions = rows(section('Versions'))
    .map(([version]) => Number(version))
    .filter((version) => version > 0);
  assert.deepEqual([versions[0], versions.at(-1)], [oldestVersion, currentVersion]);
});
