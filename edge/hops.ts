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

  sound(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    for (const place of this.#places()) {
      const { session } = place;
      // Not waited for: there is a client here, which may work. The next visitor will know more.
      if (session === null) void place.open();
      else if (place.standing(tunnel.feed.id) === 'sound' && !tried.has(session)) return session;
    }
    return null;
  }

  async next(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null> {
    const known = this.sound(tunnel, tried) ?? this.#held(tunnel, tried);
    if (known !== null) return known;
    for (const place of this.#places()) {
      if (place.standing(tunnel.feed.id) === 'none') continue;
      const session = await place.open();
      if (session?.canOpen && !tried.has(session) && place.standing(tunnel.feed.id) !== 'none') return session;
    }
    return null;
  }

  #held(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    for (const place of this.#places()) {
      const { session } = place;
      if (session !== null && place.standing(tunnel.feed.id) === 'held' && !tried.has(session)) return session;
    }
    return null;
  }
}
