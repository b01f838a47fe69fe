// The OpenAPI 3.1 document, made from the table of calls and the schemas of the answers: neither is written twice.

import { type Call, type CallName, calls, type FieldType } from '@underpass/rules/calls.ts';
import { z } from 'zod';
import { type AnswerName, answerSchemas } from './answers.ts';

const fieldSchemas: Readonly<Record<string, object>> = {
  string: { type: 'string' },
  strings: { type: 'array', items: { type: 'string' } },
  boolean: { type: 'boolean' },
  number: { type: 'number' },
  quotas: { type: 'object', additionalProperties: { type: 'integer', minimum: 0 } },
};

const isOptional = (name: string): boolean => name.endsWith('?');
const bare = (name: string): string => (isOptional(name) ? name.slice(0, -1) : name);

const fieldsSchema = (fields: Readonly<Record<string, FieldType>>): object => ({
  type: 'object',
  properties: Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, fieldSchemas[bare(type)]])),
  required: Object.keys(fields).filter((name) => !isOptional(fields[name]!)),
});

const mediaTypes = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
} as const;

const requestBody = ({ payload }: Call): object => {
  if (payload === null) return {};
  if (payload === 'text/csv') return { requestBody: { required: true, content: { 'text/csv': { schema: { type: 'string' } } } } };
  return { requestBody: { required: true, content: { [mediaTypes[payload.kind]]: { schema: fieldsSchema(payload.fields) } } } };
};

const text = { schema: { type: 'string' } };

const answerContent = (answer: string): object => {
  if (answer.includes('/')) return { [answer]: text };
  const reference = { $ref: `#/components/schemas/${answer.replace('[]', '')}` };
  return { 'application/json': { schema: answer.endsWith('[]') ? { type: 'array', items: reference } : reference } };
};

const success = ({ answer }: Call): object =>
  answer === null ? { 204: { description: 'Done' } } : { 200: { description: 'OK', content: answerContent(answer) } };

const refusal = (description: string): object => ({ description, content: { 'text/plain': text } });

const responses = (call: Call): object => ({
  ...success(call),
  '4XX': refusal(call.errors === '' ? 'Refused; the body says why' : call.errors),
  429: { ...refusal('Too many requests'), headers: { 'Retry-After': { schema: { type: 'integer' } } } },
  '5XX': refusal('A defect or an outage; the body has the id of the request'),
});

const parameters = ({ path, query, ifMatch }: Call): object[] => [
  ...[...path.matchAll(/:([A-Za-z]+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
  ...query.map((name) => ({ name: bare(name), in: 'query', required: !isOptional(name), schema: { type: 'string' } })),
  ...(ifMatch ? [{ name: 'If-Match', in: 'header', required: false, schema: { type: 'string' } }] : []),
];

const security = ({ who, session }: Call): object[] => {
  if (who === 'anyone') return [];
  return session ? [{ session: [] }] : [{ session: [] }, { token: [] }];
};

const operation = (name: CallName, call: Call): object => ({
  operationId: name,
  ...(call.who === 'anyone' || call.who === 'user' ? {} : { description: `Needs: ${call.who}` }),
  security: security(call),
  parameters: parameters(call),
  ...requestBody(call),
  responses: responses(call),
});

const paths = (): Record<string, Record<string, object>> => {
  const all: Record<string, Record<string, object>> = {};
  for (const [name, call] of Object.entries(calls) as [CallName, Call][]) {
    const path = call.path.replace(/:([A-Za-z]+)/g, '{$1}');
    all[path] = { ...all[path], [call.method.toLowerCase()]: operation(name, call) };
  }
  return all;
};

const schemas = (): Record<string, object> =>
  Object.fromEntries(
    (Object.keys(answerSchemas) as AnswerName[]).map((name) => {
      const { $schema: _, ...schema } = z.toJSONSchema(answerSchemas[name]);
      return [name, schema];
    }),
  );

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
  info: { title: 'Underpass', version },
  servers: [{ url: origin }],
  paths: paths(),
  components: {
    schemas: schemas(),
    securitySchemes: {
      session: { type: 'apiKey', in: 'cookie', name: sessionCookie },
      token: { type: 'http', scheme: 'bearer' },
    },
  },
});
