// What has passed since the last report, from the monotonic counters of an edge. Pure.
// A restarted edge starts at zero, so all of its new count has passed.

import { type Figures, figuresSince } from '@underpass/rules/tunnel/figures.ts';
import type { Traffic } from './rate-window.ts';

/** What passed through a tunnel between two reports. */
export interface Passed extends Traffic {
  readonly requests: number;
  readonly figures: Figures;
}

export interface Baseline extends Counters {
  /** Undefined until a report says them: an edge leaves out those that are as before. */
  readonly figures: Figures | undefined;
  /** The run of the edge that counted; undefined from an edge that does not report it. */
  readonly startedAtMs: number | undefined;
}

export const nothing: Passed = { rxBytes: 0, txBytes: 0, connections: 0, requests: 0, figures: [] };

type Counters = Omit<Passed, 'figures'>;

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

const counters = ['rxBytes', 'txBytes', 'connections', 'requests'] as const;

export const isTraffic = (value: Counters): boolean => counters.every((name) => isCount(value[name]));

/**
 * The baseline of a report. One that says no figures has those of the report before, if it is of the same run; `unsaid` are those
 * of a tunnel of which no report was known.
 */
export function baselineOf(
  last: Baseline | undefined,
  counted: Counters,
  run: Baseline['startedAtMs'],
  figures: Figures | undefined,
  unsaid: Figures | undefined,
): Baseline {
  const { rxBytes, txBytes, connections, requests } = counted;
  const before = last === undefined ? unsaid : last.startedAtMs === run ? last.figures : [];
  return { rxBytes, txBytes, connections, requests, startedAtMs: run, figures: figures ?? before };
}

const wentBack = (last: Counters, now: Counters): boolean => counters.some((name) => now[name] < last[name]);

/** What passed between two reports of one tunnel by one edge. */
export function trafficSince(last: Baseline | undefined, now: Baseline): Passed {
  const fresh = last === undefined || last.startedAtMs !== now.startedAtMs || wentBack(last, now);
  const from = fresh ? nothing : last;
  return {
    rxBytes: now.rxBytes - from.rxBytes,
    txBytes: now.txBytes - from.txBytes,
    connections: now.connections - from.connections,
    requests: now.requests - from.requests,
    figures: from.figures === undefined ? [] : figuresSince(from.figures, now.figures ?? []),
  };
}
