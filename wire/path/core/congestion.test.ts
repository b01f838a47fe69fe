import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Controls, isCollapsed, isUntried, nextControl } from './congestion.ts';

const all: Controls = { system: 'cubic', far: 'bbr', near: 'cubic' };
const path = (minRttMs: number, sentSegments = 10, resentSegments = 0) => ({ minRttMs, sentSegments, resentSegments });

describe('the congestion control of a connection', () => {
  const cases: readonly (readonly [string, string, ReturnType<typeof path>, string | null])[] = [
    ['becomes BBR on a long path', 'cubic', path(5), 'bbr'],
    ['becomes BBR in place of reno, too', 'reno', path(100), 'bbr'],
    ['stays BBR on a long path', 'bbr', path(100), null],
    ['becomes the near control on loopback', 'bbr', path(0.02), 'cubic'],
    ['becomes the near control in a local network', 'bbr', path(1), 'cubic'],
    ['stays what it is on a short path without BBR', 'reno', path(0.02), null],
    ['stays what it is between short and long', 'cubic', path(3), null],
    ['stays BBR between short and long', 'bbr', path(3), null],
    ['becomes BBR between short and long once packets are lost', 'cubic', path(3, 1_000, 1), 'bbr'],
    ['stays what it is while few segments say nothing about loss', 'cubic', path(3, 999, 900), null],
    ['stays what it is on a lossy path of microseconds, where a queue overflows', 'cubic', path(0.5, 1_000, 100), null],
    ['is left alone if the operator chose a third one', 'dctcp', path(100), null],
    ['stays what it is before a round trip is measured', 'cubic', path(4_294_967.295), null],
  ];
  for (const [claim, current, seen, expected] of cases) it(claim, () => assert.equal(nextControl(current, seen, all), expected));

  it('stays what it is where the system offers no other', () => {
    const none: Controls = { system: 'reno', far: null, near: null };
    assert.equal(nextControl('reno', path(100), none), null);
    assert.equal(nextControl('bbr', path(0.02), none), null);
  });
});

it('a path is untried until a packet is lost or more than a page has passed', () => {
  const cases = [path(50, 0), path(50, 79), path(50, 80), path(50, 2, 1)];
  assert.deepEqual(cases.map(isUntried), [true, true, false, false]);
});

describe('the window of a connection has collapsed', () => {
  const seen = { minRttMs: 50, windowSegments: 10, thresholdSegments: 31 };
  const cases: readonly (readonly [boolean, string, string | null, Partial<typeof seen>])[] = [
    [true, 'losses have left it less than a new one soon has', 'reno', {}],
    [false, 'none was lost: it is new', 'cubic', { thresholdSegments: 2_147_483_647 }],
    [false, 'it doubles up to a threshold that is large enough', 'reno', { thresholdSegments: 32 }],
    [false, 'it has grown again', 'reno', { windowSegments: 32 }],
    [false, 'BBR takes no notice of it', 'bbr', {}],
    [false, 'the path is short', 'reno', { minRttMs: 1 }],
    [false, 'the system says nothing', null, {}],
  ];
  for (const [expected, why, control, more] of cases)
    it(`${expected ? 'if' : 'not if'}: ${why}`, () => assert.equal(isCollapsed(control, { ...seen, ...more }), expected));
});
