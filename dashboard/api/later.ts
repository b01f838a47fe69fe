// Passes a loader's promise to its page. The page shows a failure (api/load.tsx), so the browser must not report it as an
// unhandled rejection.

export function later<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
