// Passes a loader's promise to its page. The page shows a failure (api/load.tsx), so the browser must not report it as an
// unhandled rejection.
import { outcomeOf } from './outcome.ts';

export function later<T>(promise: Promise<T>): Promise<T> {
  void outcomeOf(promise);
  return promise;
}
