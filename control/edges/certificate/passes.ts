// Runs passes over the names one at a time, and the orders that they start several at once.

/** Whose names a pass looks at: all tunnels', or those of some tunnels by id. Our own names belong to every pass. */
export type Scope = 'all' | ReadonlySet<string>;

function joinScopes(one: Scope | undefined, other: Scope): Scope {
  if (one === undefined) return other;
  return one === 'all' || other === 'all' ? 'all' : new Set([...one, ...other]);
}

export interface Passes {
  /** Starts a pass; while one runs, ends it early and lets another follow. Resolves when the last pass and its orders are done. */
  readonly run: (scope: Scope) => Promise<void>;
  /** Resolves when no pass and no order is under way. */
  readonly settled: () => Promise<void>;
}

/** `pass` handles its own errors, and says whether it looked at all names of its scope. What is left belongs to the next pass. */
export function createPasses(
  pass: (scope: Scope, endsEarly: () => boolean) => Promise<boolean>,
  orders: Pick<Orders, 'settled'>,
  stopping: AbortSignal,
): Passes {
  let isRunning = false;
  let running = Promise.resolve();
  let next: Scope | undefined;
  let asked = Promise.withResolvers<void>();
  const isAsked = (): boolean => next !== undefined;

  const loop = async (): Promise<void> => {
    isRunning = true;
    while (next !== undefined && !stopping.aborted) {
      const scope = next;
      next = undefined;
      asked = Promise.withResolvers();
      const isWhole = await pass(scope, isAsked);
      if (!isWhole && isAsked()) next = joinScopes(next, scope);
      // An order may take minutes: the next pass does not wait for it.
      await Promise.race([asked.promise, orders.settled()]);
    }
    await orders.settled();
    isRunning = false;
  };

  return {
    run: (scope) => {
      next = joinScopes(next, scope);
      if (!isRunning) running = loop();
      else asked.resolve();
      return running;
    },
    settled: () => running,
  };
}

export interface Orders {
  readonly has: (name: string) => boolean;
  /** Resolves when one more may start. */
  readonly room: () => Promise<void>;
  readonly start: (name: string, work: Promise<void>) => void;
  /** Resolves when all that are under way now have ended. */
  readonly settled: () => Promise<unknown>;
}

/** Orders by name, at most so many at once. */
export function createOrders(atOnce: number): Orders {
  const underWay = new Map<string, Promise<void>>();
  return {
    has: (name) => underWay.has(name),
    room: async () => {
      while (underWay.size >= atOnce) await Promise.race(underWay.values());
    },
    start: (name, work) => {
      underWay.set(
        name,
        work.finally(() => underWay.delete(name)),
      );
    },
    settled: () => Promise.all(underWay.values()),
  };
}
