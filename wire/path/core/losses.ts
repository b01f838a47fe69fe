// Whether a path loses so many packets that the slowest of a hundred calls waits for one. Pure.

import type { TcpInfo } from './tcp-info.ts';

type Counts = Pick<TcpInfo, 'sentSegments' | 'resentSegments'>;

export interface Losses {
  /** The counts of the last look. */
  readonly counted: Counts;
  /** Segments that count for the judgement: the last ones whole, earlier ones less and less. */
  readonly recent: Counts;
}

/** The segments after which what was counted so far counts half. */
const mostRecent = 4_000;
const lossyShare = 0.002;

export const noLosses: Losses = {
  counted: { sentSegments: 0, resentSegments: 0 },
  recent: { sentSegments: 0, resentSegments: 0 },
};

/** The kernel counts up to 2^32. */
const since = (before: number, now: number): number => (now - before) >>> 0;

export function nextLosses({ counted, recent }: Losses, { sentSegments, resentSegments }: Counts): Losses {
  const weight = recent.sentSegments > mostRecent ? 0.5 : 1;
  return {
    counted: { sentSegments, resentSegments },
    recent: {
      sentSegments: weight * recent.sentSegments + since(counted.sentSegments, sentSegments),
      resentSegments: weight * recent.resentSegments + since(counted.resentSegments, resentSegments),
    },
  };
}

export const isLossy = ({ recent: { sentSegments, resentSegments } }: Losses): boolean =>
  resentSegments > 0 && resentSegments >= lossyShare * sentSegments;
