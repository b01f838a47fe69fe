// How long a connection may take for each of its steps, or stay quiet between them.

import { hourMs } from '@underpass/rules/limits.ts';
export interface Timeouts {
  /** Time from the first byte of a connection or head to the end of the head. */
  readonly headMs: number;
  /** A kept-alive visitor connection without a request. */
  readonly keepAliveMs: number;
  /** Time from the last byte of a request to the head of its response, and between bytes of a request body. */
  readonly responseMs: number;
  /** Bytes wait for a visitor that does not read. */
  readonly stallMs: number;
  /** Neither direction of a stream moves bytes. */
  readonly idleStreamMs: number;
  /** Replaces idleStreamMs during a response once the visitor has ended its side: it may still be reading, or it may have left. */
  readonly visitorEndedMs: number;
  /** One direction of a passthrough or upgraded connection has ended, and the other does not move. */
  readonly halfClosedMs: number;
  /** No client is known: one may have just connected to another worker or edge. */
  readonly clientWaitMs: number;
  /** The same just after a restart of the edge, when clients are on their way back, and always for those who reach a private tunnel. */
  readonly returnWaitMs: number;
  /**
   * A kept upstream connection takes new requests for this long. Its client may be draining: a visitor that keeps asking
   * leaves it well before the drain ends (30 s in client/carry/start.ts), and finds clients that connected later.
   */
  readonly reuseMs: number;
}

export const defaultTimeouts: Timeouts = {
  headMs: 15_000,
  keepAliveMs: 75_000,
  responseMs: 120_000,
  stallMs: 120_000,
  idleStreamMs: hourMs,
  visitorEndedMs: 15_000,
  halfClosedMs: 300_000,
  clientWaitMs: 250,
  returnWaitMs: 10_000,
  reuseMs: 10_000,
};
