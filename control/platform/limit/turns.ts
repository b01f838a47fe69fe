// Limits how much work of one kind or one person runs at once, for work that holds a scarce resource while it waits for other
// servers. The rest waits its turn.

import { LimitReached } from './limit-reached.ts';

export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** `sentence` is the public text for work that would wait behind `mostWaiting` others of its key. */
export function createTurns(most: number, mostWaiting: number, sentence: string): Turns {
  /** One line for each key that has work running. */
  const lines = new Map<string, { running: number; readonly waiting: (() => void)[] }>();

  const enter = async (key: string): Promise<void> => {
    const line = lines.get(key) ?? { running: 0, waiting: [] };
    lines.set(key, line);
    if (line.waiting.length >= mostWaiting) throw new LimitReached(sentence, 10);
    if (line.running < most) line.running += 1;
    else await new Promise<void>((resolve) => line.waiting.push(resolve));
  };
  /** Hands the place to the next in line, or frees it. */
  const leave = (key: string): void => {
    const line = lines.get(key)!;
    const next = line.waiting.shift();
    if (next) next();
    else line.running -= 1;
    if (line.running === 0) lines.delete(key);
  };

  return async (key, work) => {
    await enter(key);
    try {
      return await work();
    } finally {
      leave(key);
    }
  };
}
