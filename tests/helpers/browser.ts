// A real Chromium for tests that use the product as a person does. Each visit has its own storage and ends with its test.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { AxeBuilder } from '@axe-core/playwright';
import { type Browser, type BrowserContextOptions, chromium, expect as expectWithin, type Page } from '@playwright/test';
import type { Account, Product } from './product.ts';
import { slowDown } from './slow.ts';
import { requireTool } from './tool.ts';

const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** A busy machine is slow, not wrong. */
const timeoutMs = 30_000;

export const expect = expectWithin.configure({ timeout: timeoutMs });

/** An error of `expect` has the whole page in a property, and node:test prints properties. The message says what matters. */
function leavePagesOutOfErrors(): void {
  try {
    expect(true).toBe(false);
  } catch (error) {
    Object.defineProperty(Object.getPrototypeOf(error), 'matcherResult', { set: () => {} });
  }
}
leavePagesOutOfErrors();

export const launchChromium = (): Promise<Browser> => chromium.launch({ executablePath: requireTool('chromium'), args });

export interface VisitOptions extends Pick<BrowserContextOptions, 'viewport' | 'colorScheme'> {
  /** Who is signed in; without it nobody is. */
  readonly account?: Account;
  /** What the page may write to the console as an error; anything else fails the test. */
  readonly expectedErrors?: RegExp;
}

/** A page in a context of its own. A script error, or an error in the console that was not expected, fails the test. */
export async function visit(t: TestContext, browser: Browser, product: Product, options: VisitOptions = {}): Promise<Page> {
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
    await opened.close();
    // Last of all: hooks behind one that throws are not run, and what they were to stop would hold the process.
    t.after(() => assert.deepEqual(problems, [], 'the page reported errors'));
  });
  return page;
}

/** A page writes what it copies in its own time: poll for it. The context needs the permissions for the clipboard. */
export const readClipboard = (page: Page): Promise<string> => page.evaluate<string>('navigator.clipboard.readText()');

function cookiesOf({ cookie }: Account, url: string) {
  return cookie.split('; ').map((pair) => {
    const [name = '', value = ''] = pair.split('=');
    return { name, value, url };
  });
}

/** Chromium notes every 401 of the API; each is the plain answer that nobody is signed in, and the page shows what follows. */
const isSignedOutNote = (text: string) => /status of 401 .*\/api\/[a-z]+/.test(text);

/**
 * An address of this machine came or went, or the test took the network away, also from what was still on its way: no doing of
 * the page. That the page does not mind is for the test to see.
 */
const isNetworkNote = (text: string) => /net::ERR_(NETWORK_CHANGED|INTERNET_DISCONNECTED)/.test(text);

const standards = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds on the page as it stands, in one line each; none is the aim. */
export async function findAccessibilityProblems(page: Page): Promise<readonly string[]> {
  const { violations } = await new AxeBuilder({ page }).withTags(standards).analyze();
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
}

/** A busy browser lays out an open list some frames after its window. */
const settleMs = 15_000;

/** Every screen fits its window: nothing scrolls sideways (WCAG 1.4.10). */
export async function assertNoSidewaysScroll(page: Page): Promise<void> {
  const endsAt = performance.now() + settleMs;
  while (true) {
    const [content, room] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]');
    if (content <= room) return;
    assert.ok(performance.now() < endsAt, `${page.url()} is ${content} px wide in a window of ${room} px`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
