// The one door to the database: typed queries, serialised writes, migrations. Drivers: sqlite.ts and postgres.ts.

import type { Kysely, Transaction } from 'kysely';
import { Migrator } from 'kysely/migration';
import { migrations } from './migrations.ts';
import type { Schema } from './schema.ts';

/** What a query function takes: the store's `db`, or the transaction it runs in. */
export type Queries = Kysely<Schema>;

interface PoolState {
  readonly used: number;
  readonly idle: number;
  /** Queries that wait for a connection. */
  readonly waiting: number;
}

export interface Store {
  /** The state of the connections to Postgres. */
  readonly pool?: () => PoolState;
  readonly kind: 'sqlite' | 'postgres';
  readonly db: Queries;
  /**
   * One transaction. The body awaits nothing but its own queries, never `store.db`, and may run again after a conflict.
   */
  write<T>(body: (trx: Transaction<Schema>) => Promise<T>): Promise<T>;
  /** One read-only transaction: every query in it sees the same moment. */
  read<T>(body: (trx: Transaction<Schema>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function migrateToLatest(db: Queries): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  // A newer release may have migrated already, as replicas are replaced one by one. Its schema serves this release too.
  if ((await migrator.getMigrations()).every(({ executedAt }) => executedAt !== undefined)) return;
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}

/** Whether a unique or primary key was taken, by either driver's error code. */
export function isUniqueViolation(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  // SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_PRIMARYKEY; Postgres unique_violation.
  return errcode === 2067 || errcode === 1555 || code === '23505';
}

/** Whether a row refers to a missing row, or is still referred to, by either driver's error code. */
export function isForeignKeyViolation(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  // SQLITE_CONSTRAINT_FOREIGNKEY; Postgres foreign_key_violation.
  return errcode === 787 || code === '23503';
}

/**
 * Takes the project's row lock until the transaction ends, so that counts and owners read after it stay true. False if the
 * project is gone.
 */
export async function takeProjectLock(trx: Queries, projectId: string): Promise<boolean> {
  const locked = await trx
    .updateTable('projects')
    .set((eb) => ({ revision: eb('revision', '+', 1) }))
    .where('id', '=', projectId)
    .executeTakeFirst();
  return locked.numUpdatedRows > 0n;
}
