// The cost of a screen's first load: bytes on the wire, answers, and layout shift.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import type { Overview } from '@underpass/rules/entity/resource.ts';
import { eventually } from '@underpass/rules/test-kit.ts';
import { expect, visit } from '../helpers/browser.ts';
import { connectClient, makeTunnel, makeVerifiedDomain, openStage, projectUrl } from '../helpers/dashboard.ts';

/** Files that a tunnel's page loads when their part scrolls into view, and, after it has shown, what opens over it and the next pages. */
const onDemand =
  /\/(highlight|draw-chart|yaml|shellscript|systemd|vesper|overlay|home|lists|access|tunnels|domain|domains|verification-card|security-group|security-groups)-/;

interface Weights {
  readonly first: number;
  readonly later: number;
  readonly answers: number;
}

/** Returns a function that gives the kB of all answers so far as they travelled: compressed, with their heads. */
async function weighAnswers(page: Page): Promise<() => Weights> {
  const urls = new Map<string, string>();
  const kilobytes = new Map<string, number>();
  const session = await page.context().newCDPSession(page);
  session.on('Network.responseReceived', ({ requestId, response }) => urls.set(requestId, response.url));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => kilobytes.set(requestId, encodedDataLength / 1000));
  await session.send('Network.enable');
  return () => {
    let [first, later] = [0, 0];
    for (const [id, weight] of kilobytes) {
      if (onDemand.test(urls.get(id) ?? '')) later += weight;
      else first += weight;
    }
    return { first, later, answers: kilobytes.size };
  };
}

/** Sums layout shifts that no user input caused (CLS). */
const watchShifts = `
  globalThis.shifts = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifts += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
`;

async function assertStill(t: TestContext, page: Page, what: string): Promise<void> {
  const shift = await page.evaluate<number>('shifts');
  t.diagnostic(`${what}: ${shift.toFixed(4)}`);
  // Web Vitals calls 0.1 good; our limit is a fifth of that.
  assert.ok(shift < 0.02, `layout shift of ${shift}`);
}

test('budgets', async (t) => {
  const stage = await openStage(t);
  const { product, browser, account } = stage;
  await makeTunnel(account, 'weighed');

  await t.test('the first load of login is under 130 kB and 15 answers', async (t) => {
    const page = await visit(t, browser, product);
    const weigh = await weighAnswers(page);
    await page.goto('/login', { waitUntil: 'networkidle' });
    await expect(page.getByRole('button', { name: 'Sign in', exact: true })).toBeVisible();
    const { first, answers } = weigh();
    t.diagnostic(`login: ${first.toFixed(1)} kB in ${answers} answers`);
    assert.ok(first > 50 && first < 130, `${first} kB`);
    assert.ok(answers < 15, `${answers} answers`);
  });

  await t.test('the sign-in shows before its script, inert until it can be used', async (t) => {
    const page = await visit(t, browser, product);
    const held = Promise.withResolvers<void>();
    await page.route(/\/assets\/(?!early-).*\.js$/, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto('/', { waitUntil: 'commit' });
    const form = page.locator('#root[inert]');
    await expect(form.getByText('We email you a login link instead of a password.')).toBeVisible();
    const before = await form.getByText('Email', { exact: true }).boundingBox();
    held.resolve();
    await expect(page.getByRole('textbox', { name: 'Email' })).toBeFocused();
    assert.deepEqual(await page.getByText('Email', { exact: true }).boundingBox(), before);
  });

  await t.test(
    'the first load of a tunnel is under 225 kB and 25 answers, and the highlighter and charts load when in view without a shift',
    async (t) => {
      const page = await visit(t, browser, product, { account, viewport: { width: 1440, height: 500 } });
      const weigh = await weighAnswers(page);
      await page.goto(projectUrl(account, 'tunnels/weighed'));
      await expect(page.getByRole('heading', { name: 'Traffic' })).toBeVisible();
      await expect(page.getByText(/^(Peak of|No traffic)/).first()).toBeVisible();
      const atFirst = weigh();
      t.diagnostic(`tunnel: ${atFirst.first.toFixed(1)} kB in ${atFirst.answers} answers`);
      assert.ok(atFirst.first < 225, `${atFirst.first} kB`);
      assert.ok(atFirst.answers < 25, `${atFirst.answers} answers`);
      assert.ok(atFirst.later < 90, 'only what opens over a page, and the next pages');
      const links = await page.evaluate<string[]>(
        "[...document.head.querySelectorAll('link[rel*=preload]')].map((link) => link.as || 'script')",
      );
      assert.deepEqual(links.slice(0, 8), [...Array(6).fill('script'), 'font', 'font']);
      const lines = page.locator('[data-empty-grid]');
      await expect(lines).toHaveCount(4);
      const place = await lines.first().locator('..').boundingBox();
      for (const chart of await page.getByRole('figure').all()) {
        await chart.scrollIntoViewIfNeeded();
        await expect(chart.locator('canvas')).toBeVisible();
      }
      await expect(lines).toHaveCount(0);
      const drawn = await page.locator('.uplot').first().locator('..').boundingBox();
      assert.deepEqual([drawn?.width, drawn?.height], [place?.width, place?.height]);
      const { later } = weigh();
      t.diagnostic(`highlighter and charts: ${later.toFixed(1)} kB`);
      assert.ok(later > 0);
    },
  );

  await t.test('a reload fetches no file again, and asks for its tunnel and its domains once, before any script', async (t) => {
    const page = await visit(t, browser, product, { account });
    // What opens over a page loads last, when the browser is idle.
    const lastFile = page.waitForResponse(/\/assets\/overlay-/);
    await page.goto(projectUrl(account, 'tunnels/weighed'));
    await expect(page.getByText('No client is connected.')).toBeVisible();
    await (await lastFile).finished();
    await page.waitForLoadState('networkidle');
    await page.reload();
    await expect(page.getByText('No client is connected.')).toBeVisible();
    const asked = await page.evaluate<{ name: string; initiatorType: string; transferSize: number }[]>(
      "performance.getEntriesByType('resource').map((each) => each.toJSON())",
    );
    const files = asked.filter(({ name }) => /\.(js|css|woff2)$/.test(name));
    assert.ok(files.length > 5, `${files.length} files`);
    assert.deepEqual(
      files.filter(({ transferSize }) => transferSize > 0).map(({ name }) => name),
      [],
    );
    for (const call of ['/api/tunnels/weighed?project=', '/api/tunnels/weighed/domains?project=']) {
      const calls = asked.filter(({ name }) => name.includes(call));
      assert.deepEqual(
        calls.map(({ initiatorType }) => initiatorType),
        ['link'],
        call,
      );
    }
  });

  await t.test('no part of a tunnel waits for the tunnel: all are asked for before it has come', async (t) => {
    const page = await visit(t, browser, product, { account });
    const held = Promise.withResolvers<void>();
    await page.route('**/api/tunnels/weighed?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    const parts = ['domains', 'history', 'clients', 'last-client'].map((part) =>
      page.waitForRequest((request) => request.url().includes(`/api/tunnels/weighed/${part}?`)),
    );
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.goto(projectUrl(account, 'tunnels/weighed'), { waitUntil: 'commit' });
    await Promise.all(parts);
    held.resolve();
    await expect(page.getByText('No client is connected.')).toBeVisible();
    await expect(page.getByText(/^(Peak of|No traffic)/).first()).toBeVisible();
    const twice = asked.filter((path, index) => path.startsWith('/api/tunnels/') && asked.indexOf(path) !== index);
    assert.deepEqual(twice, []);
  });

  await t.test('a tab shows its snippet without waiting for a file, and the page itself never highlights', async (t) => {
    const page = await visit(t, browser, product, { account, viewport: { width: 390, height: 844 } });
    const held = Promise.withResolvers<void>();
    await page.context().route(onDemand, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(projectUrl(account, 'tunnels/weighed'));
    await page.getByRole('tab', { name: 'Kubernetes' }).click();
    await expect(page.getByText('kind: Deployment')).toBeVisible();
    held.resolve();
    await expect(page.locator('pre span[style]').first()).toBeVisible();
    const files = await page.evaluate<string[]>("performance.getEntriesByType('resource').map(({ name }) => name)");
    assert.deepEqual(
      files.filter((name) => /\/(yaml|shellscript|systemd|vesper)-/.test(name)),
      [],
    );
  });

  await t.test('the shift meter detects a shift', async (t) => {
    const page = await visit(t, browser, product, { account });
    await page.addInitScript(watchShifts);
    await page.goto(projectUrl(account, 'dashboard'));
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await page.evaluate("document.querySelector('h1').style.marginTop = '300px'");
    await expect.poll(() => page.evaluate<number>('shifts')).toBeGreaterThan(0.05);
  });

  // Only its DNS is missing: the page learns last that it shows the checklist.
  await makeVerifiedDomain(stage, 'example.com');
  const connected = await makeTunnel(account, 'connected', {
    ingressDomains: ['nowhere.example.com', 'no.example.com', 'none.example.com'],
  });
  await connectClient(t, connected, 'http://127.0.0.1:9');
  // Control learns within a second that the upstream fails. Such news may move the dashboard; loading may not.
  const overview = () => account.call<Overview>('GET', `/api/overview?project=${account.project}`);
  await eventually(async () => (await overview()).body.attention.length === 1);
  for (const path of [
    'dashboard',
    'tunnels',
    'tunnels/weighed',
    'tunnels/connected',
    'domains',
    'domains/example.com',
    'security-groups',
    'security-groups/default',
  ]) {
    await t.test(`${path} does not shift while it loads`, async (t) => {
      const page = await visit(t, browser, product, { account });
      await page.addInitScript(watchShifts);
      await page.goto(projectUrl(account, path));
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await expect(page.getByRole('status', { name: 'Loading' })).toHaveCount(0);
      await page.waitForLoadState('networkidle');
      await assertStill(t, page, path);
    });
  }

  await t.test('a search on a phone moves nothing, however late its answer', async (t) => {
    for (let number = 1; number <= 9; number++) await makeTunnel(account, `many-${number}`);
    const page = await visit(t, browser, product, { account, viewport: { width: 390, height: 844 } });
    await page.addInitScript(watchShifts);
    // The browser forgives a shift within half a second after a key.
    await page.route('**/api/tunnels?*', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 800));
      await route.continue();
    });
    await page.goto(projectUrl(account, 'tunnels'));
    const rows = page.getByRole('table', { name: 'Tunnels' }).getByRole('link');
    await expect(rows).toHaveCount(11);
    for (const [text, count] of [
      ['many', 9],
      ['many-3', 1],
      ['nothing', 0],
      ['', 11],
    ] as const) {
      await page.getByRole('searchbox').fill(text);
      await expect(rows).toHaveCount(count);
    }
    await assertStill(t, page, 'search');
  });

  for (const width of [390, 1440]) {
    await t.test(`DNS answers that come late push nothing at ${width} px`, async (t) => {
      const page = await visit(t, browser, product, { account, viewport: { width, height: 900 } });
      await page.addInitScript(watchShifts);
      const held = Promise.withResolvers<void>();
      await page.route('**/api/tunnels/connected/domains?*', async (route) => {
        await held.promise;
        await route.continue();
      });
      await page.goto(projectUrl(account, 'tunnels/connected'));
      await expect(page.getByText('nowhere.example.com').first()).toBeVisible();
      await expect(page.getByText('Loading', { exact: true }).first()).toBeVisible();
      await expect(page.getByRole('heading', { name: 'Connected clients' })).toBeVisible();
      held.resolve();
      await expect(page.getByText('No DNS')).toHaveCount(3);
      await expect(page.getByRole('heading', { name: 'Setup' })).toBeAttached();
      await page.waitForLoadState('networkidle');
      await assertStill(t, page, `${width} px`);
    });
  }
});
