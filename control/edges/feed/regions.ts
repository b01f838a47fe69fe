// The regions that this control process knows, each with its feed. A feed is made when its region is first seen.

import type { FeedPeer } from '@underpass/wire/feed/feed.ts';
import { RegionFeed, type RegionFeedDeps } from './region-feed.ts';
import type { LiveMark } from './region-state.ts';

interface RegionsDeps extends Omit<RegionFeedDeps, 'region'> {
  /** The edges of a region that are up, whichever process they are connected to. */
  readonly peersOf: (region: string) => readonly FeedPeer[];
  /** Whether an edge key (by its hash) still opens this region. */
  readonly keyOpens: (region: string, keyHash: string) => Promise<boolean>;
}

export class Regions {
  readonly #deps: RegionsDeps;
  readonly #feeds = new Map<string, RegionFeed>();

  constructor(deps: RegionsDeps) {
    this.#deps = deps;
  }

  all(): Iterable<readonly [region: string, feed: RegionFeed]> {
    return this.#feeds;
  }

  get(region: string): RegionFeed | undefined {
    return this.#feeds.get(region);
  }

  open(region: string): RegionFeed {
    const feed = this.#feeds.get(region) ?? new RegionFeed({ ...this.#deps, region });
    this.#feeds.set(region, feed);
    return feed;
  }

  isLive(tunnelId: string): boolean {
    for (const { state } of this.#feeds.values()) if (state.isLive(tunnelId)) return true;
    return false;
  }

  markLive(marks: readonly LiveMark[]): void {
    for (const { state } of this.#feeds.values()) state.markLive(marks);
  }

  publishPeers(region: string): void {
    const feed = this.#feeds.get(region);
    feed?.publish(feed.state.replacePart('peers', this.#deps.peersOf(region)));
  }

  /** Ends the connections whose edge key no longer opens the region. */
  async closeDeadKeys(region: string): Promise<void> {
    for (const { session, keyHash } of this.#feeds.get(region)?.connections() ?? []) {
      if (keyHash !== undefined && !(await this.#deps.keyOpens(region, keyHash))) session.close();
    }
  }

  close(): void {
    for (const feed of this.#feeds.values()) for (const { session } of feed.connections()) session.close();
  }
}
