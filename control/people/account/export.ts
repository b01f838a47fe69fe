// The file with everything that the service holds about a person, without secrets: JSON, read and written in parts.

import { sql } from 'kysely';
import type { Schema } from '../../platform/store/schema.ts';
import type { Queries } from '../../platform/store/store.ts';
import { type DataSubject, type Holding, personalData, type Shown } from './personal-data.ts';

export interface PersonalFile {
  readonly person: DataSubject;
  /** The service that wrote the file. */
  readonly origin: string;
  readonly nowMs: number;
}

/** Rows that are in memory at once. */
const pageRows = 500;

const holdings = Object.entries(personalData).flatMap(([table, held]) =>
  'section' in held ? [{ table: table as keyof Schema, holding: held as unknown as Holding }] : [],
);

const camel = (column: string): string => column.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

function show(how: Shown, value: unknown): unknown {
  if (value === null) return null;
  switch (how) {
    case 'time':
      return value === 0 ? null : new Date(value as number).toISOString();
    case 'claim':
      return value === 1;
    case 'json':
      return JSON.parse(value as string);
    case 'text':
    case 'number':
      return value;
  }
}

type Row = Readonly<Record<string, unknown>>;

function toEntry({ columns, added = {} }: Holding, row: Row): Row {
  const shown = Object.entries<Holding['columns'][keyof Holding['columns']]>(columns).flatMap(([column, how]) =>
    typeof how === 'string' ? [[camel(column), show(how, row[column])] as const] : [],
  );
  return Object.fromEntries([...shown, ...Object.keys(added).map((name) => [camel(name), row[name]] as const)]);
}

/** The person's rows of a table in pages, each an array of entries. */
async function* pagesOf(db: Queries, table: keyof Schema, holding: Holding, person: DataSubject): AsyncGenerator<readonly Row[]> {
  const { key, of, columns, added = {} } = holding;
  const shown = Object.entries(columns).flatMap(([column, how]) => (typeof how === 'string' && column !== key ? [column] : []));
  const made = Object.entries(added).map(([name, value]) => sql`${value} as ${sql.ref(name)}`);
  const list = sql.join([...[key, ...shown].map((column) => sql.ref(column)), ...made]);
  for (let last = ''; ; ) {
    const page = await sql<Row>`select ${list} from ${sql.table(table)}
      where ${of(person)} and ${sql.ref(key)} > ${last} order by ${sql.ref(key)} limit ${pageRows}`.execute(db);
    if (page.rows.length > 0) yield page.rows.map((row) => toEntry(holding, row));
    if (page.rows.length < pageRows) return;
    last = String(page.rows.at(-1)?.[key]);
  }
}

export async function* writePersonalFile(db: Queries, { person, origin, nowMs }: PersonalFile): AsyncGenerator<string> {
  yield `{\n  "service": ${JSON.stringify(origin)},\n  "madeAt": ${JSON.stringify(new Date(nowMs).toISOString())}`;
  for (const { table, holding } of holdings) {
    yield `,\n  ${JSON.stringify(holding.section)}: [`;
    let before = '\n    ';
    for await (const page of pagesOf(db, table, holding, person)) {
      yield before + page.map((entry) => JSON.stringify(entry)).join(',\n    ');
      before = ',\n    ';
    }
    yield before.startsWith(',') ? '\n  ]' : ']';
  }
  yield '\n}\n';
}

/** The answer that a browser saves. The file is read while it is sent. */
export function answerPersonalFile(db: Queries, file: PersonalFile): Response {
  const body = ReadableStream.from(writePersonalFile(db, file)).pipeThrough(new TextEncoderStream());
  return new Response(body, {
    headers: { 'content-type': 'application/json', 'content-disposition': 'attachment; filename="underpass-account.json"' },
  });
}
