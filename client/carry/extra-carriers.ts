// Further carriers of a tunnel while all of its carriers are full, so that a new stream finds an empty one. On a long path
// each lost packet holds up what is on the same connection (docs/decisions/022).

import type { Session } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import type { Carrier } from './carrier.ts';

/** What a look at a session finds. */
export type Seen = Pick<Session, 'isFar' | 'isFull' | 'openStreams' | 'receivedBytes' | 'sentBytes' | 'leastRttMs'>;

export interface Load {
  readonly receivedBytes: number;
  /** Looks in a row that found it full. */
  readonly fullLooks: number;
}

const lookEveryMs = 100;
/** Our own queue shows what waits here; what the edge sends shows only by its rate. This is 160 kB/s. */
const busyBytes = 16_384;
/** A hiccup of one look is no reason. */
const leastFullLooks = 2;
/** Looks without a full carrier before they stop until the next PING. */
const restAfterLooks = 20;
/** PINGs, one a minute: a visitor who reads a page comes back to the same number of carriers. */
const idlePingsToDrain = 12;

export function nextLoad(before: Load, { isFar, isFull, openStreams, receivedBytes }: Seen): Load {
  const isBusy = isFar && openStreams > 0 && (isFull || receivedBytes - before.receivedBytes >= busyBytes);
  return { receivedBytes, fullLooks: isBusy ? before.fullLooks + 1 : 0 };
}

/** True after two round trips: the first windows of a connection double in that time. */
export const isFullLong = ({ fullLooks }: Load, { leastRttMs }: Pick<Seen, 'leastRttMs'>): boolean =>
  fullLooks >= Math.max(leastFullLooks, (2 * leastRttMs) / lookEveryMs);

interface ExtraCarriersOptions {
  /** The carriers that the pool keeps in any case, as connected now. */
  readonly kept: () => readonly Carrier[];
  readonly open: (dialIndex: number) => Promise<Carrier>;
  /** Dials a successor for a kept carrier whose window has collapsed. */
  readonly renew: (slow: Carrier) => void;
  readonly onConnected: (session: Session) => void;
  readonly clock: Pick<SessionClock, 'every'>;
}

/** One with streams stays: it would only be a carrier more. */
const isSlow = ({ session }: Carrier): boolean => session.openStreams === 0 && session.isCollapsed;

const unseen: Load = { receivedBytes: 0, fullLooks: 0 };

export class ExtraCarriers {
  readonly #options: ExtraCarriersOptions;
  readonly #carriers = new Set<Carrier>();
  readonly #loads = new WeakMap<Session, Load>();
  #stopLooking: (() => void) | null = null;
  /** Looks in a row without a full carrier. */
  #calmLooks = 0;
  #isDialling = false;
  #dialIndex = 0;
  #stopped = false;

  constructor(options: ExtraCarriersOptions) {
    this.#options = options;
  }

  /** The carriers without draining ones. */
  get carriers(): readonly Carrier[] {
    return [...this.#carriers];
  }

  /** Call it when a carrier connects. `onIdle` follows a minute without a stream and a byte. */
  watch(session: Session, onIdle: () => void = () => {}): void {
    let bytes = -1;
    let idlePings = 0;
    session.onProof = () => {
      const movedBytes = session.receivedBytes + session.sentBytes;
      const isIdle = session.openStreams === 0 && movedBytes === bytes;
      if (movedBytes !== bytes && session.openStreams > 0) this.streamOpened();
      bytes = movedBytes;
      idlePings = isIdle ? idlePings + 1 : 0;
      if (idlePings >= idlePingsToDrain) onIdle();
    };
  }

  /** A carrier may become full now. Nothing looks at carriers that carry nothing. */
  streamOpened(): void {
    this.#calmLooks = 0;
    if (!this.#stopped) this.#stopLooking ??= this.#options.clock.every(lookEveryMs, () => this.#look());
  }

  #look(): void {
    const sessions = [...this.#options.kept(), ...this.#carriers].map(({ session }) => session);
    const loads = sessions.map((session) => nextLoad(this.#loads.get(session) ?? unseen, session));
    for (const [at, load] of loads.entries()) this.#loads.set(sessions[at] as Session, load);
    this.#calmLooks = loads.some(({ fullLooks }) => fullLooks > 0) ? 0 : this.#calmLooks + 1;
    if (this.#calmLooks >= restAfterLooks) this.#settle();
    else if (loads.length > 0 && loads.every((load, at) => isFullLong(load, sessions[at] as Session)))
      void this.#add(sessions[0]?.peerInfo.carriers ?? 0, sessions.length);
  }

  /** The next visitor shall not wait for a window that an earlier one's losses have left small. */
  #settle(): void {
    this.#rest();
    for (const carrier of this.#options.kept()) if (isSlow(carrier)) this.#options.renew(carrier);
    for (const carrier of this.#carriers) if (isSlow(carrier)) this.#drain(carrier);
  }

  #rest(): void {
    this.#stopLooking?.();
    this.#stopLooking = null;
  }

  stop(): void {
    this.#stopped = true;
    this.#rest();
  }

  /** One at a time. A dial that fails is not repeated: the next look that finds all carriers full asks again. */
  async #add(most: number, carriers: number): Promise<void> {
    if (this.#stopped || this.#isDialling || carriers >= most) return;
    this.#isDialling = true;
    const carrier = await this.#options.open(this.#dialIndex++).catch(() => null);
    this.#isDialling = false;
    if (carrier === null || carrier.session.closed) return;
    if (this.#stopped) carrier.session.drain();
    else this.#use(carrier);
  }

  #use(carrier: Carrier): void {
    const { session } = carrier;
    this.#carriers.add(carrier);
    session.onGoaway = () => void this.#carriers.delete(carrier);
    carrier.onEnd = () => void this.#carriers.delete(carrier);
    this.watch(session, () => this.#drain(carrier));
    this.#options.onConnected(session);
  }

  #drain(carrier: Carrier): void {
    this.#carriers.delete(carrier);
    carrier.session.drain();
  }
}
