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

export class VisitorLogQueue {
  readonly #waiting = new Map<string, { entries: FeedLogEntry[]; missed: number }>();
  #count = 0;

  add(tunnelId: string, entry: FeedLogEntry): void {
    if (this.#count >= mostWaiting) {
      this.miss(tunnelId, 1);
      return;
    }
    const log = this.#of(tunnelId);
    if (log === undefined) return;
    if (log.entries.length >= mostOfTunnel) {
      log.missed++;
      return;
    }
    log.entries.push(entry);
    this.#count++;
  }

  miss(tunnelId: string, count: number): void {
    const log = count > 0 ? this.#of(tunnelId) : undefined;
    if (log !== undefined) log.missed += count;
  }

  #of(tunnelId: string): { entries: FeedLogEntry[]; missed: number } | undefined {
    const known = this.#waiting.get(tunnelId);
    if (known !== undefined || this.#waiting.size >= mostTunnels) return known;
    const log = { entries: [], missed: 0 };
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
    for (const [tunnelId, { entries, missed }] of this.#waiting) {
      if (room === 0) break;
      const some = entries.splice(0, room);
      room -= some.length;
      if (entries.length === 0) this.#waiting.delete(tunnelId);
      else Object.assign(this.#waiting.get(tunnelId)!, { missed: 0 });
      taken.push({ tunnelId, entries: some, missed });
    }
    this.#count -= mostInMessage - room;
    return taken;
  }
}
