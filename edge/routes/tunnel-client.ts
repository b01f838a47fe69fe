// One carrier of a client, as the roster of its tunnel holds it.

import type { Session } from '@underpass/wire/api.ts';
import type { Info } from '@underpass/wire/core/hello.ts';
import { compileOffers } from '@underpass/wire/core/offer.ts';
import type { StreamKind } from '@underpass/wire/core/open.ts';
import type { ClientState } from '../core/client-choice.ts';

/** Connected means a round trip within this time (spec of presence: 15 s). */
export const provenWithinMs = 15_000;

export class TunnelClient {
  readonly session: Session;
  readonly clientId: string;
  readonly tokenHash: string;
  readonly address: string;
  readonly software: string;
  readonly sinceMs: number;
  /** What it was told last of its tunnel. */
  sentInfo: Info;
  /** Its upstreams, or how they are, changed. */
  onOffers: () => void = () => {};
  #answer = compileOffers(null);

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

  isProven(nowMs: number): boolean {
    const { provenAtMs } = this.session;
    return provenAtMs !== null && nowMs - provenAtMs <= provenWithinMs;
  }

  /** False while one of its upstreams fails its probe. */
  get healthy(): boolean {
    return this.session.peerOffers?.every((offer) => offer.healthy) ?? true;
  }

  /** Takes streams, is connected beyond doubt, and all of its upstreams answer. */
  isWorking(nowMs: number): boolean {
    return this.session.canOpen && this.isProven(nowMs) && this.healthy;
  }

  stateFor(kind: StreamKind, host: string, nowMs: number): ClientState {
    const { canOpen, openStreams } = this.session;
    return { canOpen, openStreams, proven: this.isProven(nowMs), answer: this.#answer(kind, host) };
  }
}
