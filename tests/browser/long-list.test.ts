// A project with 2,000 tunnels: searching, sorting and scrolling its list are as quick as with twenty.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import { assertNoSidewaysScroll, expect } from '../helpers/browser.ts';
import { makeTunnel, openStage, type Stage } from '../helpers/dashboard.ts';

const count = 2000;

/** Copies one tunnel under other names in the store, because quota and rate limit apply to the API. */
async function fillStore({ product, account }: Stage): Promise<void> {
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

/** Asks the page itself, because a failed locator expectation prints all 2,000 rows. */
function isInSight(page: Page, link: string): Promise<boolean> {
  return page.evaluate<boolean>(`(() => {
    const found = [...document.querySelectorAll('tbody a')].find((each) => each.textContent === ${JSON.stringify(link)});
    const { top, bottom } = found.getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  })()`);
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
  await t.test('2,000 tunnels', (t) => listTests(t, stage));
});

async function listTests(t: TestContext, stage: Stage): Promise<void> {
  const page = await stage.open(t, 'tunnels');
  const rows = page.locator('tbody tr');
  const cpu = await createCpuMeter(page);
  const within = async (what: string, boundSeconds: number, work: () => Promise<unknown>) => {
    const before = await cpu();
    await work();
    const spent = (await cpu()) - before;
    t.diagnostic(`${what}: ${(spent * 1000).toFixed(0)} ms of CPU`);
    assert.ok(spent < boundSeconds, `${what} took ${spent.toFixed(2)} s of CPU`);
  };

  await t.test('all rows exist, and only those in view are laid out', async () => {
    await expect.poll(() => rows.count(), { timeout: 60_000 }).toBe(count);
    await expect(page.getByText(`${count} tunnels`)).toBeVisible();
    const drawn = () =>
      page.evaluate<number>(`[...document.querySelectorAll('tbody tr td:first-child a')]
        .filter((link) => link.checkVisibility({ contentVisibilityAuto: true })).length`);
    // The browser finds out which rows are in view one frame later.
    await expect.poll(drawn).toBeGreaterThan(5);
    await expect.poll(drawn).toBeLessThan(150);
  });

  await t.test('a search finds its tunnel, and clearing it restores all rows', async () => {
    const search = page.getByRole('searchbox', { name: 'Search tunnels' });
    await within('search', 3, async () => {
      await search.fill('tunnel-1987');
      await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(1);
    });
    await within('clear', 5, async () => {
      await search.fill('');
      await expect.poll(() => rows.count(), { timeout: 30_000 }).toBe(count);
    });
  });

  await t.test('sorting reverses the whole list', async () => {
    await within('sort', 5, async () => {
      await page.getByRole('button', { name: 'Name' }).click();
      await expect(rows.first()).toContainText('tunnel-1999', { timeout: 30_000 });
    });
  });

  await t.test('the End key scrolls to the last row', async () => {
    await within('scroll', 3, async () => {
      // If pressed while the browser still lays out the sorted rows, End stops at the old end; a user presses it again.
      await expect(async () => {
        await page.keyboard.press('End');
        await expect.poll(() => isInSight(page, 'pattern'), { timeout: 3000 }).toBe(true);
      }).toPass({ timeout: 60_000 });
    });
  });

  await t.test('narrowing the window also narrows the rows out of view', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await assertNoSidewaysScroll(page);
  });
}
