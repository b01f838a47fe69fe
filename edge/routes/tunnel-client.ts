// One carrier of a client, in the client list of its tunnel.

import { durations } from '@underpass/rules/limits.ts';
import type { Session } from '@underpass/wire/api.ts';
import type { Info } from '@underpass/wire/core/hello.ts';
import { compileOffers } from '@underpass/wire/core/offer.ts';
import type { StreamKind } from '@underpass/wire/core/open.ts';
import type { ClientState } from '../core/client-choice.ts';

/** 160 kB/s, looked at no more often than a visitor's page opens streams. */
const busyBytesPerMs = 160;
const lookEveryMs = 100;

export class TunnelClient {
  readonly session: Session;
  readonly clientId: string;
  readonly tokenHash: string;
  readonly address: string;
  readonly software: string;
  readonly sinceMs: number;
  /** The INFO that was last sent to it. */
  sentInfo: Info;
  /** The edge told it to leave: it dials again. */
  isSentAway = false;
  /** Called when the upstreams or their health have changed. */
  onOffers: () => void = () => {};
  #answer = compileOffers(null);
  #look = { atMs: 0, receivedBytes: 0, isMuch: false };

  constructor(
    session: Session,
    facts: { readonly clientId: string; readonly tokenHash: string; readonly address: string; readonly software: string },
    sinceMs: number,
    sentInfo: Info,
  ) {
    this.session = session;
    this.clientId = facts.clientId;
    this.tokenHash = facts.tokenHash;
    this.address = facts.address;
    this.software = facts.software;
    this.sinceMs = sinceMs;
    this.sentInfo = sentInfo;
    session.onOffers = (offers) => {
      this.#answer = compileOffers(offers);
      this.onOffers();
    };
  }

  sendAway(why: string): void {
    this.isSentAway = true;
    this.session.drain(why);
  }

  isProven(nowMs: number): boolean {
    const { provenAtMs, isQuiet } = this.session;
    return provenAtMs !== null && nowMs - provenAtMs <= durations.provenWithinMs && !isQuiet;
  }

  /** False while one of its upstreams fails its probe. */
  get healthy(): boolean {
    return this.session.peerOffers?.every((offer) => offer.healthy) ?? true;
  }

  /** Takes streams, is proven to be connected, and all its upstreams are healthy. */
  isWorking(nowMs: number): boolean {
    return this.session.canOpen && this.isProven(nowMs) && this.healthy;
  }

  stateFor(kind: StreamKind, host: string, nowMs: number): ClientState {
    const { clientId, session } = this;
    const { canOpen, openStreams, isFar, congestion, receivedBytes, sentBytes } = session;
    return {
      canOpen,
      openStreams,
      clientId,
      isBusy: isFar && openStreams > 0 && (session.isFull || this.#receivesMuch(nowMs)),
      learnedBytes: isFar && congestion === 'bbr' ? receivedBytes + sentBytes : 0,
      proven: this.isProven(nowMs),
      answer: this.#answer(kind, host),
    };
  }

  /** What waits at the client shows only by what arrives from it. */
  #receivesMuch(nowMs: number): boolean {
    const { receivedBytes } = this.session;
    const ms = nowMs - this.#look.atMs;
    if (ms >= lookEveryMs)
      this.#look = { atMs: nowMs, receivedBytes, isMuch: receivedBytes - this.#look.receivedBytes >= busyBytesPerMs * ms };
    return this.#look.isMuch;
  }
}
