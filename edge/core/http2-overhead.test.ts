import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OverheadBucket, streamWindowBytes, type Traffic } from './http2-overhead.ts';

const mib = 1024 * 1024;
const none: Traffic = { receivedBytes: 0, bodyBytes: 0, sentBytes: 0, requests: 0, headBytes: 0 };

/** Seconds until the bucket is empty if every second adds this; Infinity if it lasts an hour. */
function lasts(perSecond: Traffic): number {
  const bucket = new OverheadBucket();
  for (let second = 1; second <= 3600; second++) {
    const traffic = Object.fromEntries(Object.entries(perSecond).map(([key, value]) => [key, value * second]));
    if (!bucket.take(traffic as unknown as Traffic, 1, 0)) return second;
  }
  return Number.POSITIVE_INFINITY;
}

describe('a connection lasts', () => {
  const rows: [string, Traffic][] = [
    ['in silence', none],
    ['with a thousand small requests a second', { ...none, receivedBytes: 1_000 * 400, requests: 1_000, headBytes: 1_000 * 300 }],
    [
      'with large heads that are in the table',
      { ...none, receivedBytes: 1_000 * 100, requests: 1_000, headBytes: 8_000 * 1_000 },
    ],
    ['with large heads that are not', { ...none, receivedBytes: 24_200 * 100, requests: 100, headBytes: 24_000 * 100 }],
    ['with uploads in pieces of ten bytes', { ...none, receivedBytes: 19 * mib, bodyBytes: 10 * mib }],
    ['with an upload at full speed', { ...none, receivedBytes: 500 * mib + 500 * 64 * 9, bodyBytes: 500 * mib }],
    ['with a download whose window is opened every 4 KiB', { ...none, receivedBytes: 26 * 256 * 500, sentBytes: 500 * mib }],
    ['with a hundred PINGs a second', { ...none, receivedBytes: 1_700 }],
  ];
  for (const [name, perSecond] of rows) it(name, () => assert.equal(lasts(perSecond), Number.POSITIVE_INFINITY));
});

describe('a connection ends within seconds', () => {
  const rows: [string, Traffic][] = [
    ['of PINGs', { ...none, receivedBytes: 17 * 100_000 }],
    ['of bodies that are all padding', { ...none, receivedBytes: 100 * mib, bodyBytes: 0, requests: 1 }],
    ['of bodies of one octet a frame', { ...none, receivedBytes: 10 * mib, bodyBytes: mib }],
    ['of refused heads', { ...none, receivedBytes: 8_000 * 1_000 }],
    ['of requests with fields that Node drops', { ...none, receivedBytes: 16_000 * 100, requests: 100, headBytes: 100 * 100 }],
    ['of WINDOW_UPDATE while little is sent', { ...none, receivedBytes: 13 * 100_000, sentBytes: mib }],
  ];
  for (const [name, perSecond] of rows) it(name, () => assert.ok(lasts(perSecond) < 5));
});

it('does not count bodies that wait for their upstream, up to the windows of their streams', () => {
  const bucket = new OverheadBucket();
  const waiting = { ...none, receivedBytes: 20 * mib, requests: 100 };
  assert.equal(bucket.take(waiting, 1, 100 * streamWindowBytes), true);
  assert.equal(bucket.take({ ...waiting, bodyBytes: 20 * mib }, 1, 0), true, 'reading them pays them back');
  assert.equal(new OverheadBucket().take(waiting, 1, 10 * streamWindowBytes), false);
});

it('an hour of silence saves up no more than the burst', () => {
  const bucket = new OverheadBucket();
  bucket.take(none, 3600, 0);
  assert.equal(bucket.take({ ...none, receivedBytes: 2 * mib }, 1, 0), false);
});
