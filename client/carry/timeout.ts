// A wait with an end.

/** Null when the time is over first. The promise itself goes on; its late failure is nobody's. */
export function withTimeout<Value>(promise: Promise<Value>, ms: number): Promise<Value | null> {
  promise.catch(() => {});
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
