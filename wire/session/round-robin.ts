// The streams that wait for room on the carrier. Each sends one frame in its turn, as long as there is room. Streams with little
// to send come first: small answers do not wait for a frame of every bulk transfer.

import type { FrameWriter } from './frame-writer.ts';
import type { MuxStream } from './stream.ts';

/** A page's head, an API's answer. */
const littleBytes = 16_384;
/** Turns of streams with little before one with much has its turn, so that many small answers cannot stop it. */
const littleTurns = 8;

export class RoundRobin {
  readonly #writer: FrameWriter;
  /** Streams in the order of their turns, each in one of these lists at most once. */
  #little: MuxStream[] = [];
  #much: MuxStream[] = [];
  #turns = 0;
  #state: 'idle' | 'running' | 'stopped' = 'idle';

  constructor(writer: FrameWriter) {
    this.#writer = writer;
  }

  /** Calls stream.proceed() in its turn, at once if there is room. */
  add(stream: MuxStream): void {
    if (!stream.isQueued) {
      stream.isQueued = true;
      (stream.queuedBytes <= littleBytes ? this.#little : this.#much).push(stream);
    }
    this.run();
  }

  run(): void {
    if (this.#state !== 'idle') return;
    this.#state = 'running';
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      next.isQueued = false;
      next.proceed();
    }
    if (this.#state === 'running') this.#state = 'idle';
  }

  #next(): MuxStream | undefined {
    if (!this.#writer.hasRoom) return undefined;
    const isTurnOfMuch = this.#little.length === 0 || (this.#turns >= littleTurns && this.#much.length > 0);
    this.#turns = isTurnOfMuch ? 0 : this.#turns + 1;
    return (isTurnOfMuch ? this.#much : this.#little).shift();
  }

  stop(): void {
    this.#state = 'stopped';
    this.#little = [];
    this.#much = [];
  }
}
