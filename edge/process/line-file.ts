// Writes lines to a file or to standard output in batches, without keeping a request waiting. What a slow disk or reader does not
// take within the bound is dropped and counted. A file that was renamed or removed, as logrotate does, is opened again.

import { close, fstat, open, stat, write } from 'node:fs';
import { promisify } from 'node:util';
import type { Logger } from 'pino';

/** Bytes that may wait: some 20,000 lines. */
const mostWaitingBytes = 4 * 1024 * 1024;
/** Time for further lines of the same batch. */
const batchMs = 200;
/** Bytes of one write to a file. */
const fileBytes = 64 * 1024;
/** PIPE_BUF on Linux: a pipe takes this much whole, so lines of several workers do not mix. No line is longer (access-line.ts). */
const pipeBytes = 4_096;
/** Wait after a failed write, and after one that standard output had no room for. */
const retryMs = 1_000;
const fullMs = 50;
/** How long a stop waits for the last lines. */
const flushMs = 2_000;

const standardOutput = 'stdout';
/** Code of the error of a file that cannot be opened. */
export const lineFileError = 'LINE_FILE';

/** Whole lines that leave with one write. */
interface Batch {
  readonly bytes: Buffer;
  filled: number;
}

interface Calls {
  readonly open: (path: string) => Promise<number>;
  readonly close: (fd: number) => Promise<void>;
  readonly write: (fd: number, bytes: Buffer) => Promise<number>;
  /** Device and inode; null if nothing is there. */
  readonly identify: (path: string | number) => Promise<string | null>;
}

const systemCalls: Calls = {
  // Readable for the group: fail2ban and the like need not run as root.
  open: (path) => promisify(open)(path, 'a', 0o640),
  close: promisify(close),
  write: async (fd, bytes) => (await promisify(write)(fd, bytes)).bytesWritten,
  identify: (path) =>
    new Promise((resolve) => {
      const done = (error: Error | null, found?: { dev: bigint; ino: bigint }): void =>
        resolve(error === null && found !== undefined ? `${found.dev} ${found.ino}` : null);
      if (typeof path === 'string') stat(path, { bigint: true }, done);
      else fstat(path, { bigint: true }, done);
    }),
};

export class LineFile {
  /** Lines that were not written. */
  dropped = 0;
  readonly #path: string;
  readonly #log: Logger;
  readonly #calls: Calls;
  /** The last one takes further lines. Bytes, not texts: the collector copies texts that live as long as a batch. */
  readonly #waiting: Batch[] = [];
  #waitingBytes = 0;
  /** The rest of a batch that was written in part: it ends a line that has begun. */
  #rest: Buffer = Buffer.alloc(0);
  #fd = -1;
  #writing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #hasFailed = false;
  #isClosed = false;

  private constructor(path: string, log: Logger, calls: Calls) {
    this.#path = path;
    this.#log = log;
    this.#calls = calls;
  }

  /** Fails if the file cannot be opened: a log that is asked for and not kept must not go unnoticed. */
  static async open(path: string, log: Logger, calls: Calls = systemCalls): Promise<LineFile> {
    const file = new LineFile(path, log, calls);
    await file.#open().catch((error: Error) => {
      throw Object.assign(new Error(error.message, { cause: error }), { code: lineFileError });
    });
    return file;
  }

  /** `line` ends with a line feed. */
  write(line: string): void {
    if (this.#waitingBytes + line.length > mostWaitingBytes || this.#isClosed) {
      this.dropped++;
      return;
    }
    const batch = this.#batchFor(line.length);
    batch.filled += batch.bytes.write(line, batch.filled, 'latin1');
    this.#waitingBytes += line.length;
    this.#writeIn(batchMs);
  }

  #batchFor(bytes: number): Batch {
    const last = this.#waiting.at(-1);
    if (last !== undefined && last.filled + bytes <= last.bytes.length) return last;
    const most = this.#path === standardOutput ? pipeBytes : fileBytes;
    const batch = { bytes: Buffer.allocUnsafe(Math.max(bytes, most)), filled: 0 };
    this.#waiting.push(batch);
    return batch;
  }

  #writeIn(ms: number): void {
    if (this.#timer !== undefined || this.#writing !== null) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#start();
    }, ms).unref();
  }

  #start(): void {
    this.#writing ??= this.#drain().then((waitMs) => {
      this.#writing = null;
      if (waitMs !== null && !this.#isClosed) this.#writeIn(waitMs);
    });
  }

  /** Writes all that waits. Returns how long to wait before the next try; null if nothing is left. */
  async #drain(): Promise<number | null> {
    try {
      await this.#reopenIfMoved();
      for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
        this.#rest = batch;
        this.#rest = batch.subarray(await this.#calls.write(this.#fd, batch));
      }
      this.#hasFailed = false;
      return null;
    } catch (error) {
      // Standard output is a pipe that does not block, and is full.
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return fullMs;
      // Once for each outage.
      if (!this.#hasFailed) this.#log.error({ error: (error as Error).message }, 'the access log is not written');
      this.#hasFailed = true;
      return retryMs;
    }
  }

  /** Whole lines, unless a line was written in part before. */
  #nextBatch(): Buffer {
    if (this.#rest.length > 0) return this.#rest;
    const { bytes, filled } = this.#waiting.shift() ?? { bytes: Buffer.alloc(0), filled: 0 };
    this.#waitingBytes -= filled;
    return bytes.subarray(0, filled);
  }

  async #reopenIfMoved(): Promise<void> {
    if (this.#path === standardOutput) return;
    const [there, held] = await Promise.all([this.#calls.identify(this.#path), this.#calls.identify(this.#fd)]);
    if (there !== null && there === held) return;
    const old = this.#fd;
    // The end of a line belongs to its beginning.
    if (this.#rest.length > 0) await this.#calls.write(old, this.#rest).catch(() => {});
    this.#rest = Buffer.alloc(0);
    await this.#open();
    await this.#calls.close(old);
  }

  async #open(): Promise<void> {
    this.#fd = this.#path === standardOutput ? 1 : await this.#calls.open(this.#path);
  }

  /** Writes what waits now, for a limited time: the process may end soon. */
  async flush(): Promise<void> {
    let late: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => {
      late = setTimeout(resolve, flushMs);
    });
    const written = (this.#writing ?? Promise.resolve()).then(() => {
      this.#start();
      return this.#writing;
    });
    await Promise.race([written, tooLate]);
    clearTimeout(late);
  }

  async close(): Promise<void> {
    await this.flush();
    this.#isClosed = true;
    clearTimeout(this.#timer);
    // A write that still waits needs the descriptor.
    if (this.#path !== standardOutput && this.#writing === null) await this.#calls.close(this.#fd).catch(() => {});
  }
}
