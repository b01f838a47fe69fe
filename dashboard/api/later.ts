// For loaders that pass a promise to their page. The page shows a failure (api/load.tsx), so the browser must not report it as
// an unhandled rejection.

export function later<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
