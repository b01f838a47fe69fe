// The screens of a project in all their states: axe, width and a picture of each (helpers/screens.ts).
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import type { Project } from '@underpass/rules/entity/entity.ts';
import { expect } from '../helpers/browser.ts';
import {
  connectClient,
  type DashboardStage,
  makeTunnel,
  makeVerifiedDomain,
  openStage,
  projectUrl,
} from '../helpers/dashboard.ts';
import { checkScreen, type Screen } from '../helpers/screens.ts';

const heading = (name: string | RegExp) => (page: Page) => expect(page.getByRole('heading', { name }).first()).toBeVisible();
const table = (name: string) => (page: Page) => expect(page.getByRole('table', { name })).toBeVisible();
const counted = (page: Page) =>
  expect(page.getByRole('region', { name: 'Metrics' }).getByRole('definition').first()).toHaveText(/\d/);
const dialog = (page: Page, name: string) => expect(page.getByRole('dialog', { name })).toBeVisible();
const press = (page: Page, name: string) => page.getByRole('button', { name }).first().click();

async function menu(page: Page, item: string, opens: string): Promise<void> {
  await press(page, 'Tunnel actions');
  await page.getByRole('menuitem', { name: item }).click();
  await dialog(page, opens);
}

async function choose(page: Page, select: string): Promise<void> {
  await page.getByRole('combobox', { name: select }).click();
  await expect(page.getByRole('option').first()).toBeVisible();
}

test('screens of an empty project', async (t) => {
  const stage = await openStage(t);
  const { body: empty } = await stage.account.call<Project>('POST', '/api/projects', { name: 'Empty' });
  const at = (path: string) => projectUrl({ project: empty.id }, path);
  const screens: readonly Screen[] = [
    { name: 'dashboard-empty', path: at('dashboard'), ready: heading('First steps') },
    { name: 'tunnels-empty', path: at('tunnels'), ready: heading('No Tunnels') },
    { name: 'domains-empty', path: at('domains'), ready: heading('No Domains') },
    { name: 'unknown-project', path: '/projects/nobodys/tunnels', expectedErrors: /404/, ready: heading('Project not found') },
    { name: 'tunnel-missing', path: at('tunnels/missing'), expectedErrors: /404/, ready: heading('Something went wrong.') },
    {
      name: 'group-missing',
      path: at('security-groups/missing'),
      expectedErrors: /404/,
      ready: heading('Something went wrong.'),
    },
  ];
  for (const screen of screens) await checkScreen(t, stage, screen);
});

test('screens of a project in use', async (t) => {
  const stage = await openStage(t);
  await fillProject(t, stage);
  const at = (path: string) => projectUrl(stage.account, path);
  const screens = [listScreens, tunnelScreens, detailScreens, shellScreens].flatMap((screensAt) => screensAt(at));
  for (const screen of screens) await checkScreen(t, stage, screen);
});

const label = (letter: string, length = 63) => letter.repeat(length);
/** The longest values: 252 characters for a tunnel, 253 for a domain, 254 for an e-mail address. */
const longest = {
  apex: `${label('d', 59)}.com`,
  domain: `${label('a')}.${label('b')}.${label('c', 61)}.${label('d', 59)}.com`,
  tunnel: label('t', 252),
  group: label('g', 60),
  policy: label('y', 60),
  token: label('k', 50),
  email: `${label('l', 64)}@${label('m')}.${label('n')}.${label('o', 57)}.com`,
};

test('screens of the longest values', async (t) => {
  const stage = await openStage(t);
  const { account } = stage;
  const { body: project } = await account.call<Project>('POST', '/api/projects', { name: `Project ${label('p', 50)}` });
  const owner = { ...account, project: project.id };
  await makeVerifiedDomain({ account: owner, names: stage.names }, longest.apex);
  const made = await makeTunnel(owner, longest.tunnel, { ingressDomains: [longest.domain] });
  await makeTunnel(owner, 'beside');
  assert.equal(made.ingressDomains[0]?.name, longest.domain);
  const invited = await account.call('POST', `/api/invitations?project=${project.id}`, { email: longest.email, role: 'member' });
  const group = await account.call('POST', `/api/security-groups?project=${project.id}`, {
    name: longest.group,
    allow: ['::/0'],
  });
  const policy = await account.call('POST', `/api/access-policies?project=${project.id}`, { name: longest.policy });
  const token = await account.call('POST', `/api/tokens?project=${project.id}`, { name: longest.token, role: 'viewer' });
  for (const { status, body } of [invited, group, policy, token]) assert.ok(status < 300, `${status} ${JSON.stringify(body)}`);
  const at = (path: string) => projectUrl(owner, path);
  const screens: readonly Screen[] = [
    { name: 'long-dashboard', path: at('dashboard'), ready: counted },
    { name: 'long-tunnels', path: at('tunnels'), ready: table('Tunnels') },
    { name: 'long-tunnel', path: at(`tunnels/${longest.tunnel}`), ready: heading('Connect') },
    {
      name: 'long-tunnel-delete',
      path: at(`tunnels/${longest.tunnel}`),
      ready: (page) => menu(page, 'Delete', 'Delete Tunnel'),
    },
    { name: 'long-tunnel-edit', path: at(`tunnels/${longest.tunnel}`), ready: editsInSight },
    { name: 'long-domains', path: at('domains'), ready: table('Domains') },
    {
      name: 'long-domain',
      path: at(`domains/${longest.apex}`),
      ready: (page) => expect(page.getByText(/^This domain is verified/)).toBeVisible(),
    },
    {
      name: 'long-tunnel-domain',
      path: at(`tunnels/${longest.tunnel}/domains/${longest.domain}`),
      ready: heading('DNS configuration'),
    },
    { name: 'long-members', path: at('members'), ready: table('Pending invitations') },
    { name: 'long-groups', path: at('security-groups'), ready: table('Security groups') },
    { name: 'long-group', path: at(`security-groups/${longest.group}`), ready: heading('Allowed source addresses') },
    { name: 'long-policies', path: at('access'), ready: heading('Access') },
    { name: 'long-policy', path: at(`access/policies/${longest.policy}`), ready: heading(longest.policy) },
    { name: 'long-tokens', path: at('tokens'), ready: table('API tokens') },
    { name: 'long-settings', path: at('settings'), ready: heading('Settings') },
    {
      name: 'long-project-selector',
      path: at('dashboard'),
      ready: async (page) => {
        await page.getByRole('button', { name: /^Project: / }).click();
        await expect(page.getByRole('menuitem', { name: 'New project' })).toBeVisible();
      },
    },
    { name: 'long-audit', path: at('audit'), ready: table('Audit log') },
    {
      name: 'long-palette',
      path: at('dashboard'),
      ready: async (page) => {
        await heading('Tips')(page);
        await page.keyboard.press('Control+k');
        await expect(page.getByRole('combobox')).toBeFocused();
        await page.keyboard.type('tttt');
        await expect(page.getByRole('option', { name: /tttt/ }).first()).toBeVisible();
      },
    },
  ];
  for (const screen of screens) await checkScreen(t, stage, screen);
});

/** A title wider than the panel would push the panel out of view. */
async function editsInSight(page: Page): Promise<void> {
  await menu(page, 'Edit', 'Update Tunnel');
  await expect(page.getByRole('dialog', { name: 'Update Tunnel' })).toBeInViewport({ ratio: 1 });
}

async function fillProject(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account, names } = stage;
  await makeVerifiedDomain(stage, 'example.com');
  await account.call('POST', `/api/domains?project=${account.project}`, { name: 'example.net' });
  await account.call('POST', `/api/security-groups?project=${account.project}`, {
    name: 'Office',
    allow: ['203.0.113.0/24', '2001:db8::/32'],
  });
  names.set('A', 'shop.example.com', '127.0.0.1');
  await makeTunnel(account, 'shop', { ingressDomains: ['shop.example.com', 'www.example.com'] });
  await makeTunnel(account, 'cluster', { type: 'ingress', ingressDomains: ['apps.example.com'], proxyProtocol: 'v2' });
  await makeTunnel(account, 'unproven', { ingressDomains: ['app.example.net'] });
  await connectClient(t, await makeTunnel(account, 'preview'), 'http://127.0.0.1:9');
}

type At = (path: string) => string;

function listScreens(at: At): readonly Screen[] {
  return [
    { name: 'dashboard', path: at('dashboard'), ready: counted },
    { name: 'tunnels', path: at('tunnels'), ready: table('Tunnels') },
    { name: 'domains', path: at('domains'), ready: table('Domains') },
    { name: 'security-groups', path: at('security-groups'), ready: table('Security groups') },
    {
      name: 'new-tunnel-errors',
      path: at('tunnels?new'),
      ready: async (page) => {
        await press(page, 'Create');
        await expect(page.getByText('Provide at least one ingress domain')).toBeVisible();
      },
    },
    {
      name: 'new-tunnel-discard',
      path: at('tunnels?new'),
      ready: async (page) => {
        await page.getByRole('dialog', { name: 'New Tunnel' }).getByLabel('Name', { exact: true }).fill('half');
        await press(page, 'Close panel');
        await dialog(page, 'Discard what you entered?');
      },
    },
    { name: 'new-tunnel-region', path: at('tunnels?new'), ready: (page) => choose(page, 'Region') },
    {
      name: 'add-domain-error',
      path: at('domains'),
      ready: async (page) => {
        await press(page, 'Add Domain');
        await press(page, 'Create');
        await expect(page.getByText(/^Domain must be a valid apex domain/)).toBeVisible();
      },
    },
    {
      name: 'new-group-errors',
      path: at('security-groups'),
      ready: async (page) => {
        await press(page, 'Add Security Group');
        await press(page, 'Create');
        await expect(page.getByText('Provide at least one rule.')).toBeVisible();
      },
    },
  ];
}

function tunnelScreens(at: At): readonly Screen[] {
  return [
    {
      name: 'tunnel-connected',
      path: at('tunnels/preview'),
      ready: async (page) => {
        await expect(page.getByText('Connected', { exact: true }).first()).toBeVisible();
        await table('Connected clients')(page);
      },
    },
    { name: 'tunnel-disconnected', path: at('tunnels/shop'), ready: (page) => expect(page.getByText('No DNS')).toBeVisible() },
    {
      name: 'tunnel-ingress',
      path: at('tunnels/cluster'),
      ready: async (page) => {
        await page.getByRole('tab', { name: 'Kubernetes YAML' }).click();
        await choose(page, 'Preset');
      },
    },
    { name: 'tunnel-pending', path: at('tunnels/unproven'), ready: heading('Setup') },
    {
      name: 'tunnel-upstream-error',
      path: at('tunnels/shop'),
      ready: async (page) => {
        await page.getByRole('tab', { name: 'systemd' }).click();
        await page.getByLabel('Upstream of www.example.com').fill('ftp://x');
        await expect(page.getByText('Upstream must start with http://')).toBeVisible();
      },
    },
    {
      name: 'tunnel-menu',
      path: at('tunnels/shop'),
      ready: async (page) => {
        await press(page, 'Tunnel actions');
        await expect(page.getByRole('menuitem', { name: 'Delete' })).toBeVisible();
      },
    },
    {
      name: 'tunnel-update-warning',
      path: at('tunnels/shop'),
      ready: async (page) => {
        await menu(page, 'Edit', 'Update Tunnel');
        await choose(page, 'Proxy protocol');
        await page.getByRole('option', { name: 'v2' }).click();
        await expect(page.getByText(/^Switching proxy protocol on/)).toBeVisible();
      },
    },
    {
      name: 'tunnel-qr',
      path: at('tunnels/shop'),
      ready: async (page) => {
        await press(page, 'Actions for shop.example.com');
        await page.getByRole('menuitem', { name: 'QR code' }).click();
        await expect(page.getByRole('img', { name: /^QR code of/ })).toBeVisible();
      },
    },
    { name: 'tunnel-rotate', path: at('tunnels/shop'), ready: (page) => menu(page, 'Rotate token', 'Rotate Token') },
    { name: 'tunnel-delete', path: at('tunnels/shop'), ready: (page) => menu(page, 'Delete', 'Delete Tunnel') },
  ];
}

function detailScreens(at: At): readonly Screen[] {
  return [
    {
      name: 'domain-verified',
      path: at('domains/example.com'),
      ready: (page) => expect(page.getByText('Verified', { exact: true })).toBeVisible(),
    },
    { name: 'domain-unverified', path: at('domains/example.net'), ready: heading('Domain verification') },
    {
      name: 'domain-delete',
      path: at('domains/example.net'),
      ready: async (page) => {
        await press(page, 'Delete');
        await dialog(page, 'Delete Domain');
      },
    },
    {
      name: 'tunnel-domain-dns',
      path: at('tunnels/shop/domains/www.example.com'),
      ready: (page) => expect(page.getByText('DNS not configured')).toBeVisible(),
    },
    {
      name: 'tunnel-domain-unverified',
      path: at('tunnels/unproven/domains/app.example.net'),
      ready: heading('Domain verification'),
    },
    { name: 'security-group', path: at('security-groups/Office'), ready: heading('Allowed source addresses') },
    {
      name: 'security-group-error',
      path: at('security-groups/Office'),
      ready: async (page) => {
        await page.getByRole('textbox', { name: 'Source address' }).fill('10.0.0.0/33');
        await press(page, 'Add');
        await expect(page.getByText('Please enter a valid IP/CIDR.')).toBeVisible();
      },
    },
  ];
}

function shellScreens(at: At): readonly Screen[] {
  return [
    {
      name: 'account-menu',
      path: at('dashboard'),
      ready: async (page) => {
        await press(page, 'Account');
        await expect(page.getByRole('menuitem', { name: 'Log out' })).toBeVisible();
      },
    },
    {
      name: 'project-selector',
      path: at('dashboard'),
      ready: async (page) => {
        await page.getByRole('button', { name: /^Project: / }).click();
        await expect(page.getByRole('menuitem', { name: 'New project' })).toBeVisible();
      },
    },
    {
      name: 'command-palette',
      path: at('dashboard'),
      ready: async (page) => {
        await heading('Tips')(page);
        await page.keyboard.press('Control+k');
        await expect(page.getByRole('option').first()).toBeVisible();
      },
    },
    {
      name: 'offline',
      path: at('dashboard'),
      ready: async (page) => {
        await counted(page);
        await page.context().setOffline(true);
        await expect(page.getByText('You are offline.')).toBeVisible();
      },
    },
  ];
}
