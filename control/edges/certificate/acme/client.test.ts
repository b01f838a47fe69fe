// A directory that no longer knows the account: a new authority at the old address, or a deactivated account.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { createAcmeClient } from './client.ts';
import { createAccountKeyPem, readAccountKey } from './jws.ts';

let server: Server;
let base: string;
let registered = 0;
/** The ACME error in the answer to an order. */
let problem: string;

before(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.setHeader('replay-nonce', 'nonce');
    if (request.url === '/directory') {
      response.end(JSON.stringify({ newNonce: `${base}/nonce`, newAccount: `${base}/account`, newOrder: `${base}/order` }));
    } else if (request.url === '/account') {
      registered += 1;
      response.writeHead(201, { location: `${base}/account/${registered}` }).end('{}');
    } else {
      response
        .writeHead(request.url === '/nonce' ? 200 : 400)
        .end(JSON.stringify({ type: `urn:ietf:params:acme:error:${problem}` }));
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});

test('makes a new account for the next order after accountDoesNotExist, and after no other refusal', async () => {
  const client = createAcmeClient({ directory: `${base}/directory`, key: readAccountKey(createAccountKeyPem()) });
  const { signal } = new AbortController();
  const order = () => client.order({ name: 'a.example.com', kinds: ['http-01'], show: async () => async () => {}, signal });
  problem = 'rejectedIdentifier';
  for (let times = 0; times < 2; times++) await assert.rejects(order(), /rejectedIdentifier/);
  assert.equal(registered, 1);
  problem = 'accountDoesNotExist';
  await assert.rejects(order(), /accountDoesNotExist/);
  problem = 'rejectedIdentifier';
  await assert.rejects(order(), /rejectedIdentifier/);
  assert.equal(registered, 2);
});
