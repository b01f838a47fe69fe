// Lets callers continue one after the other, each in a turn of the event loop of its own, so that visitors have theirs between.

import { createNextTurn } from './next-turn.ts';

export class OneATurn {
  /** In order of arrival. The callers bound it. */
  readonly #waiting: (() => void)[] = [];
  readonly #schedule = createNextTurn(() => this.#run());

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#schedule();
    });
  }

  #run(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#schedule();
  }
}
