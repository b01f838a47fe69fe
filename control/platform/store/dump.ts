// Backup and restore for both databases: one JSON line per row, in an order that foreign keys accept.
// A dump of one kind of database restores into the other. Its first lines may carry small files that belong to the rows, such as
// the keys; a release that does not know them skips them.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { sql } from 'kysely';
import type { Schema } from './schema.ts';
import type { Queries, Store } from './store.ts';

type TableName = keyof Schema;

// Parents before children, each with its primary key, by which it is read in pages.
const tables = {
  users: ['id'],
  login_links: ['id'],
  sessions: ['id'],
  known_browsers: ['id'],
  passkeys: ['id'],
  recovery_codes: ['code_hash'],
  registrations: ['id'],
  subscriptions: ['id'],
  projects: ['id'],
  members: ['project_id', 'user_id'],
  invitations: ['id'],
  used_invitations: ['token_hash'],
  domains: ['id'],
  regions: ['name'],
  edge_keys: ['id'],
  security_groups: ['id'],
  access_policies: ['id'],
  access_tokens: ['id'],
  access_links: ['id'],
  access_sign_outs: ['policy_id', 'subject'],
  access_flows: ['id'],
  access_sign_ins: ['id'],
  access_clients: ['id'],
  tunnels: ['id'],
  tunnel_hosts: ['project_id', 'host'],
  quick_tunnels: ['tunnel_id'],
  tcp_ports: ['region', 'port'],
  tunnel_tokens: ['id'],
  reach_tickets: ['id'],
  visitor_log: ['id'],
  api_tokens: ['id'],
  device_logins: ['id'],
  audit: ['id'],
  abuse_reports: ['id'],
  jobs: ['id'],
  metric_minutes: ['tunnel_id', 'minute_at'],
  history_minutes: ['start_at', 'tunnel_id'],
  history_quarters: ['start_at', 'tunnel_id'],
  tunnel_routes: ['tunnel_id'],
  last_clients: ['tunnel_id'],
  alerts: ['id'],
  alert_mailings: ['project_id', 'user_id'],
  alert_webhooks: ['project_id'],
  alert_deliveries: ['id'],
  usage_hours: ['hour_at', 'project_id'],
  tunnel_totals: ['tunnel_id'],
  certificates: ['id'],
  own_certificates: ['id'],
  certificate_attempts: ['id'],
  challenges: ['id'],
  blocks: ['id'],
  released_names: ['host'],
  spent_answers: ['answer_hash'],
  settings: ['name'],
  leases: ['name'],
} satisfies Record<TableName, readonly string[]>;

const formatVersion = 1;
/** Rows held in memory at once. */
const pageRows = 500;
/** Rows of one insert. A row has some 20 columns at most; an insert may have 32,766 parameters in SQLite, 65,535 in Postgres. */
const batchRows = 100;

type Row = Record<string, unknown>;

export interface KeptFile {
  readonly file: string;
  readonly text: string;
}

type ReadFiles = () => Promise<readonly KeptFile[]>;
const noFiles: ReadFiles = async () => [];

/** The last line. Without it, a file that was cut off at the end of a line would look whole. */
interface Ending {
  readonly rows: number;
  /** The hash of all lines before this one, hex. A backup of an earlier version has none. */
  readonly sha256?: string;
}

function createLineHash() {
  const hash = createHash('sha256');
  return { add: (line: string) => hash.update(`${line}\n`), digest: () => hash.digest('hex') };
}

async function readPage(db: Queries, table: TableName, last: Row | undefined): Promise<Row[]> {
  const keys = tables[table];
  const columns = sql.join(keys.map((key) => sql.ref(key)));
  const after = last ? sql`where (${columns}) > (${sql.join(keys.map((key) => last[key]))})` : sql``;
  const page = await sql<Row>`select * from ${sql.table(table)} ${after} order by ${columns} limit ${sql.lit(pageRows)}`.execute(
    db,
  );
  return page.rows;
}

async function* readTable(db: Queries, table: TableName): AsyncGenerator<Row> {
  for (let last: Row | undefined; ; ) {
    const page = await readPage(db, table, last);
    yield* page;
    if (page.length < pageRows) return;
    last = page.at(-1);
  }
}

async function* readLines(db: Queries, readFiles: ReadFiles): AsyncGenerator<string> {
  const files = await readFiles();
  const hash = createLineHash();
  const render = (value: unknown): string => {
    const line = JSON.stringify(value);
    hash.add(line);
    return `${line}\n`;
  };
  yield render({ underpass: 'backup', version: formatVersion });
  for (const file of files) yield render(file);
  let count = 0;
  for (const table of Object.keys(tables) as TableName[]) {
    for await (const row of readTable(db, table)) {
      count += 1;
      yield render([table, row]);
    }
  }
  // The rows may be sealed with a key that was made while they were read.
  if (JSON.stringify(await readFiles()) !== JSON.stringify(files)) throw new Error('a key changed during the backup; try again');
  yield `${JSON.stringify({ rows: count, sha256: hash.digest() } satisfies Ending)}\n`;
}

/** Writes a consistent copy, line by line. It lacks the last line if it fails. */
export const printStore = (store: Store, print: (line: string) => void, readFiles = noFiles): Promise<void> =>
  store.read(async (trx) => {
    for await (const line of readLines(trx, readFiles)) print(line);
  });

/** Writes a consistent copy to `path`, which must not exist, readable only by its owner. Servers keep running. A failure leaves no file. */
export async function dumpStore(store: Store, path: string, readFiles = noFiles): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await store.read((trx) => file.writeFile(readLines(trx, readFiles)));
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** The store has rows already: a restore would mix two installations. */
export class StoreNotEmpty extends Error {
  constructor(found: readonly TableName[]) {
    super(`the database is not empty: it has ${found.join(', ')}`);
    this.name = 'StoreNotEmpty';
  }
}

async function expectEmpty(db: Queries): Promise<void> {
  const found: TableName[] = [];
  for (const table of Object.keys(tables) as TableName[])
    if ((await sql`select 1 from ${sql.table(table)} limit 1`.execute(db)).rows.length > 0) found.push(table);
  if (found.length > 0) throw new StoreNotEmpty(found);
}

const cutOff = 'restore: the file is cut off or damaged; take another copy';

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new Error(cutOff, { cause: error });
  }
}

function parseHeader(line: string): void {
  const header = parseLine(line) as { underpass?: string; version?: number };
  if (header.underpass !== 'backup' || header.version !== formatVersion) throw new Error('restore: not a backup of this version');
}

function parseRow(line: string): [TableName, object] | KeptFile | Ending {
  const parsed = parseLine(line) as [TableName, object] | KeptFile | Ending;
  if (typeof parsed !== 'object' || parsed === null) throw new Error(cutOff);
  if (Array.isArray(parsed) && !(parsed[0] in tables)) throw new Error(`restore: unknown table ${JSON.stringify(parsed[0])}`);
  return parsed;
}

interface ParsedLine {
  readonly line: string;
  /** Null for the first line, which says what the file is. */
  readonly parsed: ReturnType<typeof parseRow> | null;
}

async function* parseLines(lines: AsyncIterable<string>): AsyncGenerator<ParsedLine> {
  let isFirst = true;
  for await (const line of lines) {
    if (isFirst) parseHeader(line);
    yield { line, parsed: isFirst ? null : parseRow(line) };
    isFirst = false;
  }
  if (isFirst) throw new Error('restore: the file is empty');
}

/** Inserts batches of one table's rows, in the order in which they come. */
function createInserter(db: Queries) {
  let table: TableName | undefined;
  let rows: object[] = [];
  const flush = async (): Promise<void> => {
    const values = rows as never;
    if (table && rows.length > 0) await db.insertInto(table).values(values).execute();
    rows = [];
  };
  const add = async (name: TableName, row: object): Promise<void> => {
    if (name !== table || rows.length === batchRows) await flush();
    table = name;
    rows.push(row);
  };
  return { add, flush };
}

async function restoreLines(db: Queries, lines: AsyncIterable<string>): Promise<void> {
  const inserter = createInserter(db);
  let count = 0;
  let ending: Ending | undefined;
  for await (const { parsed } of parseLines(lines)) {
    if (Array.isArray(parsed)) {
      count += 1;
      await inserter.add(...parsed);
    } else if (parsed !== null && 'rows' in parsed) ending = parsed;
  }
  if (ending?.rows !== count) throw new Error(cutOff);
  await inserter.flush();
}

// Opened last: a readline interface loses the lines that arrive before it is read.
const openLines = (path: string): AsyncIterable<string> =>
  createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });

interface BackupFacts {
  readonly rows: number;
  readonly files: readonly string[];
  /** False for a backup of an earlier version: a changed byte would not show. */
  readonly hasChecksum: boolean;
}

/** Reads the whole file and throws if it is cut off or any byte of it has changed. Call it before anything is written. */
export async function checkBackup(path: string): Promise<BackupFacts> {
  const hash = createLineHash();
  const files: string[] = [];
  let rows = 0;
  let ending: Ending | undefined;
  for await (const { line, parsed } of parseLines(openLines(path))) {
    // Nothing may follow the last line.
    if (ending !== undefined) throw new Error(cutOff);
    if (Array.isArray(parsed)) rows += 1;
    else if (parsed !== null && 'rows' in parsed) ending = parsed;
    else if (parsed !== null) files.push(parsed.file);
    if (ending === undefined) hash.add(line);
  }
  const sha256 = hash.digest();
  if (ending?.rows !== rows || (ending.sha256 ?? sha256) !== sha256) throw new Error(cutOff);
  return { rows, files, hasChecksum: ending.sha256 !== undefined };
}

/** The files that a backup carries. */
export async function readKeptFiles(path: string): Promise<readonly KeptFile[]> {
  const files: KeptFile[] = [];
  for await (const { parsed } of parseLines(openLines(path))) {
    if (parsed === null) continue;
    if (!('file' in parsed)) break;
    files.push(parsed);
  }
  return files;
}

/** All or nothing, and only into an empty store. `finish` checks the restored rows and may throw to refuse them. */
export async function restoreStore(
  store: Store,
  path: string,
  finish: (trx: Queries) => Promise<void> = async () => {},
): Promise<void> {
  await store.write(async (trx) => {
    await expectEmpty(trx);
    await restoreLines(trx, openLines(path));
    await finish(trx);
  });
}
