// The last copy of the feed's state on disk, so that an edge can start without control. It is replaced as a whole, and only
// its owner may read it, because it holds private keys.

import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FeedCopy, FeedState } from '@underpass/wire/feed/feed.ts';
import type { FeedPosition } from './feed-link.ts';

interface Snapshot {
  readonly format: 1;
  readonly position: FeedPosition;
  readonly state: FeedState;
}

/** Changes within this time are written together. */
const settleMs = 200;
/** Rendering the copy takes some 150 ms for 35 MB. A pause of 50 times as long keeps that to a fiftieth of the time. */
const restTimes = 50;
const mostRestMs = 15_000;
/** Entries rendered at once: each piece blocks the event loop for a millisecond or two. */
const pieceEntries = 200;
/** A failed write is retried with growing pauses. */
const firstRetryMs = 1_000;
const mostRetryMs = 15_000;

/** A bound, because each pong carries the error. */
const mostErrorChars = 200;

type Current = () => Omit<Snapshot, 'format'>;

export class SnapshotFile {
  readonly #path: string;
  readonly #onError: (error: Error) => void;
  #pending: Current | null = null;
  #writing: Promise<void> | null = null;
  #closing = false;
  /** Another process writes the file. */
  #held = false;
  #restMs = settleMs;
  #endPause = (): void => {};
  #state: FeedCopy = { writtenAtMs: null, error: null };

  constructor(path: string, onError: (error: Error) => void) {
    this.#path = path;
    this.#onError = onError;
  }

  get state(): FeedCopy {
    return this.#state;
  }

  /** Null if there is none. A damaged one is reported and counts as none. */
  async load(): Promise<Snapshot | null> {
    try {
      const value = JSON.parse(await readFile(this.#path, 'utf8'));
      this.#state = { writtenAtMs: (await stat(this.#path)).mtimeMs, error: null };
      return value?.format === 1 && typeof value.position?.seq === 'number' ? value : null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#onError(error as Error);
      return null;
    }
  }

  /** Soon writes what `current` returns at that time. */
  save(current: Current): void {
    this.#pending = current;
    if (!this.#held) this.#writing ??= this.#run();
  }

  /** Leaves the file to another process, or takes it over. Resolves once this process writes nothing. */
  async hold(held: boolean): Promise<void> {
    this.#held = held;
    if (held) {
      this.#endPause();
      await this.#writing;
    } else if (this.#pending !== null) this.save(this.#pending);
  }

  /** Writes what waits at once, and does not retry: the end is near. */
  async flush(): Promise<void> {
    this.#closing = true;
    this.#endPause();
    await this.#writing;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (this.#pending !== null && !this.#held) {
      await this.#pause(failures === 0 ? this.#restMs : Math.min(mostRetryMs, firstRetryMs * 2 ** (failures - 1)));
      if (this.#held) break;
      const current = this.#pending;
      this.#pending = null;
      const beganMs = performance.now();
      const pieces = render(current());
      let costMs = performance.now() - beganMs;
      const error = await this.#write(timed(pieces, (ms) => (costMs += ms))).catch((error: Error) => error);
      this.#restMs = Math.min(mostRestMs, Math.max(settleMs, restTimes * costMs));
      failures = error === undefined ? 0 : failures + 1;
      if (error === undefined) {
        this.#state = { writtenAtMs: Date.now(), error: null };
        continue;
      }
      this.#state = { ...this.#state, error: error.message.slice(0, mostErrorChars) };
      // Once for each outage: the edge retries four times a minute.
      if (failures === 1) this.#onError(error);
      if (!this.#closing) this.#pending ??= current;
    }
    this.#writing = null;
  }

  #pause(ms: number): Promise<void> {
    if (this.#closing) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** A crash at any point leaves the old file or the new one. */
  async #write(pieces: Iterable<string>): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    const draft = `${this.#path}.new`;
    const file = await open(draft, 'w', 0o600);
    try {
      // open() sets the mode only of a new file; a draft left by a crash keeps its own.
      await file.chmod(0o600);
      await file.writeFile(pieces);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, this.#path);
  }
}

/** JSON in pieces: as one text it would block visitors, and take twice its size in memory. */
function* render({ position, state }: ReturnType<Current>): Generator<string, void> {
  yield `{"format":1,"position":${JSON.stringify(position)},"state":{`;
  for (const [at, [part, entries]] of Object.entries(state).entries()) {
    yield `${at === 0 ? '' : ','}${JSON.stringify(part)}:[`;
    for (let from = 0; from < entries.length; from += pieceEntries) {
      const texts = entries.slice(from, from + pieceEntries).map((entry: unknown) => JSON.stringify(entry));
      yield `${from === 0 ? '' : ','}${texts.join()}`;
    }
    yield ']';
  }
  yield '}}';
}

/** The same pieces; says how long each took to make. */
function* timed(pieces: Iterator<string, void>, onMade: (ms: number) => void): Generator<string, void> {
  for (;;) {
    const beganMs = performance.now();
    const piece = pieces.next();
    onMade(performance.now() - beganMs);
    if (piece.done === true) return;
    yield piece.value;
  }
}
