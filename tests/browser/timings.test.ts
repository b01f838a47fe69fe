// Measures each screen's first load as Lighthouse does, and prints it. Asserts only values that a slow machine does not change.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import { expect, visit } from '../helpers/browser.ts';
import { type DashboardStage, makeTunnel, openStage, projectUrl } from '../helpers/dashboard.ts';
import { traceLoad, whenPainted } from '../helpers/trace.ts';

interface Load {
  readonly name: string;
  readonly path: (stage: DashboardStage) => string;
  readonly signedIn: boolean;
  readonly shown: (page: Page) => Promise<unknown>;
  /** The most responses of any kind until the screen is complete. */
  readonly mostAnswers: number;
}

const loads: readonly Load[] = [
  {
    name: 'login',
    path: () => '/login',
    signedIn: false,
    shown: (page) => expect(page.getByRole('checkbox', { name: 'I am human' })).toBeVisible(),
    mostAnswers: 15,
  },
  {
    name: 'dashboard',
    path: ({ account }) => projectUrl(account, 'dashboard'),
    signedIn: true,
    shown: (page) => expect(page.getByRole('region', { name: 'Metrics' }).getByRole('definition').first()).toHaveText('1'),
    mostAnswers: 25,
  },
  {
    name: 'tunnels',
    path: ({ account }) => projectUrl(account, 'tunnels'),
    signedIn: true,
    shown: (page) => expect(page.getByRole('table', { name: 'Tunnels' })).toBeVisible(),
    mostAnswers: 25,
  },
  {
    name: 'tunnel',
    path: ({ account }) => projectUrl(account, 'tunnels/timed'),
    signedIn: true,
    shown: async (page) => {
      await expect(page.getByText('No client is connected.')).toBeVisible();
      await expect(page.getByText(/^(Peak of|No traffic)/).first()).toBeVisible();
      await expect(page.getByText('underpass http').first()).toBeVisible();
    },
    mostAnswers: 32,
  },
];

const sizes = [
  { width: 1440, height: 900 },
  // As tall as the tunnel's page on a phone, so every shift is in view.
  { width: 390, height: 3000 },
] as const;

test('first loads', async (t) => {
  const stage = await openStage(t);
  await makeTunnel(stage.account, 'timed');
  await t.test('the meter detects a busy page', async (t) => {
    const page = await visit(t, stage.browser, stage.product);
    const { blockingMs } = await traceLoad(stage.browser, page, async () => {
      await page.goto('/login');
      await expect(page.getByRole('checkbox', { name: 'I am human' })).toBeVisible();
      // Blocking time counts only after the first paint.
      await whenPainted(page);
      await page.evaluate('for (const end = performance.now() + 200; performance.now() < end; );');
    });
    assert.ok(blockingMs >= 140, `${blockingMs} ms`);
  });
  for (const load of loads) await t.test(`${load.name} on a slow network`, (t) => timeSlowLoad(t, stage, load));
  for (const load of loads) {
    for (const viewport of sizes) await t.test(`${load.name} at ${viewport.width} px`, (t) => timeLoad(t, stage, load, viewport));
  }
});

async function timeLoad(t: TestContext, stage: DashboardStage, load: Load, viewport: (typeof sizes)[number]) {
  const { browser, product, account } = stage;
  const page = await visit(t, browser, product, { viewport, ...(load.signedIn ? { account } : {}) });
  let answers = 0;
  page.on('response', () => answers++);
  const timings = await traceLoad(browser, page, async () => {
    await page.goto(load.path(stage));
    await load.shown(page);
  });
  t.diagnostic(
    `${load.name} ${viewport.width}: FCP ${timings.firstContentfulPaintMs.toFixed(0)} ms, ` +
      `LCP ${timings.largestContentfulPaintMs.toFixed(0)} ms, blocking ${timings.blockingMs.toFixed(0)} ms, ` +
      `layout shift ${timings.layoutShift.toFixed(4)} in ${timings.shifts}, ${answers} answers`,
  );
  assert.ok(timings.layoutShift < 0.05, `layout shift of ${timings.layoutShift}`);
  assert.ok(answers <= load.mostAnswers, `${answers} answers`);
}

/** DevTools' Slow 4G. */
const slowNetwork = { offline: false, latency: 562.5, downloadThroughput: 180_000, uploadThroughput: 84_375 };

const largestPaint = `new Promise((done) => new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
  .observe({ type: 'largest-contentful-paint', buffered: true }))`;

/** Measures with a quarter of the CPU. Asserts nothing: on a busy machine it takes twice as long. */
async function timeSlowLoad(t: TestContext, stage: DashboardStage, load: Load) {
  const { browser, product, account } = stage;
  const viewport = sizes[0];
  const page = await visit(t, browser, product, { viewport, ...(load.signedIn ? { account } : {}) });
  const devTools = await page.context().newCDPSession(page);
  await devTools.send('Network.enable');
  await devTools.send('Network.emulateNetworkConditions', slowNetwork);
  await devTools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await page.goto(load.path(stage));
  await load.shown(page);
  t.diagnostic(`${load.name} on a slow network: LCP ${(await page.evaluate<number>(largestPaint)).toFixed(0)} ms`);
}
