import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { type AnswerOf, type InputOf, requestOf, urlOf } from './call.ts';
import { calls } from './calls.ts';

test('a URL has the names encoded and the query after them', (t) => {
  const { getTunnel, getSecurityGroup, deleteTunnel, getDevice, listTunnels, verifyDomain } = calls;
  const rows: [string, string][] = [
    [urlOf(listTunnels, { project: 'p1' }), '/api/tunnels?project=p1'],
    [urlOf(getTunnel, { name: 'web', project: 'p 1', metrics: '1' }), '/api/tunnels/web?project=p+1&metrics=1'],
    [urlOf(getTunnel, { name: 'web', project: 'p1', metrics: undefined }), '/api/tunnels/web?project=p1'],
    [urlOf(verifyDomain, { apexName: 'example.com', project: 'p1' }), '/api/domains/example.com/verify?project=p1'],
    [urlOf(getSecurityGroup, { name: '../a b?c', project: 'p' }), '/api/security-groups/..%2Fa%20b%3Fc?project=p'],
    [urlOf(deleteTunnel, { name: '..', project: 'p' }), '/api/tunnels/~?project=p'],
    [urlOf(deleteTunnel, { name: '.', project: 'p' }), '/api/tunnels/~?project=p'],
    [urlOf(deleteTunnel, { name: '', project: 'p' }), '/api/tunnels/~?project=p'],
    [urlOf(deleteTunnel, { name: '$&', project: 'p' }), '/api/tunnels/%24%26?project=p'],
    [urlOf(getDevice, { userCode: 'BCDF-GHJK' }), '/api/device/BCDF-GHJK'],
  ];
  eachCase(t, rows, ([found, wanted]) => assert.equal(found, wanted));
});

test('no name escapes its path segment', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('.', '..', '%2e%2e', '/', '\\', '')), (name) => {
      const url = new URL(urlOf(calls.deleteTunnel, { name, project: name }), 'http://h');
      assert.equal(url.pathname.split('/').length, 4);
      assert.ok(url.pathname.startsWith('/api/tunnels/') && url.hash === '');
      assert.equal(url.searchParams.get('project'), name.toWellFormed());
    }),
    { numRuns: 2000 },
  );
});

test('a change travels as JSON, with the state that it is based on', () => {
  const input = { name: 'web', project: 'p', payload: { securityGroup: 'default' }, basedOn: '2026-01-01T00:00:00.000Z' };
  assert.deepEqual(requestOf(calls.updateTunnel, input), {
    method: 'PATCH',
    url: '/api/tunnels/web?project=p',
    headers: { 'content-type': 'application/json', 'if-match': '"2026-01-01T00:00:00.000Z"' },
    body: '{"securityGroup":"default"}',
  });
});

test('sends forms and CSV with the media type of their row', () => {
  const link = requestOf(calls.redeemLoginLink, { payload: { token: 'a&b' } });
  assert.ok(link.body instanceof URLSearchParams);
  assert.deepEqual([String(link.body), link.headers], ['token=a%26b', {}]);
  const login = requestOf(calls.requestLoginLink, { payload: { email: 'a@example.com', 'bot-check': 'x' } });
  assert.ok(login.body instanceof FormData);
  assert.deepEqual([...login.body.keys()], ['email', 'bot-check']);
  const csv = requestOf(calls.importSubscriptions, { payload: 'email\n' });
  assert.deepEqual([csv.body, csv.headers], ['email\n', { 'content-type': 'text/csv' }]);
  assert.equal(requestOf(calls.logOutByPost, {}).body, undefined);
});

test('the compiler refuses a call that the table does not allow', () => {
  const accept = <Row extends Parameters<typeof urlOf>[0]>(row: Row, input: InputOf<Row>): void => void urlOf(row, input);
  // @ts-expect-error the project is missing
  accept(calls.listTunnels, {});
  // @ts-expect-error 'projects' is no parameter
  accept(calls.listTunnels, { project: 'p', projects: 'p' });
  // @ts-expect-error the path's name is missing
  accept(calls.getTunnel, { project: 'p' });
  // @ts-expect-error 'year' is no range
  accept(calls.getHistory, { project: 'p', name: 'n', range: 'year' });
  // @ts-expect-error 'boss' is no role
  accept(calls.changeMember, { project: 'p', id: 'i', payload: { role: 'boss' } });
  // @ts-expect-error the payload is missing
  accept(calls.createDomain, { project: 'p' });
  // @ts-expect-error the call takes no payload
  accept(calls.verifyDomain, { project: 'p', apexName: 'a', payload: {} });
  // @ts-expect-error the call takes no If-Match
  accept(calls.deleteTunnel, { project: 'p', name: 'n', basedOn: 'x' });
  // @ts-expect-error the answer is a list
  const answer: AnswerOf<typeof calls.listTunnels>['name'] = 'x';
  assert.equal(answer, 'x');
});
