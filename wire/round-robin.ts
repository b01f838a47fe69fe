// The streams that wait for room on the carrier. Each sends one frame in its turn, as long as there is room.

import type { FrameWriter } from './frame-writer.ts';
import type { MuxStream } from './stream.ts';

export class RoundRobin {
  readonly #writer: FrameWriter;
  /** In the order of their turns, each stream at most once. */
  #waiting: MuxStream[] = [];
  #state: 'idle' | 'running' | 'stopped' = 'idle';

  constructor(writer: FrameWriter) {
    this.#writer = writer;
  }

  /** Calls stream.proceed() in its turn, at once if there is room. */
  add(stream: MuxStream): void {
    if (!stream.awaiting) {
      stream.awaiting = true;
      this.#waiting.push(stream);
    }
    this.run();
  }

  run(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'running';
    while (this.#waiting.length > 0 && this.#writer.hasRoom) {
      const stream = this.#waiting.shift()!;
      stream.awaiting = false;
      stream.proceed();
    }
    if (this.#state === 'running') this.#state = 'idle';
  }

  stop(): void {
    this.#state = 'stopped';
    this.#waiting = [];
  }
}
