// The places beyond this process, nearest first: sibling workers on this machine, then peer edges of the region.

import type { Session } from '@underpass/wire/api.ts';
import type { HopSource } from './dialer.ts';
import type { HopSession } from './hop-session.ts';
import type { TunnelState } from './tunnel-state.ts';

export class Hops implements HopSource {
  readonly #places: () => Iterable<HopSession>;

  constructor(places: () => Iterable<HopSession>) {
    this.#places = places;
  }

  async next(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null> {
    const { id } = tunnel.feed;
    for (const place of this.#places()) {
      if (!place.mayHold(id)) continue;
      const session = await place.open();
      if (session?.canOpen && !tried.has(session)) return session;
    }
    return null;
  }
}
