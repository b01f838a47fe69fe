// The OpenAPI 3.1 document, made from the table of calls and the schemas of queries, payloads and answers.

import type { AnswerName, Call } from '@underpass/rules/api/call.ts';
import { type CallName, calls } from '@underpass/rules/api/calls.ts';
import { failures } from '@underpass/rules/api/failures.ts';
import { passkeyNeededCode, proofNeededCode } from '@underpass/rules/api/refusal-code.ts';
import { answerSchemas, payloadSchemas, querySchemas } from '@underpass/rules/api/schemas.ts';
import { durations } from '@underpass/rules/limits.ts';
import { countsHeader, sumsHeader } from '@underpass/rules/list/list-page.ts';
import { z } from 'zod';

const namedSchemas = { ...answerSchemas, ...payloadSchemas };

const schemaUri = (name: string): string => `#/components/schemas/${name}`;
const schemaRef = (name: keyof typeof namedSchemas): object => ({ $ref: schemaUri(name) });

function components(): Record<string, object> {
  const registry = z.registry<{ readonly id: string }>();
  for (const [id, schema] of Object.entries(namedSchemas)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io: 'input', uri: schemaUri });
  return Object.fromEntries(Object.entries(schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema]));
}

function bodyContent({ json, form, multipart, csv }: Call): object | null {
  if (json) return { 'application/json': { schema: schemaRef(json) } };
  if (form) return { 'application/x-www-form-urlencoded': { schema: schemaRef(form) } };
  if (multipart) return { 'multipart/form-data': { schema: schemaRef(multipart) } };
  return csv ? { 'text/csv': text } : null;
}

function requestBody(call: Call): object {
  const content = bodyContent(call);
  return content === null ? {} : { requestBody: { required: true, content } };
}

const text = { schema: { type: 'string' } };

function answerContent(answer: string): object {
  if (answer.includes('/')) return { [answer]: text };
  const reference = schemaRef(answer.replace('[]', '') as AnswerName);
  return { 'application/json': { schema: answer.endsWith('[]') ? { type: 'array', items: reference } : reference } };
}

const pageHeaders = {
  Link: { ...text, description: 'The pages beside it, `rel="prev"` and `rel="next"`, as far as there are any' },
  [countsHeader]: { ...text, description: 'Rows on all pages as `total`, and with each status' },
  [sumsHeader]: { ...text, description: 'Of tunnels: `ingressDomains` and `connectedClients`, each added up over all pages' },
};

function success({ answer, paged }: Call): object {
  if (answer === undefined) return { 204: { description: 'Done' } };
  return { 200: { description: 'OK', ...(paged ? { headers: pageHeaders } : {}), content: answerContent(answer) } };
}

const redirect = { description: 'Done; a browser that navigates goes on', headers: { Location: text } };

const refusal = (description: string): object => ({ description, content: { 'text/plain': text } });

const responses = (name: CallName, call: Call): object => ({
  ...success(call),
  ...(call.seeOther ? { 303: redirect } : {}),
  '4XX': refusal(failures[name] ?? 'Refused; the body says why'),
  429: { ...refusal('Too many requests'), headers: { 'Retry-After': { schema: { type: 'integer' } } } },
  '5XX': refusal('A defect or an outage; the body has the id of the request'),
});

const ifMatchText = 'The `updatedAt` that the change is based on, in quotes.';

function queryParameters(query: z.ZodObject): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: 'input' });
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: required.includes(name), schema }));
}

const parameters = ({ path, query, ifMatch }: Call): object[] => [
  ...[...path.matchAll(/:([A-Za-z]+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
  ...(query ? queryParameters(querySchemas[query]) : []),
  ...(ifMatch ? [{ name: 'If-Match', in: 'header', required: false, description: ifMatchText, ...text }] : []),
];

function security({ who, needs }: Call): object[] {
  if (who === 'anyone') return [];
  return needs ? [{ session: [] }] : [{ session: [] }, { token: [] }];
}

const proof = `a proof not older than ${durations.proofMinutes} minutes (${proofNeededCode})`;
const proofNote = ({ who, freshUnless }: Call): string =>
  (who === 'user' ? proof : `for owners and operators ${proof}`) + (freshUnless ? `, unless ${freshUnless}` : '');

const passkeyNote = `from a person who has a passkey a session that it confirmed within ${durations.proofMinutes} minutes (${passkeyNeededCode})`;

function described(call: Call): object {
  const { who, needs, lasting } = call;
  const rights = who === 'anyone' || who === 'user' ? [] : [who];
  const fresh = needs === 'fresh';
  const all = [...rights, ...(fresh ? [proofNote(call)] : []), ...(fresh || lasting ? [passkeyNote] : [])];
  return all.length === 0 ? {} : { description: `Needs: ${all.join('; ')}` };
}

const operation = (name: CallName, call: Call): object => ({
  operationId: name,
  ...described(call),
  security: security(call),
  parameters: parameters(call),
  ...requestBody(call),
  responses: responses(name, call),
});

function paths(): Record<string, Record<string, object>> {
  const all: Record<string, Record<string, object>> = {};
  for (const [name, call] of Object.entries(calls) as [CallName, Call][]) {
    const path = call.path.replace(/:([A-Za-z]+)/g, '{$1}');
    all[path] = { ...all[path], [call.method.toLowerCase()]: operation(name, call) };
  }
  return all;
}

const description =
  'Names and addresses are described in their canonical spelling. Callers may also send them with blanks around them and, ' +
  'where the canonical spelling is lower case, in upper case. No text may hold control characters. Every path answers ' +
  'another method with 405 and `Allow`.';

export const renderOpenApi = ({
  version,
  origin,
  sessionCookie,
}: {
  readonly version: string;
  readonly origin: string;
  readonly sessionCookie: string;
}): object => ({
  openapi: '3.1.0',
  info: { title: 'Underpass', version, description },
  servers: [{ url: origin }],
  paths: paths(),
  components: {
    schemas: components(),
    securitySchemes: {
      session: { type: 'apiKey', in: 'cookie', name: sessionCookie },
      token: { type: 'http', scheme: 'bearer' },
    },
  },
});
