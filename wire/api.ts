// What a user of a carrier sees: a session of many streams, and one stream.
// Callbacks are plain properties: assign them in the turn in which you get the object. They must not throw.

import type { GoawayCode, ResetCode } from './core/code.ts';
import type { Info } from './core/hello.ts';
import type { Offer } from './core/offer.ts';
import type { OpenRequest } from './core/open.ts';
import type { Times } from './core/times.ts';

export interface Stream {
  readonly id: number;
  readonly request: OpenRequest;
  /** True once OPENED is received or sent. */
  readonly opened: boolean;
  /** True once both directions have ended or the stream is reset; no callback follows but onClose. */
  readonly closed: boolean;
  /** Payload bytes received and sent. */
  readonly receivedBytes: number;
  readonly sentBytes: number;

  /** The acceptor is connected to its upstream. Data of the opener may flow before that. */
  onOpened: () => void;
  /**
   * The chunk is lent: it is valid until the callback returns; copy what you keep. Call consume() once it is passed on or
   * dropped.
   */
  onData: (chunk: Buffer) => void;
  /** The peer has ended its direction; this side may still write. */
  onEnd: () => void;
  /** Acceptor only, if its offers ask for it: the times of the request that was answered last. */
  onTimes: (times: Times) => void;
  /** The peer reset the stream, or the carrier was lost. Only onClose follows. */
  onReset: (code: ResetCode) => void;
  /** Writing may go on after write() returned false. */
  onDrain: () => void;
  /** Opener only: the way of the stream is silent, or leads to a client that may not work. It may still answer. */
  onQuiet: () => void;
  /** The last callback, exactly once, however the stream ends; also after reset() by this side. */
  onClose: () => void;

  /** Acceptor only: the upstream is connected. What the acceptor wrote, and its end, wait for this call. */
  accept(): void;
  /** Always takes a copy of the chunk. False asks the caller to wait for onDrain. */
  write(chunk: Uint8Array): boolean;
  /** Opener only, if the peer's offers ask for it. Does nothing after end(). */
  tellTimes(times: Times): void;
  /** Ends this direction after what was written (half-close). */
  end(): void;
  /** Ends both directions now; queued bytes are dropped. */
  reset(code: ResetCode): void;
  /** Gives the sender credit for bytes that onData delivered. */
  consume(bytes: number): void;
}

export interface SessionEnd {
  readonly code: GoawayCode | 'closed' | 'lost';
  /** The side that ended it. With code `lost` the transport broke without a GOAWAY. */
  readonly by: 'us' | 'peer';
  /** Text for the log. */
  readonly detail: string;
}

export interface Session {
  /** 0 until the peer's HELLO has arrived. */
  readonly version: number;
  /** What the peer says about itself: its HELLO or its latest INFO. */
  readonly peerInfo: Info;
  /** The peer's latest OFFER. Null before the first one, which means that the peer serves everything. */
  readonly peerOffers: readonly Offer[] | null;
  readonly openStreams: number;
  /** The peer's HELLO has arrived, neither side has sent GOAWAY, and the session is not closed. */
  readonly takesStreams: boolean;
  /** True while open() may be called: it takes streams, is below the peer's stream limit, and the carrier is not stuck. */
  readonly canOpen: boolean;
  readonly closed: boolean;
  /** Last round trip over the data path; null before the first. */
  readonly rttMs: number | null;
  /** The shortest round trip of the last minute, which met an empty queue; 0 before the first. */
  readonly leastRttMs: number;
  /** When a PING last came back, on the session's clock; null before the first. */
  readonly provenAtMs: number | null;
  /** The peer was asked by OPEN or PING, asked again, and has sent nothing for a second: open the next stream elsewhere. */
  readonly isQuiet: boolean;
  /** The path is long: a round trip takes 5 ms or more. False before the first PING. */
  readonly isFar: boolean;
  /** Bytes wait here, because the carrier takes no more now. */
  readonly isFull: boolean;
  /** The congestion control of the carrier; null before the first PING, and where it cannot be read. */
  readonly congestion: string | null;
  /** Losses have left its window smaller than that of a new carrier soon is. Asks the system. */
  readonly isCollapsed: boolean;
  /** Sends padding, so that the window of a new carrier grows before a visitor waits for it. On a long path with BBR alone. */
  widen(): void;
  /** Payload bytes of all streams. */
  readonly receivedBytes: number;
  readonly sentBytes: number;

  /** The peer's HELLO has arrived: streams may be opened. */
  onReady: () => void;
  /** The peer opened a stream. Assign the stream's callbacks before you return. Never called if peerMayOpen is false. */
  onStream: (stream: Stream) => void;
  onOffers: (offers: readonly Offer[]) => void;
  onInfo: (info: Info) => void;
  /** A PING of this side came back. */
  onProof: (rttMs: number) => void;
  /** `isQuiet` has become true. Then the session calls `onQuiet` of each stream that this side opened. */
  onQuiet: () => void;
  /** The peer sent GOAWAY. After `drain` open streams go on; any other code ends the session. */
  onGoaway: (code: GoawayCode, detail: string) => void;
  /** The last callback, exactly once. */
  onClose: (end: SessionEnd) => void;

  /** Throws if canOpen is false. */
  open(request: OpenRequest): Stream;
  /** Calls onQuiet of those streams that this side opened. */
  doubt(isDoubted: (request: OpenRequest) => boolean): void;
  /** Tells the peer which upstreams this side serves and which are healthy; replaces the last OFFER. No-op below version 2. */
  offer(offers: readonly Offer[]): void;
  /** Tells the peer what changed about this side. No-op below version 2. */
  inform(info: Info): void;
  /** Sends GOAWAY now, and closes when the last stream has ended. */
  drain(detail?: string): void;
  /** Sends GOAWAY and closes at once; streams are reset. */
  close(code?: GoawayCode, detail?: string): void;
}
