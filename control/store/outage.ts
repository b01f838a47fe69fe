// The database cannot be had: gone, full, or too slow. Told apart from what a query did wrong, at the driver, where it is known.

import type { Driver } from 'kysely';

/** The API answers it with 503. */
export class StoreOutage extends Error {
  constructor(cause: unknown) {
    super(`the database cannot be had: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = 'StoreOutage';
  }
}

/** What is only told while there is a database, as a figure is; any other fault is thrown on. */
export const unlessOutage = async (work: () => Promise<void>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StoreOutage)) throw error;
  }
};

type IsOutage = (error: unknown) => boolean;

export const tellOutage = async <T>(work: () => Promise<T>, isOutage: IsOutage): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw isOutage(error) ? new StoreOutage(error) : error;
  }
};

/** The same driver, whose connections and queries fail with a StoreOutage where that is what it was. */
export const tellOutages = <D extends Driver>(driver: D, isOutage: IsOutage): D => {
  const told = new WeakSet<object>();
  const acquire = driver.acquireConnection.bind(driver);
  driver.acquireConnection = async (options) => {
    const connection = await tellOutage(() => acquire(options), isOutage);
    if (told.has(connection)) return connection;
    told.add(connection);
    const execute = connection.executeQuery.bind(connection);
    connection.executeQuery = (query, settings) => tellOutage(() => execute(query, settings), isOutage);
    return connection;
  };
  return driver;
};
