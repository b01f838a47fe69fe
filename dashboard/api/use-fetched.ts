// Shows an answer that one part of a page asks for and renews by itself, apart from what the page's loader promised.
import { useCallback, useSyncExternalStore } from 'react';
import { type Answer, type Ask, answers } from './answers.ts';

export interface Fetched<T> extends Answer<T> {
  /** Asks again. */
  readonly reload: () => void;
  /** Asks again, in another way this time. */
  readonly reloadBy: (fetch: Ask<T>['fetch']) => void;
}

export function useFetched<T>(ask: Ask<T>): Fetched<T> {
  const { key } = ask;
  const read = () => answers.read<T>(key);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key contains everything that the fetch depends on.
  const follow = useCallback((listener: () => void) => answers.follow(ask, listener), [key]);
  const answer = useSyncExternalStore(follow, read, read);
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above.
  const reload = useCallback(() => answers.ask(ask), [key]);
  const reloadBy = (fetch: Ask<T>['fetch']) => answers.ask({ key, fetch });
  return { ...answer, reload, reloadBy };
}
