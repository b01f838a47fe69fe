// Work that holds something scarce while it waits for strangers: so many at once for one person, and the rest in order.

import { LimitReached } from './limit-reached.ts';

export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/** `sentence` is the refusal's, for what would wait behind `mostWaiting` others of its key. */
export const createTurns = (most: number, mostWaiting: number, sentence: string): Turns => {
  /** What waits, for each key that has work under way. */
  const lines = new Map<string, { running: number; readonly waiting: (() => void)[] }>();

  const enter = async (key: string): Promise<void> => {
    const line = lines.get(key) ?? { running: 0, waiting: [] };
    lines.set(key, line);
    if (line.waiting.length >= mostWaiting) throw new LimitReached(sentence, 10);
    if (line.running < most) line.running += 1;
    else await new Promise<void>((resolve) => line.waiting.push(resolve));
  };
  /** The place goes to the next, or is free. */
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
};
