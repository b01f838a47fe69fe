// The visits whose ticket was used: a ticket works once at an edge, whichever of its workers gets it.

import { createHash } from 'node:crypto';
import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';

/**
 * Visits that a process remembers, each for what is left of its ticket's minute: some 10 MB at most. That is a thousand sign-ins a
 * second. Beyond it, the process refuses tickets instead of forgetting some.
 */
const mostEntered = 65_536;

export class EnteredVisits {
  readonly #folder: string | null;
  readonly #log: Pick<Logger, 'error'>;
  /** When the ticket of each visit ends, by key. */
  readonly #ends = new Map<string, number>();

  /** `folder`: shared by the workers of the edge, and by nothing else. Null if the edge has one process. */
  constructor(folder: string | null, log: Pick<Logger, 'error'>) {
    this.#folder = folder;
    this.#log = log;
  }

  /** True the first time. False if the visit was entered before, and also if that cannot be known or kept. */
  enter(host: string, nonce: string, untilMs: number): boolean {
    const key = createHash('sha256').update(`${host}\0${nonce}`).digest('hex');
    if (this.#ends.has(key)) return false;
    if (this.#ends.size >= mostEntered) {
      this.#log.error({ entered: this.#ends.size }, 'too many visitors sign in at once; refusing a ticket');
      return false;
    }
    if (!this.#claim(key)) return false;
    this.#ends.set(key, untilMs);
    return true;
  }

  /**
   * Only one process can create a file, and the check of a visit cannot wait for an answer of another process. Half a millisecond for each
   * sign-in on a busy machine.
   */
  #claim(key: string): boolean {
    if (this.#folder === null) return true;
    try {
      closeSync(openSync(this.#fileOf(key), 'wx', 0o600));
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'EEXIST') this.#log.error({ code }, 'cannot note that a ticket was used; refusing it');
      return false;
    }
  }

  #fileOf(key: string): string {
    return join(this.#folder!, `entered-${key}`);
  }

  /** Forgets the visits whose ticket has ended. Files of a worker that crashed stay until the edge ends, and are empty. */
  expire(nowMs: number): void {
    for (const [key, untilMs] of this.#ends) {
      // In the order of entry, so a visit may stay for as long as an earlier one: a minute at most.
      if (untilMs > nowMs) return;
      this.#ends.delete(key);
      if (this.#folder !== null) rmSync(this.#fileOf(key), { force: true });
    }
  }
}
