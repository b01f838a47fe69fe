// Deadlines of many connections on one timer: setting one is a store, not a timer. Precise to a quarter of a second, never early.

export interface Deadline {
  /** Reading of deadlines.nowMs after which onDeadline is called once; Infinity for none. */
  deadlineMs: number;
  onDeadline(): void;
}

const tickMs = 250;

export class Deadlines {
  /**
   * A clock of its own, moved on by every tick: it stands while this process does. What came for a machine that was paused, or
   * too busy, waits in the kernel, and is read before anybody is cut for having said nothing.
   */
  nowMs = 0;
  readonly #watched = new Set<Deadline>();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#sweep(), tickMs);
    this.#timer.unref();
  }

  watch(item: Deadline): void {
    this.#watched.add(item);
  }

  forget(item: Deadline): void {
    this.#watched.delete(item);
  }

  get watched(): number {
    return this.#watched.size;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#watched.clear();
  }

  #sweep(): void {
    this.nowMs += tickMs;
    for (const item of this.#watched) {
      if (item.deadlineMs > this.nowMs) continue;
      item.deadlineMs = Number.POSITIVE_INFINITY;
      item.onDeadline();
    }
  }
}
