// Bounds what visitors of one project can make this process hold by not reading: all windows towards the project's clients
// together. Each session has a bound too, but a project may have a hundred tunnels with 1,280 carriers each.

import { WindowBudget } from '@underpass/wire/core/credit.ts';

/** Four sessions' worth: sixteen streams that fill 1 Gbit/s over a round trip of 130 ms. */
const projectWindowBytes = 268_435_456;

export class ProjectWindows {
  /** Budgets by project; only projects that have carriers here. */
  readonly #budgets = new Map<string, { readonly budget: WindowBudget; carriers: number }>();

  get projects(): number {
    return this.#budgets.size;
  }

  /** The budget for a new carrier of the project. Call give() when the carrier closes. */
  take(projectId: string): WindowBudget {
    const entry = this.#budgets.get(projectId) ?? { budget: new WindowBudget(projectWindowBytes), carriers: 0 };
    entry.carriers++;
    this.#budgets.set(projectId, entry);
    return entry.budget;
  }

  give(projectId: string): void {
    const entry = this.#budgets.get(projectId);
    if (entry !== undefined && --entry.carriers === 0) this.#budgets.delete(projectId);
  }
}
