// Who visits a tunnel, through the whole product: a member switches the log on, visitors come, and what is kept of them shows in the
// API, in a terminal and in the dashboard, and goes when the log is switched off.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { createCli } from '@underpass/client/test-kit.ts';
import type { VisitorLogEntry } from '@underpass/rules/entity/resource.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { expect } from '../helpers/browser.ts';
import { connectClient, type DashboardStage, makeTunnel, openStage, projectUrl } from '../helpers/dashboard.ts';
import { checkScreen } from '../helpers/screens.ts';
import { visit } from '../helpers/visitor.ts';

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/missing' ? 404 : 200;
    response.end('hello');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What the database file has, as a backup would have it. */
function storedRows({ product }: DashboardStage): readonly { readonly address: string; readonly path: string }[] {
  const db = new DatabaseSync(join(product.home, 'underpass.db'), { readOnly: true });
  try {
    return db.prepare('select address, path from visitor_log order by id').all() as never;
  } finally {
    db.close();
  }
}

test('who visited', async (t) => {
  const stage = await openStage(t);
  const { account, product } = stage;
  const tunnel = await makeTunnel(account, 'shop');
  await connectClient(t, tunnel, await startUpstream(t));
  const host = tunnel.ingressDomains[0]!.name;
  const door = { port: product.ports.https, host, caPem: product.caPem };
  const query = `?project=${account.project}`;
  const read = async () =>
    (await account.call<{ entries: VisitorLogEntry[] }>('GET', `/api/tunnels/shop/visitor-log${query}`)).body;
  const pathsKept = async () => (await read()).entries.map(({ path }) => path);

  await t.test('nothing is kept until a member switches the log on, in the dashboard', async (t) => {
    assert.equal((await visit(door, '/before')).status, 200);
    const page = await stage.open(t, 'tunnels/shop');
    await page.getByText('Visitor log:').getByRole('link', { name: 'off' }).click();
    await page.getByRole('button', { name: 'Switch the log on' }).click();
    const dialog = page.getByRole('dialog', { name: 'Visitor log' });
    await expect(dialog.getByRole('radio', { name: /without the end of addresses/ })).toBeChecked();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('No visits yet.')).toBeVisible();
    await expect(page.getByText(/in the last 24 hours, at most 10,000\. Addresses without their end/)).toBeVisible();

    // The page is live: it shows visits without a reload.
    await eventually(async () => {
      await visit(door, '/shown?secret=1');
      return (await pathsKept()).length > 0;
    });
    await expect(page.getByRole('table', { name: 'Visits' })).toContainText('GET /shown');
    await expect(page.getByRole('table', { name: 'Visits' })).toContainText('127.0.0.0/24');
    assert.ok(!(await pathsKept()).includes('/before'));
  });

  await t.test('the terminal follows visits, one line of JSON each', async (t) => {
    const token = await product.createApiToken(account);
    const cli = await createCli(t, {
      UNDERPASS_SERVER: product.origin,
      UNDERPASS_API_TOKEN: token,
      UNDERPASS_PROJECT: account.project,
    });
    const running = cli.start(['logs', 'shop', '-f', '--json', '--search', 'followed']);
    await visit(door, '/followed');
    await running.seen(/"path":"\/followed"/);
    await visit(door, '/followed-again');
    await running.seen(/"path":"\/followed-again"/);
    running.signal('SIGINT');
    await running.ended;
  });

  await t.test('a refused visitor shows with the rule that refused', async (t) => {
    await account.call('POST', `/api/security-groups${query}`, { name: 'office', allow: ['192.0.2.0/24'] });
    await account.call('PATCH', `/api/tunnels/shop${query}`, { securityGroup: 'office' });
    await eventually(async () => (await visit(door, '/refused')).status === 403);
    await account.call('PATCH', `/api/tunnels/shop${query}`, { securityGroup: 'default' });
    await eventually(async () => (await visit(door, '/missing')).status === 404);
    await eventually(async () => (await pathsKept()).includes('/missing'));
    const page = await stage.open(t, 'tunnels/shop/visitors');
    await page.getByLabel('Outcome').selectOption('refused');
    const table = page.getByRole('table', { name: 'Visits' });
    await expect(table).toContainText('UNDERPASS_SOURCE_DENIED');
    await expect(table).not.toContainText('/missing');
    await page.getByLabel('Outcome').selectOption('4xx');
    await expect(table).toContainText('/missing');
  });

  await t.test('the database has neither the end of an address nor a query', async () => {
    const rows = await eventually(
      () => storedRows(stage),
      ({ length }) => length > 3,
    );
    assert.deepEqual([...new Set(rows.map(({ address }) => address))], ['127.0.0.0/24']);
    assert.ok(rows.every(({ path }) => !path.includes('?')));
  });

  const path = projectUrl(account, 'tunnels/shop/visitors');
  await checkScreen(t, stage, {
    name: 'visitors',
    path,
    ready: (page) => expect(page.getByRole('table', { name: 'Visits' })).toContainText('/missing'),
  });
  await checkScreen(t, stage, {
    name: 'visitor-log-dialog',
    path,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Change the log' }).click();
      await expect(page.getByRole('dialog', { name: 'Visitor log' })).toBeVisible();
    },
  });

  await t.test('a viewer reads that members may see it', async () => {
    const viewer = await product.createApiToken(account, 'viewer');
    const answer = await fetch(`${product.origin}/api/tunnels/shop/visitor-log${query}`, {
      headers: { authorization: `Bearer ${viewer}` },
    });
    assert.equal(answer.status, 403);
  });

  await t.test('switched off, it is empty', async (t) => {
    const page = await stage.open(t, 'tunnels/shop/visitors');
    await page.getByRole('button', { name: 'Change the log' }).click();
    const dialog = page.getByRole('dialog', { name: 'Visitor log' });
    await dialog.getByRole('radio', { name: /^Off/ }).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByRole('heading', { name: 'The visitor log is off', exact: true })).toBeVisible();
    assert.deepEqual(storedRows(stage), []);
    await visit(door, '/after');
    await page.goto(projectUrl(account, 'audit'));
    await expect(page.getByText('visitor log off')).toBeVisible();
    assert.deepEqual(storedRows(stage), []);
  });
  await checkScreen(t, stage, {
    name: 'visitors-off',
    path,
    ready: (page) => expect(page.getByRole('button', { name: 'Switch the log on' })).toBeVisible(),
  });
});
