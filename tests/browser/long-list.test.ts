// A project with 5,000 tunnels: the server searches, sorts and pages its list, so it is as light as one with fifty.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import { assertNoSidewaysScroll, expect } from '../helpers/browser.ts';
import { type DashboardStage, makeTunnel, openStage, projectUrl } from '../helpers/dashboard.ts';

const count = 5000;

/** Copies one tunnel under other names in the store, because quota and rate limit apply to the API. */
async function fillStore({ product, account }: DashboardStage): Promise<void> {
  await makeTunnel(account, 'pattern', { type: 'ingress', ingressDomains: ['pattern.example.com'] });
  const database = new DatabaseSync(join(product.home, 'underpass.db'), { timeout: 10_000 });
  const columns = (table: string) =>
    database
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name));
  const copy = (table: string, changed: Readonly<Record<string, string>>, where: string) => {
    const values = columns(table).map((column) => changed[column] ?? column);
    database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1})
      INSERT INTO ${table} SELECT ${values.join(', ')} FROM ${table}, n WHERE ${where}`);
  };
  const { id } = database.prepare("SELECT id FROM tunnels WHERE name = 'pattern'").get() as { id: string };
  database.exec('BEGIN IMMEDIATE');
  copy('tunnels', { id: "id || '-' || i", name: "printf('tunnel-%04d', i)" }, `id = '${id}'`);
  copy('tunnel_hosts', { tunnel_id: "tunnel_id || '-' || i", host: "printf('t%04d.example.com', i)" }, `tunnel_id = '${id}'`);
  database.exec('COMMIT');
  database.close();
}

/** CPU seconds of the page's main thread, which a busy machine does not change. */
async function createCpuMeter(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN;
  };
}

test('a long list', async (t) => {
  const stage = await openStage(t);
  await fillStore(stage);
  await t.test('5,000 tunnels', (t) => listTests(t, stage));
  await t.test('a load asks for one page of rows once, before any script, and hears all tunnels in one event', (t) =>
    firstLoadTest(t, stage),
  );
  await t.test('the dashboard adds up 5,000 tunnels and reads only a few', (t) => sumTest(t, stage));
});

async function firstLoadTest(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await stage.open(t, 'security-groups');
  const session = await page.context().newCDPSession(page);
  let events: string[] = [];
  session.on('Network.eventSourceMessageReceived', ({ eventName }) => events.push(eventName));
  await session.send('Network.enable');
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 });
    events = [];
    await page.goto(projectUrl(stage.account, 'tunnels'));
    await expect(page.locator('tbody tr')).toHaveCount(50);
    t.diagnostic(`rows at ${width} px: ${(await page.evaluate<number>('performance.now()')).toFixed(0)} ms at most`);
    const asked = await page.evaluate<string[]>(
      "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/tunnels?')).map((each) => each.initiatorType)",
    );
    assert.deepEqual(asked, ['link']);
    await expect.poll(() => events).toContain('tunnels');
    assert.ok(!events.includes('tunnel'), `${events.length} events`);
  }
  await page.addInitScript(noteFetches);
  events = [];
  await page.reload();
  await expect.poll(() => events).toContain('tunnels');
  await page.evaluate("sessionStorage.removeItem('fetched')");
  await page.reload();
  await expect(page.locator('tbody tr')).toHaveCount(50);
  const fetched = await page.evaluate<string>("sessionStorage.getItem('fetched')");
  assert.doesNotMatch(fetched, /api\/tunnels\?project=\w+ /, 'a page asked for every tunnel while it was left');
  assert.match(fetched, /api\/tunnels\?project=\w+&sort=name&limit=50 /);
}

/** Keeps them over a reload. Chromium's events leave out those of a page that is being left. */
const noteFetches = `{
  const { fetch } = globalThis;
  globalThis.fetch = (url, init) => {
    sessionStorage.setItem('fetched', (sessionStorage.getItem('fetched') ?? '') + url + ' ');
    return fetch(url, init);
  };
}`;

async function sumTest(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await stage.open(t, 'security-groups');
  const answers: Promise<Buffer>[] = [];
  page.on('response', (response) => {
    if (/\/api\/overview\?/.test(response.url())) answers.push(response.body());
  });
  await page.getByRole('link', { name: 'Dashboard' }).click();
  const metrics = page.getByRole('region', { name: 'Metrics' });
  await expect(metrics.getByRole('definition')).toHaveText(['5000', '0', '5000', '0']);
  const bytes = (await Promise.all(answers)).reduce((sum, { length }) => sum + length, 0);
  t.diagnostic(`${bytes} bytes`);
  assert.ok(bytes > 100 && bytes < 10_000, `${bytes}`);
}

async function listTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await stage.open(t, 'tunnels');
  const rows = page.locator('tbody tr');
  const search = page.getByRole('searchbox', { name: 'Search tunnels' });
  const cpu = await createCpuMeter(page);
  const within = async (what: string, boundSeconds: number, work: () => Promise<unknown>) => {
    const before = await cpu();
    await work();
    const spent = (await cpu()) - before;
    t.diagnostic(`${what}: ${(spent * 1000).toFixed(0)} ms of CPU`);
    assert.ok(spent < boundSeconds, `${what} took ${spent.toFixed(2)} s of CPU`);
  };

  await t.test('one page of rows, fewer than 2,000 elements, and the number of all', async () => {
    await expect(rows).toHaveCount(50);
    await expect(page.getByRole('button', { name: 'All 5,000' })).toHaveAttribute('aria-pressed', 'true');
    await expect(page.getByRole('status').filter({ hasText: '5,000 tunnels' })).toBeVisible();
    assert.ok((await page.evaluate<number>('document.querySelectorAll("*").length')) < 2000);
  });

  await t.test('a search finds its tunnel on whichever page, and clearing it restores the first', async () => {
    await within('search', 1, async () => {
      await search.pressSequentially('tunnel-4987');
      await expect(rows).toHaveCount(1);
    });
    await within('clear', 1, async () => {
      await search.fill('');
      await expect(rows).toHaveCount(50);
    });
  });

  await t.test('the palette finds a tunnel by an ingress domain', async () => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Search pages/ }).fill('t4321.example');
    await expect(page.getByRole('option', { name: /^tunnel-4321/ })).toContainText('t4321.example.com');
    await page.keyboard.press('Escape');
  });

  await t.test('Back shows search, order, page and scroll as they were', async () => {
    await search.fill('tunnel');
    await page.getByRole('button', { name: 'Name' }).click();
    await expect(rows.first()).toContainText('tunnel-4999');
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect(rows.first()).toContainText('tunnel-4949');
    await page.getByRole('link', { name: 'tunnel-4920', exact: true }).scrollIntoViewIfNeeded();
    const scrolled = await page.evaluate<number>('scrollY');
    assert.ok(scrolled > 300, `${scrolled}`);
    await page.getByRole('link', { name: 'tunnel-4920', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'tunnel-4920' })).toBeVisible();
    await page.goBack();
    await expect(rows.first()).toContainText('tunnel-4949');
    await expect(search).toHaveValue('tunnel');
    await expect.poll(() => page.evaluate<number>('scrollY')).toBe(scrolled);
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect(rows.first()).toContainText('tunnel-4899');
    await page.getByRole('link', { name: 'Previous page' }).click();
    await expect(rows.first()).toContainText('tunnel-4949');
    await page.getByRole('link', { name: 'Previous page' }).click();
    await expect(rows.first()).toContainText('tunnel-4999');
    await expect(page.getByRole('navigation', { name: 'Pages' }).getByRole('link')).toHaveText(['Next page']);
    await page.goBack();
    await expect(rows.first()).toContainText('tunnel-4949');
    await page.goBack();
    await page.getByRole('link', { name: 'First page' }).click();
    await expect(rows.first()).toContainText('tunnel-4999');
  });

  await t.test('on a phone the status stands beside the name, and a card is lower than 80 px', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await assertNoSidewaysScroll(page);
    const [name, status, card] = await Promise.all(
      [rows.first().getByRole('link'), rows.first().getByText('Pending'), rows.first()].map((each) => each.boundingBox()),
    );
    assert.ok(name && status && card && Math.abs(name.y + name.height / 2 - status.y - status.height / 2) < 4);
    assert.ok(card.height < 80, `${card.height}`);
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect(rows.first()).toContainText('tunnel-4949');
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect(page.getByRole('link', { name: 'First page' })).toBeVisible();
    await assertNoSidewaysScroll(page);
  });
}
