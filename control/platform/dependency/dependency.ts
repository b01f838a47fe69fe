// Something outside the process that control needs, such as NATS: whether it answers, since when, and its last error. Control
// serves on without it; the log, the metrics and `underpass-server status` tell the operator.

import type { Logger } from 'pino';

type DependencyName = 'database' | 'bus' | 'mail';

export interface DependencyState {
  readonly name: DependencyName;
  readonly answers: boolean;
  /** When `answers` last changed. */
  readonly sinceMs: number;
  /** The last failure, also after it is over; null if there was none. */
  readonly lastError: string | null;
}

export interface DependencyDeps {
  readonly clock: () => number;
  readonly log: Logger;
}

/** Errors of drivers can quote a whole query. */
const mostErrorChars = 200;

export class Dependency {
  readonly #deps: DependencyDeps;
  #state: DependencyState;

  constructor(name: DependencyName, deps: DependencyDeps) {
    this.#deps = deps;
    this.#state = { name, answers: true, sinceMs: deps.clock(), lastError: null };
  }

  get state(): DependencyState {
    return this.#state;
  }

  get answers(): boolean {
    return this.#state.answers;
  }

  answered(): void {
    if (this.#state.answers) return;
    const { clock, log } = this.#deps;
    const { name, sinceMs } = this.#state;
    const nowMs = clock();
    this.#state = { ...this.#state, answers: true, sinceMs: nowMs };
    log.info({ dependency: name, awayMs: nowMs - sinceMs }, `${name}: answers again`);
  }

  failed(error: unknown): void {
    const { clock, log } = this.#deps;
    const { name, answers, sinceMs } = this.#state;
    const lastError = (error instanceof Error ? error.message : String(error)).slice(0, mostErrorChars);
    this.#state = { name, answers: false, sinceMs: answers ? clock() : sinceMs, lastError };
    if (answers) log.error({ dependency: name, error: lastError }, `${name}: does not answer`);
  }
}
