// The helper itself, which every whole-system test uses.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { startProduct, tunnelCreated } from './product.ts';

test('removes the home folder of a product after its test', async (t) => {
  let home = '';
  await t.test('a product', async (inner) => {
    ({ home } = await startProduct(inner));
    assert.ok(existsSync(home));
  });
  assert.equal(existsSync(home), false);
});

test('a product starts on free ports, signs its operator in, makes a tunnel that becomes Created, and stops', async (t) => {
  const product = await startProduct(t);
  const account = await product.signIn();
  assert.equal(account.email, 'operator@underpass.localhost');
  const token = await product.createApiToken(account, 'viewer');
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await fetch(`${product.origin}/api/tunnels?project=${account.project}`, { headers })).status, 200);
  const body = { name: 'shop', region: 'local', ingressDomains: [], proxyProtocol: '', type: 'http' };
  const made = await account.call<Tunnel>('POST', `/api/tunnels?project=${account.project}`, body);
  assert.equal(made.status, 200, JSON.stringify(made.body));
  const tunnel = await tunnelCreated(account, 'shop');
  assert.match(tunnel.url, new RegExp(`^https://local\\.localhost:${product.ports.https}#ca=[0-9a-f]{64}$`));
  assert.match(product.caPem, /BEGIN CERTIFICATE/);
  await product.stop();
  await assert.rejects(fetch(`${product.origin}/healthz`));
});
