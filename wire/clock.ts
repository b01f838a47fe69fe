// The time as a session sees it. Tests pass a clock of their own.

export interface SessionClock {
  now(): number;
  /** Calls task every ms until the returned function is called. Must not keep the process alive. */
  every(ms: number, task: () => void): () => void;
}

export const realClock: SessionClock = {
  now: () => performance.now(),
  every(ms, task) {
    const timer = setInterval(task, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};
