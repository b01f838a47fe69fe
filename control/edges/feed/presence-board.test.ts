import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countOfAnswers, emptyFigures } from '@underpass/rules/tunnel/figures.ts';
import type { FeedTunnelReport } from '@underpass/wire/feed/feed.ts';
import type { EdgeReport } from './edge-view.ts';
import { PresenceBoard } from './presence-board.ts';

const startMs = 1_000_000;

function board() {
  const clock = { nowMs: startMs };
  return { clock, board: new PresenceBoard(() => clock.nowMs) };
}

function report(first: boolean, startedAtMs: number, over: Partial<FeedTunnelReport> = {}): EdgeReport {
  const about = {
    edgeId: 'e',
    region: 'r',
    software: '',
    connectedAtMs: 0,
    startedAtMs,
    hopAddress: undefined,
    acknowledged: true,
  };
  const counters = { rxBytes: 500, txBytes: 0, connections: 10, requests: 100 };
  return { about, first, atMs: startMs, tunnels: [{ tunnelId: 't', ...counters, clients: [], ...over }] };
}

/** Requests, and answers by the figures. */
function taken(to: PresenceBoard, said: EdgeReport): readonly number[] {
  const passed = to.apply(said).get('t')!;
  return [passed.requests, countOfAnswers(passed.figures)];
}

const answers = (count: number) => ({ figures: emptyFigures().with(1, count) });

test('counts nothing from before it heard of an edge, if its first news of a tunnel leaves out figures that did not change', () => {
  const { board: late } = board();
  assert.deepEqual(taken(late, report(false, startMs - 1)), [0, 0]);
  assert.deepEqual(taken(late, report(true, startMs - 1, { requests: 101, ...answers(101) })), [1, 0]);
  assert.deepEqual(taken(late, report(false, startMs - 1, { requests: 103, ...answers(103) })), [2, 2]);
});

test('counts nothing twice if a first report had no room for the figures', () => {
  const { board: late } = board();
  assert.deepEqual(taken(late, report(true, startMs - 1)), [0, 0]);
  assert.deepEqual(taken(late, report(false, startMs - 1, { requests: 101, ...answers(101) })), [1, 0]);
  assert.deepEqual(taken(late, report(false, startMs - 1, { requests: 102, ...answers(102) })), [1, 1]);
});

test('counts the first answers of a tunnel that had none', () => {
  const { board: early } = board();
  const none = { rxBytes: 0, connections: 0, requests: 0 };
  early.apply(report(true, startMs - 1, { tunnelId: 'other' }));
  assert.deepEqual(taken(early, report(false, startMs - 1, none)), [0, 0]);
  assert.deepEqual(taken(early, report(false, startMs - 1, answers(100))), [100, 100]);
});

test('counts a tunnel whose edge restarts from zero', () => {
  const { board: early } = board();
  early.apply(report(true, startMs - 1, answers(100)));
  assert.deepEqual(taken(early, report(true, startMs + 1, { requests: 0 })), [0, 0]);
  assert.deepEqual(taken(early, report(false, startMs + 1, { requests: 7, ...answers(7) })), [7, 7]);
});

test('counts an edge that was silent for long once, and one that restarted meanwhile from zero', () => {
  const { board: one, clock } = board();
  const silence = (): void => {
    clock.nowMs += 700_000;
    one.sweep();
    assert.equal(one.health(0).length, 0);
  };
  assert.deepEqual(taken(one, report(true, startMs + 1, answers(100))), [100, 100]);
  silence();
  assert.deepEqual(taken(one, report(true, startMs + 1, answers(100))), [0, 0]);
  assert.deepEqual(taken(one, report(false, startMs + 1, { requests: 101, ...answers(101) })), [1, 1]);
  silence();
  assert.deepEqual(taken(one, report(true, startMs + 2, answers(100))), [100, 100]);
});

test('reads figures with other steps as if they were left out', () => {
  const { board: one } = board();
  const figures = [...emptyFigures().with(1, 100), 0];
  assert.deepEqual(taken(one, report(true, startMs + 1, { figures })), [100, 0]);
  assert.deepEqual(taken(one, report(false, startMs + 1, { requests: 105, figures })), [5, 0]);
});
