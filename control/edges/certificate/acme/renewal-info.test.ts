// RFC 9773 against a directory that supports it: the identifier, the answer, and the order that names what it replaces.

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createRoot, issueLeaf } from '../x509.ts';
import { createAcmeClient } from './client.ts';
import { createAccountKeyPem, readAccountKey } from './jws.ts';
import { certificateIdOf, parseRenewalInfo, renderCertificateId } from './renewal-info.ts';

const dayMs = 86_400_000;
const signal = new AbortController().signal;

test('renders the identifier of the example in RFC 9773 4.1', () => {
  const keyId = Buffer.from('69885B6B87464041E1B37B847BA0AE2CDE01C8D4', 'hex');
  assert.equal(
    renderCertificateId(keyId, Buffer.from('8765432 1'.replace(' ', ''), 'hex')),
    'aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE',
  );
});

test('reads the identifier from the leaf of a chain', async () => {
  const span = { notBefore: new Date(0), notAfter: new Date(90 * dayMs) };
  const root = await createRoot('test', span);
  const leaf = await issueLeaf(root, ['a.example.com'], span);
  const [keyId = '', serial = ''] = ((await certificateIdOf(leaf.certificatePem + root.certificatePem)) ?? '').split('.');
  const { serialNumber } = new X509Certificate(leaf.certificatePem);
  assert.equal(Buffer.from(serial, 'base64url').toString('hex').toUpperCase().replace(/^00/, ''), serialNumber);
  assert.equal(Buffer.from(keyId, 'base64url').length, 20);
  assert.equal(await certificateIdOf(root.certificatePem), undefined, 'a root names no authority above it');
});

describe('parseRenewalInfo', () => {
  const window = { start: '2026-12-01T00:00:00Z', end: '2026-12-02T00:00:00Z' };
  const cases: readonly (readonly [unknown, boolean, string])[] = [
    [{ suggestedWindow: window }, true, 'a window'],
    [{ suggestedWindow: { ...window, end: window.start } }, false, 'an empty window'],
    [{ suggestedWindow: { start: window.start } }, false, 'a window without an end'],
    [{ suggestedWindow: 'soon' }, false, 'text instead of a window'],
    [{}, false, 'no window'],
    [undefined, false, 'no JSON'],
  ];
  for (const [body, isOne, why] of cases)
    test(`${isOne ? 'accepts' : 'refuses'} ${why}`, () => assert.equal(parseRenewalInfo(body) !== undefined, isOne));
});

describe('a directory with renewalInfo', () => {
  let server: Server;
  let origin: string;
  let ordered: object[];
  let knowsReplaced: boolean;
  let answer: { status: number; body: object; headers: Record<string, string> };

  before(async () => {
    server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      const send = (status: number, body: object, headers: Record<string, string> = {}) =>
        response
          .writeHead(status, { 'replay-nonce': 'n', 'content-type': 'application/json', location: `${origin}/it`, ...headers })
          .end(JSON.stringify(body));
      const path = request.url ?? '';
      if (path === '/dir') {
        const names = ['newNonce', 'newAccount', 'newOrder', 'renewalInfo'];
        return void send(200, Object.fromEntries(names.map((name) => [name, `${origin}/${name}`])));
      }
      if (path.startsWith('/renewalInfo/')) return void send(answer.status, { ...answer.body, asked: path }, answer.headers);
      if (path !== '/newOrder') return void send(200, {});
      const order = JSON.parse(Buffer.from(JSON.parse(text).payload, 'base64url').toString()) as { replaces?: string };
      ordered.push(order);
      const isRefused = order.replaces !== undefined && !knowsReplaced;
      // The test needs no certificate, so every order fails at once.
      return void send(isRefused ? 409 : 403, {
        type: `urn:ietf:params:acme:error:${isRefused ? 'alreadyReplaced' : 'unauthorized'}`,
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());
  beforeEach(() => {
    ordered = [];
    knowsReplaced = true;
    answer = { status: 200, body: {}, headers: {} };
  });

  const open = () => createAcmeClient({ directory: `${origin}/dir`, key: readAccountKey(createAccountKeyPem()) });

  test('returns the window and the pause before the next question, a minute at least', async () => {
    answer.body = { suggestedWindow: { start: '2026-12-01T00:00:00Z', end: '2026-12-02T00:00:00Z' } };
    const window = { startMs: Date.UTC(2026, 11, 1), endMs: Date.UTC(2026, 11, 2) };
    assert.deepEqual(await open().renewalInfo('a.b', signal), { window, askAgainMs: undefined });
    answer.headers = { 'retry-after': '21600' };
    assert.deepEqual(await open().renewalInfo('a.b', signal), { window, askAgainMs: 21_600_000 });
    answer.headers = { 'retry-after': '1' };
    assert.deepEqual(await open().renewalInfo('a.b', signal), { window, askAgainMs: 60_000 });
  });

  test('rejects an error with a code', async () => {
    answer.status = 404;
    await assert.rejects(open().renewalInfo('a.b', signal), { code: 'refused' });
  });

  test('orders again without `replaces` when the authority refuses that field', async () => {
    const request = {
      name: 'a.example.com',
      kinds: ['http-01'] as const,
      show: async () => async () => {},
      signal,
      replaces: 'a.b',
    };
    knowsReplaced = false;
    await assert.rejects(open().order(request), { code: 'refused' });
    assert.deepEqual(
      ordered.map((order) => (order as { replaces?: string }).replaces),
      ['a.b', undefined],
    );
  });
});
