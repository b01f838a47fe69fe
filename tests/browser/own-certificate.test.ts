// A person gives a certificate for a domain, from a file and pasted: the edges serve it at once, and an open connection goes on.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { Page } from '@playwright/test';
import { issue } from '@underpass/control/edges/certificate/test-kit-chain.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { expect } from '../helpers/browser.ts';
import { connectClient, makeTunnel, makeVerifiedDomain, openStage } from '../helpers/dashboard.ts';

const host = 'app.example.com';
const card = (page: Page) => page.getByRole('region', { name: 'Certificate' });

async function visit(t: TestContext, port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, servername: host, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

const nameOf = (socket: TLSSocket): string => String(socket.getPeerX509Certificate()?.subject);

async function get(socket: TLSSocket): Promise<string> {
  socket.write(`GET / HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
  let text = '';
  while (!text.includes('served')) text += String((await once(socket, 'data'))[0]);
  return text;
}

const served = (t: TestContext, port: number, name: string): Promise<string> =>
  eventually(
    async () => nameOf(await visit(t, port)),
    (subject) => subject === name,
  );

test('a certificate of the project is served at once, replaced under an open connection, and removed', async (t) => {
  const stage = await openStage(t);
  await makeVerifiedDomain(stage, 'example.com');
  const tunnel = await makeTunnel(stage.account, 'shop', { ingressDomains: [host] });
  const upstream = createServer((_, response) => response.end('served')).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  t.after(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  await connectClient(t, tunnel, `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`);
  const root = await issue('Corp Root', Date.now(), undefined);
  const middle = await issue('Corp Middle', Date.now(), root);
  const make = (name: string) => issue(name, Date.now(), middle, { hosts: [host] });
  const [first, second] = [await make('first'), await make('second')];
  const { https } = stage.product.ports;
  const page = await stage.open(t, `tunnels/shop/domains/${host}`, { expectedErrors: /400/ });

  await card(page).getByRole('button', { name: 'Use your own' }).click();
  const panel = page.getByRole('dialog');
  await panel.getByRole('button', { name: 'Save' }).click();
  await expect(panel.getByText('Give the private key.')).toBeVisible();
  const file = { name: 'chain.pem', mimeType: 'application/x-pem-file', buffer: Buffer.from(root.pem + middle.pem + first.pem) };
  await panel.getByLabel('Certificate from a file').setInputFiles(file);
  await panel.getByLabel('Private key', { exact: true }).fill(second.keyPem);
  await panel.getByRole('button', { name: 'Save' }).click();
  await expect(panel.getByText('The key does not belong to any certificate.')).toBeVisible();
  await panel.getByLabel('Private key', { exact: true }).fill(first.keyPem);
  await panel.getByRole('button', { name: 'Save' }).click();
  await expect(card(page).getByText('Corp Middle')).toBeVisible();
  await expect(card(page).getByText(/Only visitors who know the authority ‘Corp Root’/)).toBeVisible();
  await served(t, https, 'CN=first');

  const open = await visit(t, https);
  assert.match(await get(open), /served/);
  const path = `/api/tunnels/shop/domains/${host}/certificate?project=${stage.account.project}`;
  const saved = await stage.account.call('POST', path, { chain: second.pem + middle.pem, privateKey: second.keyPem });
  assert.equal(saved.status, 200);
  await served(t, https, 'CN=second');
  assert.match(await get(open), /served/, 'the open connection goes on');
  assert.equal(nameOf(open), 'CN=first');

  await page.reload();
  await card(page)
    .getByRole('switch', { name: /When it ends/ })
    .click();
  await expect(card(page).getByRole('switch', { name: /When it ends/ })).not.toBeChecked();
  await card(page).getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect(card(page).getByText('The service gets a certificate and renews it.')).toBeVisible();
  await served(t, https, `CN=${host}`);
});
