// Repeats requests that change nothing, and loads of page code: when the network changes, browsers fail requests that wait for a
// connection (ERR_NETWORK_CHANGED).

import { checkVersion } from './new-version.ts';

const pauseMs = 500;

/** Retries a failure once after a pause. The second failure is final. */
export const retryOnce = <Answer>(request: () => Promise<Answer>): Promise<Answer> =>
  request().catch(() => new Promise((resolve) => setTimeout(resolve, pauseMs)).then(request));

/** The code of a page did not arrive. */
export class CodeError extends Error {
  override readonly name = 'CodeError';
}

/**
 * Loads code that is not needed at once. The message of the browser is for developers ("Failed to fetch dynamically imported module"),
 * so `message` replaces it.
 */
export const loadCode = <Module>(load: () => Promise<Module>, message = 'This page could not be loaded.'): Promise<Module> =>
  retryOnce(load).catch((cause: unknown) => {
    // If that fails too, the server is away: nothing is known about its version.
    checkVersion().catch(() => {});
    throw new CodeError(message, { cause });
  });

const mostWaitMs = 20_000;

/**
 * Loads the code of a part. If it stalls, the part has its notice and its retry, which joins what is still on its way: a browser
 * fetches a module once.
 */
export function loadPart<Module>(load: () => Promise<Module>, message: string): Promise<Module> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(reject, mostWaitMs, new CodeError(message));
  return Promise.race([loadCode(load, message), late]).finally(() => clearTimeout(timer));
}
