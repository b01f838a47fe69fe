// Finds a client of a tunnel among the neighbours, nearest first: sibling workers on this machine, then peer edges of the region.

import type { Session } from '@underpass/wire/api.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { HopSource } from '../upstream/dialer.ts';
import type { Neighbour } from './neighbour.ts';

export class Neighbours implements HopSource {
  readonly #neighbours: () => Iterable<Neighbour>;
  readonly #clientWaitMs: number;
  readonly #waiting = new Set<() => void>();

  constructor(neighbours: () => Iterable<Neighbour>, clientWaitMs: number) {
    this.#neighbours = neighbours;
    this.#clientWaitMs = clientWaitMs;
  }

  working(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    for (const neighbour of this.#neighbours()) {
      const { session } = neighbour;
      // Do not wait: this process has a client, which may work. Later visitors profit from the dial.
      if (session === null) void neighbour.open();
      else if (neighbour.standing(tunnel.feed.id) === 'working' && !tried.has(session)) return session;
    }
    return null;
  }

  async next(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null> {
    const found = this.#known(tunnel, tried) ?? (await this.#asked(tunnel, tried));
    return found !== null || tried.size > 0 || this.#isAlone ? found : this.#awaited(tunnel);
  }

  /** A client came, went or changed, here or at a neighbour. */
  clientsChanged(): void {
    for (const wake of this.#waiting) wake();
  }

  get #isAlone(): boolean {
    return this.#neighbours()[Symbol.iterator]().next().done === true;
  }

  #known(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    return this.working(tunnel, tried) ?? this.#doubtful(tunnel, tried);
  }

  /** Dials all at once and takes the first that may have a client: one that does not answer costs seconds. */
  async #asked(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null> {
    const mayHave = (neighbour: Neighbour): boolean => neighbour.standing(tunnel.feed.id) !== 'none';
    const asked = [...this.#neighbours()].filter(mayHave).map(async (neighbour) => {
      const session = await neighbour.open();
      if (session?.canOpen && !tried.has(session) && mayHave(neighbour)) return session;
      throw new Error(`${neighbour.name} has no client`);
    });
    return Promise.any(asked).catch(() => null);
  }

  /** Waits briefly: a client may have just connected elsewhere. Null too if one connects to this process. */
  async #awaited(tunnel: TunnelState): Promise<Session | null> {
    const untilMs = performance.now() + this.#clientWaitMs;
    for (let leftMs = this.#clientWaitMs; leftMs > 0; leftMs = untilMs - performance.now()) {
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

  #doubtful(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    for (const neighbour of this.#neighbours()) {
      const { session } = neighbour;
      if (session !== null && neighbour.standing(tunnel.feed.id) === 'doubtful' && !tried.has(session)) return session;
    }
    return null;
  }
}
