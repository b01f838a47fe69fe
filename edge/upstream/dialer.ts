// Finds the session on which a visitor's stream is opened: a client here, else a sibling worker, else a peer edge.
// A client here that is not known to work comes behind one that is, wherever it is connected.

import type { Session } from '@underpass/wire/api.ts';
import type { OpenRequest } from '@underpass/wire/core/open.ts';
import { type ClientState, chooseClient, isWorking } from '../core/client-choice.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';

export interface Route {
  readonly session: Session;
  /** True where the session leads to another worker or edge, which has to be told the tunnel. */
  readonly hop: boolean;
}

/** Places beyond this process, nearest first. A hop never goes through one of its own kind again, so it ends. */
export interface HopSource {
  /** A session not tried yet that is known to lead to a client that works; null where none is known now. */
  working(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null;
  /** The best session not tried yet that may lead to a client of the tunnel; may have to dial. */
  next(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null>;
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

  /** The best route not in `tried`; null where there is none. Only hops take time. */
  next(tunnel: TunnelState, request: OpenRequest, tried: ReadonlySet<Session>): Route | null | Promise<Route | null> {
    const local = localClient(tunnel, request, tried);
    if (local?.working) return { session: local.session, hop: false };
    const elsewhere = this.#hops?.working(tunnel, tried) ?? null;
    if (elsewhere !== null) return { session: elsewhere, hop: true };
    if (local !== null) return { session: local.session, hop: false };
    if (this.#hops === null) return null;
    return this.#hops.next(tunnel, tried).then((hop) => {
      if (hop !== null) return { session: hop, hop: true };
      const late = localClient(tunnel, request, tried);
      return late && { session: late.session, hop: false };
    });
  }
}

/** The best client that is connected to this process. */
function localClient(tunnel: TunnelState, request: OpenRequest, tried: ReadonlySet<Session>): LocalClient | null {
  const { kind, host, clientId } = request;
  const all = tried.size === 0 && clientId === '';
  const clients = all ? tunnel.clients : tunnel.clients.filter((one) => !tried.has(one.session) && one.clientId !== clientId);
  if (clients.length === 0) return null;
  const nowMs = performance.now();
  const states = clients.map((client) => client.stateFor(kind, host, nowMs));
  const index = chooseClient(states, tunnel.turn++);
  const chosen = clients[index];
  return chosen === undefined ? null : { session: chosen.session, working: isWorking(states[index] as ClientState) };
}
