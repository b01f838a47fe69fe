// A real Chromium for tests that use the product as a person does. Each visit has its own storage and closes when its test ends.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Browser, type BrowserContextOptions, chromium, expect as expectWithin, type Page } from '@playwright/test';
import axe from 'axe-core';
import type { Account, Product } from './product.ts';
import { slowDown } from './slow.ts';
import { requireTool } from './tool.ts';

/** Chromium obeys the last list only, so the list of Playwright comes first. */
const disabledFeatures = [
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'HttpsUpgrades', 'LensOverlay', 'MediaRouter'],
  ...['HttpsFirstBalancedModeAutoEnable', 'PaintHolding', 'ThirdPartyStoragePartitioning', 'OptimizationHints', 'AimEnabled'],
  ...['AvoidCorsURLLoaderRestartOnRedirect', 'NetworkTimeServiceQuerying', 'PreconnectToSearch'],
  // Without a window, Chromium still loads two pages for the address bar of each context: half of what a visit costs.
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'],
];

const args = [
  `--disable-features=${disabledFeatures}`,
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** Long, because a page is slow on a busy machine. */
const timeoutMs = 30_000;

export const expect = expectWithin.configure({ timeout: timeoutMs });

/** Errors of `expect` hold the whole page in a property, and node:test prints properties. The message alone says enough. */
function leavePagesOutOfErrors(): void {
  try {
    expect(true).toBe(false);
  } catch (error) {
    Object.defineProperty(Object.getPrototypeOf(error), 'matcherResult', { set: () => {} });
  }
}
leavePagesOutOfErrors();

export const launchChromium = (): Promise<Browser> => chromium.launch({ executablePath: requireTool('chromium'), args });

export interface VisitOptions extends Pick<BrowserContextOptions, 'viewport' | 'colorScheme' | 'ignoreHTTPSErrors'> {
  /** The account that is signed in; absent means signed out. */
  readonly account?: Account;
  /** Console errors that the page may report; any other fails the test. */
  readonly expectedErrors?: RegExp;
}

/** Opens a page in its own browser context. A script error or an unexpected console error fails the test. */
export async function visit(
  t: TestContext,
  browser: Browser,
  product: Pick<Product, 'origin'>,
  options: VisitOptions = {},
): Promise<Page> {
  const { expectedErrors, account, ...context } = options;
  const opened = await browser.newContext({ baseURL: product.origin, reducedMotion: 'reduce', ...context });
  if (account) await opened.addCookies(cookiesOf(account, product.origin));
  opened.setDefaultTimeout(timeoutMs);
  const page = await opened.newPage();
  await slowDown(page);
  const problems: string[] = [];
  const note = (text: string) =>
    expectedErrors?.test(text) || isSignedOutNote(text) || isNetworkNote(text) || problems.push(text);
  page.on('pageerror', (error) => note(error.message));
  page.on('console', (message) => message.type() === 'error' && note(`${message.text()} ${message.location().url}`));
  t.after(async () => {
    // A route's handler may still be busy with a request that the page made at the end.
    for (const each of opened.pages()) await each.unrouteAll({ behavior: 'ignoreErrors' });
    await opened.close();
    // Assert in the last hook: a hook that throws skips the hooks after it, and what they should stop keeps the process alive.
    t.after(() => assert.deepEqual(problems, [], 'the page reported errors'));
  });
  return page;
}

/** A page copies asynchronously: poll this. The browser context needs the clipboard permissions. */
export const readClipboard = (page: Page): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');

function cookiesOf({ cookie }: Account, url: string) {
  return cookie.split('; ').map((pair) => {
    const [name = '', value = ''] = pair.split('=');
    return { name, value, url };
  });
}

/** Chromium logs every 401 of the API as an error; for a signed-out visitor it is the expected answer. */
const isSignedOutNote = (text: string) => /status of 401 .*\/api\/[a-z]+/.test(text);

/**
 * Requests that failed because this machine gained or lost an address, or because the test took the browser offline: not the
 * page's fault. The test itself checks how the page copes.
 */
const isNetworkNote = (text: string) => /net::ERR_(NETWORK_CHANGED|INTERNET_DISCONNECTED)/.test(text);

const standards = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds on the page now, one line for each element; tests expect an empty list. */
export async function findAccessibilityProblems(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const options = { runOnly: standards, resultTypes: ['violations'] };
  return page.evaluate<string[]>(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`,
  );
}

/** A busy browser lays out an open list some frames after the window changes size. */
const settleMs = 15_000;

/** Asserts that the page fits the width of its window (WCAG 1.4.10). */
export async function assertNoSidewaysScroll(page: Page): Promise<void> {
  const endsAt = performance.now() + settleMs;
  while (true) {
    const [content, room] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]');
    if (content <= room) return;
    assert.ok(performance.now() < endsAt, `${page.url()} is ${content} px wide in a window of ${room} px`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
