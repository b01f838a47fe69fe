// What visitors of one project who take nothing can make this process hold: all windows towards its clients together.
// A session has a bound of its own, but a project may have a hundred tunnels, and each of them 512 carriers.

import { WindowBudget } from '@underpass/wire/core/credit.ts';

/** Four sessions' worth: sixteen streams that fill 1 Gbit/s at 130 ms. */
const projectWindowBytes = 268_435_456;

export class ProjectWindows {
  /** Of those that have carriers here. */
  readonly #budgets = new Map<string, { readonly budget: WindowBudget; carriers: number }>();

  get projects(): number {
    return this.#budgets.size;
  }

  /** For one carrier of the project; given back with it. */
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
