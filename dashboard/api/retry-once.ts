// Repeats requests that change nothing, and loads of page code: when the network changes, browsers fail requests that wait for a
// connection (ERR_NETWORK_CHANGED).

const pauseMs = 500;

/** Retries a failure once after a pause. The second failure is final. */
export const retryOnce = <Answer>(request: () => Promise<Answer>): Promise<Answer> =>
  request().catch(() => new Promise((resolve) => setTimeout(resolve, pauseMs)).then(request));

/** The code of a page did not arrive. */
export class CodeError extends Error {
  override readonly name = 'CodeError';
}

/** The message of the browser is for developers ("Failed to fetch dynamically imported module"). */
export const loadCode = <Module>(load: () => Promise<Module>): Promise<Module> =>
  retryOnce(load).catch((cause: unknown) => {
    throw new CodeError('This page could not be loaded.', { cause });
  });
