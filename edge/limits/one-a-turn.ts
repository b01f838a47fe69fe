// Lets callers continue one after the other, each in a turn of the event loop of its own, so that visitors have theirs between.

export class OneATurn {
  /** In order of arrival. The callers bound it. */
  readonly #waiting: (() => void)[] = [];

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#run());
    });
  }

  #run(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(() => this.#run());
  }
}
