// Further carriers of a tunnel while its carriers are held up. On a long path each lost packet halves the rate of one TCP
// connection, so that more of them carry more (docs/decisions/019). PINGs say when: one that takes far longer than the path
// has waited behind data, or was lost. Node shows nothing else of a connection.

import type { Session } from '@underpass/wire/api.ts';
import type { Carrier } from './carrier.ts';

/** What the answer to a PING finds. `bytes` is the payload of the session so far. */
export interface Seen extends Pick<Session, 'leastRttMs' | 'openStreams'> {
  readonly rttMs: number;
  readonly bytes: number;
}

export interface Usage {
  readonly bytes: number;
  /** PINGs in a row without a stream and without a byte since the one before. */
  readonly idlePings: number;
}

export const unused: Usage = { bytes: 0, idlePings: 0 };

/** On a shorter path TCP recovers quickly, and a busy machine delays PINGs as much. */
const farMs = 20;
const heldUpTimes = 2;
/** In the 5 s between two PINGs. Less than this is no bulk transfer. */
const busyBytes = 65_536;
/** A minute: a visitor who reads a page comes back to the same number of carriers. */
const idlePingsToDrain = 12;

/** With a single stream another carrier would stay empty, because a stream stays on its carrier. */
export const isHeldUp = (before: Usage, { rttMs, leastRttMs, openStreams, bytes }: Seen): boolean =>
  openStreams >= 2 && bytes - before.bytes >= busyBytes && leastRttMs >= farMs && rttMs >= heldUpTimes * leastRttMs;

export const nextUsage = (before: Usage, { openStreams, bytes }: Seen): Usage => {
  return { bytes, idlePings: openStreams === 0 && bytes === before.bytes ? before.idlePings + 1 : 0 };
};

export interface ExtraCarriersOptions {
  /** Carriers that the pool keeps in any case. */
  readonly kept: number;
  readonly open: (turn: number) => Promise<Carrier>;
  readonly onConnected: (session: Session) => void;
}

export class ExtraCarriers {
  readonly #options: ExtraCarriersOptions;
  readonly #carriers = new Set<Carrier>();
  #dialling = 0;
  #turn = 0;
  #stopped = false;

  constructor(options: ExtraCarriersOptions) {
    this.#options = options;
  }

  /** Without draining ones. */
  get carriers(): readonly Carrier[] {
    return [...this.#carriers];
  }

  /** Opens another carrier whenever a PING finds this one held up. */
  watch(session: Session, onIdle: () => void = () => {}): void {
    let usage = unused;
    session.onProof = (rttMs) => {
      const { leastRttMs, openStreams, receivedBytes, sentBytes } = session;
      const seen = { rttMs, leastRttMs, openStreams, bytes: receivedBytes + sentBytes };
      if (isHeldUp(usage, seen)) void this.#add(session.peerInfo.carriers ?? 0);
      usage = nextUsage(usage, seen);
      if (usage.idlePings >= idlePingsToDrain) onIdle();
    };
  }

  stop(): void {
    this.#stopped = true;
  }

  /** A dial that fails is not repeated: the next PING that finds a carrier held up asks again. */
  async #add(most: number): Promise<void> {
    const { kept, open } = this.#options;
    if (this.#stopped || kept + this.#carriers.size + this.#dialling >= most) return;
    this.#dialling++;
    const carrier = await open(this.#turn++).catch(() => null);
    this.#dialling--;
    if (carrier === null || carrier.session.closed) return;
    if (this.#stopped) carrier.session.drain();
    else this.#use(carrier);
  }

  #use(carrier: Carrier): void {
    const { session } = carrier;
    this.#carriers.add(carrier);
    session.onGoaway = () => void this.#carriers.delete(carrier);
    carrier.onEnd = () => void this.#carriers.delete(carrier);
    this.watch(session, () => {
      this.#carriers.delete(carrier);
      session.drain();
    });
    this.#options.onConnected(session);
  }
}
