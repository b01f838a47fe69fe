// One place that may hold clients which this process has not: a sibling worker or a peer edge, dialled when first needed.

import type { Duplex } from 'node:stream';
import type { Session } from '@underpass/wire/api.ts';
import { createSession } from '@underpass/wire/session.ts';
import type { Logger } from 'pino';

/** After a failed dial the place is passed over for this long, so that visitors do not wait for it one by one. */
const restMs = 2_000;
const readyMs = 5_000;

export class HopSession {
  readonly name: string;
  readonly #dial: () => Promise<Duplex>;
  readonly #software: string;
  readonly #log: Logger;
  #session: Session | null = null;
  #connecting: Promise<Session | null> | null = null;
  #restUntilMs = 0;
  #closed = false;

  constructor(name: string, dial: () => Promise<Duplex>, software: string, log: Logger) {
    this.name = name;
    this.#dial = dial;
    this.#software = software;
    this.#log = log;
  }

  /** False only where the place has said which tunnels it has clients of, and this is not one of them. */
  mayHold(tunnelId: string): boolean {
    const offers = this.#session?.canOpen ? this.#session.peerOffers : null;
    return offers?.some(({ key }) => key === tunnelId || key === '*') ?? true;
  }

  /** The session, dialled where there is none; null where that fails. */
  async open(): Promise<Session | null> {
    if (this.#session?.canOpen) return this.#session;
    if (this.#closed || performance.now() < this.#restUntilMs) return null;
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #connect(): Promise<Session | null> {
    try {
      const session = createSession(await this.#dial(), {
        side: 'dialer',
        peerMayOpen: false,
        info: { software: this.#software },
      });
      await whenReady(session);
      if (this.#closed) session.close();
      this.#session = session;
      return session;
    } catch (error) {
      this.#restUntilMs = performance.now() + restMs;
      this.#log.info({ hop: this.name, error: (error as Error).message }, 'hop cannot be reached');
      return null;
    }
  }

  close(): void {
    this.#closed = true;
    this.#session?.close();
  }
}

function whenReady(session: Session): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => session.close('silent', 'no HELLO'), readyMs);
    session.onReady = () => {
      clearTimeout(timer);
      resolve();
    };
    session.onClose = ({ detail }) => {
      clearTimeout(timer);
      reject(new Error(detail));
    };
  });
}
