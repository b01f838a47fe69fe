// Finds a client of a tunnel among the neighbours, nearest first: sibling workers on this machine, then peer edges of the region.

import type { Session } from '@underpass/wire/api.ts';
import type { TunnelState } from '../routes/tunnel-state.ts';
import type { HopSource } from '../upstream/dialer.ts';
import type { Neighbour, Standing } from './neighbour.ts';

const none: ReadonlySet<Session> = new Set();

/** An edge of an earlier version would end the carrier at the first stream of a tcp tunnel. */
function standingOf(neighbour: Neighbour, { feed }: TunnelState): Standing {
  const { session } = neighbour;
  return session !== null && feed.type === 'tcp' && session.peerInfo.tcp !== true ? 'none' : neighbour.standing(feed.id);
}

export class Neighbours implements HopSource {
  readonly #neighbours: () => Iterable<Neighbour>;
  readonly #waitMs: (isAlone: boolean, tunnel: TunnelState) => number;
  /** What to call once a client of the tunnel is known. */
  readonly #waiting = new Map<TunnelState, Set<() => void>>();

  /** `waitMs`: how long a visitor waits now if no client is known; `isAlone`: there are no neighbours. */
  constructor(neighbours: () => Iterable<Neighbour>, waitMs: (isAlone: boolean, tunnel: TunnelState) => number) {
    this.#neighbours = neighbours;
    this.#waitMs = waitMs;
  }

  working(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    for (const neighbour of this.#neighbours()) {
      const { session } = neighbour;
      // Do not wait: this process has a client, which may work. Later visitors profit from the dial.
      if (session === null || session.isQuiet) void neighbour.open();
      if (session === null) continue;
      if (standingOf(neighbour, tunnel) === 'working' && !tried.has(session)) return session;
    }
    return null;
  }

  async next(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null> {
    const found = this.#known(tunnel, tried) ?? (await this.#asked(tunnel, tried));
    if (found !== null || tried.size > 0) return found;
    const waitMs = this.#waitMs(this.#isAlone, tunnel);
    return waitMs > 0 ? this.#awaited(tunnel, waitMs) : null;
  }

  /** A client came, went or changed, here or at a neighbour. */
  clientsChanged(): void {
    for (const [tunnel, wakes] of this.#waiting) {
      if (this.#hasClient(tunnel)) for (const wake of [...wakes]) wake();
    }
  }

  get #isAlone(): boolean {
    return this.#neighbours()[Symbol.iterator]().next().done === true;
  }

  #hasClient(tunnel: TunnelState): boolean {
    return tunnel.takesStreams || this.#known(tunnel, none) !== null;
  }

  #known(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    return this.working(tunnel, tried) ?? this.#doubtful(tunnel, tried);
  }

  /** Dials all at once and takes the first that may have a client: one that does not answer costs seconds. */
  async #asked(tunnel: TunnelState, tried: ReadonlySet<Session>): Promise<Session | null> {
    const mayHave = (neighbour: Neighbour): boolean => standingOf(neighbour, tunnel) !== 'none';
    const asked = [...this.#neighbours()].filter(mayHave).map(async (neighbour) => {
      const session = await neighbour.open();
      if (session?.canOpen && !tried.has(session) && mayHave(neighbour)) return session;
      throw new Error(`${neighbour.name} has no client`);
    });
    return Promise.any(asked).catch(() => null);
  }

  /** Waits: a client may have just connected elsewhere, or may be about to. Null too if one connects to this process. */
  async #awaited(tunnel: TunnelState, waitMs: number): Promise<Session | null> {
    // A client may have come while neighbours were dialled.
    if (!this.#hasClient(tunnel)) await this.changed(tunnel, waitMs);
    return this.#known(tunnel, none);
  }

  changed(tunnel: TunnelState, withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wakes = this.#waiting.get(tunnel) ?? new Set();
      const wake = (): void => {
        clearTimeout(timer);
        wakes.delete(wake);
        if (wakes.size === 0) this.#waiting.delete(tunnel);
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      this.#waiting.set(tunnel, wakes.add(wake));
    });
  }

  #doubtful(tunnel: TunnelState, tried: ReadonlySet<Session>): Session | null {
    for (const neighbour of this.#neighbours()) {
      const { session } = neighbour;
      if (session !== null && standingOf(neighbour, tunnel) === 'doubtful' && !tried.has(session)) return session;
    }
    return null;
  }
}
