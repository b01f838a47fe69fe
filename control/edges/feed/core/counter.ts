// What has passed since the last report, from the monotonic counters of an edge. Pure.
// A restarted edge starts at zero, so all of its new count has passed.

import type { Traffic } from './rate-window.ts';

/** What passed through a tunnel between two reports. */
export interface Passed extends Traffic {
  readonly requests: number;
}

export interface Baseline extends Passed {
  /** The run of the edge that counted; undefined from an edge that does not report it. */
  readonly startedAtMs: number | undefined;
}

export const nothing: Passed = { rxBytes: 0, txBytes: 0, connections: 0, requests: 0 };

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const counters = ['rxBytes', 'txBytes', 'connections', 'requests'] as const;

export const isTraffic = (value: Passed): boolean => counters.every((name) => isCount(value[name]));

const wentBack = (last: Passed, now: Passed): boolean => counters.some((name) => now[name] < last[name]);

/** What passed between two reports of one tunnel by one edge. */
export function trafficSince(last: Baseline | undefined, now: Baseline): Passed {
  const fresh = last === undefined || last.startedAtMs !== now.startedAtMs || wentBack(last, now);
  const from = fresh ? nothing : last;
  return {
    rxBytes: now.rxBytes - from.rxBytes,
    txBytes: now.txBytes - from.txBytes,
    connections: now.connections - from.connections,
    requests: now.requests - from.requests,
  };
}
