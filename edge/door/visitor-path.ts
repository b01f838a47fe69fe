// Chooses the congestion control of a connection on a public port: at once if its path is short. On a long path, the choice waits
// until the connection shows whether BBR helps.

import type { Socket } from 'node:net';
import { adaptControl, adaptToUse } from '@underpass/wire/path/tcp-path.ts';
import type { Deadline, Deadlines } from '../limits/deadlines.ts';

/** The pauses between looks at a connection double up to the longest. */
const firstPauseMs = 250;
const longestPauseMs = 4_000;

export interface PathRules {
  readonly deadlines: Deadlines;
  /** The connection has this congestion control now; null if it cannot be read. */
  onAdapted(control: string | null): void;
}

/**
 * A long path whose connection may carry little, as over HTTP/1.1, where a browser opens several. `decide` ends the waiting: call it
 * for a connection that may carry a whole visit.
 */
export class UndecidedPath implements Deadline {
  deadlineMs: number;
  #pauseMs = firstPauseMs;
  #isDecided = false;
  readonly #socket: Socket;
  readonly #rules: PathRules;

  /** Adapts an accepted connection; null if that is all. `onAdapted` gets the control with which it begins, and one that it gets later. */
  static watch(socket: Socket, rules: PathRules): UndecidedPath | null {
    const { control, isUndecided } = adaptToUse(socket);
    rules.onAdapted(control);
    return isUndecided ? new UndecidedPath(socket, rules) : null;
  }

  private constructor(socket: Socket, rules: PathRules) {
    this.#socket = socket;
    this.#rules = rules;
    this.deadlineMs = rules.deadlines.nowMs + firstPauseMs;
    rules.deadlines.watch(this);
    socket.once('close', this.#forget);
  }

  readonly #forget = (): void => this.#rules.deadlines.forget(this);

  decide(): void {
    if (!this.#isDecided) this.#finish(adaptControl(this.#socket));
  }

  onDeadline(): void {
    const { control, isUndecided } = adaptToUse(this.#socket);
    if (!isUndecided) {
      this.#finish(control);
      return;
    }
    this.#pauseMs = Math.min(2 * this.#pauseMs, longestPauseMs);
    this.deadlineMs = this.#rules.deadlines.nowMs + this.#pauseMs;
  }

  #finish(control: string | null): void {
    this.#isDecided = true;
    this.#forget();
    this.#socket.off('close', this.#forget);
    if (control !== null) this.#rules.onAdapted(control);
  }
}
