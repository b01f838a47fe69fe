// A promise with a timeout.

/** Resolves to null after `ms`. The promise itself goes on, and a later rejection is ignored. */
export function withTimeout<Value>(promise: Promise<Value>, ms: number): Promise<Value | null> {
  promise.catch(() => {});
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
