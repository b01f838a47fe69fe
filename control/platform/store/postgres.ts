// The driver for more than one machine: Kysely over pg.

import { Kysely, PostgresDialect, type Transaction } from 'kysely';
import pg from 'pg';
import type { Dependency } from '../dependency/dependency.ts';
import { Heartbeat } from './heartbeat.ts';
import { tellOutages } from './outage.ts';
import type { Schema } from './schema.ts';
import { migrateToLatest, type Store } from './store.ts';

// Every bigint column holds milliseconds or a counter below 2^53.
const parseInt8 = (text: string): number => Number(text);
const int8Oid = 20;

const createPool = (url: string, connectMs: number) =>
  new pg.Pool({
    connectionString: url,
    max: 10,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 30_000,
    query_timeout: 15_000,
    statement_timeout: 10_000,
    types: { getTypeParser: (oid, format) => (oid === int8Oid ? parseInt8 : pg.types.getTypeParser(oid, format as 'text')) },
  });

// Postgres: serialization_failure and deadlock_detected; the transaction was undone and may run again. So may a transaction that
// refers to a row which another one has just deleted (foreign_key_violation): the second run finds it missing.
const conflicts = ['40001', '40P01', '23503'];
const isConflict = (error: unknown): boolean => conflicts.includes((error as { code?: string })?.code ?? '');
const attempts = 4;

// Postgres, appendix A: connection_exception, insufficient_resources (a full disk among them), operator_intervention
// (a shutdown, a statement that took too long), system_error; read_only_sql_transaction is a standby.
const outageCodes = /^(08|53|57|58)|^25006$/;

/** An error that the server did not send is one of the connection. */
const isOutage = (error: unknown): boolean =>
  error instanceof pg.DatabaseError ? outageCodes.test(error.code ?? '') : !(error instanceof TypeError);

class Dialect extends PostgresDialect {
  readonly #isAway: () => boolean;

  constructor(pool: pg.Pool, isAway: () => boolean) {
    super({ pool });
    this.#isAway = isAway;
  }

  override createDriver() {
    return tellOutages(super.createDriver(), isOutage, this.#isAway);
  }
}

async function writeWithRetry<T>(db: Kysely<Schema>, body: (trx: Transaction<Schema>) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(body);
    } catch (error) {
      if (attempt === attempts || !isConflict(error)) throw error;
    }
  }
}

/**
 * `connectMs`: how long to wait for a new connection, or for one that others use. With `dependency`, a server that does not answer
 * is noticed by a heartbeat, and queries fail at once until it is back.
 */
export async function openPostgresStore(
  url: string,
  onIdleError: (error: Error) => void,
  connectMs = 5_000,
  dependency?: Dependency,
): Promise<Store> {
  const pool = createPool(url, connectMs);
  let isClosing = false;
  // An idle connection that breaks would otherwise end the process.
  pool.on('error', (error) => isClosing || onIdleError(error));
  // So would one that breaks between two queries of a transaction; its next query reports the error.
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = new Kysely<Schema>({ dialect: new Dialect(pool, () => dependency?.answers === false) });
  await migrateToLatest(db);
  const heartbeat = dependency === undefined ? undefined : new Heartbeat(url, dependency);
  return {
    kind: 'postgres',
    db,
    pool: () => ({ used: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    write: (body) => writeWithRetry(db, body),
    read: (body) => db.transaction().setAccessMode('read only').setIsolationLevel('repeatable read').execute(body),
    close: async () => {
      isClosing = true;
      heartbeat?.close();
      await db.destroy();
    },
  };
}
