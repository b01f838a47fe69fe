// The charts of an http tunnel: its answers by status and the time to their first byte, from the rows that control keeps.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { countFirstByte, countStatus, emptyFigures, renderFigures } from '@underpass/rules/tunnel/figures.ts';
import { expect } from '../helpers/browser.ts';
import { makeTunnel, openStage, projectUrl } from '../helpers/dashboard.ts';
import { checkScreen } from '../helpers/screens.ts';

/** A minute of some ten answers, slower every now and then. */
function figuresOf(at: number): string {
  const figures = emptyFigures();
  for (let nth = 0; nth < 10 + (at % 7); nth++) {
    countStatus(figures, nth % 9 === 0 ? 404 : at % 13 === 0 && nth === 3 ? 502 : 200);
    countFirstByte(figures, 20 + ((at * nth) % 90), at % 5 === 0 ? 2 : 0, 12);
  }
  return renderFigures(figures);
}

test('charts of answers', async (t) => {
  const stage = await openStage(t);
  await makeTunnel(stage.account, 'shop');
  const db = new DatabaseSync(join(stage.product.home, 'underpass.db'));
  t.after(() => db.close());
  db.exec('pragma busy_timeout = 5000');
  const { id } = db.prepare('select id from tunnels where name = ?').get('shop') as { id: string };
  const insert = db.prepare(
    'insert into history_minutes (start_at, tunnel_id, rx_bytes, tx_bytes, connections, clients, figures) values (?, ?, 900, 90000, 2, 1, ?)',
  );
  const newestMs = Math.floor(Date.now() / 60_000) * 60_000;
  for (let ago = 3; ago < 50; ago++) insert.run(newestMs - ago * 60_000, id, figuresOf(ago));

  await t.test('show answers by status, and the time by its parts', async (t) => {
    const page = await stage.open(t, 'tunnels/shop');
    await expect(page.getByText(/answers in the last hour: .* 2xx, .* 4xx/)).toBeVisible();
    const row = page.getByRole('row', { name: /^Tunnel/ });
    await expect(row.getByRole('cell').first()).toHaveText(/^1\d ms$/);
    await page.getByRole('button', { name: 'Upstream', exact: true }).click();
    await expect(page.getByText('Upstream: the rest')).toBeVisible();
    await page.getByRole('button', { name: 'Week' }).click();
    await expect(page.getByText(/answers in the last week/)).toBeVisible();
  });

  await t.test('have no answers of a tunnel without any', async (t) => {
    await makeTunnel(stage.account, 'quiet');
    const page = await stage.open(t, 'tunnels/quiet');
    await expect(page.getByText('No answers in the last hour.')).toBeVisible();
    await expect(page.getByText('No upstream answered in the last hour.')).toBeVisible();
  });

  await checkScreen(t, stage, {
    name: 'tunnel-figures',
    path: projectUrl(stage.account, 'tunnels/shop'),
    ready: async (page) => {
      const chart = page.getByRole('figure').filter({ hasText: 'Time to the first byte' });
      await chart.scrollIntoViewIfNeeded();
      await expect(chart.locator('canvas')).toBeVisible();
    },
  });
});
