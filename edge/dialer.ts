// Finds the session on which a visitor's stream is opened: a client here, else a sibling worker, else a peer edge.

import type { Session } from '@underpass/wire/api.ts';
import type { OpenRequest } from '@underpass/wire/core/open.ts';
import { chooseClient } from './core/client-choice.ts';
import type { TunnelState } from './tunnel-state.ts';

export interface Route {
  readonly session: Session;
  /** True where the session leads to another worker or edge, which has to be told the tunnel. */
  readonly hop: boolean;
}

/** Places beyond this process, nearest first. A hop never goes through one of its own kind again, so it ends. */
export interface HopSource {
  /** Sessions not tried yet that may lead to a client of the tunnel; may have to dial. */
  next(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null>;
}

export class Dialer {
  readonly #hops: HopSource | null;

  constructor(hops: HopSource | null) {
    this.#hops = hops;
  }

  /** The best route not in `tried`; null where there is none. Only hops take time. */
  next(tunnel: TunnelState, request: OpenRequest, tried: ReadonlySet<Session>): Route | null | Promise<Route | null> {
    const session = this.local(tunnel, request, tried);
    if (session !== null) return { session, hop: false };
    if (this.#hops === null) return null;
    return this.#hops.next(tunnel, tried).then((hop) => (hop === null ? null : { session: hop, hop: true }));
  }

  /** The best client that is connected to this process. */
  local(tunnel: TunnelState, { kind, host }: OpenRequest, tried: ReadonlySet<Session>): Session | null {
    const clients = tried.size === 0 ? tunnel.clients : tunnel.clients.filter(({ session }) => !tried.has(session));
    const only = clients.length === 1 ? clients[0] : undefined;
    if (only !== undefined) return only.session.canOpen ? only.session : null;
    const nowMs = performance.now();
    const index = chooseClient(
      clients.map((client) => client.stateFor(kind, host, nowMs)),
      tunnel.turn++,
    );
    return clients[index]?.session ?? null;
  }
}
