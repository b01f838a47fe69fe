// The screens before the sign-in, of the account, of a project's people and of the operator, in all their states.
import { test } from 'node:test';
import type { Page } from '@playwright/test';
import type { ProjectUsage } from '@underpass/rules/entity/resource.ts';
import { expect } from '../helpers/browser.ts';
import { openStage, projectUrl } from '../helpers/dashboard.ts';
import { createPerson, registerPerson, registrationStored } from '../helpers/people.ts';
import { makeReleases } from '../helpers/releases.ts';
import { checkScreen, type Screen } from '../helpers/screens.ts';

const heading = (name: string | RegExp) => (page: Page) => expect(page.getByRole('heading', { name }).first()).toBeVisible();
const table = (name: string) => (page: Page) => expect(page.getByRole('table', { name })).toBeVisible();

const link = (name: RegExp) => (page: Page) => expect(page.getByRole('link', { name }).first()).toBeVisible();

/** Opens a dialog by its button and waits until it is visible. */
const opened = (button: string, dialog: string | RegExp) => async (page: Page) => {
  await page.getByRole('button', { name: button }).first().click();
  await expect(page.getByRole('dialog', { name: dialog })).toBeVisible();
};

const nobody = null;

const publicScreens: readonly Screen[] = [
  { name: 'login', path: '/login', account: nobody, ready: heading('Sign in') },
  {
    name: 'login-errors',
    path: '/login',
    account: nobody,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await expect(page.getByText('Please verify you are a human.')).toBeVisible();
    },
  },
  {
    name: 'login-sent',
    path: '/login',
    account: nobody,
    ready: async (page) => {
      await page.getByLabel('Email').fill('a.long.name.that.somebody.really.has@subdomain.of.a.company.example.com');
      await page.getByRole('checkbox', { name: 'I am human' }).click();
      await expect(page.getByRole('checkbox', { name: 'Verified' })).toBeChecked();
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await heading(/We have sent an email/)(page);
    },
  },
  {
    name: 'register',
    path: '/register',
    account: nobody,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Register' }).click();
      await expect(page.getByText('Please accept terms of service.')).toBeVisible();
    },
  },
  { name: 'privacy-policy', path: '/privacy-policy', account: nobody, ready: heading('Privacy policy') },
  { name: 'terms-of-service', path: '/terms-of-service', account: nobody, ready: heading('Terms of service') },
  {
    name: 'link-of-another-browser',
    path: '/magiclink/some-token',
    account: nobody,
    prepare: (page) =>
      page.route('**/auth/link', (route) => route.fulfill({ json: { sameBrowser: false, usable: true } })).then(() => {}),
    ready: (page) => expect(page.getByRole('button', { name: 'Sign in here' })).toBeVisible(),
  },
  {
    name: 'login-failed',
    path: '/magiclink/some-token',
    account: nobody,
    expectedErrors: /status of 401/,
    ready: heading('Login failed'),
  },
  { name: 'report-abuse', path: '/abuse', account: nobody, ready: heading('Report abuse') },
  { name: 'not-found', path: '/no/such/page', account: nobody, ready: heading('Page not found.') },
];

test('screens before the sign-in', async (t) => {
  const stage = await openStage(t);
  for (const screen of publicScreens) await checkScreen(t, stage, screen);
});

const operatorScreens: readonly Screen[] = [
  { name: 'operator-overview', path: '/operator', ready: heading('Regions') },
  { name: 'operator-registrations', path: '/operator/registrations', ready: table('Registrations') },
  {
    name: 'operator-registrations-empty',
    path: '/operator/registrations?state=rejected',
    ready: heading('No Rejected Registrations'),
  },
  { name: 'operator-subscriptions', path: '/operator/subscriptions', ready: heading('No Subscriptions') },
  { name: 'operator-import', path: '/operator/subscriptions', ready: opened('Import CSV', 'Import Subscriptions') },
  { name: 'operator-users', path: '/operator/users', ready: table('Users') },
  { name: 'operator-projects', path: '/operator/projects', ready: table('Projects') },
  { name: 'operator-tunnels', path: '/operator/tunnels', ready: heading('No Tunnels') },
  { name: 'operator-regions', path: '/operator/regions', ready: table('Regions') },
  { name: 'operator-region-panel', path: '/operator/regions', ready: opened('Add region', 'Add region') },
  { name: 'operator-edges', path: '/operator/edges', ready: table('Edges') },
  { name: 'operator-blocks', path: '/operator/blocks', ready: table('Blocks') },
  {
    name: 'operator-block-add',
    path: '/operator/blocks?add=evil.example.com',
    ready: (page) => expect(page.getByRole('dialog', { name: 'Add Block' })).toBeVisible(),
  },
  { name: 'operator-block-import', path: '/operator/blocks', ready: opened('Import CSV', 'Import Blocks') },
  { name: 'operator-audit', path: '/operator/audit', ready: table('Audit log') },
  { name: 'operator-abuse-reports', path: '/operator/abuse-reports', ready: heading('No Open Reports') },
];

test('screens of the operator', async (t) => {
  const stage = await openStage(t);
  await registerPerson(stage.product, 'niels@example.com', 'Niels');
  await registrationStored(stage.account, 'niels@example.com');
  await stage.account.call('POST', '/api/operator/blocks', { value: '2001:db8:1234:5678::/64', reason: 'Scans ports all night' });
  await stage.account.call('POST', '/api/operator/blocks', { value: 'login.bank-of.example.com', reason: 'Phishing' });
  for (const screen of operatorScreens) await checkScreen(t, stage, screen);
});

const used = (rxBytes: number) => ({
  ...{ rxBytes, txBytes: rxBytes * 9, requests: 12_345, connections: 1_234, tunnelHours: 47.5, signIns: 12 },
});
const usage: ProjectUsage = {
  month: '2026-11',
  total: used(5.2e9),
  days: ['2026-11-01', '2026-11-02', '2026-11-26'].map((day, index) => ({ day, ...used(1.2e9 * (index + 1)) })),
  gigabytesPerMonth: 50,
  stoppedSince: '2026-11-26T10:00:00.000Z',
};

/** A month in which a limit was used up: nothing passes so many bytes in a test. */
async function usageReady(page: Page): Promise<void> {
  await page.route('**/api/usage?*', (route) => route.fulfill({ json: usage }));
  await page.reload();
  await expect(page.getByText('The traffic of this month is used up.')).toBeVisible();
  await expect(page.getByText('52.0 GB of 50 GB per month')).toBeVisible();
}

test('screens of an account and of the people in a project', async (t) => {
  const stage = await openStage(t, { UNDERPASS_RELEASES: await makeReleases(t) });
  const guest = await createPerson(stage.product, 'grace@example.com', 'Grace');
  const project = (page: string) => projectUrl(stage.account, page);
  const invite = { email: 'linus@example.com', role: 'member' };
  await stage.account.call('POST', `/api/invitations?project=${stage.account.project}`, invite);
  const accountReady = async (page: Page) => {
    await table('Sessions')(page);
    await table('Terminals and API tokens')(page);
  };
  const screens: readonly Screen[] = [
    { name: 'members', path: project('members'), ready: table('Pending invitations') },
    { name: 'invite', path: project('members'), ready: opened('Invite', 'Invite to project') },
    { name: 'tokens-empty', path: project('tokens'), ready: heading('No API Tokens') },
    { name: 'token-panel', path: project('tokens'), ready: opened('Create token', 'Create API token') },
    { name: 'audit-log', path: project('audit'), ready: table('Audit log') },
    { name: 'audit-log-nothing', path: `${project('audit')}?q=nothing-like-this`, ready: heading('No Entries Found') },
    { name: 'usage-empty', path: project('usage'), ready: (page) => expect(page.getByText(/^Nothing passed/)).toBeVisible() },
    { name: 'usage', path: project('usage'), ready: usageReady },
    { name: 'settings', path: project('settings'), ready: heading('Project settings') },
    { name: 'new-project', path: '/new-project', ready: heading('New project') },
    { name: 'account', path: '/account', ready: accountReady },
    { name: 'session-revoke', path: '/account', ready: opened('Revoke node', 'Revoke Session') },
    {
      name: 'sign-out-elsewhere',
      path: '/account',
      ready: opened('Sign out everywhere else', 'Sign Out Everywhere Else'),
    },
    { name: 'account-delete', path: '/account', ready: opened('Delete account', 'Delete Account') },
    { name: 'project-delete', path: project('settings'), ready: opened('Delete project', 'Delete Project') },
    { name: 'activate', path: '/activate', ready: heading('Sign in a terminal') },
    {
      name: 'invitation',
      path: '/invitations/some-token',
      expectedErrors: /status of 400/,
      ready: (page) => expect(page.getByText('Ask the person who invited you')).toBeVisible(),
    },
    { name: 'download', path: '/download', ready: link(/^Download /) },
    { name: 'releases', path: '/download/releases', ready: link(/^Download /) },
    {
      name: 'not-an-operator',
      path: '/operator/users',
      account: guest,
      expectedErrors: /status of 403/,
      ready: heading('Operators Only'),
    },
  ];
  await stage.product.signIn();
  const { body: attic } = await stage.account.call<{ id: string }>('POST', '/api/projects', { name: 'Attic' });
  await stage.product.createApiToken({ ...stage.account, project: attic.id });
  for (const screen of screens) await checkScreen(t, stage, screen);
});
