// The last good copy of the feed's state on disk: written whole, readable by its owner alone (it holds private keys).

import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { FeedState } from '@underpass/wire/feed.ts';
import type { FeedPosition } from './feed-link.ts';

interface Snapshot {
  readonly format: 1;
  readonly position: FeedPosition;
  readonly state: FeedState;
}

/** Changes within this time are written together. */
const settleMs = 200;

export class SnapshotFile {
  readonly #path: string;
  readonly #onError: (error: Error) => void;
  #pending: (() => Omit<Snapshot, 'format'>) | null = null;
  #writing: Promise<void> | null = null;

  constructor(path: string, onError: (error: Error) => void) {
    this.#path = path;
    this.#onError = onError;
  }

  /** Null where there is none; a damaged one is reported and counts as none. */
  async load(): Promise<Snapshot | null> {
    try {
      const value = JSON.parse(await readFile(this.#path, 'utf8'));
      return value?.format === 1 && typeof value.position?.seq === 'number' ? value : null;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#onError(error as Error);
      return null;
    }
  }

  /** Soon writes what `current` gives then. */
  save(current: () => Omit<Snapshot, 'format'>): void {
    this.#pending = current;
    this.#writing ??= this.#settle();
  }

  /** Resolves when nothing waits to be written. */
  async flush(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  async #settle(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const current = this.#pending;
    this.#pending = null;
    try {
      if (current !== null) await this.#write(JSON.stringify({ format: 1, ...current() }));
    } catch (error) {
      this.#onError(error as Error);
    }
    this.#writing = this.#pending === null ? null : this.#settle();
  }

  /** A crash at any point leaves the old file or the new one. */
  async #write(text: string): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    const draft = `${this.#path}.new`;
    const file = await open(draft, 'w', 0o600);
    try {
      // The mode of open() counts only for a file that is made; a draft left behind keeps its own.
      await file.chmod(0o600);
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, this.#path);
  }
}
