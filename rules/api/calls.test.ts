import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { permissions } from '../people/permission.ts';
import { eachCase } from '../test-kit.ts';
import type { AnswerName, Call } from './call.ts';
import { calls } from './calls.ts';
import { answerSchemas, payloadSchemaOf, queryShapeOf } from './schemas.ts';

/** Method and path of each row of spec section 7, in its order, written by hand. */
const specRows = [
  'GET /api/user',
  'GET /api/projects',
  'POST /auth/login',
  'GET /auth/logout',
  'POST /auth/magiclink',
  'POST /auth/register',
  'GET /api/domains',
  'GET /api/domains/:apexName',
  'POST /api/domains',
  'DELETE /api/domains/:apexName',
  'POST /api/domains/:apexName/verify',
  'GET /api/tunnels',
  'GET /api/tunnels/:name',
  'POST /api/tunnels',
  'PATCH /api/tunnels/:name',
  'DELETE /api/tunnels/:name',
  'GET /api/dns/lookup',
  'GET /api/regions',
  'GET /api/security-groups',
  'GET /api/security-groups/:name',
  'POST /api/security-groups',
  'PATCH /api/security-groups/:name',
  'DELETE /api/security-groups/:name',
];

const all: readonly (readonly [string, Call])[] = Object.entries(calls);

test('the table has every row of the spec', () => {
  const places = new Set(all.map(([, { method, path }]) => `${method} ${path}`));
  for (const row of specRows) assert.ok(places.has(row), row);
});

test('no two calls share method and path', () => {
  const places = all.map(([, { method, path }]) => `${method} ${path.replace(/:\w+/g, ':')}`);
  assert.equal(new Set(places).size, places.length);
});

test('the payloads are those of spec section 3, the access policy and the visitor log of a tunnel, and the invitation of a registration', (t) => {
  const fields = (call: Call) => Object.keys(payloadSchemaOf(call)?.shape ?? {});
  const rows: [Call, string[]][] = [
    [calls.createTunnel, ['name', 'region', 'ingressDomains', 'proxyProtocol', 'type', 'accessPolicy', 'private']],
    [
      calls.updateTunnel,
      ['ingressDomains', 'proxyProtocol', 'securityGroup', 'accessPolicy', 'visitorLog', 'visitorLogQuery', 'beginsTraces'],
    ],
    [calls.createDomain, ['name']],
    [calls.createSecurityGroup, ['name', 'allow']],
    [calls.updateSecurityGroup, ['allow']],
    [calls.requestLoginLink, ['email', 'bot-check']],
    [calls.redeemLoginLink, ['token']],
    [
      calls.register,
      ['first-name', 'last-name', 'email', 'company', 'github-link', 'twitter-link', 'accept-terms', 'bot-check', 'invitation'],
    ],
  ];
  eachCase(t, rows, ([call, names]) => assert.deepEqual(fields(call), names));
});

test('a call that an action guards names its project, in the query or in the path', () => {
  for (const [name, call] of all) {
    if (!(call.who in permissions)) continue;
    assert.ok('project' in queryShapeOf(call) || call.path.startsWith('/api/projects/:id'), name);
  }
});

test('a call has at most one body, and GET has none', () => {
  for (const [name, { method, json, form, multipart, csv }] of all) {
    const bodies = [json, form, multipart, csv].filter((body) => body !== undefined);
    assert.ok(bodies.length <= (method === 'GET' ? 0 : 1), name);
  }
});

test('no query parameter has the name of a path segment or of another part of the input', () => {
  for (const [name, call] of all) {
    const segments = [...call.path.matchAll(/:(\w+)/g)].map(([, segment]) => segment!);
    const names = [...segments, ...Object.keys(queryShapeOf(call)), 'payload', 'basedOn'];
    assert.equal(new Set(names).size, names.length, name);
  }
});

test('everything under operator is for operators, and nothing else is', () => {
  for (const [name, { who, path }] of all) assert.equal(who === 'operator', path.startsWith('/api/operator/'), name);
});

/** The answer's schema as JSON Schema text; empty for an answer that is no JSON. */
function answerText({ answer }: Call): string {
  const name = answer?.replace('[]', '') ?? '';
  return name in answerSchemas ? JSON.stringify(z.toJSONSchema(answerSchemas[name as AnswerName])) : '';
}
const secretText = '"format":"password"';

test('only answers in JSON without a secret are compressed', () => {
  assert.ok(answerText(calls.listTunnels).includes(secretText));
  for (const [name, call] of all) {
    if (!call.compress) continue;
    assert.equal(call.method, 'GET', name);
    assert.notEqual(answerText(call), '', name);
    assert.ok(!answerText(call).includes(secretText), name);
  }
});

/** Texts that sound secret and are not. */
const publicTexts = new Set([
  'Domain.challenge: published in DNS',
  'BotCheck.siteKey: part of the sign-in page',
  'PasskeyOptions.challenge: useless without the key that signs it',
  'VisitorLogEntry.code: which error the edge answered',
  'VisitorLogPage.code: the same',
  'DeviceStart.userCode: shown on the screen, and of use to signed-in people only',
]);

test('a text of an answer that sounds secret is marked as one', () => {
  const known = new Set([...publicTexts].map((each) => each.split(':')[0]));
  for (const [name, schema] of Object.entries(answerSchemas)) {
    const texts = JSON.stringify(z.toJSONSchema(schema)).matchAll(
      /"(\w*(?:token|secret|code|key|password|challenge))":(\{[^{}]*)/gi,
    );
    for (const [, field, facts] of texts) {
      const isWord = !facts!.includes('"string"') || /"(enum|const)"/.test(facts!);
      if (isWord || facts!.includes(secretText)) continue;
      assert.ok(known.has(`${name}.${field}`), `${name}.${field}`);
    }
  }
});
