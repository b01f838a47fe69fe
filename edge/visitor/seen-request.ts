// One request that a log wants, from its head to the end of its answer. Made only while a log wants it.

import type { AccessEntry } from '../core/access-line.ts';
import type { OwnAnswer } from '../core/own-answer.ts';
import type { VisitorError } from '../core/visitor-error.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';

/** The visitor left before its answer began. No server sends this status; nginx logs it. */
const visitorGone = 499;

export interface RequestTexts
  extends Pick<AccessEntry, 'address' | 'host' | 'method' | 'target' | 'version' | 'referer' | 'agent'> {
  readonly tunnel: TunnelState | null;
}

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
  status: number = visitorGone;
  /** Why the edge answered itself; null: the upstream answered, or the answer is no error. */
  code: VisitorError | null = null;
  bytes = 0;
  #onEnd: ((seen: SeenRequest) => void) | null;

  constructor(texts: RequestTexts, onEnd: (seen: SeenRequest) => void) {
    this.tunnel = texts.tunnel;
    this.address = texts.address;
    this.host = texts.host;
    this.method = texts.method;
    this.target = texts.target;
    this.version = texts.version;
    this.referer = texts.referer;
    this.agent = texts.agent;
    this.#onEnd = onEnd;
  }

  /** The head of the answer is known. */
  answered(status: number, code: VisitorError | null = null): void {
    this.status = status;
    this.code = code;
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
