// Signing in by link, as a person and as a mail scanner (spec 2, Login page and Token sign-in page; spec 5, Login).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import { rateLimits } from '@underpass/rules/limits.ts';
import { expect, visit } from '../helpers/browser.ts';
import { openStage } from '../helpers/dashboard.ts';
import { linkIn, waitForMail } from '../helpers/mail.ts';
import type { Product } from '../helpers/product.ts';

const operator = 'operator@underpass.localhost';
const loginMail = /login link/;

async function fillIn(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByRole('checkbox', { name: 'I am human' }).click();
  await expect(page.getByRole('checkbox', { name: 'Verified' })).toBeChecked();
}

async function askForLink(page: Page, email: string): Promise<void> {
  await page.goto('/login');
  await fillIn(page, email);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** A new login link from the operator's command, as after a lost mail: no browser has asked for it. */
const freshLink = async (product: Product): Promise<string> =>
  (JSON.parse(await product.operate('login-link', '--json')) as { url: string }).url;

const challengeUrl = '**/api/bot-check/challenge*';

/** Holds the bot check's challenge until the test releases or aborts it. */
async function holdChallenge(page: Page): Promise<PromiseWithResolvers<'release' | 'abort'>> {
  const held = Promise.withResolvers<'release' | 'abort'>();
  await page.route(challengeUrl, async (route) => ((await held.promise) === 'abort' ? route.abort() : route.continue()));
  return held;
}

/** Presses Sign in while the bot check still runs. */
async function signInDuringCheck(page: Page): Promise<PromiseWithResolvers<'release' | 'abort'>> {
  const challenge = await holdChallenge(page);
  await page.goto('/login');
  await page.getByLabel('Email').fill('nobody@example.com');
  await page.getByRole('checkbox', { name: 'I am human' }).click();
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page.getByRole('button', { name: 'Sign in', exact: true })).toHaveAttribute('aria-busy', 'true');
  return challenge;
}

async function assertSignedIn(page: Page): Promise<void> {
  await page.waitForURL(/\/projects\/[^/]+\/dashboard$/);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
}

test('signing in', async (t) => {
  const { product, browser } = await openStage(t);
  const open = (t: TestContext, expectedErrors?: RegExp) => visit(t, browser, product, expectedErrors ? { expectedErrors } : {});

  await t.test('an empty form says what is required, and focuses the first field to change', async (t) => {
    const page = await open(t);
    await page.goto('/login');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(page.getByText('Required.')).toBeVisible();
    await expect(page.getByText('Please verify you are a human.')).toBeVisible();
    await expect(page.getByLabel('Email')).toBeFocused();
    await expect(page.getByLabel('Email')).toHaveAccessibleDescription('Required.');
  });

  await t.test('as the first page it loads no router until a link is followed, and Back returns to it', async (t) => {
    const page = await open(t);
    const scripts: string[] = [];
    page.on('request', (request) => scripts.push(new URL(request.url()).pathname));
    const loadsRouter = () => scripts.some((path) => path.startsWith('/assets/application-'));
    await page.goto('/', { waitUntil: 'networkidle' });
    await expect(page).toHaveURL('/login');
    assert.equal(loadsRouter(), false);
    await page.getByRole('link', { name: 'Register' }).click();
    await expect(page.getByRole('heading', { name: 'Register' })).toBeVisible();
    assert.equal(loadsRouter(), true);
    await page.goBack();
    await expect(page).toHaveURL('/login');
    await expect(page.getByLabel('Email')).toBeEditable();
  });

  await t.test('a sign-in form that cannot be rendered shows the error page', async (t) => {
    const page = await open(t, /./);
    await page.addInitScript("Object.defineProperty(window, 'PublicKeyCredential', { get() { throw new Error('refused'); } })");
    await page.goto('/login');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/Something went wrong|Unexpected Application Error!/);
  });

  const invalid: readonly (readonly [string, string])[] = [
    ['ada', 'no domain'],
    [`${'a'.repeat(65)}@example.com`, 'a local part of 65 characters'],
    [`ada@${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.com`, 'more than 254 characters'],
  ];
  for (const [email, reason] of invalid) {
    await t.test(`an e-mail with ${reason} is refused and stays in its field`, async (t) => {
      const page = await open(t);
      await page.goto('/login');
      await page.getByLabel('Email').fill(email);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await expect(page.getByText('Not a valid email address.')).toBeVisible();
      await expect(page.getByLabel('Email')).toHaveValue(email);
    });
  }

  await t.test('an error disappears as soon as its field is valid', async (t) => {
    const page = await open(t);
    await page.goto('/login');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByLabel('Email').fill('ada@example.com');
    await expect(page.getByText('Required.')).toBeHidden();
  });

  await t.test('Sign in pressed during the bot check is busy, and completes after the check', async (t) => {
    const page = await open(t);
    const challenge = await signInDuringCheck(page);
    await expect(page.getByText('Please verify you are a human.')).toBeHidden();
    challenge.resolve('release');
    await expect(page.getByRole('heading', { name: /^We have sent an email/ })).toBeVisible();
  });

  await t.test('a browser whose clock is an hour fast signs in', async (t) => {
    const page = await open(t);
    await page.addInitScript('{ const now = Date.now; Date.now = () => now() + 3_600_000; }');
    const challenge = await holdChallenge(page);
    await page.goto('/login');
    await page.getByLabel('Email').fill('nobody@example.com');
    const check = page.getByRole('checkbox');
    await check.click();
    challenge.resolve('release');
    await expect(check).toHaveAccessibleName('Verified');
    await page.evaluate('new Promise((done) => setTimeout(done))');
    await expect(check).toBeChecked();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(page.getByRole('heading', { name: /^We have sent an email/ })).toBeVisible();
  });

  await t.test('a failed bot check ends the wait with its error, and the next one sends', async (t) => {
    const page = await open(t, /ERR_FAILED|Bot check failed/);
    const challenge = await signInDuringCheck(page);
    challenge.resolve('abort');
    const check = page.getByRole('checkbox', { name: 'The check failed. Try again.' });
    await expect(check).toHaveAccessibleDescription('Please verify you are a human.');
    await expect(page.getByRole('button', { name: 'Sign in', exact: true })).not.toHaveAttribute('aria-busy');
    await page.unroute(challengeUrl);
    await check.click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(page.getByRole('heading', { name: /^We have sent an email/ })).toBeVisible();
  });

  await t.test('the link in the mail signs in by itself, once, in the browser that asked for it', async (t) => {
    const page = await open(t, /status of 401 .*\/auth\/login$/);
    await askForLink(page, operator);
    const sent = page.getByRole('heading', { name: `We have sent an email with a login link to ${operator}` });
    await expect(sent).toBeFocused();
    const link = linkIn(await waitForMail(product, operator, loginMail));
    assert.match(link.pathname, /^\/(magiclink|login)\/[\w-]{43}$/);
    await page.goto(link.pathname);
    await assertSignedIn(page);
    await page.context().clearCookies();
    await page.goto(link.pathname);
    await expect(page.getByRole('heading', { name: 'Login failed' })).toBeVisible();
  });

  await t.test('the link leads to the page that was opened without a session, in any browser', async (t) => {
    const page = await open(t);
    await page.goto('/account?from=mail');
    await page.waitForURL('/login');
    await fillIn(page, operator);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    const mailed = async () => linkIn(await waitForMail(product, operator, loginMail));
    await expect.poll(async () => (await mailed()).hash).toBe('#/account');
    const link = await mailed();
    const other = await open(t);
    await other.goto(link.href);
    await other.getByRole('button', { name: 'Sign in here' }).click();
    await other.waitForURL('/account');
    await page.goto(await freshLink(product));
    await page.getByRole('button', { name: 'Sign in here' }).click();
    await page.waitForURL('/account?from=mail');
  });

  await t.test('any other browser signs in only by a button, and posts nothing by itself', async (t) => {
    const page = await open(t);
    const posts: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && posts.push(new URL(request.url()).pathname));
    await page.goto(await freshLink(product));
    await expect(page.getByRole('button')).toHaveCount(1);
    await expect(page.getByText('This link was requested in another browser.')).toBeVisible();
    assert.deepEqual(posts, ['/auth/link'], 'the question whose link it is consumes nothing');
    await page.getByRole('button', { name: 'Sign in here' }).click();
    await assertSignedIn(page);
  });

  await t.test('a link that cannot work fails at once, with a way back to sign in', async (t) => {
    const page = await open(t, /status of 401 .*\/auth\/login$/);
    await page.goto('/magiclink/no-such-token');
    await expect(page.getByRole('heading', { name: 'Login failed' })).toBeFocused();
    await expect(page.getByText('Login link is invalid or has expired. Sign in to get a new link.')).toBeVisible();
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.waitForURL('/login');
  });

  await t.test('login/:token is the same page as magiclink/:token', async (t) => {
    const page = await open(t);
    await page.goto((await freshLink(product)).replace('/magiclink/', '/login/'));
    await page.getByRole('button', { name: 'Sign in here' }).click();
    await assertSignedIn(page);
  });

  await t.test('without a token the page goes to /login', async (t) => {
    const page = await open(t);
    await page.goto('/magiclink');
    await page.waitForURL('/login');
  });

  await t.test('with a session, /login and a login link redirect to /, and the link stays unused', async (t) => {
    const page = await visit(t, browser, product, { account: await product.signIn() });
    await page.goto('/login');
    await assertSignedIn(page);
    const link = await freshLink(product);
    await page.goto(link);
    await assertSignedIn(page);
    const other = await open(t);
    await other.goto(link);
    await other.getByRole('button', { name: 'Sign in here' }).click();
    await assertSignedIn(other);
  });

  await t.test('logging out leads to /login by way of /, and so does every page that needs a sign-in', async (t) => {
    const page = await visit(t, browser, product, { account: await product.signIn() });
    await page.goto('/');
    await page.getByRole('button', { name: 'Account' }).click();
    await expect(page.getByText('Signed in as')).toContainText(operator);
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page.waitForURL('/login');
    await page.goto('/account');
    await page.waitForURL('/login');
  });

  await t.test('the form works after a page of another site asked for many puzzles', async (t) => {
    const page = await open(t, /Failed to load resource/);
    const images = Array.from({ length: 100 }, (_, i) => `<img src="${product.origin}/api/bot-check/challenge?${i}">`);
    const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end(images.join('')));
    await once(site.listen(0, '127.0.0.1'), 'listening');
    t.after(() => site.close());
    // The browser hides the answers from that page, but control has got the requests.
    let asked = 0;
    page.on('requestfailed', (request) => {
      if (request.url().includes('/challenge?')) asked += 1;
    });
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
    assert.ok(asked > rateLimits.botCheck.points, `${asked} puzzles`);
    await askForLink(page, 'nobody@example.com');
    await expect(page.getByRole('heading', { name: /We have sent an email/ })).toBeVisible();
  });

  await t.test('a refused request keeps the form, logs, and offers a new bot check', async (t) => {
    const page = await open(t, /status of 429|Login failed try again/);
    const logged: string[] = [];
    page.on('console', (message) => logged.push(message.text()));
    await page.goto('/login');
    await spendLinks(product);
    await fillIn(page, 'often@example.com');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(page.getByRole('alert')).toContainText('Too many login links were requested.');
    await expect.poll(() => logged.filter((line) => line.startsWith('Login failed try again')).length).toBe(1);
    await expect(page.getByLabel('Email')).toHaveValue('often@example.com');
    await expect(page.getByRole('checkbox', { name: 'I am human' })).not.toBeChecked();
    await expect(page.getByText('Please verify you are a human.')).toBeHidden();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await expect(page.getByRole('alert')).toBeHidden();
  });
});

/** Replaces Cloudflare's script, so that the test decides the result of the widget. */
const turnstileScript = "window.turnstile = { render: (place, options) => ((window.widget = options), 'one'), remove: () => {} }";

test('signing in under Turnstile', async (t) => {
  const { browser, product } = await openStage(t, {
    UNDERPASS_TURNSTILE_SITE_KEY: 'site',
    UNDERPASS_TURNSTILE_SECRET: 'a-secret-of-turnstile',
  });
  const pressedEarly = async (t: TestContext): Promise<Page> => {
    const page = await visit(t, browser, product);
    await page.route('https://challenges.cloudflare.com/**', (route) =>
      route.fulfill({ contentType: 'text/javascript', body: turnstileScript }),
    );
    await page.route('**/auth/magiclink', (route) => route.fulfill({ status: 204 }));
    await page.goto('/login');
    await expect.poll(() => page.evaluate('typeof window.widget')).toBe('object');
    await page.getByLabel('Email').fill('nobody@example.com');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    return page;
  };

  await t.test('Sign in pressed before the token arrives is busy, and completes with it', async (t) => {
    const page = await pressedEarly(t);
    await expect(page.getByRole('button', { name: 'Sign in', exact: true })).toHaveAttribute('aria-busy', 'true');
    await expect(page.getByText('Please verify you are a human.')).toBeHidden();
    const sent = page.waitForRequest('**/auth/magiclink');
    await page.evaluate("widget.callback('a-token')");
    assert.match((await sent).postData() ?? '', /a-token/);
    await expect(page.getByRole('heading', { name: /We have sent an email/ })).toBeVisible();
  });

  await t.test('a widget that asks the person ends the wait with its error', async (t) => {
    const page = await pressedEarly(t);
    await page.evaluate("widget['before-interactive-callback']()");
    await expect(page.getByText('Please verify you are a human.')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Sign in', exact: true })).not.toHaveAttribute('aria-busy', 'true');
  });

  for (const end of ['error', 'unsupported']) {
    await t.test(`a widget that cannot work (${end}) ends the wait and says so`, async (t) => {
      const page = await pressedEarly(t);
      await page.evaluate(`widget['${end}-callback']()`);
      await expect(page.getByText('The bot check could not be loaded.')).toBeVisible();
      await expect(page.getByRole('button', { name: 'Sign in', exact: true })).not.toHaveAttribute('aria-busy', 'true');
    });
  }
});

/** The limit per address counts before the bot check runs, so wrong answers use it up too. */
async function spendLinks({ origin }: Product): Promise<void> {
  for (let count = 0; count < rateLimits.loginLink.points; count += 1) {
    const body = new FormData();
    body.set('email', 'often@example.com');
    body.set('bot-check', 'wrong');
    await fetch(`${origin}/auth/magiclink`, { method: 'POST', headers: { origin }, body });
  }
}
