// What a user of a carrier sees: a session of many streams, and one stream.
// Callbacks are plain properties: assign them in the same turn in which you get the object. They must not throw.

import type { GoawayCode, ResetCode } from './core/code.ts';
import type { Info } from './core/hello.ts';
import type { Offer } from './core/offer.ts';
import type { OpenRequest } from './core/open.ts';

export interface Stream {
  readonly id: number;
  readonly request: OpenRequest;
  /** True from OPENED (received or sent) on. */
  readonly opened: boolean;
  /** True once the stream is over in both directions or reset; nothing more is called back. */
  readonly closed: boolean;
  /** Payload bytes received and sent. */
  readonly receivedBytes: number;
  readonly sentBytes: number;

  /** The acceptor has its upstream connection. Data may flow before it. */
  onOpened: () => void;
  /** Lent: valid until the callback returns, keep a copy. Call consume() when it is written on or dropped. */
  onData: (chunk: Buffer) => void;
  /** The peer has ended its direction; this side may still write. */
  onEnd: () => void;
  /** The peer reset it, or the carrier was lost. Nothing follows but onClose. */
  onReset: (code: ResetCode) => void;
  /** After write() gave false: write again. */
  onDrain: () => void;
  /** Last of all, exactly once, after any ending, a local reset() included. */
  onClose: () => void;

  /** Acceptor only: the upstream is connected. What it has written, and its end, waits for this. */
  accept(): void;
  /** Takes a copy of the chunk in any case; false asks to wait for onDrain. */
  write(chunk: Uint8Array): boolean;
  /** Ends this direction after what was written; half-close. */
  end(): void;
  /** Ends both directions now; queued bytes are dropped. */
  reset(code: ResetCode): void;
  /** Gives the sender credit for bytes that onData delivered. */
  consume(bytes: number): void;
}

export interface SessionEnd {
  readonly code: GoawayCode | 'closed' | 'lost';
  /** Who ended it. `lost`: the transport broke without a GOAWAY. */
  readonly by: 'us' | 'peer';
  /** For the log, never for the wire. */
  readonly detail: string;
}

export interface Session {
  /** 0 until the peer's HELLO has arrived. */
  readonly version: number;
  /** What the peer said about itself in HELLO or the latest INFO. */
  readonly peerInfo: Info;
  /** The peer's latest OFFER; null until one came, which means it serves everything. */
  readonly peerOffers: readonly Offer[] | null;
  readonly openStreams: number;
  /** HELLO has arrived, no GOAWAY either way, not closed. */
  readonly takesStreams: boolean;
  /** True while open() may be called: it takes streams, the peer's stream limit is not reached, the carrier is not stuck. */
  readonly canOpen: boolean;
  readonly closed: boolean;
  /** Last round trip over the data path; null until the first. */
  readonly rttMs: number | null;
  /** Clock reading at the last proof of the data path; null until the first. */
  readonly provenAtMs: number | null;
  /** Payload bytes of all streams. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
  /** Bytes waiting for the carrier. */
  readonly backlogBytes: number;

  /** The peer's HELLO has arrived: streams may be opened. */
  onReady: () => void;
  /** The peer opened a stream. Assign its callbacks before returning. Not called where peerMayOpen is false. */
  onStream: (stream: Stream) => void;
  onOffers: (offers: readonly Offer[]) => void;
  onInfo: (info: Info) => void;
  /** A PING of ours came back. */
  onProof: (rttMs: number) => void;
  /** The peer will take (or open) nothing new; open streams go on. */
  onGoaway: (code: GoawayCode, detail: string) => void;
  /** Last of all, exactly once. */
  onClose: (end: SessionEnd) => void;

  /** Throws where canOpen is false. */
  open(request: OpenRequest): Stream;
  /** Tells the peer which upstreams this side serves and which are healthy. Kept until the next. No-op under version 2. */
  offer(offers: readonly Offer[]): void;
  /** Tells the peer something new about this side. No-op under version 2. */
  inform(info: Info): void;
  /** GOAWAY now, close when the last stream has ended. */
  drain(detail?: string): void;
  /** GOAWAY, then close at once; streams are reset. */
  close(code?: GoawayCode, detail?: string): void;
}
