// How much packed WebSocket data the inspector may inflate in a second.

/** A visitor's few bytes may inflate to a megabyte, which takes 2 ms of the process that carries the tunnels. */
const inflatedBytesPerSecond = 16 * 1024 * 1024;

/** The budget of all connections together. */
export class InflateBudget {
  readonly #now: () => number;
  #secondBeganMs = Number.NEGATIVE_INFINITY;
  #spent = 0;

  /** Milliseconds; monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  get isSpent(): boolean {
    const nowMs = this.#now();
    if (nowMs - this.#secondBeganMs >= 1_000) {
      this.#secondBeganMs = nowMs;
      this.#spent = 0;
    }
    return this.#spent >= inflatedBytesPerSecond;
  }

  spend(bytes: number): void {
    this.#spent += bytes;
  }
}
