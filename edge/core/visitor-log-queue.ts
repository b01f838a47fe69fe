// Entries of visitor logs on their way to control: what an edge holds until the feed takes them. Bounded; what does not fit is counted.

import type { FeedLogEntry, FeedTunnelLog } from '@underpass/wire/feed.ts';

/** Entries that one message takes, some 1.5 kB each at most. */
const mostInMessage = 500;
/** Entries that wait, while control is away or slow. */
const mostWaiting = 2_000;
/** Entries of one tunnel among these: a flood on one must not hide the visits of others. */
const mostOfTunnel = 400;
/** Tunnels whose missed visits are counted. */
const mostTunnels = 10_000;

interface Waiting {
  readonly projectId: string;
  readonly entries: FeedLogEntry[];
  missed: number;
}

export class VisitorLogQueue {
  readonly #projectOf: (tunnelId: string) => string;
  readonly #waiting = new Map<string, Waiting>();
  /** Entries of each project that has some. */
  readonly #ofProject = new Map<string, number>();
  #count = 0;

  /** `projectOf`: whose tunnels share a part of the room. */
  constructor(projectOf: (tunnelId: string) => string) {
    this.#projectOf = projectOf;
  }

  add(tunnelId: string, entry: FeedLogEntry): void {
    const log = this.#of(tunnelId);
    if (log === undefined) return;
    if (log.entries.length >= mostOfTunnel || (this.#count >= mostWaiting && !this.#makeRoom(log.projectId))) {
      log.missed++;
      return;
    }
    log.entries.push(entry);
    this.#move(log.projectId, 1);
  }

  miss(tunnelId: string, count: number): void {
    const log = count > 0 ? this.#of(tunnelId) : undefined;
    if (log !== undefined) log.missed += count;
  }

  /** Takes an entry from the tunnel with most of the project with most, for a project that has fewer. False: it has none. */
  #makeRoom(projectId: string): boolean {
    const [largest, most] = mostOf(this.#ofProject, ([, count]) => count);
    if (most <= (this.#ofProject.get(projectId) ?? 0) + 1) return false;
    const own = [...this.#waiting.values()].filter((log) => log.projectId === largest);
    const log = mostOf(own, ({ entries }) => entries.length);
    log.entries.shift();
    log.missed++;
    this.#move(largest, -1);
    return true;
  }

  #move(projectId: string, by: number): void {
    const count = (this.#ofProject.get(projectId) ?? 0) + by;
    if (count > 0) this.#ofProject.set(projectId, count);
    else this.#ofProject.delete(projectId);
    this.#count += by;
  }

  #of(tunnelId: string): Waiting | undefined {
    const known = this.#waiting.get(tunnelId);
    if (known !== undefined || this.#waiting.size >= mostTunnels) return known;
    const log = { projectId: this.#projectOf(tunnelId), entries: [], missed: 0 };
    this.#waiting.set(tunnelId, log);
    return log;
  }

  /** Takes over what a worker sends. */
  addAll(logs: readonly FeedTunnelLog[]): void {
    for (const { tunnelId, entries, missed } of logs) {
      for (const entry of entries) this.add(tunnelId, entry);
      this.miss(tunnelId, missed);
    }
  }

  /** The next message; empty if nothing waits. A tunnel that does not fit whole goes on in the next one. */
  take(): FeedTunnelLog[] {
    const taken: FeedTunnelLog[] = [];
    let room = mostInMessage;
    for (const [tunnelId, log] of this.#waiting) {
      if (room === 0) break;
      const some = log.entries.splice(0, room);
      room -= some.length;
      this.#move(log.projectId, -some.length);
      taken.push({ tunnelId, entries: some, missed: log.missed });
      log.missed = 0;
      if (log.entries.length === 0) this.#waiting.delete(tunnelId);
    }
    return taken;
  }
}

/** The item for which `count` is highest; there must be one. */
function mostOf<Item>(items: Iterable<Item>, count: (item: Item) => number): Item {
  return [...items].reduce((most, item) => (count(item) > count(most) ? item : most));
}
