// Replaces every text that a call takes (segment, query, field) with odd texts. With either database the call must succeed or
// refuse with a message, never answer 500. The calls and their texts come from the call table.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Call } from '@underpass/rules/api/call.ts';
import { type CallName, calls } from '@underpass/rules/api/calls.ts';
import { payloadSchemaOf, querySchemas } from '@underpass/rules/api/schemas.ts';
import { isPlainText, isPlainWord } from '@underpass/rules/text/characters.ts';
import fc from 'fast-check';
import { z } from 'zod';
import { openPostgresStore } from '../platform/store/postgres.ts';
import { openSqliteStore } from '../platform/store/sqlite.ts';
import { createTestControl, type SignedUp, type TestControl } from '../test-kit.ts';
import { startPostgres, type TestPostgres } from '../test-kit-postgres.ts';
import { callsOfInvited, type PreparedCall, pathOf, prepareCall, type World } from './test-kit-calls.ts';

/** The place of one text in a call: `segments.name`, `query.host`, `body.email`. */
interface TextPart {
  readonly part: 'segments' | 'query' | 'body';
  readonly name: string;
  readonly isList: boolean;
}

function textParts(part: TextPart['part'], schema: z.ZodObject): TextPart[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: 'input' });
  return Object.entries(properties).flatMap(([name, property]) => {
    const kinds = JSON.stringify(property);
    if (!kinds.includes('"string"') || kinds.includes('"properties"')) return [];
    return [{ part, name, isList: kinds.includes('"array"') }];
  });
}

function textPartsOf(call: Call): TextPart[] {
  const segments = [...call.path.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => ({ part: 'segments' as const, name }));
  const payload = payloadSchemaOf(call);
  return [
    ...segments.map((each) => ({ ...each, isList: false })),
    ...(call.query ? textParts('query', querySchemas[call.query]) : []),
    ...(payload ? textParts('body', payload) : []),
  ];
}

const targets = (Object.keys(calls) as CallName[]).flatMap((name) => textPartsOf(calls[name]).map((place) => ({ name, place })));

function putIn(body: PreparedCall['body'], { name, isList }: TextPart, text: string): NonNullable<PreparedCall['body']> {
  if (!(body instanceof FormData) && !(body instanceof URLSearchParams))
    return { ...(body as object), [name]: isList ? [text] : text };
  const copy = body instanceof FormData ? new FormData() : new URLSearchParams();
  for (const [key, value] of body) copy.append(key, value as string);
  copy.set(name, text);
  return copy;
}

const odd = fc.oneof(
  { weight: 3, arbitrary: fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }) },
  fc.constantFrom('\0', 'a\0b', '\ud800', 'x\udfff', '\x1b[2J', '\x7f', 'a\nb', '\u202e', '%00', '%', "'", '\\', '../x'),
  fc.integer({ min: 250, max: 9_000 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 250, max: 3_000 }).map((length) => `${'é'.repeat(length)}@example.com`),
);

const suite = (name: string, open: () => Promise<TestControl>) =>
  describe(`odd texts on ${name}`, () => {
    let test: TestControl;
    let operator: SignedUp;

    before(async () => {
      test = await open();
      operator = await test.signUp('operator@example.com', { operator: true });
    });
    after(async () => {
      await test.close();
      await test.store.close();
    });

    let count = 0;
    const person = (): Promise<SignedUp> => test.signUp(`person-${++count}@example.com`);

    const callerOf = async (call: CallName, owner: SignedUp): Promise<SignedUp> => {
      if (calls[call].who === 'operator') return operator;
      return callsOfInvited.has(call) ? person() : owner;
    };

    const send = async (call: CallName, place: TextPart, text: string): Promise<Response> => {
      const owner = await person();
      const world: World = { test, owner, operator };
      await test.makeFresh(operator);
      const caller = await callerOf(call, owner);
      const prepared = await prepareCall[call](world, caller);
      const { method } = calls[call];
      if (place.part === 'body')
        return caller.send(method, pathOf(call, prepared, owner.projectId), putIn(prepared.body, place, text));
      // encodeURIComponent throws on a lone surrogate, so the test sends the bytes that a careless program would send.
      const encoded = text.isWellFormed()
        ? encodeURIComponent(text)
        : encodeURIComponent(text.toWellFormed()).replaceAll('%EF%BF%BD', '%ED%A0%80');
      const marked = { ...prepared, [place.part]: { ...prepared[place.part], [place.name]: 'PLACE' } };
      const project = place.name === 'project' ? 'PLACE' : owner.projectId;
      return caller.send(method, pathOf(call, marked, project).replace('PLACE', encoded), prepared.body);
    };

    /** JSON keeps a lone surrogate as an escape; the other encodings replace it. */
    const isRefused = (call: CallName, { part }: TextPart, text: string): boolean => {
      if (part !== 'body') return text.isWellFormed() && !isPlainWord(text);
      const isJson = 'json' in calls[call];
      return !isPlainText(isJson ? text : text.toWellFormed());
    };

    it('no text in any place breaks a call, and control characters are refused with a message', async () => {
      const property = fc.asyncProperty(fc.constantFrom(...targets), odd, async ({ name: call, place }, text) => {
        test.time.now += 60_000;
        const response = await send(call, place, text);
        const about = `${call} ${place.part}.${place.name} ${JSON.stringify(text.slice(0, 60))}: ${response.status}`;
        assert.ok(response.status < 500, about);
        if (!isRefused(call, place, text)) return response.body?.cancel();
        assert.ok([400, 404].includes(response.status), about);
        assert.match(await response.text(), /\w/, about);
      });
      await fc.assert(property, { numRuns: 400 });
    });

    it('NUL and the escape character are refused with 400 in every place of every call', async () => {
      for (const { name: call, place } of targets) {
        for (const text of ['\0', 'a\x1bb']) {
          test.time.now += 60_000;
          const response = await send(call, place, text);
          const answer = [response.status, await response.text()] as const;
          assert.equal(answer[0], 400, `${call} ${place.part}.${place.name}: ${answer.join(' ')}`);
          assert.match(answer[1], /must not hold control characters/, `${call} ${place.part}.${place.name}`);
        }
      }
    });

    it('none of these calls logs an error', () => {
      assert.deepEqual(
        test.logged.filter((line) => JSON.parse(line).level >= 50),
        [],
      );
    });
  });

let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres();
});
after(() => postgres.close());

suite('sqlite', async () => createTestControl({ store: await openSqliteStore(':memory:') }));
suite('postgres', async () =>
  createTestControl({ store: await openPostgresStore(await postgres.createDatabase(), (error) => assert.fail(error)) }));
