// For what changes nothing, answers and code alike: a change of the network drops what waits for a connection (ERR_NETWORK_CHANGED).

const PAUSE_MS = 500;

/** What failed is asked for once more after a pause; the second failure counts. */
export const askAgain = <Answer>(ask: () => Promise<Answer>): Promise<Answer> =>
  ask().catch(() => new Promise((resolve) => setTimeout(resolve, PAUSE_MS)).then(ask));
