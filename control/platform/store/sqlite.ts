// The embedded driver: Kysely over node:sqlite. One connection, one statement at a time, durable at every commit.

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { tellOutage, tellOutages } from './outage.ts';
import type { Schema } from './schema.ts';
import { migrateToLatest, type Store } from './store.ts';

// The code has a few hundred queries. Lists of values make more, so the cache is bounded.
const statementCacheSize = 512;
// A transaction that uses another handle waits for itself: after this long it is a defect.
const acquireTimeoutMs = 10_000;

// FULL syncs the log at every commit: an answered write survives a power cut (SQLite docs, PRAGMA synchronous).
const pragmas = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
  pragma busy_timeout = 5000;
  pragma trusted_schema = off;
`;

// SQLite result codes, the low byte: BUSY, READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB.
const outageCodes = new Set([5, 8, 10, 11, 13, 14, 26]);
const isOutage = (error: unknown): boolean => outageCodes.has(((error as { errcode?: number })?.errcode ?? 0) & 0xff);

function createStatementCache(database: DatabaseSync) {
  const cache = new Map<string, StatementSync>();
  const evictOldest = () => {
    const oldest = cache.keys().next();
    if (!oldest.done) cache.delete(oldest.value);
  };
  return (text: string): StatementSync => {
    const known = cache.get(text);
    if (known) return known;
    if (cache.size >= statementCacheSize) evictOldest();
    const statement = database.prepare(text);
    statement.setReturnArrays(true);
    cache.set(text, statement);
    return statement;
  };
}

/** The objects that node:sqlite itself makes have no prototype and are slow: lists of thousands of rows took twice as long. */
function createRowReader<R>(statement: StatementSync): (values: unknown) => R {
  const names = statement.columns().map(({ name }) => name);
  return (values) => {
    const row: Record<string, unknown> = {};
    for (let at = 0; at < names.length; at++) row[names[at]!] = (values as readonly unknown[])[at];
    return row as R;
  };
}

function createConnection(database: DatabaseSync): DatabaseConnection {
  const prepare = createStatementCache(database);
  return {
    executeQuery: async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
      const statement = prepare(query.sql);
      const parameters = query.parameters as SQLInputValue[];
      if (statement.columns().length > 0) return { rows: statement.all(...parameters).map(createRowReader<R>(statement)) };
      const { changes } = statement.run(...parameters);
      return { numAffectedRows: BigInt(changes), rows: [] };
    },
    streamQuery: async function* <R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
      const statement = prepare(query.sql);
      const read = createRowReader<R>(statement);
      for (const values of statement.iterate(...(query.parameters as SQLInputValue[]))) yield { rows: [read(values)] };
    },
  };
}

/** Hands out the one connection in turn. */
function createTurns() {
  const waiting: (() => void)[] = [];
  let taken = false;
  const wait = () =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(begin), 1);
        reject(new Error('sqlite: a query waited 10 s for its turn; a transaction must use its own handle'));
      }, acquireTimeoutMs);
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      waiting.push(begin);
    });
  const take = async () => {
    if (taken) return wait();
    taken = true;
  };
  const give = () => {
    const next = waiting.shift();
    if (next) next();
    else taken = false;
  };
  return { take, give };
}

function createDriver(database: DatabaseSync): Driver {
  const connection = createConnection(database);
  const turns = createTurns();
  const run = (text: string) => tellOutage(async () => database.exec(text), isOutage);
  return {
    init: async () => {},
    acquireConnection: async () => {
      await turns.take();
      return connection;
    },
    // `immediate` takes the write lock at the start, so no transaction fails half-way because it cannot get it.
    beginTransaction: (_, settings) => run(settings.accessMode === 'read only' ? 'begin' : 'begin immediate'),
    commitTransaction: () => run('commit'),
    // On a full disk SQLite rolls back by itself; a second rollback would hide the error.
    rollbackTransaction: async () => {
      if (database.isTransaction) await run('rollback');
    },
    releaseConnection: async () => turns.give(),
    destroy: async () => database.close(),
  };
}

const createDialect = (database: DatabaseSync): Dialect => ({
  createAdapter: () => new SqliteAdapter(),
  createDriver: () => tellOutages(createDriver(database), isOutage),
  createIntrospector: (db) => new SqliteIntrospector(db),
  createQueryCompiler: () => new SqliteQueryCompiler(),
});

/** `path` is a file, or `:memory:` for tests. */
export async function openSqliteStore(path: string): Promise<Store> {
  const database = new DatabaseSync(path);
  database.exec(pragmas);
  const db = new Kysely<Schema>({ dialect: createDialect(database) });
  await migrateToLatest(db);
  return {
    kind: 'sqlite',
    db,
    write: (body) => db.transaction().execute(body),
    read: (body) => db.transaction().setAccessMode('read only').execute(body),
    close: () => db.destroy(),
  };
}
