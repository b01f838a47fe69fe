// A session: many streams over one carrier (TLS socket, pipe, unix socket), one per side. docs/protocol.md is the law here.

import type { Duplex } from 'node:stream';
import type { Session } from './api.ts';
import type { Info } from './core/hello.ts';

export interface SessionLimits {
  /** Streams that the peer may have open at once; beyond it an OPEN is answered with RESET busy. */
  readonly maxStreams: number;
  /** Streams opened by the peer and not yet accepted. */
  readonly maxPendingOpens: number;
  /** Receive window of a new stream, and how far one stream and all streams together may grow. */
  readonly initialWindowBytes: number;
  readonly maxWindowBytes: number;
  readonly sessionWindowBytes: number;
}

/** What a session needs of time; tests pass their own. */
export interface SessionClock {
  now(): number;
  /** Calls back every ms; the answer stops it. Must not keep the process alive. */
  every(ms: number, task: () => void): () => void;
}

export interface SessionOptions {
  /** The dialer opens odd stream ids, the acceptor even ones. */
  readonly side: 'dialer' | 'acceptor';
  /** False where the peer is a client: an OPEN from it ends the session. */
  readonly peerMayOpen: boolean;
  readonly info: Info;
  readonly limits?: Partial<SessionLimits>;
  readonly clock?: SessionClock;
}

export type CreateSession = (carrier: Duplex, options: SessionOptions) => Session;
