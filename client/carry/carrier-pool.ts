// The carriers of one client: as many slots as wanted, spread over edges, and the count of what all of them carried.

import type { Session } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import type { Info } from '@underpass/wire/core/hello.ts';
import { after } from './after.ts';
import type { CarryEvent } from './api.ts';
import type { Carrier, CarrierOptions } from './carrier.ts';
import type { Problem } from './problem.ts';
import { ReconnectingCarrier } from './reconnecting-carrier.ts';

export interface CarrierPoolOptions {
  readonly clock: SessionClock;
  readonly random: () => number;
  readonly open: (turn: number, hooks: Pick<CarrierOptions, 'isUnwanted' | 'onBorn' | 'onDead'>) => Promise<Carrier>;
  /** A carrier stands: time to tell the edge what is offered. */
  readonly onConnected: (session: Session) => void;
  /** What an edge says of the tunnel, when a carrier stands and whenever it changes. */
  readonly onInfo: (info: Info) => void;
  readonly onEvent: (event: CarryEvent) => void;
}

/** Two edges where there are two, so that one may fail; two carriers to the only one, which measured a tenth to a fifth faster. */
const wantedCarriers = 2;

export class CarrierPool {
  /** Draining ones included. */
  readonly sessions = new Set<Session>();
  readonly #options: CarrierPoolOptions;
  readonly #slots: readonly ReconnectingCarrier[];
  /** They follow when the first stands: what is wrong with the token or the name is then said once. */
  #followers: readonly ReconnectingCarrier[];
  /** Payload of the sessions that are over. */
  #finished = { rxBytes: 0, txBytes: 0 };
  #toldCode: string | null = null;
  #stopped = false;
  #lastInfo: Info = {};
  readonly #empty = Promise.withResolvers<void>();

  constructor(options: CarrierPoolOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: wantedCarriers }, (_, index) => this.#createSlot(index));
    this.#followers = this.#slots.slice(1);
  }

  #createSlot(index: number): ReconnectingCarrier {
    const { clock, random, open } = this.#options;
    const hooks = {
      onBorn: (session: Session) => void this.sessions.add(session),
      onDead: (session: Session) => this.#bury(session),
    };
    return new ReconnectingCarrier({
      clock,
      random,
      dial: (turn, isUnwanted) => open(turn + index, { isUnwanted, ...hooks }),
      isDuplicate: (edge) => this.#regionEdges() > 1 && this.#slots.slice(0, index).some((slot) => slot.held?.edge === edge),
      onConnected: (carrier) => this.#connected(carrier),
      onDisconnected: (carrier, problem) => this.#disconnected(carrier, problem),
      onFailed: (problem, retryMs) => this.#failed(problem, retryMs),
    });
  }

  /** What is held now; a draining carrier is not. */
  get carriers(): readonly Carrier[] {
    return this.#slots.flatMap(({ held }) => held ?? []);
  }

  /** What the edges say about the tunnel; where none does any more, what the last one said. */
  get info(): Info {
    return this.carriers[0]?.session.peerInfo ?? this.#lastInfo;
  }

  /** Why nothing is held; null while something is. */
  get problem(): Problem | null {
    if (this.carriers.length > 0) return null;
    return this.#slots.find(({ problem }) => problem !== null)?.problem ?? null;
  }

  /** Payload of all sessions, finished ones included. */
  totals(): { readonly rxBytes: number; readonly txBytes: number } {
    return [...this.sessions].reduce(addSession, this.#finished);
  }

  start(): void {
    this.#slots[0]!.start();
  }

  /** Dials no more, drains what is open; resolves when all sessions are over or, after timeoutMs, closed. */
  async drain(timeoutMs: number): Promise<void> {
    this.#stop();
    const cancel = after(this.#options.clock, timeoutMs, () => this.close());
    for (const session of [...this.sessions]) session.drain();
    if (this.sessions.size > 0) await this.#empty.promise;
    cancel();
  }

  close(): void {
    this.#stop();
    for (const session of [...this.sessions]) session.close();
  }

  #stop(): void {
    this.#stopped = true;
    for (const slot of this.#slots) slot.stop();
  }

  #bury(session: Session): void {
    this.sessions.delete(session);
    this.#finished = addSession(this.#finished, session);
    if (this.#stopped && this.sessions.size === 0) this.#empty.resolve();
  }

  #regionEdges(): number {
    return Math.max(0, ...this.carriers.map(({ session }) => session.peerInfo.edges ?? 0));
  }

  #connected(carrier: Carrier): void {
    this.#toldCode = null;
    const { edge, address, session } = carrier;
    session.onInfo = (info) => {
      this.#options.onInfo(info);
      this.#reconsider();
    };
    this.#options.onEvent({ kind: 'connected', edge, address, urls: session.peerInfo.urls ?? [] });
    this.#options.onConnected(session);
    this.#options.onInfo(session.peerInfo);
    const followers = this.#followers;
    this.#followers = [];
    for (const slot of followers) slot.start();
    this.#reconsider();
  }

  #disconnected(carrier: Carrier, problem: Problem | null): void {
    this.#lastInfo = carrier.session.peerInfo;
    this.#options.onEvent({ kind: 'disconnected', edge: carrier.edge, problem });
    this.#reconsider();
  }

  #reconsider(): void {
    for (const slot of this.#slots) slot.reconsider();
  }

  /** Once per problem and loss: it is tried for ever, but said in one line. */
  #failed(problem: Problem, retryMs: number): void {
    if (problem.code === this.#toldCode) return;
    this.#toldCode = problem.code;
    this.#options.onEvent({ kind: 'failed', problem, retryMs });
  }
}

const addSession = (sum: { rxBytes: number; txBytes: number }, session: Session) => ({
  rxBytes: sum.rxBytes + session.receivedBytes,
  txBytes: sum.txBytes + session.sentBytes,
});
