// Visits a tunnel again and again while a test does something else, and counts how the visits end.
import type { TestContext } from 'node:test';
import { type Door, visit } from './visitor.ts';

export interface Tally {
  /** How many visits ended with each status; 0 counts broken connections. */
  readonly statuses: Readonly<Record<number, number>>;
  readonly visits: number;
  readonly slowestMs: number;
  /** 99th percentile. */
  readonly p99Ms: number;
}

export interface Load {
  /** The visits since the last call. */
  take(): Tally;
  /** Stops after the visit in progress; resolves with the visits since the last take(). */
  stop(): Promise<Tally>;
}

/** Makes one visit after the other, with pauses of `pauseMs`. */
export function keepVisiting(t: TestContext, door: Door, { pauseMs = 20, path = '/' } = {}): Load {
  let times: number[] = [];
  let statuses: Record<number, number> = {};
  let stopped = false;
  const run = async (): Promise<void> => {
    while (!stopped) {
      const started = performance.now();
      const { status } = await visit(door, path);
      times.push(performance.now() - started);
      statuses[status] = (statuses[status] ?? 0) + 1;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const running = run();
  t.after(() => {
    stopped = true;
  });
  const take = (): Tally => {
    const sorted = times.sort((a, b) => a - b);
    const tally = {
      statuses,
      visits: sorted.length,
      slowestMs: sorted.at(-1) ?? 0,
      p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
    };
    times = [];
    statuses = {};
    return tally;
  };
  return {
    take,
    stop: async () => {
      stopped = true;
      await running;
      return take();
    },
  };
}
