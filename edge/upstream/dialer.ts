// Finds the session on which to open a visitor's stream: a client here, else one at a sibling worker, else one at a peer edge.
// A client that is known to work, here or elsewhere, comes before a client here that may not work.

import { setTimeout as wait } from 'node:timers/promises';
import type { Session } from '@underpass/wire/api.ts';
import type { OpenRequest } from '@underpass/wire/core/open.ts';
import { type ClientState, chooseClient, isWorking } from '../core/client-choice.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';

/** The session on which to open a stream. */
export interface DialTarget {
  readonly session: Session;
  /** True if the session leads to another worker or edge; the request must then name the tunnel. */
  readonly hop: boolean;
}

/** The neighbours of this process, nearest first: sibling workers, then peer edges. */
export interface HopSource {
  /** A session not in `tried` that is known to lead to a working client; null if none is known now. */
  working(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null;
  /** The best session not in `tried` that may lead to a client of the tunnel. May have to dial. */
  next(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null>;
  /** A client came, went or changed, here or at a neighbour; at the latest after `withinMs`. */
  changed(tunnel: TunnelState, withinMs: number): Promise<void>;
}

interface LocalClient {
  readonly session: Session;
  readonly working: boolean;
}

export class Dialer {
  readonly #hops: HopSource | null;

  constructor(hops: HopSource | null) {
    this.#hops = hops;
  }

  /** The best target not in `tried` that is known to lead to a working client, or null. */
  working(tunnel: TunnelState, request: OpenRequest, tried: ReadonlySet<Session>): DialTarget | null {
    const local = localClient(tunnel, request, tried);
    return local?.working ? { session: local.session, hop: false } : this.#elsewhere(tunnel, tried);
  }

  changed(tunnel: TunnelState, withinMs: number): Promise<void> {
    return this.#hops?.changed(tunnel, withinMs) ?? wait(withinMs, undefined, { ref: false });
  }

  #elsewhere(tunnel: TunnelState, tried: ReadonlySet<Session>): DialTarget | null {
    const session = this.#hops?.working(tunnel, tried) ?? null;
    return session && { session, hop: true };
  }

  /** The best target not in `tried`, or null. A promise only if it has to wait for neighbours. */
  next(tunnel: TunnelState, request: OpenRequest, tried: ReadonlySet<Session>): DialTarget | null | Promise<DialTarget | null> {
    const local = localClient(tunnel, request, tried);
    if (local?.working) return { session: local.session, hop: false };
    const elsewhere = this.#elsewhere(tunnel, tried);
    if (elsewhere !== null) return elsewhere;
    if (local !== null) return { session: local.session, hop: false };
    if (this.#hops === null) return null;
    return this.#hops.next(tunnel, tried).then((hop) => {
      if (hop !== null) return { session: hop, hop: true };
      const late = localClient(tunnel, request, tried);
      return late && { session: late.session, hop: false };
    });
  }
}

/** The best client of this process. */
function localClient(tunnel: TunnelState, request: OpenRequest, tried: ReadonlySet<Session>): LocalClient | null {
  const { kind, host, clientId } = request;
  const all = tried.size === 0 && clientId === '';
  const clients = all ? tunnel.clients : tunnel.clients.filter((one) => !tried.has(one.session) && one.clientId !== clientId);
  if (clients.length === 0) return null;
  const nowMs = performance.now();
  const states = clients.map((client) => client.stateFor(kind, host, nowMs));
  const index = chooseClient(states, tunnel.dialCount++);
  const chosen = clients[index];
  return chosen === undefined ? null : { session: chosen.session, working: isWorking(states[index] as ClientState) };
}
