import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultTimeouts } from '../limits/timeouts.ts';
import { countsReading, type Http1Phase, maxQuietMs } from './http1-phase.ts';

const { headMs, keepAliveMs, responseMs, stallMs, idleStreamMs, visitorEndedMs, halfClosedMs } = defaultTimeouts;

/** Times: when no bytes wait for the visitor, when some do, after the visitor ended its side, after the upstream did. */
const table: readonly (readonly [Http1Phase, quiet: number, bytesWait: number, visitorEnded: number, upstreamEnded: number])[] = [
  ['idle', keepAliveMs, stallMs, keepAliveMs, keepAliveMs],
  ['head', headMs, headMs, headMs, headMs],
  ['body', responseMs, responseMs, responseMs, responseMs],
  ['waiting', responseMs, responseMs, responseMs, responseMs],
  ['early answer', idleStreamMs, stallMs, visitorEndedMs, idleStreamMs],
  ['answer', idleStreamMs, stallMs, visitorEndedMs, idleStreamMs],
  ['unread', stallMs, stallMs, stallMs, stallMs],
  ['upgraded', idleStreamMs, stallMs, halfClosedMs, halfClosedMs],
  ['closing', stallMs, stallMs, visitorEndedMs, stallMs],
];

describe('the time of an HTTP/1.1 connection', () => {
  for (const [phase, ...expected] of table) {
    it(`follows from its phase: ${phase}`, () => {
      const states = [[], ['wait'], ['visitor'], ['upstream']];
      const times = states.map(([state]) =>
        maxQuietMs(phase, defaultTimeouts, state === 'wait', state === 'visitor', state === 'upstream'),
      );
      assert.deepEqual(times, expected);
    });
  }

  it('is not renewed by a visitor that reads while its head or body, or the upstream, is awaited', () => {
    const renewed = table.map(([phase]) => phase).filter(countsReading);
    assert.deepEqual(renewed, ['idle', 'early answer', 'answer', 'unread', 'upgraded', 'closing']);
  });
});
