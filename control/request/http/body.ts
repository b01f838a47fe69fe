// Reads a request's body by its row of the call table: checks the size before it buffers, then the media type and the fields.

import type { Call } from '@underpass/rules/api/call.ts';
import { payloadSchemaOf } from '@underpass/rules/api/schemas.ts';
import { bodyMaxBytes, jsonMaxDepth } from '@underpass/rules/limits.ts';
import { isPlainText } from '@underpass/rules/text/characters.ts';
import type { z } from 'zod';
import { Refusal, refuse } from './refusal.ts';

/** Answers 400 if the caller disconnects within the body or frames it wrongly: an error in the log would alert the operator. */
async function* chunksOf(body: Request['body']): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch {
    refuse('invalid', 'The body is incomplete.');
  }
}

/** Reads the body of a request, or of another server's answer. */
export async function readBounded(request: Pick<Request, 'headers' | 'body'>, maxBytes: number): Promise<Buffer> {
  const tooLarge = new Refusal('tooLarge', `The body must be at most ${maxBytes} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunksOf(request.body)) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

const mediaType = (request: Request): string => (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();

function expectType(request: Request, type: string): void {
  if (mediaType(request) !== type) throw new Refusal('unsupported', `The body must be ${type}.`);
}

function depthOf(value: unknown): number {
  let depth = 0;
  for (let level: unknown[] = [value]; level.length > 0 && depth <= jsonMaxDepth; depth++) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return depth;
}

function parseJson(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return refuse('invalid', 'The body must be JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return refuse('invalid', 'The body must be a JSON object.');
  if (depthOf(value) > jsonMaxDepth) return refuse('invalid', 'The body nests too deeply.');
  return value as Record<string, unknown>;
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse('invalid', 'The body must be UTF-8.');
  }
}

/** `allow` for an item of the list `allow`; `rules.0.path` for a field of an item. */
const nameOf = (path: readonly PropertyKey[]): string =>
  path
    .slice(0, path.findLastIndex((key) => typeof key === 'string') + 1)
    .map(String)
    .join('.');

/** The fields of the schema and no others: what a caller may not set never reaches a handler. */
function readFields(schema: z.ZodObject, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { data, error } = schema.safeParse(values);
  if (error) return refuse('invalid', `Field '${nameOf(error.issues[0]!.path)}' ${error.issues[0]!.message}`);
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
}

/** A missing field becomes an empty string, because the rules decide which fields are required. A repeated field is refused. */
function readForm(schema: z.ZodObject, entries: Iterable<[string, unknown]>): Record<string, unknown> {
  const fields = Object.fromEntries(Object.keys(schema.shape).map((name) => [name, '']));
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    if (!Object.hasOwn(fields, name)) continue;
    if (seen.has(name) || typeof value !== 'string') refuse('invalid', `Field '${name}' must be one text.`);
    seen.add(name);
    fields[name] = value as string;
  }
  return readFields(schema, fields);
}

async function readMultipart(request: Request, schema: z.ZodObject): Promise<Record<string, unknown>> {
  expectType(request, 'multipart/form-data');
  const body = new Uint8Array(await readBounded(request, bodyMaxBytes.form));
  const response = new Response(body, { headers: { 'content-type': request.headers.get('content-type')! } });
  const form = await response.formData().catch(() => refuse('invalid', 'The body must be a complete form.'));
  return readForm(schema, form.entries());
}

export async function readUrlEncoded(request: Request, schema: z.ZodObject): Promise<Record<string, unknown>> {
  expectType(request, 'application/x-www-form-urlencoded');
  return readForm(schema, new URLSearchParams(decodeUtf8(await readBounded(request, bodyMaxBytes.form))));
}

async function readJson(request: Request, schema: z.ZodObject): Promise<Record<string, unknown>> {
  expectType(request, 'application/json');
  return readFields(schema, parseJson(decodeUtf8(await readBounded(request, bodyMaxBytes.json))));
}

async function readCsv(request: Request): Promise<string> {
  expectType(request, 'text/csv');
  const text = decodeUtf8(await readBounded(request, bodyMaxBytes.csv));
  return isPlainText(text) ? text : refuse('invalid', 'The body must not hold control characters.');
}

export async function readBody(request: Request, call: Call): Promise<unknown> {
  if (call.csv) return readCsv(request);
  const schema = payloadSchemaOf(call);
  if (schema === null) return undefined;
  if (call.json) return readJson(request, schema);
  return call.form ? readUrlEncoded(request, schema) : readMultipart(request, schema);
}
