import assert from 'node:assert/strict';
import { test } from 'node:test';
import { edgesOf } from './running-tunnel.ts';

const carrier = (edge: string, rttMs: number | null, address = '192.0.2.1:443') => ({ edge, address, rttMs });

test('lists each edge once, with the best round-trip time of its carriers', () => {
  for (const [carriers, edges] of [
    [[carrier('a', 2), carrier('a', 1)], [{ name: 'a', rttMs: 1 }]],
    [[carrier('a', null), carrier('a', 3)], [{ name: 'a', rttMs: 3 }]],
    [[carrier('a', 0), carrier('a', null)], [{ name: 'a', rttMs: 0 }]],
    [[carrier('a', null)], [{ name: 'a', rttMs: null }]],
    [
      [carrier('a', 1), carrier('b', 2)],
      [
        { name: 'a', rttMs: 1 },
        { name: 'b', rttMs: 2 },
      ],
    ],
    // An edge without an id appears by its address.
    [[carrier('', 1), carrier('', 2)], [{ name: '192.0.2.1:443', rttMs: 1 }]],
  ] as const) {
    assert.deepEqual(edgesOf(carriers), edges);
  }
});
