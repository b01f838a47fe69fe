// The deadlines of all connections on one timer, so setting a deadline only stores a number. It fires up to 250 ms late, never early.

export interface Deadline {
  /** onDeadline is called once when deadlines.nowMs reaches this; Infinity for none. */
  deadlineMs: number;
  onDeadline(): void;
}

const tickMs = 250;

export class Deadlines {
  /**
   * Only ticks advance this clock, so it stops while the process is paused. After such a pause the process first reads the bytes
   * that the kernel kept, and does not close those connections as silent.
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
