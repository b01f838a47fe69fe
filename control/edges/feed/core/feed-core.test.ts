import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { countOfAnswers, emptyFigures } from '@underpass/rules/tunnel/figures.ts';
import type { FeedClient, FeedTunnel } from '@underpass/wire/feed/feed.ts';
import fc from 'fast-check';
import { baselineOf, trafficSince } from './counter.ts';
import { historyFrom, historyPoints, type MinuteRow, minuteMs } from './history-points.ts';
import { readySeq } from './liveness.ts';
import { addNeeded, type NamesByRegion, ownNames } from './needed-names.ts';
import { connectedClients } from './presence.ts';
import { addTraffic, createRateWindow, ratesOf, windowMs } from './rate-window.ts';
import {
  applyChange,
  diffParts,
  emptyIndex,
  feedParts,
  type IndexedState,
  indexPart,
  splitIndex,
  stateOf,
} from './state-diff.ts';

const someTraffic = fc.record({ rxBytes: fc.nat(1e9), txBytes: fc.nat(1e9), connections: fc.nat(1e4) });

describe('rate window', () => {
  test('holds the bytes of the last five minutes, give or take one slot', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2_000_000), someTraffic), { maxLength: 60 }), (events) => {
        const ordered = events.toSorted(([one], [other]) => one - other);
        const window = createRateWindow();
        for (const [at, traffic] of ordered) addTraffic(window, at, traffic);
        const now = ordered.at(-1)?.[0] ?? 0;
        const sumSince = (since: number) => ordered.filter(([at]) => at > since).reduce((sum, [, each]) => sum + each.rxBytes, 0);
        const held = Math.round((ratesOf(window, now).rx * windowMs) / 1000);
        assert.ok(held >= sumSince(now - windowMs) && held <= sumSince(now - windowMs - 10_000));
      }),
    );
  });

  test('is zero again after five minutes and one slot', () => {
    const window = createRateWindow();
    addTraffic(window, 1_000, { rxBytes: 5, txBytes: 5, connections: 5 });
    assert.ok(ratesOf(window, 1_000 + windowMs - 1).rx > 0);
    assert.deepEqual(ratesOf(window, 1_000 + windowMs + 10_000), { rx: 0, tx: 0, tcpConnectionRate: 0 });
  });

  test('counts nothing twice when the clock jumps back', () => {
    const window = createRateWindow();
    addTraffic(window, 10_000_000, { rxBytes: 300, txBytes: 0, connections: 0 });
    addTraffic(window, 5_000, { rxBytes: 600, txBytes: 0, connections: 0 });
    assert.equal(ratesOf(window, 5_000).rx, 2);
  });
});

describe('counters of an edge', () => {
  test('counts every byte once, in any order of reports and restarts', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), someTraffic), { minLength: 1, maxLength: 50 }), (steps) => {
        let run = 1;
        let counter = { rxBytes: 0, txBytes: 0, connections: 0, requests: 0, figures: [] };
        let last: Parameters<typeof trafficSince>[0];
        let counted = 0;
        let passed = 0;
        let answers = 0;
        for (const [restarts, traffic] of steps) {
          if (restarts) {
            run += 1;
            counter = { rxBytes: 0, txBytes: 0, connections: 0, requests: 0, figures: [] };
          }
          counter = { rxBytes: counter.rxBytes + traffic.rxBytes, txBytes: 0, connections: 0, requests: 0, figures: [] };
          passed += traffic.rxBytes;
          const figures = counter.rxBytes === 0 ? [] : emptyFigures().with(1, counter.rxBytes);
          // An edge says no figures while none are new.
          const now = baselineOf(last, counter, run, traffic.rxBytes === 0 && !restarts ? undefined : figures, []);
          const since = trafficSince(last, now);
          counted += since.rxBytes;
          answers += countOfAnswers(since.figures);
          last = now;
        }
        assert.deepEqual([counted, answers], [passed, passed]);
      }),
    );
  });

  test('recognises a restart by lower counters when the edge does not report its start', () => {
    const last = { rxBytes: 100, txBytes: 100, connections: 1, requests: 0, figures: [], startedAtMs: undefined };
    assert.equal(trafficSince(last, { ...last, rxBytes: 40 }).rxBytes, 40);
  });
});

describe('state differences', () => {
  const someState = fc.record(
    Object.fromEntries(
      feedParts.map((part) => [
        part,
        fc.uniqueArray(fc.record({ [part === 'peers' ? 'edgeId' : 'id']: fc.string({ maxLength: 2 }), text: fc.nat(3) }), {
          selector: (each) => Object.values(each)[0],
        }),
      ]),
    ),
  );
  const indexOf = (state: Record<string, object[]>): IndexedState =>
    Object.fromEntries(feedParts.map((part) => [part, indexPart(state[part] ?? [])])) as unknown as IndexedState;
  const sorted = (index: IndexedState) => feedParts.map((part) => [...index[part].values()].map((entry) => entry.text).sort());

  test('the difference turns one state into the other, and equal states have none', () => {
    fc.assert(
      fc.property(someState, someState, (from, to) => {
        const held = indexOf(from as never);
        const wanted = indexOf(to as never);
        const change = diffParts(feedParts.map((part) => ({ part, from: held[part], to: wanted[part] })));
        if (change !== undefined) applyChange(held, change);
        assert.deepEqual(sorted(held), sorted(wanted));
        assert.equal(diffParts(feedParts.map((part) => ({ part, from: held[part], to: wanted[part] }))), undefined);
      }),
    );
  });

  test('the groups of a split state join to the same state, and only a group of one entry exceeds the bound', () => {
    fc.assert(
      fc.property(someState, fc.integer({ min: 1, max: 200 }), (state, bound) => {
        const whole = indexOf(state as never);
        const groups = [...splitIndex(whole, bound)];
        const joined = emptyIndex();
        for (const group of groups) applyChange(joined, { put: stateOf(group), drop: {} });
        assert.deepEqual(sorted(joined), sorted(whole));
        for (const group of groups) {
          const entries = feedParts.flatMap((part) => [...group[part].values()]);
          assert.ok(entries.length <= 1 || entries.reduce((sum, entry) => sum + entry.text.length, 0) <= bound);
        }
      }),
    );
  });
});

describe('readySeq', () => {
  const http = (hosts: readonly string[]): Pick<FeedTunnel, 'type' | 'hosts'> => ({ type: 'http', hosts });
  const sent = (entries: Record<string, { seq: number; notAfterMs?: number }>) => (name: string) => {
    const found = entries[name];
    return found === undefined ? [] : [{ seq: found.seq, notAfterMs: found.notAfterMs ?? 100 }];
  };
  const cases: readonly [name: string, actual: number | undefined, expected: number | undefined][] = [
    ['an ingress tunnel needs no certificate', readySeq({ type: 'ingress', hosts: ['a.com'] }, 5, sent({}), 1), 5],
    ['a host without a certificate is not ready', readySeq(http(['a.com']), 5, sent({}), 1), undefined],
    ['a later certificate decides', readySeq(http(['a.com']), 5, sent({ 'a.com': { seq: 7 } }), 1), 7],
    ['an earlier certificate does not delay', readySeq(http(['a.com']), 5, sent({ 'a.com': { seq: 2 } }), 1), 5],
    ['a wildcard covers a name under it', readySeq(http(['x.a.com']), 5, sent({ '*.a.com': { seq: 2 } }), 1), 5],
    ['a wildcard does not cover two labels', readySeq(http(['y.x.a.com']), 5, sent({ '*.a.com': { seq: 2 } }), 1), undefined],
    ['a wildcard does not cover its own parent', readySeq(http(['a.com']), 5, sent({ '*.a.com': { seq: 2 } }), 1), undefined],
    [
      'an expired certificate does not count',
      readySeq(http(['a.com']), 5, sent({ 'a.com': { seq: 2, notAfterMs: 1 } }), 1),
      undefined,
    ],
    ['every host needs a certificate', readySeq(http(['a.com', 'b.com']), 5, sent({ 'a.com': { seq: 2 } }), 1), undefined],
  ];
  for (const [name, actual, expected] of cases) test(name, () => assert.equal(actual, expected));
});

describe('the certificates that a region needs', () => {
  test('are for its http hosts and the wildcards above them, and not for ingress hosts', () => {
    const names: NamesByRegion = new Map();
    addNeeded(names, 'eu', { type: 'http', hosts: ['x.a.com'] });
    addNeeded(names, 'eu', { type: 'ingress', hosts: ['b.com'] });
    addNeeded(names, 'us', { type: 'ingress', hosts: ['c.com'] });
    assert.deepEqual(
      names,
      new Map([
        ['eu', new Set(['x.a.com', '*.a.com'])],
        ['us', new Set()],
      ]),
    );
  });

  test('are for its own names', () => {
    const region = { region: 'eu', dataPlaneHost: 'eu.a.com', wildcardDomain: null, consoleHost: null };
    assert.deepEqual(ownNames(region), ['eu.a.com']);
    const full = { ...region, wildcardDomain: 't.a.com', consoleHost: 'console.a.com' };
    assert.deepEqual(ownNames(full), ['eu.a.com', '*.t.a.com', 'console.a.com', '*.a.com']);
  });
});

describe('connectedClients', () => {
  const client = (provenAtMs: number | null): FeedClient => ({
    id: 'c',
    address: '',
    version: '',
    sinceMs: 0,
    rttMs: 1,
    provenAtMs,
    healthy: true,
  });
  const report = (over: object) => ({ edgeId: 'e', atMs: 100_000, receivedAtMs: 500_000, clients: [client(100_000)], ...over });
  const cases: readonly [name: string, count: number, reports: ReturnType<typeof report>[], nowMs: number][] = [
    ['counts a client proven now', 1, [report({})], 500_000],
    ['counts a client proven 15 s ago', 1, [report({})], 515_000],
    ['does not count a client proven longer ago', 0, [report({})], 515_001],
    ['does not count a client proven 14 s before a report that is 2 s old', 0, [report({ clients: [client(86_000)] })], 502_000],
    [
      'does not count a client that was never proven: a socket is not a client',
      0,
      [report({ clients: [client(null)] })],
      500_000,
    ],
    ['counts a client at two edges once', 1, [report({}), report({ edgeId: 'f' })], 500_000],
    ['counts a proof from the future, by a wrong clock, as one of the report', 1, [report({ clients: [client(9e12)] })], 500_000],
    ['does not count a proof from the future for ever', 0, [report({ clients: [client(9e12)] })], 516_000],
  ];
  for (const [name, count, reports, nowMs] of cases) {
    test(name, () => assert.equal(connectedClients(reports, nowMs).length, count));
  }
});

describe('historyPoints', () => {
  test('every range has its fixed number of points, and the last covers now', () => {
    const now = 1_790_000_123_456;
    for (const [range, count, step] of [
      ['hour', 60, 60],
      ['day', 96, 900],
      ['week', 168, 3600],
    ] as const) {
      const { points, stepSeconds } = historyPoints(range, [], now);
      assert.deepEqual([points.length, stepSeconds], [count, step]);
      assert.ok(Date.parse(points.at(-1)?.at ?? '') <= now && Date.parse(points.at(-1)?.at ?? '') > now - step * 1000);
      assert.equal(Date.parse(points[0]?.at ?? ''), historyFrom(range, now));
    }
  });

  test('downsampling neither loses nor doubles a byte within the range', () => {
    const now = 1_790_000_123_456;
    const rows = fc.array(fc.record({ ago: fc.nat(59), rxBytes: fc.nat(1e6) }), { maxLength: 100 });
    fc.assert(
      fc.property(fc.constantFrom('hour', 'day', 'week'), rows, (range, list) => {
        const minutes: MinuteRow[] = list.map(({ ago, rxBytes }) => ({
          minuteMs: Math.floor(now / minuteMs) * minuteMs - ago * minuteMs,
          rxBytes,
          txBytes: 0,
          connections: 0,
          figures: [],
          clients: 0,
        }));
        const { points, stepSeconds } = historyPoints(range, minutes, now);
        const total = points.reduce((sum, point) => sum + point.rx * stepSeconds, 0);
        assert.equal(
          Math.round(total),
          list.reduce((sum, row) => sum + row.rxBytes, 0),
        );
      }),
    );
  });
});
