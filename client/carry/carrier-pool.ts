// The carriers of one client: those that it keeps, spread over edges, the extra ones, and the bytes that all of them carried.

import type { Session } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/clock.ts';
import type { Info } from '@underpass/wire/core/hello.ts';
import { after } from './after.ts';
import type { CarryEvent } from './api.ts';
import type { Carrier, CarrierOptions } from './carrier.ts';
import { ExtraCarriers } from './extra-carriers.ts';
import type { Problem } from './problem.ts';
import { ReconnectingCarrier } from './reconnecting-carrier.ts';

export interface CarrierPoolOptions {
  readonly clock: SessionClock;
  readonly random: () => number;
  readonly open: (
    dialIndex: number,
    hooks: Pick<CarrierOptions, 'isUnwanted' | 'onSessionStart' | 'onSessionEnd'>,
  ) => Promise<Carrier>;
  /** A carrier is connected: time to send the edge an OFFER. */
  readonly onConnected: (session: Session) => void;
  /** What an edge says about the tunnel: when a carrier connects, and at each change. */
  readonly onInfo: (info: Info) => void;
  readonly onEvent: (event: CarryEvent) => void;
}

/** Two edges if the region has them, so that one may fail. Two carriers to a single edge measured 10 to 20 % faster than one. */
const leastCarriers = 2;
/**
 * Three edges with a carrier each spare visitors the way between edges. More would cost every client of a large region more than
 * the hops that they spare.
 */
const mostCarriers = 3;
/** Bounds what one process sends, which may have many tunnels: some 3 MB. */
let carriersToWiden = 12;
/** About the longest pause between two dials for a problem that a person must solve. */
const repeatProblemMs = 120_000;

export class CarrierPool {
  /** Includes draining sessions. */
  readonly sessions = new Set<Session>();
  readonly #options: CarrierPoolOptions;
  readonly #members: readonly ReconnectingCarrier[];
  readonly #extras: ExtraCarriers;
  /** Payload of the sessions that are over. */
  #finished = { rxBytes: 0, txBytes: 0 };
  #reported: { readonly code: string; readonly atMs: number } | null = null;
  #stopped = false;
  #lastInfo: Info = {};
  #resolveEmpty!: () => void;
  readonly #empty = new Promise<void>((resolve) => {
    this.#resolveEmpty = resolve;
  });
  readonly #hooks = {
    onSessionStart: (session: Session) => void this.sessions.add(session),
    onSessionEnd: (session: Session) => this.#remove(session),
  };

  constructor(options: CarrierPoolOptions) {
    this.#options = options;
    this.#members = Array.from({ length: mostCarriers }, (_, index) => this.#createMember(index));
    this.#extras = new ExtraCarriers({
      kept: () => this.#members.flatMap(({ current }) => current ?? []),
      clock: options.clock,
      open: (dialIndex) => options.open(dialIndex, { isUnwanted: () => false, ...this.#hooks }),
      renew: (slow) => void this.#members.find(({ current }) => current === slow)?.renew(),
      onConnected: options.onConnected,
    });
  }

  #createMember(index: number): ReconnectingCarrier {
    const { clock, random, open } = this.#options;
    let isFirst = true;
    return new ReconnectingCarrier({
      clock,
      random,
      dial: (dialIndex, isUnwanted) => open(dialIndex + index, { isUnwanted, ...this.#hooks }),
      isDuplicate: (edge) =>
        this.#regionEdges() > 1 && this.#members.slice(0, index).some(({ current }) => current?.edge === edge),
      onConnected: (carrier) => {
        // All clients of an edge may have to reconnect to it at once.
        if (isFirst && carriersToWiden-- > 0) carrier.session.widen();
        isFirst = false;
        this.#connected(carrier);
      },
      onDisconnected: (carrier, problem) => this.#disconnected(carrier, problem),
      onFailed: (problem, retryMs) => this.#failed(problem, retryMs),
    });
  }

  /** The connected carriers, without draining ones. */
  get carriers(): readonly Carrier[] {
    return [...this.#members.flatMap(({ current }) => current ?? []), ...this.#extras.carriers];
  }

  /** What the edges say about the tunnel; while none is connected, what the last one said. */
  get info(): Info {
    return this.carriers[0]?.session.peerInfo ?? this.#lastInfo;
  }

  /** Why no carrier is connected; null while one is. */
  get problem(): Problem | null {
    if (this.carriers.length > 0) return null;
    return this.#members.find(({ problem }) => problem !== null)?.problem ?? null;
  }

  /** Payload of all sessions, including finished ones. */
  totals(): { readonly rxBytes: number; readonly txBytes: number } {
    return [...this.sessions].reduce(addSession, this.#finished);
  }

  /** A visitor's stream came: its carrier may become full. */
  streamOpened(): void {
    this.#extras.streamOpened();
  }

  start(): void {
    this.#members[0]!.start();
  }

  /** Stops dialling and drains the open sessions. Resolves when all are over; after timeoutMs it closes the rest. */
  async drain(timeoutMs: number): Promise<void> {
    this.#stop();
    const cancel = after(this.#options.clock, timeoutMs, () => this.close());
    for (const session of [...this.sessions]) session.drain();
    if (this.sessions.size > 0) await this.#empty;
    cancel();
  }

  close(): void {
    this.#stop();
    for (const session of [...this.sessions]) session.close();
  }

  #stop(): void {
    this.#stopped = true;
    for (const member of this.#members) member.stop();
    this.#extras.stop();
  }

  #remove(session: Session): void {
    this.sessions.delete(session);
    this.#finished = addSession(this.#finished, session);
    if (this.#stopped && this.sessions.size === 0) this.#resolveEmpty();
  }

  #regionEdges(): number {
    return Math.max(0, ...this.carriers.map(({ session }) => session.peerInfo.edges ?? 0));
  }

  #connected(carrier: Carrier): void {
    this.#reported = null;
    const { edge, address, session } = carrier;
    session.onInfo = (info) => {
      this.#options.onInfo(info);
      this.#reconsider();
    };
    this.#extras.watch(session);
    this.#options.onEvent({ kind: 'connected', edge, address, urls: session.peerInfo.urls ?? [] });
    this.#options.onConnected(session);
    this.#options.onInfo(session.peerInfo);
    this.#reconsider();
  }

  #disconnected(carrier: Carrier, problem: Problem | null): void {
    this.#lastInfo = carrier.session.peerInfo;
    this.#options.onEvent({ kind: 'disconnected', edge: carrier.edge, problem });
    this.#reconsider();
  }

  /** The others start once the first one connects, so that a wrong token or name is reported once. */
  #reconsider(): void {
    const isConnected = !this.#stopped && this.carriers.length > 0;
    const wanted = Math.min(mostCarriers, Math.max(leastCarriers, this.#regionEdges()));
    for (const [at, member] of this.#members.entries()) {
      if (isConnected && at < wanted) member.start();
      if (isConnected && at >= wanted) member.rest();
      member.reconsider();
    }
  }

  /** Tries never end. The same problem is reported again only after a while, so that a log shows that it still lasts. */
  #failed(problem: Problem, retryMs: number): void {
    const nowMs = this.#options.clock.now();
    if (problem.code === this.#reported?.code && nowMs - this.#reported.atMs < repeatProblemMs) return;
    this.#reported = { code: problem.code, atMs: nowMs };
    this.#options.onEvent({ kind: 'failed', problem, retryMs });
  }
}

const addSession = (sum: { rxBytes: number; txBytes: number }, session: Session) => ({
  rxBytes: sum.rxBytes + session.receivedBytes,
  txBytes: sum.txBytes + session.sentBytes,
});
