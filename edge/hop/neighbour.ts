// A neighbour of this process: a sibling worker or a peer edge, which may have other clients. Dialled when first needed.

import type { Duplex } from 'node:stream';
import type { Session } from '@underpass/wire/api.ts';
import { offerVersion } from '@underpass/wire/core/hello.ts';
import type { Offer } from '@underpass/wire/core/offer.ts';
import { createSession } from '@underpass/wire/session/session.ts';
import type { Logger } from 'pino';

/** The time for which a neighbour is skipped after a failed dial, so that not every visitor waits for it. */
const restMs = 2_000;
const readyMs = 5_000;
/** A neighbour sends its offers right after its HELLO. Without them it is used after this long. */
const offersMs = 1_000;

/** What a neighbour's offers say about a tunnel: it has a working client, one that may not work, or none. */
export type Standing = 'working' | 'doubtful' | 'none' | 'unknown';

/** `silent`: connected, but without an answer for a second. */
export type HopState = 'working' | 'silent' | 'unreachable';

export class Neighbour {
  readonly name: string;
  readonly #dial: () => Promise<Duplex>;
  readonly #software: string;
  readonly #log: Logger;
  #session: Session | null = null;
  #connecting: Promise<Session | null> | null = null;
  #restUntilMs = 0;
  #closed = false;
  /** The neighbour's offers by tunnel, made when they are first asked for. */
  #index: { readonly of: readonly Offer[]; readonly byKey: ReadonlyMap<string, Offer> } = { of: [], byKey: new Map() };
  /** The neighbour's last offers, also while it cannot be reached. */
  #lastOffers: readonly Offer[] = [];
  /** Called when the offers have changed. */
  onOffers: () => void = () => {};

  constructor(name: string, dial: () => Promise<Duplex>, software: string, log: Logger) {
    this.name = name;
    this.#dial = dial;
    this.#software = software;
    this.#log = log;
  }

  /** Null if it must be dialled first. */
  get session(): Session | null {
    return this.#session?.canOpen ? this.#session : null;
  }

  get offers(): readonly Offer[] {
    return this.session?.peerOffers ?? [];
  }

  standing(tunnelId: string): Standing {
    const offers = this.session?.peerOffers ?? null;
    if (offers === null) return 'unknown';
    if (this.#index.of !== offers) this.#index = { of: offers, byKey: new Map(offers.map((offer) => [offer.key, offer])) };
    const { byKey } = this.#index;
    const offer = byKey.get(tunnelId);
    // A neighbour that is stopped or cut off offers what it had.
    if (offer !== undefined) return offer.healthy && this.session?.isQuiet !== true ? 'working' : 'doubtful';
    return byKey.has('*') ? 'doubtful' : 'none';
  }

  get state(): HopState {
    if (this.session === null) return 'unreachable';
    return this.session.isQuiet ? 'silent' : 'working';
  }

  /** The tunnels with a working client there, when it last said so. */
  get lastWorking(): readonly string[] {
    return this.#lastOffers.filter(({ healthy }) => healthy).map(({ key }) => key);
  }

  /** Lets the next visitor dial at once: the neighbour may have started since the last dial failed. */
  endRest(): void {
    this.#restUntilMs = 0;
  }

  /** The session, dialled if there is none or it is silent, once its first offers are here. Null if that fails. */
  async open(): Promise<Session | null> {
    const { session } = this;
    if (session !== null && !session.isQuiet) return session;
    // A new connection may get through where an old one is silent.
    if (this.#closed || performance.now() < this.#restUntilMs) return session;
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
      await this.#whenOffered(session);
      if (this.#closed) session.close();
      this.#session?.drain('another carrier takes its place');
      this.#session = session;
      this.#lastOffers = session.peerOffers ?? [];
      this.onOffers();
      return session;
    } catch (error) {
      this.#restUntilMs = performance.now() + restMs;
      this.#log.info({ hop: this.name, error: (error as Error).message }, 'hop cannot be reached');
      return null;
    }
  }

  #whenOffered(session: Session): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, session.version < offerVersion ? 0 : offersMs);
      const heard = (): void => {
        clearTimeout(timer);
        resolve();
        if (this.#session !== session) return;
        this.#lastOffers = this.session?.peerOffers ?? this.#lastOffers;
        this.onOffers();
        session.doubt(({ tunnelId }) => this.standing(tunnelId) !== 'working');
      };
      session.onOffers = heard;
      session.onClose = heard;
    });
  }

  /** The neighbour is no more: opens no new streams there, and lets running ones finish. */
  leave(): void {
    this.#closed = true;
    this.#session?.drain('no longer among the places');
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
