// Checks the OpenAPI document against the server: calls every operation and compares the answer with the document.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AnswerName, Call } from '@underpass/rules/api/call.ts';
import { type CallName, calls } from '@underpass/rules/api/calls.ts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createTestControl, type SignedUp, type TestControl } from '../test-kit.ts';
import { callsOfInvited, prepareCall, sendCall, type World } from './test-kit-calls.ts';

interface Operation {
  readonly operationId: CallName;
  readonly security: readonly object[];
  readonly parameters: readonly { readonly name: string; readonly in: 'path' | 'query' | 'header'; readonly required: boolean }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: { required?: readonly string[] } }> };
  readonly responses: Record<
    string,
    { readonly content?: Record<string, { readonly schema: { $ref?: string; items?: { $ref: string } } }> }
  >;
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object>; readonly securitySchemes: Record<string, object> };
}

let test: TestControl;
let operator: SignedUp;
let document: Document;
let ajv: Ajv2020;
let count = 0;

before(async () => {
  test = await createTestControl();
  operator = await test.signUp('operator@example.com', { operator: true });
  const key = {
    id: 'c1',
    address: '192.0.2.7',
    version: '0.1.0',
    since: '2026-11-20T10:00:00.000Z',
    edge: 'e1',
    rttMs: 3,
    healthy: true,
  };
  test.feed.clients = () => [key];
  test.feed.isServing = () => true;
  test.feed.metrics = () => ({ rx: 1, tx: 2, tcpConnectionRate: 0.5 });
  test.feed.knownEdges.push({
    ...{ id: 'e1', region: 'local', version: '0.1.0', connected: true, acknowledged: true, clients: 1 },
    ...{ since: '2026-11-20T10:00:00.000Z', lastSeenAt: '2026-11-20T10:00:00.000Z' },
  });
  document = await test.client().call<Document>('GET', '/openapi.json');
  ajv = new Ajv2020({ strict: false, formats: { 'idn-hostname': true } });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', ...document });
});
after(() => test.close());

const operations = (): Map<CallName, { path: string; method: string; operation: Operation }> =>
  new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [operation.operationId, { path, method, operation }] as const),
    ),
  );

const createWorld = async (): Promise<World> => ({ test, owner: await test.signUp(`person-${++count}@example.com`), operator });

async function callerOf(world: World, name: CallName): Promise<SignedUp> {
  if (calls[name].who === 'operator') return operator;
  return callsOfInvited.has(name) ? test.signUp(`person-${++count}@example.com`) : world.owner;
}

/** The document's answer for a success: its media type and the name of its schema. */
function promised({ responses }: Operation) {
  const [media, content] = Object.entries(responses[200]?.content ?? {})[0] ?? [];
  const reference = content?.schema.$ref ?? content?.schema.items?.$ref;
  return {
    media,
    isList: content?.schema.items !== undefined,
    name: reference?.split('/').at(-1) as AnswerName | undefined,
  };
}

async function assertAnswer(response: Response, operation: Operation): Promise<void> {
  const { media, isList, name } = promised(operation);
  if (media === undefined) return assert.deepEqual([response.status, await response.text()], [204, '']);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get('content-type')?.split(';')[0], media);
  if (name === undefined) return response.body?.cancel();
  const answer: unknown = await response.json();
  const isValid = ajv.getSchema(`document#/components/schemas/${name}`)!;
  for (const each of isList ? (answer as unknown[]) : [answer]) assert.ok(isValid(each), JSON.stringify(isValid.errors));
}

it('is OpenAPI 3.1 and has every call of the table once', () => {
  assert.match(document.openapi, /^3\.1\./);
  assert.deepEqual([...operations().keys()].sort(), Object.keys(calls).sort());
});

it('refers only to schemas that it has', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(
    ([, name]) => name!,
  );
  assert.ok(references.length > 50);
  for (const name of references) assert.ok(document.components.schemas[name], name);
});

it('documents the 303 that a browser gets when it navigates to the sign-out, and no other', async () => {
  for (const [name, { operation }] of operations()) {
    const isSignOut = name === 'logOut' || name === 'logOutByPost';
    assert.equal('303' in operation.responses, isSignOut, name);
    if (!isSignOut) continue;
    const ann = await test.signUp(`person-${++count}@example.com`);
    const response = await ann.send(calls[name].method, calls[name].path, undefined, { 'sec-fetch-mode': 'navigate' });
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/']);
  }
});

describe('every operation', () => {
  for (const name of Object.keys(calls) as CallName[]) {
    it(`${name} has the path and the answer of the document`, async () => {
      const { path, method, operation } = operations().get(name)!;
      const call: Call = calls[name];
      assert.deepEqual([method.toUpperCase(), path], [call.method, call.path.replace(/:([A-Za-z]+)/g, '{$1}')]);
      const world = await createWorld();
      const caller = await callerOf(world, name);
      const response = await sendCall(caller, name, await prepareCall[name](world, caller), world.owner.projectId);
      await assertAnswer(response, operation);
    });

    it(`${name} documents who may call it`, async () => {
      const { operation } = operations().get(name)!;
      const world = await createWorld();
      const caller = test.client(undefined, '198.51.100.9');
      const prepared = await prepareCall[name](world, caller);
      const response = await sendCall(caller, name, prepared, world.owner.projectId);
      await response.body?.cancel();
      assert.equal(response.status === 401, operation.security.length > 0);
    });

    it(`${name} refuses a missing required field with a text`, async () => {
      const { operation } = operations().get(name)!;
      const [media, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
      if (media !== 'application/json') return;
      const world = await createWorld();
      const caller = await callerOf(world, name);
      const prepared = await prepareCall[name](world, caller);
      for (const field of content?.schema.required ?? []) {
        const { [field]: _, ...body } = prepared.body as Record<string, unknown>;
        const response = await sendCall(caller, name, { ...prepared, body }, world.owner.projectId);
        assert.deepEqual([response.status, await response.text()], [400, `Field '${field}' is missing.`]);
        assert.match(response.headers.get('content-type')!, /^text\/plain/);
      }
    });
  }
});
