// Asks Postgres every few seconds, on a connection of its own, whether it answers. The pool cannot tell: its queries also wait for
// each other and for locks, and packets that are dropped would let each of them wait for its time-out.

import pg from 'pg';
import type { Dependency } from '../dependency/dependency.ts';

/** A server is away once it has left one question unanswered for 2 s, so at most 7 s after it vanished. */
const everyMs = 5_000;
const answerMs = 2_000;
/** How soon an answer is noticed after an outage. */
const awayEveryMs = 1_000;

export class Heartbeat {
  readonly #url: string;
  readonly #dependency: Dependency;
  #client: pg.Client | null = null;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(url: string, dependency: Dependency) {
    this.#url = url;
    this.#dependency = dependency;
    this.#askLater();
  }

  #askLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#ask(), this.#dependency.answers ? everyMs : awayEveryMs).unref();
  }

  async #ask(): Promise<void> {
    try {
      this.#client ??= await this.#connect();
      await this.#client.query('select 1');
      this.#dependency.answered();
    } catch (error) {
      this.#drop();
      if (!this.#isClosed) this.#dependency.failed(error);
    }
    this.#askLater();
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
      application_name: 'underpass-heartbeat',
    });
    // An error between two questions: the next question reports it.
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      void client.end().catch(() => {});
      throw error;
    }
  }

  #drop(): void {
    void this.#client?.end().catch(() => {});
    this.#client = null;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#drop();
  }
}
