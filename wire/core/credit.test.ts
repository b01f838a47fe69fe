import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { maxCredit, nextCredit, nextInitialWindow, ReceiveWindow, type RoundTrips, WindowBudget } from './credit.ts';
import { WireError } from './frame.ts';
import { RateLimit } from './rate-limit.ts';

const limits = { initialWindowBytes: 262_144, maxWindowBytes: 4_194_304, sessionWindowBytes: 4_194_304 };
const path = (leastRttMs: number, doubtedRttMs = 0): RoundTrips => ({ leastRttMs, doubtedRttMs });
const createBudget = () => new WindowBudget(limits.sessionWindowBytes);

/** Receives and consumes half a window, at the given time. */
function roundAt(window: ReceiveWindow, budget: WindowBudget, nowMs: number, rttMs: number, doubtedRttMs = 0): number {
  const half = window.windowBytes / 2;
  window.receive(half);
  assert.equal(window.consume(half), true);
  return window.grant(nowMs, { leastRttMs: rttMs, doubtedRttMs }, limits, budget);
}

describe('a receive window', () => {
  it('refuses one byte beyond its credit, and does not count it', () => {
    const window = new ReceiveWindow(100, 0);
    window.receive(100);
    assert.throws(() => window.receive(1), WireError);
    assert.equal(window.leftBytes, 0);
  });

  it('grants once half of it is consumed', () => {
    const window = new ReceiveWindow(100, 0);
    window.receive(100);
    assert.equal(window.consume(49), false);
    assert.equal(window.consume(1), true);
    assert.equal(window.grant(1_000, path(1), limits, createBudget()), 50);
  });

  it('doubles while its sender waits for credit, up to the limit of a stream', () => {
    const window = new ReceiveWindow(262_144, 0);
    const budget = createBudget();
    assert.equal(roundAt(window, budget, 100, 50), 131_072 + 262_144);
    assert.equal(window.windowBytes, 524_288);
    for (const nowMs of [200, 300, 400, 500]) roundAt(window, budget, nowMs, 50);
    assert.equal(window.windowBytes, 4_194_304);
    assert.equal(budget.usedBytes, window.windowBytes - 262_144);
  });

  it('does not grow when the consumer is the slow side', () => {
    const window = new ReceiveWindow(262_144, 0);
    assert.equal(roundAt(window, createBudget(), 101, 50), 131_072);
    assert.equal(window.windowBytes, 262_144);
  });

  it('grows to 1 MiB at most on a round trip that may be a queue', () => {
    const window = new ReceiveWindow(262_144, 0);
    const budget = createBudget();
    for (let round = 1; round <= 10; round++) roundAt(window, budget, round * 50, 10, 50);
    assert.equal(window.windowBytes, 1_048_576);
    assert.equal(budget.usedBytes, 1_048_576 - 262_144);
    // A larger window stays as it is.
    roundAt(window, budget, 510, 50);
    roundAt(window, budget, 560, 10, 50);
    assert.equal(window.windowBytes, 2_097_152);
  });

  it('does not grow when the consumer is slower than the longer path', () => {
    const window = new ReceiveWindow(262_144, 0);
    roundAt(window, createBudget(), 101, 10, 50);
    assert.equal(window.windowBytes, 262_144);
  });

  it('does not grow beyond the budget of the session', () => {
    const window = new ReceiveWindow(262_144, 0);
    const budget = createBudget();
    budget.take(limits.sessionWindowBytes - 1_000);
    roundAt(window, budget, 1, 50);
    assert.equal(window.windowBytes, 263_144);
    roundAt(window, budget, 2, 50);
    assert.equal(window.windowBytes, 263_144);
  });

  it('never grants more than its window', () => {
    const step = fc.tuple(fc.nat(300_000), fc.nat(300_000), fc.nat(100), fc.nat(50), fc.nat(200));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 50 }), (steps) => {
        const window = new ReceiveWindow(262_144, 0);
        const budget = createBudget();
        budget.take(262_144);
        let [held, nowMs] = [0, 0];
        for (const [arriving, consuming, laterMs, rttMs, doubtedMs] of steps) {
          const received = Math.min(arriving, window.leftBytes);
          const consumed = Math.min(consuming, held + received);
          window.receive(received);
          held += received - consumed;
          nowMs += laterMs;
          if (window.consume(consumed)) window.grant(nowMs, path(rttMs, doubtedMs), limits, budget);
          assert.ok(window.leftBytes + held <= window.windowBytes);
          assert.ok(window.windowBytes <= limits.maxWindowBytes && budget.usedBytes <= budget.limitBytes);
        }
      }),
      { seed: 8 },
    );
  });
});

it('the first window is full until half of the budget is spent, then minimal', () => {
  const budget = createBudget();
  const windows = Array.from({ length: 10 }, () => {
    const bytes = nextInitialWindow(budget, limits, false);
    budget.take(bytes);
    return bytes;
  });
  assert.deepEqual(windows, [...Array(8).fill(262_144), 65_536, 65_536]);
});

it('the first window of a long path holds a page, until an eighth of the budget is spent', () => {
  const budget = new WindowBudget(16 * 1_048_576);
  const windows = Array.from({ length: 4 }, () => {
    const bytes = nextInitialWindow(budget, limits, true);
    budget.take(bytes);
    return bytes;
  });
  assert.deepEqual(windows, [1_048_576, 1_048_576, 262_144, 262_144]);
});

it('credit adds up to 31 bits, and a grant of 0 is refused', () => {
  assert.equal(nextCredit(1, maxCredit - 1), maxCredit);
  assert.throws(() => nextCredit(1, maxCredit), WireError);
  assert.throws(() => nextCredit(1, 0), WireError);
});

describe('a rate limit', () => {
  it('allows a burst and then the rate', () => {
    const limit = new RateLimit('pings', 10, 20, 0);
    for (let count = 0; count < 20; count++) limit.take(0);
    assert.throws(() => limit.take(0), WireError);
    assert.throws(() => limit.take(50), WireError);
  });

  it('refills with time, up to the burst, and not when the clock goes back', () => {
    const limit = new RateLimit('pings', 10, 2, 0);
    for (const nowMs of [0, 0, 100, 200, 10_000, 10_000, 9_900]) {
      if (nowMs === 9_900) assert.throws(() => limit.take(nowMs), WireError);
      else limit.take(nowMs);
    }
  });
});
