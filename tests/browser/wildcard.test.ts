// An ingress tunnel with a wildcard: any name below it reaches the upstream untouched, and an exact name of another tunnel comes first.
import assert from 'node:assert/strict';
import { once } from 'node:events';
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
  const folder = process.env.UNDERPASS_SCREENS;
  if (folder === undefined) return;
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [390, 1440]) {
      await page.setViewportSize({ width, height: 844 });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.goto(`/projects/${stage.account.project}/tunnels/cluster`);
      await expect(row).toContainText('*.apps.example.com');
      await page.getByRole('region', { name: 'Domains' }).screenshot({ path: `${folder}/wildcard-${width}-${colorScheme}.png` });
    }
});
