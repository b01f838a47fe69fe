// The carriers of one client: as many slots as wanted, spread over edges, and the count of what all of them carried.

import type { Session } from '@underpass/wire/api.ts';
import type { SessionClock } from '@underpass/wire/session.ts';
import { after } from './after.ts';
import type { CarryEvent } from './api.ts';
import type { Carrier, CarrierOptions } from './carrier.ts';
import type { Problem } from './problem.ts';
import { createSlot, type Slot } from './slot.ts';

export interface RosterOptions {
  readonly clock: SessionClock;
  readonly random: () => number;
  readonly open: (turn: number, hooks: Pick<CarrierOptions, 'onBorn' | 'onDead'>) => Promise<Carrier>;
  /** A carrier stands: time to tell the edge what is offered. */
  readonly onConnected: (session: Session) => void;
  readonly onEvent: (event: CarryEvent) => void;
}

export interface Roster {
  /** What is held now; a draining carrier is not. */
  readonly carriers: readonly Carrier[];
  /** Draining ones included. */
  readonly sessions: ReadonlySet<Session>;
  /** Why nothing is held; null while something is. */
  readonly problem: Problem | null;
  /** Payload of all sessions, finished ones included. */
  totals(): { readonly rxBytes: number; readonly txBytes: number };
  start(): void;
  /** Dials no more, drains what is open; resolves when all sessions are over or, after timeoutMs, closed. */
  drain(timeoutMs: number): Promise<void>;
  close(): void;
}

/** Two edges where there are two, so that one may fail; two carriers to the only one, which measured a tenth to a fifth faster. */
const wantedCarriers = 2;

export function createRoster(options: RosterOptions): Roster {
  const sessions = new Set<Session>();
  const finished = { rxBytes: 0, txBytes: 0 };
  let toldCode: string | null = null;
  let whenEmpty = (): void => {};

  function onDead(session: Session): void {
    sessions.delete(session);
    finished.rxBytes += session.receivedBytes;
    finished.txBytes += session.sentBytes;
    if (sessions.size === 0) whenEmpty();
  }

  const slots: Slot[] = Array.from({ length: wantedCarriers }, (_, index) =>
    createSlot({
      clock: options.clock,
      random: options.random,
      dial: (turn) => options.open(turn + index, { onBorn: (session) => void sessions.add(session), onDead }),
      isDuplicate: (edge) => regionEdges() > 1 && slots.slice(0, index).some((slot) => slot.held?.edge === edge),
      onConnected,
      onDisconnected,
      onFailed,
    }),
  );
  const waiting = slots.slice(1);

  function regionEdges(): number {
    return Math.max(0, ...slots.map((slot) => slot.held?.session.peerInfo.edges ?? 0));
  }

  function onConnected(carrier: Carrier): void {
    toldCode = null;
    carrier.session.onInfo = reconsider;
    options.onEvent({ kind: 'connected', edge: carrier.edge, address: carrier.address });
    options.onConnected(carrier.session);
    // The others follow when one stands: what is wrong with the token or the name is then said once.
    for (const slot of waiting.splice(0)) slot.start();
    reconsider();
  }

  function onDisconnected(carrier: Carrier, problem: Problem | null): void {
    options.onEvent({ kind: 'disconnected', edge: carrier.edge, problem });
    reconsider();
  }

  function reconsider(): void {
    for (const slot of slots) slot.reconsider();
  }

  /** Once per problem and loss: it is tried for ever, but said in one line. */
  function onFailed(problem: Problem, retryMs: number): void {
    if (problem.code === toldCode) return;
    toldCode = problem.code;
    options.onEvent({ kind: 'failed', problem, retryMs });
  }

  function stop(): void {
    for (const slot of slots) slot.stop();
  }

  function close(): void {
    stop();
    for (const session of [...sessions]) session.close();
  }

  return {
    get carriers() {
      return slots.flatMap(({ held }) => held ?? []);
    },
    get problem() {
      return slots.some(({ held }) => held !== null) ? null : (slots.find(({ problem }) => problem !== null)?.problem ?? null);
    },
    sessions,
    totals: () => [...sessions].reduce(addSession, finished),
    start: () => slots[0]!.start(),
    async drain(timeoutMs) {
      stop();
      const empty = new Promise<void>((resolve) => (whenEmpty = resolve));
      const cancel = after(options.clock, timeoutMs, close);
      for (const session of [...sessions]) session.drain();
      if (sessions.size > 0) await empty;
      cancel();
    },
    close,
  };
}

const addSession = (sum: { rxBytes: number; txBytes: number }, session: Session) => ({
  rxBytes: sum.rxBytes + session.receivedBytes,
  txBytes: sum.txBytes + session.sentBytes,
});
