// The places beyond this process, nearest first: sibling workers on this machine, then peer edges of the region.

import type { Session } from '@underpass/wire/api.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { HopSource } from '../upstream/dialer.ts';
import type { HopSession } from './hop-session.ts';

export class Hops implements HopSource {
  readonly #places: () => Iterable<HopSession>;
  readonly #newsMs: number;
  readonly #waiting = new Set<() => void>();

  constructor(places: () => Iterable<HopSession>, newsMs: number) {
    this.#places = places;
    this.#newsMs = newsMs;
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
    const found = this.#known(tunnel, tried) ?? (await this.#asked(tunnel, tried));
    return found !== null || tried.size > 0 || this.#isAlone ? found : this.#awaited(tunnel);
  }

  /** Somebody came or went, here or elsewhere. */
  heard(): void {
    for (const wake of this.#waiting) wake();
  }

  get #isAlone(): boolean {
    return this.#places()[Symbol.iterator]().next().done === true;
  }

  #known(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    return this.sound(tunnel, tried) ?? this.#held(tunnel, tried);
  }

  /** All at once, and the first that may have one: a place that does not answer takes seconds to be given up. */
  async #asked(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null> {
    const mayHave = (place: HopSession): boolean => place.standing(tunnel.feed.id) !== 'none';
    const asked = [...this.#places()].filter(mayHave).map(async (place) => {
      const session = await place.open();
      if (session?.canOpen && !tried.has(session) && mayHave(place)) return session;
      throw new Error(`${place.name} has no client`);
    });
    return Promise.any(asked).catch(() => null);
  }

  /** The first place that tells of a client within a moment; null as well when one comes to this process. */
  async #awaited(tunnel: TunnelState): Promise<Session | null> {
    const untilMs = performance.now() + this.#newsMs;
    for (let leftMs = this.#newsMs; leftMs > 0; leftMs = untilMs - performance.now()) {
      await this.#news(leftMs);
      const known = this.#known(tunnel, new Set());
      if (known !== null || tunnel.takesStreams) return known;
    }
    return null;
  }

  #news(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      this.#waiting.add(wake);
    });
  }

  #held(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    for (const place of this.#places()) {
      const { session } = place;
      if (session !== null && place.standing(tunnel.feed.id) === 'held' && !tried.has(session)) return session;
    }
    return null;
  }
}
