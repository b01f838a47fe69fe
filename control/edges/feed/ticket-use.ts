// Keeps when each ticket of a private tunnel was last used, as edges report it.

import type { FeedTunnelReport } from '@underpass/wire/feed/feed.ts';
import type { Store } from '../../platform/store/store.ts';
import type { EdgeReport } from './edge-view.ts';

/** A ticket that a program uses all the time is written once in this time. */
const writeEveryMs = 60_000;
/** The oldest beyond these is forgotten, and may be written again. */
const mostKnown = 10_000;

export class TicketUse {
  readonly #store: Store;
  readonly #written = new Map<string, number>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Writes what is news. Only tickets of the reported tunnel count, and an edge whose clock is ahead has used none later than now. */
  async note(tunnels: readonly FeedTunnelReport[], nowMs: number): Promise<void> {
    for (const { tunnelId, ticketsUsed = [] } of tunnels)
      for (const use of ticketsUsed) {
        const atMs = Math.min(use.atMs, nowMs);
        if (this.#isNews(use.id, atMs)) await this.#write(tunnelId, use.id, atMs);
      }
  }

  #isNews(id: string, atMs: number): boolean {
    if (atMs < (this.#written.get(id) ?? Number.NEGATIVE_INFINITY) + writeEveryMs) return false;
    this.#written.delete(id);
    this.#written.set(id, atMs);
    const [oldest = ''] = this.#written.keys();
    if (this.#written.size > mostKnown) this.#written.delete(oldest);
    return true;
  }

  async #write(tunnelId: string, id: string, atMs: number): Promise<void> {
    const row = this.#store.db.updateTable('reach_tickets').set({ used_at: atMs }).where('id', '=', id);
    await row
      .where('tunnel_id', '=', tunnelId)
      .where((where) => where.or([where('used_at', 'is', null), where('used_at', '<', atMs)]))
      .execute();
  }
}

/** What the other control processes need of the report. */
export function withoutTickets(report: EdgeReport): EdgeReport {
  if (report.tunnels.every(({ ticketsUsed }) => ticketsUsed === undefined)) return report;
  return { ...report, tunnels: report.tunnels.map(({ ticketsUsed: _, ...rest }) => rest) };
}
