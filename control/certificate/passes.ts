// Runs passes over the names one at a time, and the orders that they start several at once.

/** `asked`: a pass runs, and somebody has requested another since it began. */
type Phase = 'idle' | 'running' | 'asked';

export interface Passes {
  /** Starts a pass; while one runs, ends it early and lets another follow. Resolves when the last pass and its orders are done. */
  readonly run: () => Promise<void>;
  /** Resolves when no pass and no order is under way. */
  readonly settled: () => Promise<void>;
}

/** `pass` handles its own errors. */
export function createPasses(
  pass: (endsEarly: () => boolean) => Promise<void>,
  orders: Pick<Orders, 'settled'>,
  stopping: AbortSignal,
): Passes {
  let phase: Phase = 'idle';
  let running = Promise.resolve();
  let asked = Promise.withResolvers<void>();
  const isAsked = (): boolean => phase === 'asked';

  const loop = async (): Promise<void> => {
    do {
      phase = 'running';
      asked = Promise.withResolvers();
      await pass(isAsked);
      // An order may take minutes: the next pass does not wait for it.
      await Promise.race([asked.promise, orders.settled()]);
    } while (isAsked() && !stopping.aborted);
    await orders.settled();
    phase = 'idle';
  };

  return {
    run: () => {
      if (phase === 'idle') running = loop();
      else {
        phase = 'asked';
        asked.resolve();
      }
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
