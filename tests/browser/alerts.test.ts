// A client is killed: mail, webhook and page tell the same alert, and that it is over. Then the screens.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import type { AlertPage, Overview } from '@underpass/rules/entity/resource.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { expect } from '../helpers/browser.ts';
import { makeTunnel, openStage, projectUrl } from '../helpers/dashboard.ts';
import { waitForMail } from '../helpers/mail.ts';
import { startProcess } from '../helpers/process.ts';
import type { Product } from '../helpers/product.ts';
import { checkScreen } from '../helpers/screens.ts';

interface Event {
  readonly type: string;
  readonly data: { readonly title: string; readonly text: string; readonly tunnel?: string; readonly since?: string };
}

async function startServer(t: TestContext, answer: (body: string) => number): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    response.writeHead(answer(body)).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`;
}

/** Shorter than the API allows: a test does not wait for half a minute. */
function shortenWait({ home }: Product, seconds: number): void {
  const database = new DatabaseSync(join(home, 'underpass.db'), { timeout: 5000 });
  database.prepare('update projects set alert_wait_seconds = ?').run(seconds);
  database.close();
}

const row = (page: Page, title: string) =>
  page.getByRole('table', { name: 'Alerts' }).getByRole('row').filter({ hasText: title });

test('alerts', async (t) => {
  const stage = await openStage(t);
  const { account, product } = stage;
  const query = `?project=${account.project}`;
  const at = (page: string) => projectUrl(account, page);
  await checkScreen(t, stage, {
    name: 'alerts-empty',
    path: at('alerts'),
    ready: (page) => expect(page.getByRole('heading', { name: 'No Alerts' })).toBeVisible(),
  });

  await t.test('a killed client is told by mail, webhook and page with the same words, and its return too', async (t) => {
    const events: Event[] = [];
    const url = await startServer(t, (body) => {
      events.push(JSON.parse(body));
      return 204;
    });
    const upstream = await startServer(t, () => 200);
    await account.call('POST', `/api/alerts/webhook${query}`, { url, format: 'standard' });
    shortenWait(product, 2);
    const tunnel = await makeTunnel(account, 'shop');
    const start = () => {
      const flags = ['--url', tunnel.url, '--upstream', new URL(upstream).origin];
      return startProcess(t, ['client/main.ts', 'http', ...flags], { UNDERPASS_TOKEN: tunnel.token ?? '' });
    };
    const client = start();
    await client.seen(/connected/);
    const overview = async () => (await account.call<Overview>('GET', `/api/overview${query}`)).body;
    await eventually(async () => (await overview()).conditions.working === 1);
    await client.end('SIGKILL');

    const mail = await waitForMail(product, account.email, /^shop is down/);
    await eventually(() => events.length === 1);
    const [opened] = events;
    assert.deepEqual([opened?.type, opened?.data.tunnel], ['alert.opened', 'shop']);
    assert.ok(mail.text.includes(`${opened?.data.title}. ${opened?.data.text}`), mail.text);
    assert.match(mail.unsubscribe ?? '', /\/alerts\/unsubscribe\//);
    const { body } = await account.call<AlertPage>('GET', `/api/alerts${query}`);
    assert.deepEqual([body.alerts[0]?.title, body.alerts[0]?.since], [opened?.data.title, opened?.data.since]);
    const page = await stage.open(t, 'alerts');
    await expect(row(page, 'shop is down')).toContainText(opened?.data.text ?? '');
    const attention = (await overview()).attention.map(({ kind, tunnel: name }) => [kind, name]);
    assert.deepEqual(attention, [['tunnel-down', 'shop']], 'the first screen follows the same rule');

    await start().seen(/connected/);
    await eventually(() => events.length === 2);
    assert.deepEqual([events[1]?.type, events[1]?.data.title], ['alert.closed', 'shop is back']);
    await page.reload();
    await expect(row(page, 'shop is back')).toBeVisible();
    await expect(page.getByRole('table', { name: 'Deliveries' }).getByRole('row').filter({ hasText: 'Delivered' })).toHaveCount(
      2,
    );
  });

  await t.test('the page sets, tests, rotates and deletes the webhook, and ends the mails', async (t) => {
    let status = 500;
    const url = await startServer(t, () => status);
    await account.call('DELETE', `/api/alerts/webhook${query}`);
    const page = await stage.open(t, 'alerts');
    await page.getByRole('button', { name: 'Add webhook' }).click();
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await expect(page.getByText('Enter a complete address, such as https://example.com/alerts.')).toBeVisible();
    await page.getByLabel('Address').fill(url);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    const secret = page.getByRole('status', { name: 'Webhook secret' });
    await expect(secret).toHaveText(/^whsec_/);
    const first = await secret.textContent();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await expect(page.getByText('The receiver answers with status 500.').first()).toBeVisible();
    status = 200;
    await page.getByRole('button', { name: 'Send This is a test again' }).click();
    await expect(page.getByText('It is sent again within seconds.')).toBeVisible();
    await page.getByRole('button', { name: 'New secret' }).click();
    await page.getByRole('button', { name: 'Make new secret' }).click();
    await expect(secret).toHaveText(/^whsec_/);
    assert.notEqual(await secret.textContent(), first);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('switch', { name: 'Mail me about alerts' }).click();
    await expect(page.getByText('You get no alert mails.')).toBeVisible();
    await page.reload();
    await expect(page.getByRole('switch', { name: 'Mail me about alerts' })).not.toBeChecked();
  });

  const table = (name: string) => (page: Page) => expect(page.getByRole('table', { name })).toBeVisible();
  await checkScreen(t, stage, { name: 'alerts', path: at('alerts'), ready: table('Deliveries') });
  await checkScreen(t, stage, {
    name: 'alerts-webhook',
    path: at('alerts'),
    ready: async (page) => {
      await page.getByRole('button', { name: 'Change' }).click();
      await expect(page.getByRole('dialog', { name: 'Change webhook' })).toBeVisible();
    },
  });
});
