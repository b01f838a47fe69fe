// How long a connection may take for each of its steps, or stay quiet between them.

export interface Timeouts {
  /** From the first byte of a connection or head to its last. */
  readonly headMs: number;
  /** A kept visitor connection without a request. */
  readonly keepAliveMs: number;
  /** From the last byte of a request to the head of its response, and between bytes of a request's body. */
  readonly responseMs: number;
  /** Bytes wait for a visitor that takes none. */
  readonly stallMs: number;
  /** Neither direction moves. */
  readonly idleStreamMs: number;
  /** The same while a response is on its way to a visitor that ended its side: it only said all, or it has gone. */
  readonly visitorEndedMs: number;
  /** One direction of a passed or upgraded connection has ended, and the other one does not move. */
  readonly halfClosedMs: number;
  /** Nobody has a client: one may have come a moment ago, and word of it be on its way. */
  readonly clientWaitMs: number;
  /**
   * From the opening of a kept upstream connection to its last new request. Its client may be draining, here or behind a
   * hop: a visitor that asks on and on has left it by then, with two thirds of the drain to spare (client/carry/start.ts).
   * It also finds the clients that came later.
   */
  readonly reuseMs: number;
}

export const defaultTimeouts: Timeouts = {
  headMs: 15_000,
  keepAliveMs: 75_000,
  responseMs: 120_000,
  stallMs: 120_000,
  idleStreamMs: 3_600_000,
  visitorEndedMs: 15_000,
  halfClosedMs: 300_000,
  clientWaitMs: 250,
  reuseMs: 10_000,
};
