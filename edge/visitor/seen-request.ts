// One request that a log wants, from its head to the end of its answer. Made only while a log wants it.

import type { FeedLogEntry } from '@underpass/wire/feed/feed.ts';
import type { AccessEntry } from '../core/access-line.ts';
import type { OwnAnswer } from '../core/own-answer.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import type { TunnelState, UpstreamWay } from '../routes/tunnel-state.ts';

/** The visitor left before its answer began. No server sends this status; nginx logs it. */
const visitorGone = 499;

interface RequestTexts extends Pick<AccessEntry, 'address' | 'host' | 'method' | 'target' | 'version' | 'referer' | 'agent'> {
  readonly tunnel: TunnelState | null;
  readonly who: string;
  readonly rule: string;
  readonly trace: string;
}

/** A tenth of a millisecond is as exact as it gets. */
const rounded = (ms: number): number => Math.round(Math.max(0, ms) * 10) / 10;

export class SeenRequest implements AccessEntry {
  readonly atMs: number = Date.now();
  readonly tunnel: TunnelState | null;
  readonly address: string;
  readonly host: string;
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly referer: string;
  readonly agent: string;
  status: number;
  /** Why the edge answered itself; null: the upstream answered, or the answer is no error. */
  code: VisitorError | null = null;
  bytes = 0;
  /** The signed-in person or the machine token; empty: nobody. */
  readonly who: string;
  /** The path rule that refused it; empty: none. */
  readonly rule: string;
  /** The trace id that the upstream got; empty: none. */
  readonly trace: string;
  readonly #startMs = performance.now();
  #answerMs: number | null = null;
  #way: UpstreamWay | null = null;
  #onEnd: ((seen: SeenRequest) => void) | null;

  constructor(texts: RequestTexts, onEnd: (seen: SeenRequest) => void, status: number = visitorGone) {
    this.status = status;
    this.tunnel = texts.tunnel;
    this.address = texts.address;
    this.host = texts.host;
    this.method = texts.method;
    this.target = texts.target;
    this.version = texts.version;
    this.referer = texts.referer;
    this.agent = texts.agent;
    this.who = texts.who;
    this.rule = texts.rule;
    this.trace = texts.trace;
    this.#onEnd = onEnd;
  }

  /** The head of the answer is known. */
  answered(status: number, code: VisitorError | null = null): void {
    this.status = status;
    this.code = code;
  }

  /** The head of the upstream's answer has arrived this way. */
  arrived(status: number, way: UpstreamWay | null): void {
    this.answered(status);
    this.#answerMs = performance.now() - this.#startMs;
    this.#way = way;
  }

  /** Times until now; null where no upstream answered. */
  times(): Pick<FeedLogEntry, 'edgeMs' | 'tunnelMs' | 'upstreamMs' | 'totalMs'> {
    const totalMs = rounded(performance.now() - this.#startMs);
    const [way, answerMs] = [this.#way, this.#answerMs];
    if (way === null || answerMs === null) return { edgeMs: null, tunnelMs: null, upstreamMs: null, totalMs };
    const { waitMs } = way;
    // The round trip was measured before: this answer may have been faster.
    const roundTripMs = way.roundTripMs === null ? null : Math.min(way.roundTripMs, answerMs - waitMs);
    const upstreamMs = rounded(answerMs - waitMs - (roundTripMs ?? 0));
    return { edgeMs: rounded(waitMs), tunnelMs: roundTripMs === null ? null : rounded(roundTripMs), upstreamMs, totalMs };
  }

  /** The edge answers itself. */
  answeredByEdge({ status, code, body }: OwnAnswer, headOnly: boolean): void {
    this.answered(status, code);
    if (!headOnly) this.count(Buffer.byteLength(body));
  }

  /** Bytes of the body, with the framing of chunks over HTTP/1.1. */
  count(bytes: number): void {
    this.bytes += bytes;
  }

  /** The answer is whole, or nothing more of it follows. Later calls do nothing. */
  end(): void {
    const onEnd = this.#onEnd;
    this.#onEnd = null;
    onEnd?.(this);
  }
}
