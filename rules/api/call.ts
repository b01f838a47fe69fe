// The shape of a row of the call table, the types that callers and handlers derive from it, and the request that it becomes.
// Each area has its own file of rows, so that a page of the dashboard loads only the rows that it uses;
// what many of its rows have stands before them, once.

import type { z } from 'zod';
import type { Accepted, Described } from '../entity/schema.ts';
import type { Action } from '../people/permission.ts';
import type { answerSchemas, payloadSchemas, querySchemas } from './schemas.ts';

type Payloads = typeof payloadSchemas;
type Queries = typeof querySchemas;
type Answers = typeof answerSchemas;
export type AnswerName = keyof Answers;

export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** `:name` stands for one encoded segment. */
  readonly path: string;
  /** A schema of query.ts. */
  readonly query?: keyof Queries;
  /** What the body is, by at most one of these four: a schema of payload.ts and how it travels, or lines of CSV. */
  readonly json?: keyof Payloads;
  readonly form?: keyof Payloads;
  readonly multipart?: keyof Payloads;
  readonly csv?: true;
  /** A schema of entity.ts or resource.ts, `[]` for a list, or a media type. Absent: the answer is empty. */
  readonly answer?: AnswerName | `${AnswerName}[]` | 'text/csv' | 'text/plain' | 'text/event-stream';
  /** Answers a browser that navigates there with 303 to the home page. */
  readonly seeOther?: true;
  /** An action of permission.ts means the caller's role in the project of the query. */
  readonly who: 'anyone' | 'user' | 'operator' | Action;
  /**
   * What the caller must have beside the right. `session`: a signed-in browser; an API token is refused. `fresh`: the same, and
   * owners and operators have lately proven who they are, because the call gives power that outlives a session; everybody, if the
   * call is about the caller alone (`user`).
   */
  readonly needs?: 'session' | 'fresh';
  /** When `fresh` is not needed, in words. The handler decides it by the body, and asks for the proof otherwise. */
  readonly freshUnless?: string;
  /**
   * The call gives or ends what outlives a session: from a session of a person who has a passkey, it needs a fresh proof by that,
   * because a thief of the mailbox has the link. `fresh` implies it. API tokens are not asked: they were made with such a proof.
   */
  readonly lasting?: true;
  /** The answer may be one page of a list: headers say how many rows there are, and link the next page. */
  readonly paged?: true;
  /** The answer is compressed: it may be long, and has no secret of schema.ts. Never a stream. */
  readonly compress?: true;
  /** The caller may send `If-Match` with the `updatedAt` that it read, in quotes, to refuse a change of anything newer. */
  readonly ifMatch?: true;
}

/** The names of the `:name` segments of a path. */
type PathNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathNames<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;
export type SegmentsOf<Row extends Call> = Readonly<Record<PathNames<Row['path']>, string>>;

type QuerySchema<Row> = Row extends { readonly query: infer Name extends keyof Queries } ? Queries[Name] : z.ZodType<unknown>;
type PayloadSchema<Row> = Row extends { readonly json: infer Name extends keyof Payloads }
  ? Payloads[Name]
  : Row extends { readonly form: infer Name extends keyof Payloads }
    ? Payloads[Name]
    : Row extends { readonly multipart: infer Name extends keyof Payloads }
      ? Payloads[Name]
      : never;

export type PayloadOf<Row extends Call> = Accepted<PayloadSchema<Row>>;

/** What a caller passes: the path's segments and the query by name, the payload, and the state that a change is based on. */
export type InputOf<Row extends Call> = SegmentsOf<Row> &
  Accepted<QuerySchema<Row>> &
  ([PayloadSchema<Row>] extends [never] ? unknown : { readonly payload: PayloadOf<Row> }) &
  (Row extends { readonly csv: true } ? { readonly payload: string } : unknown) &
  (Row extends { readonly ifMatch: true } ? { readonly basedOn?: string } : unknown);

/** What a caller gets. */
export type AnswerOf<Row extends Call> = Row extends { readonly answer: infer Answer }
  ? Answer extends `${infer Name extends AnswerName}[]`
    ? readonly Described<Answers[Name]>[]
    : Answer extends AnswerName
      ? Described<Answers[Answer]>
      : string
  : undefined;

/** Fields that are null or undefined do not reach a handler. */
type Given<Fields> = { readonly [Name in keyof Fields]: Exclude<Fields[Name], null | undefined> };

/** The query and the body as a handler gets them. */
export type QueryOf<Row extends Call> = Given<z.output<QuerySchema<Row>>>;
export type BodyOf<Row extends Call> = Row extends { readonly csv: true }
  ? string
  : [PayloadSchema<Row>] extends [never]
    ? undefined
    : Given<z.output<PayloadSchema<Row>>>;

/** The method, URL, headers and body that a row and its input become. `fetch` adds the type of a form by itself. */
export interface CallRequest {
  readonly method: Call['method'];
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | FormData;
}

interface LooseInput {
  readonly payload?: unknown;
  readonly basedOn?: string;
  readonly [name: string]: unknown;
}

export function requestOf<Row extends Call>(row: Row, input: InputOf<Row>): CallRequest {
  const { payload, basedOn } = input as LooseInput;
  const { type, body } = contentOf(row, payload);
  return {
    method: row.method,
    url: urlOf(row, input),
    headers: {
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(basedOn === undefined ? {} : { 'if-match': `"${basedOn}"` }),
    },
    ...(body === undefined ? {} : { body }),
  };
}

/** The path and query of a call. Values that are undefined are left out of the query. */
export function urlOf<Row extends Call>({ path }: Row, input: InputOf<Row>): string {
  const { payload: _payload, basedOn: _basedOn, ...values } = input as LooseInput;
  return fillUrl(path, values);
}

/** A path with its `:name` segments filled in; the other values are the query. */
export function fillUrl(path: string, values: Readonly<Record<string, unknown>>): string {
  const segments = new Set<string>();
  const filledPath = path.replace(/:(\w+)/g, (_, name: string) => {
    segments.add(name);
    return encodeSegment(String(values[name] ?? ''));
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && !segments.has(name)) query.set(name, String(value));
  }
  return query.size === 0 ? filledPath : `${filledPath}?${query}`;
}

/** URL parsers resolve `.`, `..` and `%2E%2E` away. A tilde names nothing, so the call ends in a 404. */
function encodeSegment(value: string): string {
  return /^\.{0,2}$/.test(value) ? '~' : encodeURIComponent(value.toWellFormed());
}

function contentOf(row: Call, payload: unknown): { readonly type?: string; readonly body?: CallRequest['body'] & {} } {
  if (row.json) return { type: 'application/json', body: JSON.stringify(payload) };
  if (row.csv) return { type: 'text/csv', body: String(payload) };
  if (row.form) return { body: filled(new URLSearchParams(), payload) };
  if (row.multipart) return { body: filled(new FormData(), payload) };
  return {};
}

function filled<Form extends URLSearchParams | FormData>(form: Form, payload: unknown): Form {
  for (const [name, value] of Object.entries(payload as Record<string, string>)) form.set(name, value);
  return form;
}
