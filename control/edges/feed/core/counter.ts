// What has passed since the last report, from the monotonic counters of an edge. Pure.
// A restarted edge starts at zero, so all of its new count has passed.

import type { Traffic } from './rate-window.ts';

export interface Baseline extends Traffic {
  /** The run of the edge that counted; undefined from an edge that does not report it. */
  readonly startedAtMs: number | undefined;
}

const nothing: Traffic = { rxBytes: 0, txBytes: 0, connections: 0 };

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

export function isTraffic(value: Traffic): boolean {
  return isCount(value.rxBytes) && isCount(value.txBytes) && isCount(value.connections);
}

const wentBack = (last: Traffic, now: Traffic): boolean =>
  now.rxBytes < last.rxBytes || now.txBytes < last.txBytes || now.connections < last.connections;

/** What passed between two reports of one tunnel by one edge. */
export function trafficSince(last: Baseline | undefined, now: Baseline): Traffic {
  const fresh = last === undefined || last.startedAtMs !== now.startedAtMs || wentBack(last, now);
  const from = fresh ? nothing : last;
  return {
    rxBytes: now.rxBytes - from.rxBytes,
    txBytes: now.txBytes - from.txBytes,
    connections: now.connections - from.connections,
  };
}
