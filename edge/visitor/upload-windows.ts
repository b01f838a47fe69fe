// The windows of one HTTP/2 visitor's uploads: they grow while an upload waits for its window and not for its upstream.
// Node has no window for one stream, so it is the setting for all of the connection that changes (RFC 9113 6.9.2), and each
// upload is counted with all that it may have been promised, until it ends; with no more than it says that it has, which
// HTTP/2 holds it to (RFC 9113 8.1.1).

import type { ServerHttp2Session } from 'node:http2';
import { WindowBudget } from '@underpass/wire/core/credit.ts';
import { streamWindowBytes } from '../core/http2-overhead.ts';

/** 20 MB/s over 100 ms. */
const mostWindowBytes = 2 * 1024 * 1024;
/** Beyond the first windows, of one connection: as much as all its streams may hold with those. */
const visitorBytes = 100 * streamWindowBytes;
/** The same of the process: sixteen times what 100 ms and 2 MB/s need. What finds none left has the first window. */
const processBytes = 64 * 1024 * 1024;
/** The first window carries 25 MB/s over it. */
const nearMs = 10;

export const createUploadBudget = (): WindowBudget => new WindowBudget(processBytes);

export interface Upload {
  /** Of its body; infinite where it does not say. */
  readonly bodyBytes: number;
  /** What it may hold beyond the first window. */
  extraBytes: number;
  /** Taken by its upstream since the ping was sent, or since there was one. */
  roundBytes: number;
}

export class UploadWindows {
  readonly #session: ServerHttp2Session;
  readonly #process: WindowBudget;
  readonly #own = new WindowBudget(visitorBytes);
  readonly #uploads = new Set<Upload>();
  /** What the setting says. */
  #windowBytes = streamWindowBytes;
  /** What a new stream may send: a smaller setting holds once the visitor has said so. */
  #promisedBytes = streamWindowBytes;
  #measuring = false;
  #near = false;
  /** The most that there ever was beyond first windows; so much may come for uploads that broke off. */
  mostExtraBytes = 0;

  constructor(session: ServerHttp2Session, budget: WindowBudget) {
    this.#session = session;
    this.#process = budget;
  }

  /** False where one more could hold more than is left: it may come again when the setting is the first one (RFC 9113 8.7). */
  makeRoom(bodyBytes: number = Number.POSITIVE_INFINITY): boolean {
    const fits = this.#fits(extraOf(this.#promisedBytes, bodyBytes), 1);
    if (!fits) this.#shrink();
    return fits;
  }

  /** A half of either budget is for growth, so that an upload that begins finds room beside those that grew. */
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

  /** Once or more. */
  end(upload: Upload): void {
    if (!this.#uploads.delete(upload)) return;
    this.#own.give(upload.extraBytes);
    this.#process.give(upload.extraBytes);
    if (this.#uploads.size === 0) this.#shrink();
  }

  /** Its upstream takes so much of it. */
  taken(upload: Upload, bytes: number): void {
    upload.roundBytes += bytes;
    if (this.#measuring || this.#near || upload.roundBytes < this.#windowBytes || this.#windowBytes === mostWindowBytes) return;
    for (const one of this.#uploads) one.roundBytes = 0;
    this.#measuring = !this.#session.destroyed && this.#session.ping((error, ms) => this.#measured(error === null ? ms : 0));
  }

  /** Grants come by halves: who waits for them brings half a window in each round trip, or nearly. */
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

/** What a window lets an upload hold beyond the first one. */
const extraOf = (windowBytes: number, bodyBytes: number): number =>
  Math.max(0, Math.min(windowBytes, bodyBytes) - streamWindowBytes);

const moreOf = ({ bodyBytes, extraBytes }: Upload, windowBytes: number): number =>
  Math.max(0, extraOf(windowBytes, bodyBytes) - extraBytes);
