// The windows of one HTTP/2 visitor's uploads. They grow while an upload waits for its window and not for its upstream.
// Node cannot set the window of one stream, so the connection's setting changes (RFC 9113 6.9.2). Until it ends, each upload
// counts with all that it may have been promised, but with no more than its content-length, which HTTP/2 enforces (RFC 9113 8.1.1).

import type { ServerHttp2Session } from 'node:http2';
import { WindowBudget } from '@underpass/wire/core/credit.ts';
import { streamWindowBytes } from '../core/http2-overhead.ts';

/** 20 MB/s over a round trip of 100 ms. */
const mostWindowBytes = 2 * 1024 * 1024;
/** Bytes of one connection beyond the first windows: as much again as those allow all its streams to hold. */
const visitorBytes = 100 * streamWindowBytes;
/** Bytes of the whole process beyond the first windows: some 36 of the largest size. Further uploads keep the first window. */
const processBytes = 64 * 1024 * 1024;
/** The round trip below which the first window is enough: it carries 25 MB/s. */
const nearMs = 10;

export const createUploadBudget = (): WindowBudget => new WindowBudget(processBytes);

export interface Upload {
  /** Length of its body; infinite if unknown. */
  readonly bodyBytes: number;
  /** Bytes that it may hold beyond the first window. */
  extraBytes: number;
  /** Bytes that its upstream took since the last ping was sent, or since the upload began. */
  roundBytes: number;
}

export class UploadWindows {
  readonly #session: ServerHttp2Session;
  readonly #process: WindowBudget;
  readonly #own = new WindowBudget(visitorBytes);
  readonly #uploads = new Set<Upload>();
  /** The announced setting. */
  #windowBytes = streamWindowBytes;
  /** What a new stream may send. A smaller setting applies once the visitor has acknowledged it. */
  #promisedBytes = streamWindowBytes;
  #measuring = false;
  #near = false;
  /** The most that was ever allowed beyond first windows: as much may still arrive for uploads that broke off. */
  mostExtraBytes = 0;

  constructor(session: ServerHttp2Session, budget: WindowBudget) {
    this.#session = session;
    this.#process = budget;
  }

  /** False if one more upload could hold more than is left. The visitor may retry after the setting has shrunk (RFC 9113 8.7). */
  makeRoom(bodyBytes: number = Number.POSITIVE_INFINITY): boolean {
    const fits = this.#fits(extraOf(this.#promisedBytes, bodyBytes), 1);
    if (!fits) this.#shrink();
    return fits;
  }

  /** Growth uses half of each budget, so a new upload finds room beside those that grew. */
  #fits(bytes: number, share: 1 | 0.5): boolean {
    return [this.#own, this.#process].every(
      ({ usedBytes, limitBytes }) => bytes === 0 || usedBytes + bytes <= limitBytes * share,
    );
  }

  begin(bodyBytes: number = Number.POSITIVE_INFINITY): Upload {
    const upload = { bodyBytes, extraBytes: 0, roundBytes: 0 };
    this.#uploads.add(upload);
    this.#widen(upload);
    return upload;
  }

  #widen(upload: Upload): void {
    const bytes = moreOf(upload, this.#promisedBytes);
    upload.extraBytes += bytes;
    this.#own.take(bytes);
    this.#process.take(bytes);
    this.mostExtraBytes = Math.max(this.mostExtraBytes, this.#own.usedBytes);
  }

  /** May be called more than once. */
  end(upload: Upload): void {
    if (!this.#uploads.delete(upload)) return;
    this.#own.give(upload.extraBytes);
    this.#process.give(upload.extraBytes);
    if (this.#uploads.size === 0) this.#shrink();
  }

  /** Tells how many bytes the upstream took. */
  taken(upload: Upload, bytes: number): void {
    upload.roundBytes += bytes;
    if (this.#measuring || this.#near || upload.roundBytes < this.#windowBytes || this.#windowBytes === mostWindowBytes) return;
    for (const one of this.#uploads) one.roundBytes = 0;
    this.#measuring = !this.#session.destroyed && this.#session.ping((error, ms) => this.#measured(error === null ? ms : 0));
  }

  /** The edge returns credit by half windows, so an upload that waits for its window moves about half of it in a round trip. */
  #measured(rttMs: number): void {
    this.#measuring = false;
    this.#near = rttMs < nearMs;
    const waits = [...this.#uploads].some(({ roundBytes }) => 3 * roundBytes >= this.#windowBytes);
    if (!this.#near && waits) this.#grow();
  }

  #grow(): void {
    const next = Math.min(2 * this.#windowBytes, mostWindowBytes);
    let bytes = 0;
    for (const upload of this.#uploads) bytes += moreOf(upload, next);
    if (this.#session.pendingSettingsAck || !this.#fits(bytes, 0.5)) return;
    this.#promisedBytes = next;
    for (const upload of this.#uploads) this.#widen(upload);
    this.#announce(next);
  }

  #shrink(): void {
    if (this.#windowBytes > streamWindowBytes) this.#announce(streamWindowBytes);
  }

  #announce(bytes: number): void {
    if (this.#session.destroyed) return;
    this.#windowBytes = bytes;
    this.#session.settings({ initialWindowSize: bytes }, () => {
      if (!this.#session.pendingSettingsAck) this.#promisedBytes = this.#windowBytes;
    });
  }
}

/** What a window of this size lets an upload hold beyond the first window. */
const extraOf = (windowBytes: number, bodyBytes: number): number =>
  Math.max(0, Math.min(windowBytes, bodyBytes) - streamWindowBytes);

const moreOf = ({ bodyBytes, extraBytes }: Upload, windowBytes: number): number =>
  Math.max(0, extraOf(windowBytes, bodyBytes) - extraBytes);
