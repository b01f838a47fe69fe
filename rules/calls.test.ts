import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Call, callPath, calls, moreCalls, operatorCalls, specCalls } from './calls.ts';
import * as entities from './entity.ts';
import { permissions } from './permission.ts';
import * as resources from './resource.ts';
import { eachCase } from './test-kit.ts';

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

test('the table begins with the rows of the spec, in their order', () => {
  assert.deepEqual(
    Object.values(specCalls).map(({ method, path }) => `${method} ${path}`),
    specRows,
  );
  assert.deepEqual(Object.keys(calls), [specCalls, moreCalls, operatorCalls].flatMap(Object.keys));
});

test('no two calls share method and path', () => {
  const places = all.map(([, { method, path }]) => `${method} ${path.replace(/:\w+/g, ':')}`);
  assert.equal(new Set(places).size, places.length);
});

test('the payloads are those of spec section 3', (t) => {
  const fields = (call: Call) => (call.payload !== null && call.payload !== 'text/csv' ? Object.keys(call.payload.fields) : []);
  const rows: [Call, string[]][] = [
    [calls.createTunnel, ['name', 'region', 'ingressDomains', 'proxyProtocol', 'type']],
    [calls.updateTunnel, ['ingressDomains', 'proxyProtocol', 'securityGroup']],
    [calls.createDomain, ['name']],
    [calls.createSecurityGroup, ['name', 'allow']],
    [calls.updateSecurityGroup, ['allow']],
    [calls.requestLoginLink, ['email', 'bot-check']],
    [calls.redeemLoginLink, ['token']],
    [calls.register, ['first-name', 'last-name', 'email', 'company', 'github-link', 'twitter-link', 'accept-terms', 'bot-check']],
  ];
  eachCase(t, rows, ([call, names]) => assert.deepEqual(fields(call), names));
});

test('a call that an action guards names its project, in the query or in the path', () => {
  for (const [name, { who, query, path }] of all) {
    if (!(who in permissions)) continue;
    assert.ok(query.some((one) => one.replace('?', '') === 'project') || path.startsWith('/api/projects/:id'), name);
  }
});

test('only calls that change nothing are GET, and GET has no payload', () => {
  for (const [name, { method, payload }] of all) if (method === 'GET') assert.equal(payload, null, name);
});

test('everything under operator is for operators, and nothing else is', () => {
  for (const [name, { who, path }] of all) assert.equal(who === 'operator', path.startsWith('/api/operator/'), name);
});

test('every answer is a schema that exists', () => {
  const names = new Set([...Object.keys(entities), ...Object.keys(resources), 'text/csv', 'text/event-stream']);
  for (const [name, { answer }] of all) assert.ok(answer === null || names.has(answer.replace('[]', '')), name);
});

test('a call is spelled with its names encoded', (t) => {
  const rows: [string, string][] = [
    [callPath('listTunnels', {}, { project: 'p1' }), '/api/tunnels?project=p1'],
    [callPath('getTunnel', { name: 'web' }, { project: 'p 1', metrics: '1' }), '/api/tunnels/web?project=p%201&metrics=1'],
    [callPath('getTunnel', { name: 'web' }, { project: 'p1', metrics: undefined }), '/api/tunnels/web?project=p1'],
    [callPath('verifyDomain', { apexName: 'example.com' }, { project: 'p1' }), '/api/domains/example.com/verify?project=p1'],
    [callPath('getSecurityGroup', { name: '../a b?c' }), '/api/security-groups/..%2Fa%20b%3Fc'],
    [callPath('deleteTunnel', { name: '..' }), '/api/tunnels/~'],
    [callPath('deleteTunnel', { name: '.' }), '/api/tunnels/~'],
    [callPath('deleteTunnel', { name: '' }), '/api/tunnels/~'],
    [callPath('deleteTunnel', { name: '$&' }), '/api/tunnels/%24%26'],
    [callPath('getDevice', { userCode: 'BCDF-GHJK' }), '/api/device/BCDF-GHJK'],
  ];
  eachCase(t, rows, ([found, wanted]) => assert.equal(found, wanted));
});

test('no name leads to another path than its own', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('.', '..', '%2e%2e', '/', '\\', '')), (name) => {
      const url = new URL(callPath('deleteTunnel', { name }, { project: name }), 'http://h');
      assert.equal(url.pathname.split('/').length, 4);
      assert.ok(url.pathname.startsWith('/api/tunnels/') && url.hash === '');
      assert.equal(url.searchParams.get('project'), name.toWellFormed());
    }),
    { numRuns: 2000 },
  );
});
