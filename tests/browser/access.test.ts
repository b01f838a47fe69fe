// Access policies: list, editor, tokens, links, the test of a policy, the sign-in log, and the choice of a policy for a tunnel.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import type { Page, Route } from '@playwright/test';
import { expect, readClipboard } from '../helpers/browser.ts';
import {
  type DashboardStage,
  makeTunnel,
  makeVerifiedDomain,
  openStage,
  projectUrl,
  withoutSession,
} from '../helpers/dashboard.ts';
import { checkScreen } from '../helpers/screens.ts';

test('access policies', async (t) => {
  const stage = await openStage(t);
  const web = await makeTunnel(stage.account, 'web');
  await t.test('list and editor', (t) => editorTests(t, stage));
  await t.test('tunnel', (t) => tunnelTests(t, stage));
  await t.test('delete', (t) => deleteTests(t, stage));
  await t.test('tokens, links and test', (t) => tabTests(t, stage, web.ingressDomains[0]!.url));
  await t.test('log and roles', (t) => logTests(t, stage, web.ingressDomains[0]!.name));
  await t.test('screens', (t) => screenTests(t, stage));
});

const phone = { width: 390, height: 844 };
const list = (page: Page, name: string) => page.getByRole('list', { name, exact: true }).getByRole('listitem');
const policyPath = ({ account }: DashboardStage) => `/api/access-policies/Staff?project=${account.project}`;

interface Policy {
  readonly rules: readonly { readonly path: string; readonly action: string }[];
  readonly password: boolean;
  readonly sessionHours: number;
}

const readPolicy = async (stage: DashboardStage) => (await stage.account.call<Policy>('GET', policyPath(stage))).body;

async function editorTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account } = stage;

  await t.test('the empty list says what a policy is, and one is created with the keyboard, on a phone', async (t) => {
    const page = await stage.open(t, 'access', { viewport: phone });
    await expect(page.getByText('An access policy says who may visit an http tunnel')).toBeVisible();
    await page.getByRole('button', { name: 'Add Access Policy' }).first().focus();
    await page.keyboard.press('Enter');
    const panel = page.getByRole('dialog', { name: 'New Access Policy' });
    await expect(panel.getByLabel('Name')).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(panel.getByText('Name is required.')).toBeVisible();
    await page.keyboard.type('Staff');
    await panel.getByRole('textbox', { name: 'People' }).focus();
    await page.keyboard.type('ada@example.com, *@Firm.com');
    await page.keyboard.press('Enter');
    await expect(list(page, 'People')).toHaveText(['ada@example.com', '*@firm.com']);
    await panel.getByLabel('Name').press('Enter');
    await expect(page).toHaveURL(projectUrl(account, 'access/policies/Staff'));
    await expect(page.getByRole('switch', { name: 'Members of the project' })).toBeChecked();
    await expect(page).toHaveTitle('Staff · Underpass');
  });

  await t.test('rules are added, moved with the keyboard and saved in that order', async (t) => {
    const page = await stage.open(t, 'access/policies/Staff');
    for (const path of ['/docs/*', 'admin']) {
      await page.getByRole('button', { name: 'Add rule' }).click();
      await page.keyboard.type(path);
    }
    await page.getByLabel('Action of rule 2').selectOption('deny');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText("Path must begin with '/'.")).toBeVisible();
    await expect(page.getByLabel('Path of rule 2')).toBeFocused();
    await page.keyboard.press('Home');
    await page.keyboard.type('/');
    await page.getByRole('button', { name: 'Move rule 1 down' }).focus();
    await page.keyboard.press('Enter');
    await expect(page.getByLabel('Path of rule 1')).toHaveValue('/admin');
    await expect(page.getByRole('button', { name: 'Move rule 2 down' })).toBeFocused();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('Access policy Staff saved.').first()).toBeVisible();
    const { rules } = await readPolicy(stage);
    assert.deepEqual(rules, [
      { path: '/admin', action: 'deny' },
      { path: '/docs/*', action: 'public' },
    ]);
  });

  await t.test(
    'unsaved changes survive another tab and are asked about, and a policy says if it admits all or none',
    async (t) => {
      const page = await stage.open(t, 'access/policies/Staff');
      await page.getByLabel('Path of rule 1').fill('/*');
      await expect(page.getByText('Nobody may visit.')).toBeVisible();
      await page.getByLabel('Action of rule 1').selectOption('public');
      await expect(page.getByText('Everybody may visit everything.')).toBeVisible();
      await page.getByRole('tab', { name: 'Tokens' }).click();
      await expect(page).toHaveURL(/\?tab=tokens$/);
      await expect(page.getByText('are not saved yet')).toBeVisible();
      await page.getByRole('link', { name: 'Back', exact: true }).click();
      await page.getByRole('dialog', { name: 'Discard what you entered?' }).getByRole('button', { name: 'Keep editing' }).click();
      await page.getByRole('tab', { name: 'Visitors' }).click();
      await expect(page.getByLabel('Path of rule 1')).toHaveValue('/*');
      await page.getByRole('button', { name: 'Cancel' }).click();
      await expect(page.getByLabel('Path of rule 1')).toHaveValue('/admin');
    },
  );

  await t.test('a password is set, kept by another save and removed', async (t) => {
    const page = await stage.open(t, 'access/policies/Staff');
    const saved = page.getByText('Access policy Staff saved.').first();
    const save = async () => {
      // The button is disabled while it saves, and the notice of the save before may still be there.
      const answered = page.waitForResponse((response) => response.request().method() === 'PATCH');
      await page.getByRole('button', { name: 'Save' }).click();
      await answered;
      await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled();
      await expect(saved).toBeVisible();
    };
    await page.getByRole('switch', { name: 'Password' }).click();
    await page.getByLabel('Password to visit').fill('correct horse');
    await save();
    await expect(page.getByText('A password is set.')).toBeVisible();
    await page.getByLabel('A sign-in lasts').selectOption('8');
    await save();
    assert.deepEqual([(await readPolicy(stage)).password, (await readPolicy(stage)).sessionHours], [true, 8]);
    await page.getByRole('switch', { name: 'Password' }).click();
    await save();
    assert.equal((await readPolicy(stage)).password, false);
  });

  await t.test('a provider shows the address to register, and must admit somebody', async (t) => {
    const page = await stage.open(t, 'access/policies/Staff');
    await page.getByRole('switch', { name: 'Sign-in provider' }).click();
    await expect(page.getByText('once you have entered its issuer', { exact: false })).toBeVisible();
    await page.getByLabel('Issuer').fill('https://id.example.com');
    const address = `${stage.product.origin}/access/oidc/callback/${account.project}/id.example.com`;
    await expect(page.getByLabel('Redirect URI')).toHaveText(address);
    await page.getByLabel('Client ID').fill('web');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByText('List who may sign in', { exact: false })).toBeVisible();
  });
}

async function tunnelTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await t.test('a tunnel gets a policy in its update panel, and its page leads to the policy', async (t) => {
    const page = await stage.open(t, 'tunnels/web');
    await page.getByRole('button', { name: 'Tunnel actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const choice = page.getByLabel('Access policy');
    await expect(choice).toHaveValue('');
    await choice.selectOption('Staff');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Staff' }).click();
    await expect(page.getByText('Used by web')).toBeVisible();
    await page.getByRole('link', { name: 'Access', exact: true }).click();
    await expect(page.getByRole('row', { name: /Staff/ })).toContainText('Members, 2 people');
  });

  await t.test('an ingress tunnel says why it takes none', async (t) => {
    await makeVerifiedDomain(stage, 'example.org');
    await makeTunnel(stage.account, 'passed', { type: 'ingress', ingressDomains: ['passed.example.org'] });
    const page = await stage.open(t, 'tunnels/passed');
    await page.getByRole('button', { name: 'Tunnel actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const sentence = 'An access policy needs an http tunnel: the service cannot see inside an ingress tunnel.';
    await expect(page.getByText(sentence)).toBeVisible();
  });

  await t.test('a policy in use is not deleted, and the palette finds it', async (t) => {
    const page = await stage.open(t, 'dashboard', { expectedErrors: /409/ });
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('staff');
    await page.getByRole('option', { name: 'Staff' }).click();
    await page.getByRole('button', { name: 'Policy actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const question = page.getByRole('dialog', { name: 'Delete Access Policy' });
    await question.getByRole('button', { name: 'Delete' }).click();
    await expect(question.getByRole('alert')).toContainText("'web'");
  });
}

/** The next request to `url` waits for `resolve()`, and fails. */
async function failNext(page: Page, url: RegExp) {
  const answer = Promise.withResolvers<void>();
  const fail = (route: Route) => answer.promise.then(() => route.fulfill({ status: 500, body: 'No room left.' }));
  await page.route(url, fail, { times: 1 });
  return answer;
}

async function deleteTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await t.test('a policy with unsaved changes is deleted without a second question', async (t) => {
    const { account } = stage;
    await account.call('POST', `/api/access-policies?project=${account.project}`, { name: 'Brief' });
    const page = await stage.open(t, 'access/policies/Brief');
    await page.getByRole('switch', { name: 'Members of the project' }).click();
    await page.getByRole('button', { name: 'Policy actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: 'Delete Access Policy' }).getByRole('button', { name: 'Delete' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'access'));
  });
}

async function tabTests(t: TestContext, stage: DashboardStage, url: string): Promise<void> {
  await t.test('a token is shown once with an example, and can be revoked', async (t) => {
    const page = await stage.open(t, 'access/policies/Staff?tab=tokens', { expectedErrors: /500/ });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Create token' }).click();
    await page.getByLabel('Name').fill('health check');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Your new machine token' });
    const token = await dialog.getByLabel('Machine token').innerText();
    await dialog.getByRole('button', { name: 'Copy the curl command' }).click();
    await expect.poll(() => readClipboard(page)).toBe(`curl -H "authorization: Bearer ${token}" ${url}`);
    await page.mouse.click(5, 5);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await expect(page.getByRole('row', { name: /health check/ })).toBeVisible();
    await expect(dialog).toBeHidden();
    assert.ok(!(await page.content()).includes(token), 'the token is still in the page');
    await testWith(page, token);
    await page.getByRole('tab', { name: 'Tokens' }).click();
    const answer = await failNext(page, /\/tokens\/[^/]+\?/);
    const question = page.getByRole('dialog', { name: 'Revoke Machine Token' });
    await page.getByRole('button', { name: 'Revoke health check' }).click();
    await question.getByRole('button', { name: 'Revoke' }).click();
    await page.keyboard.press('Escape');
    await expect(question.getByRole('button', { name: 'Cancel' })).toBeDisabled();
    answer.resolve();
    await expect(question.getByRole('alert')).toContainText('No room left.');
    await question.getByRole('button', { name: 'Revoke' }).click();
    await expect(page.getByText('No machine tokens.')).toBeVisible();
  });

  await t.test('a share link is shown once, with its bounds', async (t) => {
    const page = await stage.open(t, 'access/policies/Staff?tab=links', { viewport: phone });
    await page.getByRole('button', { name: 'Create link' }).click();
    await page.getByLabel('Name').fill('design review');
    await page.getByLabel('Number of uses').fill('0');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await expect(page.getByText('Type a number from 1 to 10,000.')).toBeVisible();
    await page.getByLabel('Number of uses').fill('3');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await expect(list(page, 'Share link')).toHaveCount(1);
    await expect(list(page, 'Share link')).toContainText('#');
    await page.mouse.click(5, 5);
    await page.getByRole('button', { name: 'Done' }).click();
    await expect(page.getByRole('row', { name: /design review/ })).toContainText('0 of 3');
  });

  await t.test('a program of a visitor is listed, and can be revoked', async (t) => {
    const page = await stage.open(t, 'access/policies/Staff?tab=programs');
    await expect(page.getByText('No programs.')).toBeVisible();
    const program = {
      ...{ id: 'p1', name: 'Scribe', site: 'scribe.example', host: new URL(url).host, who: 'eve@example.net', method: 'email' },
      ...{ connectedAt: '2026-11-20T10:00:00Z', endsAt: '2026-11-21T10:00:00Z' },
    };
    let rows = [program];
    await page.route(/\/programs(\/p1)?\?/, async (route) => {
      if (route.request().method() === 'DELETE') rows = [];
      await route.fulfill(rows.length === 0 && route.request().method() === 'DELETE' ? { status: 204 } : { json: rows });
    });
    await page.reload();
    await expect(page.getByRole('row', { name: /Scribe/ })).toContainText('eve@example.net');
    await page.getByRole('button', { name: 'Revoke Scribe' }).click();
    await page.getByRole('dialog', { name: 'Revoke Program' }).getByRole('button', { name: 'Revoke' }).click();
    await expect(page.getByText('No programs.')).toBeVisible();
  });

  await t.test('the test shows what control answers', async (t) => {
    const page = await stage.open(t, 'access/policies/Staff?tab=test');
    await expect(page.getByLabel('URL')).toHaveValue(`${url}/`);
    const answer = page.waitForResponse(/\/test\?/);
    await page.getByLabel('Visitor').selectOption('A person');
    await page.getByLabel('Email').fill('eve@example.net');
    await page.getByRole('button', { name: 'Use my address' }).click();
    await expect(page.getByLabel('Source address')).toHaveValue('127.0.0.1');
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    const { why } = (await (await answer).json()) as { readonly why: readonly string[] };
    const outcome = page.getByRole('region', { name: 'Outcome' });
    await expect(outcome.getByText('Refused')).toBeVisible();
    await expect(outcome.getByRole('listitem')).toHaveText([...why]);
    await page.getByLabel('URL').fill(`${url}/docs/a`);
    await page.getByRole('button', { name: 'Test', exact: true }).click();
    await expect(outcome.getByText('Allowed', { exact: true })).toBeVisible();
    await expect(outcome.getByText('/docs/*: Public')).toBeVisible();
  });

  await t.test('visitors are signed out: one person by address, or everybody', async (t) => {
    const page = await stage.open(t, 'access/policies/Staff', { expectedErrors: /500/ });
    await page.getByRole('button', { name: 'Policy actions' }).click();
    await page.getByRole('menuitem', { name: 'Sign out visitors' }).click();
    const dialog = page.getByRole('dialog', { name: 'Sign out visitors' });
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await expect(dialog.getByText('Required.')).toBeVisible();
    await dialog.getByLabel('Email').fill('ada@example.com');
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await expect(page.getByText('ada@example.com is signed out of Staff.').first()).toBeVisible();
    await page.getByRole('button', { name: 'Policy actions' }).click();
    await page.getByRole('menuitem', { name: 'Sign out visitors' }).click();
    await dialog.getByText('Everybody').click();
    const answer = await failNext(page, /\/sign-out\?/);
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await page.keyboard.press('Escape');
    answer.resolve();
    await expect(dialog.getByRole('alert')).toContainText('No room left.');
    await dialog.getByRole('button', { name: 'Sign out' }).click();
    await expect(page.getByText('Everybody is signed out of Staff.').first()).toBeVisible();
  });
}

/** The token that was just created opens the tunnel. */
async function testWith(page: Page, token: string): Promise<void> {
  await page.getByRole('tab', { name: 'Test' }).click();
  await page.getByLabel('Visitor').selectOption('token');
  await page.getByLabel('Machine token').fill(token);
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await expect(page.getByRole('region', { name: 'Outcome' }).getByText('Allowed', { exact: true })).toBeVisible();
}

const signIn = (id: string, change: object = {}) => ({
  ...{ id, at: '2026-11-20T10:11:12.000Z', policy: 'Staff', host: 'web.example.com', who: 'ada@example.com' },
  ...{ method: 'member', allowed: true, reason: '', address: '203.0.113.7', ...change },
});
const refused = { who: 'eve@example.net', method: 'email', allowed: false, reason: 'The policy does not admit this visitor.' };

/** A log of three entries on two pages. */
const logPages = {
  first: { entries: [signIn('3'), signIn('2', refused)], next: '2' },
  second: { entries: [signIn('1', { who: 'design review', method: 'link' })], next: null, previous: '1' },
};

async function showLog(page: Page): Promise<void> {
  await page.route('**/api/access-sign-ins?*', (route) =>
    route.fulfill({ json: route.request().url().includes('before=2') ? logPages.second : logPages.first }),
  );
}

async function logTests(t: TestContext, stage: DashboardStage, host: string): Promise<void> {
  await t.test('a sign-in of a member is in the log', async (t) => {
    const { product, account } = stage;
    const state = randomBytes(32).toString('base64url');
    const headers = { cookie: account.cookie };
    const answer = await fetch(`${product.origin}/access/member/${host}/${state}`, { headers, redirect: 'manual' });
    assert.equal(answer.status, 303);
    const page = await stage.open(t, 'access/policies/Staff');
    await page.getByRole('link', { name: 'Sign-in log' }).click();
    const row = page.getByRole('row', { name: account.email });
    await expect(row).toContainText('Member');
    await expect(row).toContainText('Allowed');
    await expect(row).toContainText(host);
  });

  await t.test('the log names who, how and why not, goes back page by page, and is filtered by policy', async (t) => {
    const page = await stage.open(t, 'access');
    await showLog(page);
    await page.getByRole('link', { name: 'Sign-in log' }).click();
    await expect(page.getByRole('row', { name: /eve@example.net/ })).toContainText('The policy does not admit this visitor.');
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect(page.getByRole('row', { name: /design review/ })).toContainText('Share link');
    await expect(page.getByRole('button', { name: /^Sign / })).toBeHidden();
    await page.getByRole('link', { name: 'Previous page' }).click();
    await page.getByRole('button', { name: 'Sign ada@example.com out of Staff' }).click();
    const question = page.getByRole('dialog', { name: 'Sign out visitors' });
    await expect(question.getByLabel('Email')).toHaveValue('ada@example.com');
    await question.getByRole('button', { name: 'Sign out' }).click();
    await expect(page.getByText('ada@example.com is signed out of Staff.').first()).toBeVisible();
    const sought = page.waitForRequest(/access-sign-ins\?.*q=eve/);
    await page.getByRole('searchbox', { name: 'Search sign-ins' }).fill('eve');
    await sought;
    await page.getByRole('searchbox', { name: 'Search sign-ins' }).fill('');
    const asked = page.waitForRequest(/access-sign-ins\?.*policy=Staff/);
    await page.getByLabel('Policy').selectOption('Staff');
    await asked;
    await expect(page).toHaveURL(/\?policy=Staff$/);
  });

  await t.test('a viewer reads a policy without controls', async (t) => {
    const page = await stage.open(t, 'dashboard');
    await withoutSession(page);
    await page.route('**/api/projects', async (route) => {
      const projects = (await (await route.fetch()).json()) as readonly object[];
      await route.fulfill({ json: projects.map((project) => ({ ...project, role: 'viewer' })) });
    });
    await page.goto(projectUrl(stage.account, 'access/policies/Staff'));
    await expect(page.getByLabel('Path of rule 1')).toBeDisabled();
    for (const name of ['Save', 'Add rule', 'Policy actions', 'Remove rule 1'])
      await expect(page.getByRole('button', { name })).toBeHidden();
    await page.getByRole('tab', { name: 'Links' }).click();
    await expect(page.getByRole('row', { name: /design review/ })).toBeVisible();
    await expect(page.getByRole('button', { name: /Create link|Revoke/ })).toBeHidden();
    await page.goto(projectUrl(stage.account, 'access'));
    await expect(page.getByRole('row', { name: /Staff/ })).toBeVisible();
    await expect(page.getByRole('link', { name: 'Sign-in log' })).toBeHidden();
    await page.goto(projectUrl(stage.account, 'access/policies/Staff?tab=programs'));
    await expect(page.getByLabel('Path of rule 1')).toBeDisabled();
    await expect(page.getByRole('tab', { name: 'Programs' })).toBeHidden();
  });
}

async function screenTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const at = (path: string) => projectUrl(stage.account, path);
  const row = (name: RegExp) => (page: Page) => page.getByRole('row', { name }).waitFor();
  const screens = [
    { name: 'access-policies', path: at('access'), ready: row(/Staff/) },
    {
      name: 'access-policy',
      path: at('access/policies/Staff'),
      ready: (page: Page) => page.getByLabel('Path of rule 1').waitFor(),
    },
    { name: 'access-links', path: at('access/policies/Staff?tab=links'), ready: row(/design review/) },
    { name: 'access-sign-ins', path: at('access/sign-ins'), ready: row(/eve@/), prepare: showLog },
    { name: 'access-policy-new', path: at('access'), ready: startPolicy },
    { name: 'access-policy-errors', path: at('access/policies/Staff'), ready: saveEmptyFields },
    { name: 'access-token-new', path: at('access/policies/Staff?tab=tokens'), ready: createToken },
    { name: 'access-test', path: at('access/policies/Staff?tab=test'), ready: testWithoutSignIn },
  ];
  for (const screen of screens) await checkScreen(t, stage, screen);
}

async function startPolicy(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add Access Policy' }).first().click();
  await page.getByRole('textbox', { name: 'People' }).fill('ada@example.com, ada');
  await page.getByRole('textbox', { name: 'People' }).press('Enter');
  await expect(page.getByText("Not an email address or '*@' and a domain: 'ada'.")).toBeVisible();
}

async function saveEmptyFields(page: Page): Promise<void> {
  for (const name of ['Sign-in provider', 'Password']) await page.getByRole('switch', { name }).click();
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Client ID is required.')).toBeVisible();
}

async function createToken(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create token' }).click();
  await page.getByLabel('Name').fill('health check');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await expect(page.getByRole('dialog', { name: 'Your new machine token' })).toBeVisible();
}

async function testWithoutSignIn(page: Page): Promise<void> {
  await expect(page.getByLabel('URL')).not.toHaveValue('');
  await page.getByRole('button', { name: 'Test', exact: true }).click();
  await expect(page.getByRole('region', { name: 'Outcome' })).toBeVisible();
}
