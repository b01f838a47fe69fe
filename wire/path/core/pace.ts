// The most that a carrier may send at, once more would only fill the queue of its path. Pure.
//
// BBR doubles its rate at the start of a connection, and sends at almost three times what arrives until it has seen for three
// round trips that nothing more arrives. Round trips in which the sender had nothing to send do not count. A relay empties what
// the kernel holds again and again at that rate, so BBR would stay there for many seconds: the queue of the path is full, and
// small calls of other connections wait in it and are lost. With a limit the kernel always has something to send.

import type { TcpInfo } from './tcp-info.ts';

export interface Pace {
  readonly atMs: number;
  readonly deliveredBytes: number;
  /** Bytes a millisecond: the best of the last looks. */
  readonly bestRate: number;
  /** Looks in a row in which it did not grow. */
  readonly levelLooks: number;
  /** Looks for which the limit still holds; 0: there is none. */
  readonly limitedLooks: number;
}

/** BBR's own: a rate that grows by less has found the end of the path. */
const growth = 1.25;
const leastLevelLooks = 2;
/** A queue that makes the round trip half as long again, and that a busy machine does not feign. */
const queueShare = 0.5;
const leastQueueMs = 10;
/** Where the queue is of others, the rate still grows by a twentieth with each look. */
const limitTimes = 1.05;
/** 16 round trips: BBR needs three to end its start, and one to empty the queue. */
const limitLooks = 8;
/** What was best 20 looks ago counts half. */
const fade = 0.97;
/** Looks without data after which the past says nothing. */
const pauseLooks = 4;

/** Two round trips: one would see each burst. */
export const lookAfterMs = (minRttMs: number): number => 2 * minRttMs;

export const beginPace = (atMs: number, deliveredBytes: number): Pace => ({
  atMs,
  deliveredBytes,
  bestRate: 0,
  levelLooks: 0,
  limitedLooks: 0,
});

/** Call it while the carrier has much to send, lookAfterMs after the last time or later. */
export function nextPace(before: Pace, atMs: number, path: Pick<TcpInfo, 'minRttMs' | 'rttMs' | 'deliveredBytes'>): Pace {
  const { minRttMs, rttMs, deliveredBytes } = path;
  const ms = atMs - before.atMs;
  if (ms > pauseLooks * lookAfterMs(minRttMs)) return beginPace(atMs, deliveredBytes);
  const rate = (deliveredBytes - before.deliveredBytes) / ms;
  const levelLooks = rate >= growth * before.bestRate ? 0 : before.levelLooks + 1;
  const hasQueue = rttMs - minRttMs > Math.max(leastQueueMs, queueShare * minRttMs);
  const limitedLooks = levelLooks >= leastLevelLooks && hasQueue ? limitLooks : Math.max(0, before.limitedLooks - 1);
  return { atMs, deliveredBytes, bestRate: Math.max(rate, fade * before.bestRate), levelLooks, limitedLooks };
}

/** Bytes a second; null: no limit. */
export const limitOf = ({ bestRate, limitedLooks }: Pace): number | null =>
  limitedLooks > 0 ? Math.round(limitTimes * bestRate * 1000) : null;
