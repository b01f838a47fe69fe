// Reads a request's body as its call says: bounded before it is buffered, of the right type, with the right fields.

import type { Call, FieldType, Payload } from '@underpass/rules/calls.ts';
import { isPlainText } from '@underpass/rules/characters.ts';
import { bodyMaxBytes, jsonMaxDepth } from '@underpass/rules/limits.ts';
import { Refusal, refuse } from './refusal.ts';

/** A caller that disconnects in the middle of a body, or frames it wrongly, causes a 400, not an error in the log that alerts the operator. */
async function* unbroken(body: Request['body']): AsyncGenerator<Uint8Array> {
  try {
    yield* body ?? [];
  } catch {
    refuse('invalid', 'The body broke off.');
  }
}

export const readBounded = async (request: Request, maxBytes: number): Promise<Buffer> => {
  const tooLarge = new Refusal('tooLarge', `The body must be at most ${maxBytes} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge;
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of unbroken(request.body)) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
};

const mediaType = (request: Request): string => (request.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase();

const expectType = (request: Request, type: string): void => {
  if (mediaType(request) !== type) throw new Refusal('unsupported', `The body must be ${type}.`);
};

const depthOf = (value: unknown): number => {
  let depth = 0;
  for (let level: unknown[] = [value]; level.length > 0 && depth <= jsonMaxDepth; depth++) {
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return depth;
};

const parseJson = (text: string): Record<string, unknown> => {
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
};

const decodeUtf8 = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse('invalid', 'The body must be UTF-8.');
  }
};

const isStrings = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string');
const isQuotas = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(Number.isSafeInteger);

const checks: Readonly<Record<string, { readonly test: (value: unknown) => boolean; readonly noun: string }>> = {
  string: { test: (value) => typeof value === 'string', noun: 'a string' },
  strings: { test: isStrings, noun: 'a list of strings' },
  boolean: { test: (value) => typeof value === 'boolean', noun: 'true or false' },
  number: { test: Number.isFinite, noun: 'a number' },
  quotas: { test: isQuotas, noun: 'an object of whole numbers' },
};

const textsOf = (value: unknown): readonly string[] => (typeof value === 'string' ? [value] : Array.isArray(value) ? value : []);

/** Every text of a body, before any rule reads it. */
const expectPlain = (value: unknown, what: string): void => {
  if (!textsOf(value).every(isPlainText)) refuse('invalid', `${what} must not hold control characters.`);
};

const readField = (name: string, type: FieldType, value: unknown): unknown => {
  const isOptional = type.endsWith('?');
  if (value === undefined || (value === null && isOptional)) {
    return isOptional ? undefined : refuse('invalid', `Field '${name}' is missing.`);
  }
  const check = checks[isOptional ? type.slice(0, -1) : type]!;
  if (!check.test(value)) refuse('invalid', `Field '${name}' must be ${check.noun}.`);
  expectPlain(value, `Field '${name}'`);
  return value;
};

/** The fields of the payload and no others: what a caller may not set never reaches a handler. */
const readFields = (payload: Payload, values: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const fields: Record<string, unknown> = {};
  for (const [name, type] of Object.entries(payload.fields)) {
    const value = readField(name, type, Object.hasOwn(values, name) ? values[name] : undefined);
    if (value !== undefined) fields[name] = value;
  }
  return fields;
};

/** Form fields; the rules say which are required, so a missing one is an empty string. A repeated one is refused. */
const readForm = (payload: Payload, entries: Iterable<[string, unknown]>): Record<string, string> => {
  const fields = Object.fromEntries(Object.keys(payload.fields).map((name) => [name, '']));
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    if (!Object.hasOwn(fields, name)) continue;
    if (seen.has(name) || typeof value !== 'string') refuse('invalid', `Field '${name}' must be one text.`);
    expectPlain(value, `Field '${name}'`);
    seen.add(name);
    fields[name] = value as string;
  }
  return fields;
};

const readMultipart = async (request: Request, payload: Payload): Promise<Record<string, string>> => {
  expectType(request, 'multipart/form-data');
  const body = new Uint8Array(await readBounded(request, bodyMaxBytes.form));
  const response = new Response(body, { headers: { 'content-type': request.headers.get('content-type')! } });
  const form = await response.formData().catch(() => refuse('invalid', 'The body must be a complete form.'));
  return readForm(payload, form.entries());
};

const readPayload = async (request: Request, payload: Payload): Promise<Record<string, unknown>> => {
  if (payload.kind === 'multipart') return readMultipart(request, payload);
  if (payload.kind === 'form') {
    expectType(request, 'application/x-www-form-urlencoded');
    return readForm(payload, new URLSearchParams(decodeUtf8(await readBounded(request, bodyMaxBytes.form))));
  }
  expectType(request, 'application/json');
  return readFields(payload, parseJson(decodeUtf8(await readBounded(request, bodyMaxBytes.json))));
};

export const readBody = async (request: Request, call: Call): Promise<unknown> => {
  if (call.payload === null) return undefined;
  if (call.payload !== 'text/csv') return readPayload(request, call.payload);
  expectType(request, 'text/csv');
  const text = decodeUtf8(await readBounded(request, bodyMaxBytes.csv));
  expectPlain(text, 'The body');
  return text;
};
