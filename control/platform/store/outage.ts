// The database is unavailable: gone, full, or too slow. The driver tells this apart from an error of a query.

import type { Driver } from 'kysely';

/** The API answers 503. */
export class StoreOutage extends Error {
  constructor(cause: unknown) {
    super(`the database cannot be had: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'StoreOutage';
  }
}

/** Leaves the work out while the database is unavailable; rethrows any other error. */
export async function unlessOutage(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StoreOutage)) throw error;
  }
}

type IsOutage = (error: unknown) => boolean;

export async function tellOutage<T>(work: () => Promise<T>, isOutage: IsOutage): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isOutage(error) ? new StoreOutage(error) : error;
  }
}

/**
 * Wraps a driver: its connections and queries throw a StoreOutage for an outage. While `isAway` says that the database does not
 * answer, they throw at once, so that no caller waits for a time-out.
 */
export function tellOutages<D extends Driver>(driver: D, isOutage: IsOutage, isAway = (): boolean => false): D {
  const told = new WeakSet<object>();
  const acquire = driver.acquireConnection.bind(driver);
  driver.acquireConnection = async (options) => {
    if (isAway()) throw new StoreOutage('it does not answer');
    const connection = await tellOutage(() => acquire(options), isOutage);
    if (told.has(connection)) return connection;
    told.add(connection);
    const execute = connection.executeQuery.bind(connection);
    connection.executeQuery = (query, settings) => tellOutage(() => execute(query, settings), isOutage);
    return connection;
  };
  return driver;
}
