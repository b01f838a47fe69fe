// An ingress tunnel with a wildcard: any name below it reaches the upstream untouched, and an exact name of another tunnel comes first.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { issue } from '@underpass/control/edges/certificate/test-kit-chain.ts';
import { expect } from '../helpers/browser.ts';
import { connectClient, makeTunnel, makeVerifiedDomain, openStage } from '../helpers/dashboard.ts';

/** What the certificate that answers for a name is for; the code of the error if none does. */
async function answering(t: TestContext, port: number, servername: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false });
  t.after(() => socket.destroy());
  try {
    await once(socket, 'secureConnect');
    return String(socket.getPeerX509Certificate()?.subject);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? '';
  }
}

test('a wildcard reaches the upstream by every name that it covers', async (t) => {
  const stage = await openStage(t);
  await makeVerifiedDomain(stage, 'example.com');
  stage.names.set('A', 'underpass-check.apps.example.com', '127.0.0.1');
  const tunnel = await makeTunnel(stage.account, 'cluster', { type: 'ingress', ingressDomains: ['*.apps.example.com'] });
  await makeTunnel(stage.account, 'shop', { ingressDomains: ['shop.apps.example.com'] });
  const { pem, keyPem } = await issue('wild', Date.now(), undefined, { hosts: ['*.apps.example.com'] });
  const upstream = createServer({ cert: pem, key: keyPem }, (socket) => socket.end()).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  t.after(() => upstream.close());
  await connectClient(t, tunnel, `443=127.0.0.1:${(upstream.address() as AddressInfo).port}`);
  const { https } = stage.product.ports;
  const found = async (host: string) => answering(t, https, host);
  assert.deepEqual(await Promise.all(['a.apps.example.com', 'xn--bcher-kva.apps.example.com'].map(found)), [
    'CN=wild',
    'CN=wild',
  ]);
  assert.equal(await found('shop.apps.example.com'), 'CN=shop.apps.example.com', 'the edge ends TLS for the exact name');
  for (const host of ['a.b.apps.example.com', 'apps.example.com', 'a_b.apps.example.com'])
    assert.match(await found(host), /UNRECOGNIZED_NAME|ECONNRESET/, host);

  const page = await stage.open(t, 'tunnels/cluster');
  const row = page.getByRole('list', { name: 'Ingress domains' }).getByRole('listitem');
  await expect(row).toContainText('*.apps.example.com');
  await expect(row.getByRole('link', { name: /^\*/ })).toHaveCount(0);
  await row.getByRole('link', { name: /Configure DNS/ }).click();
  const dns = page.getByRole('region', { name: 'DNS configuration' });
  await expect(dns.getByRole('definition')).toHaveText(['CNAME', '*.apps', 'local.localhost']);
  await expect(dns.getByText('DNS verified')).toBeVisible();
});

test('the wildcard of an http tunnel gets one certificate', async (t) => {
  const stage = await openStage(t);
  await makeVerifiedDomain(stage, 'example.com');
  const tunnel = await makeTunnel(stage.account, 'shops', { ingressDomains: ['*.shops.example.com'] });
  const upstream = createHttpServer((request, response) => response.end(`served ${request.headers.host}`)).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  t.after(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  const { port } = upstream.address() as AddressInfo;
  await connectClient(t, tunnel, `*.shops.example.com=http://127.0.0.1:${port}`);
  const get = (servername: string, host = servername) =>
    new Promise<string>((resolve, reject) => {
      const { ports, caPem } = stage.product;
      const options = { host: '127.0.0.1', port: ports.https, servername, ca: caPem, headers: { host }, agent: false };
      request(options, async (response) => resolve(`${response.statusCode} ${(await response.toArray()).join('')}`))
        .on('error', reject)
        .end();
    });
  assert.equal(await get('red.shops.example.com'), '200 served red.shops.example.com');
  assert.equal(await get('blue.shops.example.com'), '200 served blue.shops.example.com');
  assert.match(await get('red.shops.example.com', 'a.red.shops.example.com'), /^421 /, 'two labels');

  const page = await stage.open(t, 'tunnels/shops/domains/*.shops.example.com');
  const card = page.getByRole('region', { name: 'Certificate' });
  await expect(card).toBeVisible();
  await expect(card.getByText('_acme-challenge')).toHaveCount(0);
});

test('the page of a wildcard names the record by which an ACME authority can prove it', async (t) => {
  const stage = await openStage(t, {
    UNDERPASS_ACME_DIRECTORY: 'https://127.0.0.1:1/directory',
    UNDERPASS_ACME_CHALLENGE_ZONE: 'proofs.example.net',
    UNDERPASS_ACME_DNS_HOOK: '/bin/false',
  });
  await makeVerifiedDomain(stage, 'example.com');
  const wildcard = { name: 'shops', region: 'local', type: 'http', ingressDomains: ['*.shops.example.com'], proxyProtocol: '' };
  await stage.account.call('POST', `/api/tunnels?project=${stage.account.project}`, wildcard);
  const page = await stage.open(t, 'tunnels/shops/domains/*.shops.example.com');
  const card = page.getByRole('region', { name: 'Certificate' });
  await expect(card.getByRole('definition').first()).toHaveText('CNAME');
  await expect(card.getByRole('definition').nth(1)).toHaveText('_acme-challenge.shops');
  await expect(card.getByRole('definition').nth(2)).toHaveText(/^[0-9a-f]{32}\.proofs\.example\.net$/);
});
