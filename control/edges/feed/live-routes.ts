// Makes routes live: once all control processes agree that the edges of a region hold a route, each of them and the store note it.
// A visitor or a client may come to any edge, so a tunnel is live only when all of them hold it.

import type { PlatformDeps } from '../../platform/deps.ts';
import { type Agreement, createAgreement } from './core/agreement.ts';
import type { EdgeAbout } from './edge-view.ts';
import type { HubBus } from './hub-bus.ts';
import type { LiveMark } from './region-state.ts';
import type { Regions } from './regions.ts';
import { saveMarks } from './route-marks.ts';

interface LiveRoutesDeps extends Pick<PlatformDeps, 'store' | 'log'> {
  readonly steady: () => number;
  readonly bus: HubBus;
  readonly regions: Regions;
  readonly lateMs: number;
  readonly silentMs: number;
  /** Calls back with the tunnels that may be live now. */
  readonly onLive: (tunnelIds: readonly string[]) => void;
}

export class LiveRoutes {
  readonly #deps: LiveRoutesDeps;
  readonly #agreement: Agreement;
  #saving: Promise<void> = Promise.resolve();

  constructor(deps: LiveRoutesDeps) {
    this.#deps = deps;
    this.#agreement = createAgreement({ self: deps.bus.self, lateMs: deps.lateMs, silentMs: deps.silentMs });
  }

  /** `process`: the one that the edge is connected to. */
  hearEdge(process: string, about: EdgeAbout): void {
    this.#agreement.hear(process, about, this.#deps.steady());
  }

  heldHere(region: string, marks: readonly LiveMark[]): void {
    this.#deps.bus.publish('feed.held', { marks });
    this.#goLive(this.#agreement.holdHere(region, marks, this.#deps.steady()));
  }

  heldElsewhere(process: string, marks: readonly LiveMark[]): void {
    this.#goLive(this.#agreement.holdElsewhere(process, marks, this.#deps.steady()));
  }

  /** Another process found them live, and has saved them. */
  liveElsewhere(marks: readonly LiveMark[]): void {
    this.#agreement.settle(marks);
    this.#note(marks);
  }

  checkOverdue(): void {
    this.#goLive(this.#agreement.overdue(this.#deps.steady()));
  }

  /** Resolves when the store has what was live before the call. */
  saved(): Promise<void> {
    return this.#saving;
  }

  #goLive(marks: readonly LiveMark[]): void {
    if (marks.length === 0) return;
    const { store, log, bus } = this.#deps;
    this.#note(marks);
    bus.publish('feed.live', { marks });
    this.#saving = this.#saving
      .then(() => saveMarks(store, marks))
      .catch((error) => log.error({ err: error }, 'feed: acknowledged routes were not saved'));
  }

  #note(marks: readonly LiveMark[]): void {
    this.#deps.regions.markLive(marks);
    this.#deps.onLive(marks.map((mark) => mark.tunnelId));
  }
}
