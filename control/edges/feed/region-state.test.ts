// What a region's state sends to an edge that connects again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import { applyChange, emptyIndex, stateOf } from './core/state-diff.ts';
import { type Numbered, RegionState } from './region-state.ts';

const certificate = (id: string, chars: number): FeedCertificate => ({
  id,
  hosts: [`${id}.example.com`],
  certificatePem: 'x'.repeat(chars),
  privateKeyPem: '',
  notAfterMs: 1,
});

/** The certificates that an edge holds after these messages. */
function heldAfter(messages: readonly Numbered[]): string[] {
  const index = emptyIndex();
  for (const message of messages) {
    if (message.type === 'snapshot') for (const part of Object.values(index)) part.clear();
    applyChange(index, message.type === 'snapshot' ? { put: message.state, drop: {} } : message);
  }
  return stateOf(index).certificates.map(({ id }) => id);
}

test('an edge that loses its connection within a snapshot of several pieces gets the missing ones when it returns', () => {
  const state = new RegionState();
  const largeChars = 17 * 1024 * 1024;
  for (const [id, chars] of [
    ['a', largeChars],
    ['b', largeChars],
    ['c', 1],
  ] as const)
    state.patch('certificates', [], [certificate(id, chars)]);
  const pieces = [...state.catchUp(undefined)];
  assert.equal(pieces.length, 3);
  assert.equal(pieces.at(-1)?.seq, state.seq);
  assert.deepEqual(
    pieces.map(({ more }) => more),
    [true, true, undefined],
  );
  for (let held = 1; held <= pieces.length; held++) {
    const got = pieces.slice(0, held);
    assert.deepEqual(heldAfter([...got, ...state.catchUp(got.at(-1)?.seq)]), ['a', 'b', 'c'], `after ${held}`);
  }
});
