// One server without a proxy in front: the dashboard, its sign-in and its live views on the edge's own https port.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from '@playwright/test';
import { createCli } from '@underpass/client/test-kit.ts';
import { expect, launchChromium } from '../helpers/browser.ts';
import { freePorts } from '../helpers/port.ts';
import { startProduct } from '../helpers/product.ts';

const dashboard = process.env.UNDERPASS_DASHBOARD ?? fileURLToPath(new URL('../../dashboard/dist', import.meta.url));

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer((_, response) => void response.end('hello'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A browser window that accepts the local authority's certificates. */
async function openWindow(t: TestContext): Promise<Page> {
  const browser = await launchChromium();
  t.after(() => browser.close());
  const context = await browser.newContext({ ignoreHTTPSErrors: true, reducedMotion: 'reduce' });
  return context.newPage();
}

test('port 80 redirects to the sign-in page, the link signs in, and a connecting client appears without a reload', async (t) => {
  const [https = 0] = await freePorts(1);
  const origin = `https://console.localhost:${https}`;
  const product = await startProduct(t, {
    dashboard,
    env: { UNDERPASS_ORIGIN: origin, UNDERPASS_EDGE_HTTPS_PORT: String(https) },
  });
  const page = await openWindow(t);
  await page.goto(`http://console.localhost:${product.ports.http}/login`);
  await page.waitForURL(`${origin}/login`);
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeVisible();

  const { url } = JSON.parse(await product.operate('login-link', '--json')) as { url: string };
  assert.ok(url.startsWith(`${origin}/`));
  await page.goto(url);
  await page.getByRole('button', { name: 'Sign in here' }).click();
  await page.waitForURL(/\/dashboard$/);
  const cookies = await page.context().cookies();
  const session = cookies.find(({ name }) => /session/.test(name));
  assert.deepEqual([session?.name.startsWith('__Host-'), session?.secure, session?.httpOnly], [true, true, true]);

  const name = /https:\/\/([a-z0-9-]+\.tunnels\.localhost)/.exec(product.text)?.[1] ?? '';
  await page.getByRole('link', { name: 'Tunnels', exact: true }).first().click();
  await expect(page.getByRole('table', { name: 'Tunnels' })).toContainText(name);
  await page.getByRole('row').filter({ hasText: name }).click();
  await expect(page.getByRole('heading', { name: 'Connected clients' })).toBeVisible();
  await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
  const [, clientUrl = '', tokenFile = ''] = /underpass http --url '([^']+)' --token-file (\S+)/.exec(product.text) ?? [];
  const cli = await createCli(t);
  const client = cli.start(['http', '--url', clientUrl, '--token-file', tokenFile, '--upstream', await startUpstream(t)]);
  t.after(async () => {
    client.signal('SIGTERM');
    await client.ended;
  });
  await client.seen(/connected/);
  await expect(page.getByText('Connected', { exact: true }).first()).toBeVisible();
});
