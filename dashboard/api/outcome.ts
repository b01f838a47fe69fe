// What became of a promise, for React's use(): the same promise gives the same outcome, and one that is there shows at once.

export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

const outcomes = new WeakMap<Promise<unknown>, Promise<Outcome<unknown>>>();

/** Never rejects. A loader calls it as soon as it has the promise. */
export function outcomeOf<T>(promise: Promise<T>): Promise<Outcome<T>> {
  const known = outcomes.get(promise) as Promise<Outcome<T>> | undefined;
  if (known) return known;
  const outcome: Promise<Outcome<T>> = promise.then(
    (value) => ({ ok: true, value }),
    (error: unknown) => ({ ok: false, error }),
  );
  outcomes.set(promise, outcome);
  // React reads these. Without them it shows a placeholder first, even for a promise that is settled.
  void outcome.then((value) => Object.assign(outcome, { status: 'fulfilled', value }));
  return outcome;
}
