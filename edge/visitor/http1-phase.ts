// The phases of an HTTP/1.1 visitor's connection, and how long it may stay quiet in each. Pure.

import type { Timeouts } from '../limits/timeouts.ts';

/**
 * idle ─▶ head ─▶ body ───▶ waiting ─▶ answer ─▶ (unread ─▶) idle
 *                  └▶ early answer ──────┘
 *
 * - `idle`: the connection is kept, and no byte of the next request has come.
 * - `head`: a head is being read; a new connection begins here.
 * - `body`: the request's body is being read, and no response has come.
 * - `waiting`: the request is complete, and no response has come.
 * - `early answer`: the response has begun before the request is complete.
 * - `answer`: the response is on its way, and the request is complete.
 * - `unread`: the response is complete, but too much of it waits for the visitor to read its next request.
 * - `upgraded`: the bytes of another protocol pass both ways.
 * - `closing`: our side ends behind what was written; what the visitor still sends is dropped.
 * - `over`: the socket is gone.
 */
export type Http1Phase =
  | 'idle'
  | 'head'
  | 'body'
  | 'waiting'
  | 'early answer'
  | 'answer'
  | 'unread'
  | 'upgraded'
  | 'closing'
  | 'over';

/**
 * How long the connection may stay in a phase, from its beginning or from the last byte that counts (countsReading).
 * `bytesWait`: the visitor has not read all that was written.
 */
export function maxQuietMs(
  phase: Http1Phase,
  timeouts: Timeouts,
  bytesWait: boolean,
  visitorEnded: boolean,
  upstreamEnded: boolean,
): number {
  switch (phase) {
    case 'head':
      return timeouts.headMs;
    case 'body':
    case 'waiting':
      return timeouts.responseMs;
    case 'over':
      return Number.POSITIVE_INFINITY;
  }
  // A visitor that reads nothing gets less time than a connection on which both sides are quiet.
  if (bytesWait || phase === 'unread') return timeouts.stallMs;
  if (phase === 'idle') return timeouts.keepAliveMs;
  if (phase === 'upgraded') return visitorEnded || upstreamEnded ? timeouts.halfClosedMs : timeouts.idleStreamMs;
  if (visitorEnded) return timeouts.visitorEndedMs;
  // Everything is written in `closing`, and the visitor has only its end to read.
  return phase === 'closing' ? timeouts.stallMs : timeouts.idleStreamMs;
}

/** Whether the time starts again when the visitor reads. Not while a request is awaited or an upstream's response. */
export function countsReading(phase: Http1Phase): boolean {
  return phase !== 'head' && phase !== 'body' && phase !== 'waiting' && phase !== 'over';
}

/** True while a request is being served: its upstream connection is in use. */
export function isServing(phase: Http1Phase): boolean {
  return phase === 'body' || phase === 'waiting' || phase === 'early answer' || phase === 'answer' || phase === 'upgraded';
}
