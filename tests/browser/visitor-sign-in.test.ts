// Visitors of a tunnel with an access policy sign in, by each way, from the first request to the page behind the tunnel.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { providerCallbackPath } from '@underpass/rules/visit/provider-callback.ts';
import { assertNoSidewaysScroll, expect, findAccessibilityProblems, type VisitOptions, visit } from '../helpers/browser.ts';
import { connectClient, type DashboardStage, makeTunnel, openStage } from '../helpers/dashboard.ts';
import { type IdentityProvider, providerClient, startIdentityProvider } from '../helpers/identity-provider.ts';
import { linkIn, waitForMail } from '../helpers/mail.ts';

const visitor = 'visitor@example.com';
const password = 'correct horse';

/** Names its own icon, because Chromium asks for /favicon.ico when it likes, and after the cookies are cleared that is a 401. */
const appHead = '<!doctype html><link rel="icon" href="data:,"><title>App</title>';

/** An app that says who the edge says is there. */
async function startApp(t: TestContext): Promise<string> {
  const server = createServer(({ url, headers }, response) => {
    response.setHeader('content-type', 'text/html');
    response.end(`${appHead}<h1>${url}</h1><p>${headers['x-underpass-email'] ?? 'nobody'}</p>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface VisitedTunnel {
  readonly stage: DashboardStage;
  /** The address of the tunnel, with a path and a query. */
  readonly url: string;
  readonly provider: IdentityProvider;
  readonly makeLink: () => Promise<string>;
}

async function prepareTunnel(t: TestContext): Promise<VisitedTunnel> {
  const stage = await openStage(t);
  const { account, product } = stage;
  const inProject = `?project=${account.project}`;
  const provider = await startIdentityProvider(t, (issuer) => product.origin + providerCallbackPath(account.project, issuer));
  const { id: clientId, secret: clientSecret } = providerClient;
  const policy = {
    name: 'Staff',
    members: true,
    people: [visitor],
    password,
    provider: { issuer: provider.issuer, clientId, clientSecret, label: 'Firm', people: ['*@firm.example'] },
  };
  const made = await account.call('POST', `/api/access-policies${inProject}`, policy);
  assert.equal(made.status, 200, JSON.stringify(made.body));
  const tunnel = await makeTunnel(account, 'web');
  await connectClient(t, tunnel, await startApp(t));
  await account.call<Tunnel>('PATCH', `/api/tunnels/web${inProject}`, { accessPolicy: 'Staff' });
  const makeLink = async (): Promise<string> => {
    const path = `/api/access-policies/Staff/links${inProject}`;
    return (await account.call<{ urls: string[] }>('POST', path, { name: 'Review', mostUses: 1 })).body.urls[0]!;
  };
  return { stage, url: `${tunnel.ingressDomains[0]!.url}/cart?item=7`, provider, makeLink };
}

/** Chromium reports the answers of a page with an error as errors of the console. */
const open = ({ stage }: VisitedTunnel, t: TestContext, options: VisitOptions): Promise<Page> =>
  visit(t, stage.browser, stage.product, { ignoreHTTPSErrors: true, expectedErrors: /status of (403|404)/, ...options });

async function checkPage(page: Page): Promise<void> {
  assert.deepEqual(await findAccessibilityProblems(page), []);
  await assertNoSidewaysScroll(page);
  await expect(page.getByRole('heading', { level: 1 })).toHaveCount(1);
  await page.evaluate('document.fonts.ready');
  assert.equal(await page.evaluate("[...document.fonts].some(({ status }) => status === 'loaded')"), true, 'the font');
}

async function arrive({ url }: VisitedTunnel, page: Page): Promise<void> {
  await page.goto(url);
  await expect(page.getByRole('heading', { name: `Sign in to ${new URL(url).hostname}` })).toBeVisible();
}

async function assertInside({ url }: VisitedTunnel, page: Page, email: string, path = '/cart?item=7'): Promise<void> {
  await expect(page.getByRole('heading', { name: path, exact: true })).toBeVisible();
  await expect(page.getByText(email)).toBeVisible();
  assert.equal(page.url(), new URL(path, url).href, 'a ticket or a state stays in the address');
}

const ways: Readonly<Record<string, (visited: VisitedTunnel, page: Page) => Promise<void>>> = {
  'a code by e-mail': async (visited, page) => {
    await arrive(visited, page);
    await checkPage(page);
    await page.getByLabel('Email').fill(visitor);
    await page.keyboard.press('Enter');
    await expect(page.getByRole('heading', { name: 'Enter the code' })).toBeVisible();
    await checkPage(page);
    const sent = async () =>
      /^[A-Z]{4}-[A-Z]{4}$/m.exec((await waitForMail(visited.stage.product, visitor, /^Your code/)).text)![0];
    const code = await sent();
    await page.getByLabel('Code').fill(code === 'BBBB-BBBB' ? 'CCCC-CCCC' : 'BBBB-BBBB');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByLabel('Code')).toHaveAccessibleDescription(/This code is wrong/);
    await expect(page.getByLabel('Code')).toBeFocused();
    await checkPage(page);
    await page.getByLabel('Code').fill(await sent());
    await page.keyboard.press('Enter');
    await assertInside(visited, page, visitor);
  },
  'a password': async (visited, page) => {
    await arrive(visited, page);
    await page.getByLabel('Password').fill('something else');
    await page.keyboard.press('Enter');
    await expect(page.getByLabel('Password')).toHaveAccessibleDescription(/password is wrong/);
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await assertInside(visited, page, 'nobody');
  },
  'an identity provider': async (visited, page) => {
    // The provider's own pages ask for fonts.
    await page.route('https://fonts.googleapis.com/**', (route) => route.fulfill({ body: '' }));
    visited.provider.people.set('bob', { sub: 'bob', email: 'bob@firm.example', email_verified: true });
    await arrive(visited, page);
    await page.getByRole('link', { name: 'Sign in with Firm' }).click();
    await page.getByPlaceholder('Enter any login').fill('bob');
    await page.getByPlaceholder('and password').fill('any');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Continue' }).click();
    await assertInside(visited, page, 'bob@firm.example');
  },
  'a share link': async (visited, page) => {
    const link = await visited.makeLink();
    await page.goto(link);
    await checkPage(page);
    assert.ok(!page.url().includes('#'), 'the secret stays in the address bar and the history');
    await page.getByRole('link', { name: /^Open / }).click();
    await assertInside(visited, page, 'nobody', '/');
    await page.context().clearCookies();
    await page.goto(link);
    await page.getByRole('link', { name: /^Open / }).click();
    await expect(page.getByText('It has no uses left.')).toBeVisible();
    await checkPage(page);
  },
};

const screens: readonly Required<Pick<VisitOptions, 'viewport' | 'colorScheme'>>[] = [
  { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
  { viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
];

test('visitors of a protected tunnel', async (t) => {
  const visited = await prepareTunnel(t);
  for (const screen of screens) {
    for (const [name, signIn] of Object.entries(ways)) {
      await t.test(`sign in by ${name}, ${screen.viewport!.width} px wide`, async (t) =>
        signIn(visited, await open(visited, t, screen)),
      );
    }
    await t.test(`who are members continue with their account, ${screen.viewport!.width} px wide`, async (t) => {
      const { account } = visited.stage;
      const page = await open(visited, t, { ...screen, account });
      await arrive(visited, page);
      await page.getByRole('link', { name: 'Continue with your Underpass account' }).click();
      await assertInside(visited, page, account.email);
    });
  }

  await t.test('who are members and signed out come back from the sign-in of the dashboard', async (t) => {
    const { account, product } = visited.stage;
    const page = await open(visited, t, {});
    await arrive(visited, page);
    await page.getByRole('link', { name: 'Continue with your Underpass account' }).click();
    await page.getByLabel('Email').fill(account.email);
    await page.getByRole('checkbox', { name: 'I am human' }).click();
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await expect(page.getByText('We have sent an email')).toBeVisible();
    await page.goto(linkIn(await waitForMail(product, account.email, /login link/)).href);
    await assertInside(visited, page, account.email);
  });
});
