// What an HTTP/2 connection receives beside requests and bodies: PING, SETTINGS, WINDOW_UPDATE, padding, empty frames,
// heads that are refused. None of it is wrong by itself, so it is paid from a bucket that useful traffic fills. Pure.

/** Counters since the connection began. */
export interface Traffic {
  /** Every byte that came out of TLS. */
  readonly receivedBytes: number;
  /** Of requests' bodies, as far as they were read. */
  readonly bodyBytes: number;
  /** Of responses' bodies. */
  readonly sentBytes: number;
  readonly requests: number;
}

/** A browser spends some 2 kB when it opens a page's worth of streams; this is a burst of 60,000 PINGs. */
const burstBytes = 1024 * 1024;
/** Keep-alives and priorities of a busy page take some hundreds. */
const bytesPerSecond = 64 * 1024;
/** A head with its cookies; larger ones are rare and have the burst. */
const bytesPerRequest = 16 * 1024;
/** Two WINDOW_UPDATEs for each KiB taken: the smallest reads are larger. */
const sentPerByte = 32;
/** The first window of a stream: what of a body may be received and not read yet. */
export const streamWindowBytes: number = 256 * 1024;

const usefulBytes = ({ bodyBytes, sentBytes, requests }: Traffic): number =>
  // A body in pieces of ten bytes has as much in frame headers.
  2 * bodyBytes + sentBytes / sentPerByte + requests * bytesPerRequest;

export class OverheadBucket {
  #left = burstBytes;
  #spent = 0;

  /** False once more was received than useful traffic and time explain; `waitingBytes` may be bodies that nobody read yet. */
  take(traffic: Traffic, seconds: number, waitingBytes: number): boolean {
    const spent = traffic.receivedBytes - usefulBytes(traffic);
    this.#left = Math.min(burstBytes, this.#left + seconds * bytesPerSecond - (spent - this.#spent));
    this.#spent = spent;
    return this.#left + waitingBytes >= 0;
  }
}
