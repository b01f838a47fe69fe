// For loaders that hand a promise to their page: the page shows its failure (ui/load.tsx), so the browser need not report it.

export function later<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
