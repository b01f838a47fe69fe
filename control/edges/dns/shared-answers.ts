// Answers that callers share: one question for all who ask for a name at the same time, and its answer for a moment after.

export interface SharedAnswers<T> {
  /** A kept answer, if it is recent. */
  readonly recent: (name: string) => T | undefined;
  /** Asks, or shares the question if one for this name is already open. */
  readonly ask: (name: string) => Promise<T>;
}

interface SharedAnswersOptions {
  readonly keptMs: number;
  /** Kept answers; beyond it, the oldest goes. Questions under way are bounded by their callers (platform/limit/turns.ts). */
  readonly most: number;
  /** Milliseconds; monotonic. */
  readonly clock: () => number;
}

/** A question that throws is not kept: everybody who waits for it gets the error. */
export function createSharedAnswers<T>(
  question: (name: string) => Promise<T>,
  { keptMs, most, clock }: SharedAnswersOptions,
): SharedAnswers<T> {
  const kept = new Map<string, { readonly answer: T; readonly at: number }>();
  const underWay = new Map<string, Promise<T>>();

  const keep = (name: string, answer: T): void => {
    kept.delete(name);
    kept.set(name, { answer, at: clock() });
    const [oldest] = kept.keys();
    if (kept.size > most && oldest !== undefined) kept.delete(oldest);
  };
  const start = async (name: string): Promise<T> => {
    try {
      const answer = await question(name);
      keep(name, answer);
      return answer;
    } finally {
      underWay.delete(name);
    }
  };

  return {
    recent: (name) => {
      const found = kept.get(name);
      return found !== undefined && clock() - found.at < keptMs ? found.answer : undefined;
    },
    ask: (name) => {
      const asked = underWay.get(name) ?? start(name);
      underWay.set(name, asked);
      return asked;
    },
  };
}
