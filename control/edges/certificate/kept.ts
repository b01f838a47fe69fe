// A value that is made at the first call and kept. A failure is not kept: the next caller tries again.

export interface Kept<Arguments extends readonly unknown[], T> {
  readonly get: (...args: Arguments) => Promise<T>;
  readonly forget: () => void;
}

export function keepFirst<Arguments extends readonly unknown[], T>(make: (...args: Arguments) => Promise<T>): Kept<Arguments, T> {
  let kept: Promise<T> | undefined;
  const forget = (): void => {
    kept = undefined;
  };
  const get = (...args: Arguments): Promise<T> => {
    kept ??= make(...args).catch((error: unknown) => {
      forget();
      throw error;
    });
    return kept;
  };
  return { get, forget };
}
