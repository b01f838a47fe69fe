// Bounds what an HTTP/2 connection receives beside requests and bodies: PING, SETTINGS, WINDOW_UPDATE, padding, empty frames,
// refused heads, and fields with a malformed name or value, which Node drops unseen and uncounted. Each is legal, so this limits
// their sum: a token bucket that useful traffic refills. Pure.

/** Counters since the connection began. */
export interface Traffic {
  /** Every byte received inside TLS. */
  readonly receivedBytes: number;
  /** Bytes of request bodies that were read. */
  readonly bodyBytes: number;
  /** Bytes of response bodies. */
  readonly sentBytes: number;
  readonly requests: number;
  /** Bytes of their heads as HTTP/1.1, without what Node dropped. On the wire a head has fewer. */
  readonly headBytes: number;
}

/** A browser uses some 2 kB to open the streams of a page; this allows a burst of 60,000 PINGs. */
const burstBytes = 1024 * 1024;
/** Keep-alives and priorities of a busy page take some hundreds of bytes. */
const bytesPerSecond = 64 * 1024;
/** The frames around a head and a body: headers of frames, priorities, window updates, the reset of a cancelled request. */
const bytesPerRequest = 1024;
/** Two WINDOW_UPDATEs for each KiB received: the smallest reads of visitors are larger. */
const sentPerByte = 32;
/** The first window of a stream: how much of a body may have arrived without being read. */
export const streamWindowBytes: number = 256 * 1024;

const usefulBytes = ({ bodyBytes, sentBytes, requests, headBytes }: Traffic): number =>
  // A body in pieces of ten bytes has as many bytes in frame headers.
  2 * bodyBytes + sentBytes / sentPerByte + requests * bytesPerRequest + headBytes;

export class OverheadBucket {
  #left = burstBytes;
  #spent = 0;

  /** False once useful traffic and time do not explain what was received. Up to `waitingBytes` may be bodies that are not read yet. */
  take(traffic: Traffic, seconds: number, waitingBytes: number): boolean {
    const spent = traffic.receivedBytes - usefulBytes(traffic);
    this.#left = Math.min(burstBytes, this.#left + seconds * bytesPerSecond - (spent - this.#spent));
    this.#spent = spent;
    return this.#left + waitingBytes >= 0;
  }
}
