// Every form of the dashboard, and every way out of it: what is typed stays until somebody chooses to discard it.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Locator, Page } from '@playwright/test';
import { expect } from './browser.ts';
import { type DashboardStage, makeTunnel, projectUrl } from './dashboard.ts';

interface Surface {
  readonly name: string;
  readonly path: string;
  /** The field that is typed into. */
  readonly field: (page: Page) => Locator;
  /** Opens a panel or dialog. A page's form needs none. */
  readonly open?: (page: Page) => Promise<void>;
  /** The label of a list to choose from. */
  readonly list?: string;
}

const press = (name: string) => (page: Page) => page.getByRole('button', { name, exact: true }).first().click();
const menu = (button: string, item: string) => async (page: Page) => {
  await press(button)(page);
  await page.getByRole('menuitem', { name: item }).click();
};
const inDialog = (label: string) => (page: Page) => page.getByRole('dialog').getByLabel(label, { exact: true }).first();
const inPage = (label: string) => (page: Page) => page.getByRole('main').getByRole('textbox', { name: label }).first();

/** Neighbours have fields of different names, so a test cannot type into the page before. */
const surfaces = (at: (path: string) => string, tunnel: string, project: string): readonly Surface[] => [
  { name: 'New tunnel', path: at('tunnels'), open: press('Add Tunnel'), field: inDialog('Name'), list: 'Region' },
  {
    name: 'Update tunnel',
    path: at(`tunnels/${tunnel}`),
    open: menu('Tunnel actions', 'Edit'),
    field: (page) => page.getByRole('dialog').getByRole('textbox', { name: 'Ingress domains' }),
    list: 'Security group',
  },
  { name: 'New access policy', path: at('access'), open: press('Add Access Policy'), field: inDialog('Name') },
  {
    name: 'Machine token',
    path: at('access/policies/Walked?tab=tokens'),
    open: press('Create token'),
    field: inDialog('Name'),
    list: 'Expires after',
  },
  {
    name: 'Share link',
    path: at('access/policies/Walked?tab=links'),
    open: press('Create link'),
    field: inDialog('Name'),
    list: 'Expires after',
  },
  {
    name: 'Sign out visitors',
    path: at('access/policies/Walked'),
    open: menu('Policy actions', 'Sign out'),
    field: inDialog('Email'),
  },
  { name: 'New security group', path: at('security-groups'), open: press('Add Security Group'), field: inDialog('Name') },
  { name: 'Add domain', path: at('domains'), open: press('Add Domain'), field: inDialog('Name') },
  { name: 'Invite', path: at('members'), open: press('Invite'), field: inDialog('Email') },
  { name: 'API token', path: at('tokens'), open: press('Create token'), field: inDialog('Name'), list: 'Expires after' },
  { name: 'Add passkey', path: '/account', open: press('Add passkey'), field: inDialog('Name') },
  { name: 'Region', path: '/operator/regions', open: press('Add region'), field: inDialog('Name') },
  { name: 'Limits', path: '/operator/projects', open: menu(`Actions for ${project}`, 'Limits'), field: inDialog('Tunnels') },
  { name: 'Add subscription', path: '/operator/subscriptions', open: press('Add subscription'), field: inDialog('Email') },
  { name: 'Import', path: '/operator/subscriptions', open: press('Import CSV'), field: inDialog('Lines') },
  { name: 'Add block', path: '/operator/blocks', open: press('Add block'), field: inDialog('Reason') },
  { name: 'Security group', path: at('security-groups/default'), field: inPage('Source address') },
  { name: 'New project', path: '/new-project', field: inPage('Name') },
  { name: 'Access policy', path: at('access/policies/Walked'), field: inPage('People') },
  { name: 'Project name', path: at('settings'), field: inPage('Name') },
];

const question = (page: Page) => page.getByRole('dialog', { name: 'Discard what you entered?' });

/** Goes to a page of the dashboard as a link does, without a new document. Back then leads to the page before. */
async function goWithin(page: Page, path: string): Promise<void> {
  const step = `history.pushState({ ...history.state, idx: history.state.idx + 1, key: String(Math.random()) }, '', '${path}')`;
  await page.evaluate(`${step}; dispatchEvent(new PopStateEvent('popstate', { state: history.state }))`);
}

async function palette(page: Page): Promise<void> {
  await page.keyboard.press('Control+k');
  const search = page.getByRole('combobox', { name: /^Search pages/ });
  await expect(search).toBeFocused();
  await page.keyboard.type('audit');
  await expect(page.getByRole('option').first()).toHaveAttribute('data-highlighted');
  await page.keyboard.press('Enter');
  await expect(search).toBeHidden();
}

/** Ways out that the dashboard asks about. A panel or dialog covers the links and menus of the page. */
const waysOut: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  Back: (page) => page.evaluate('history.back()'),
  'the palette': palette,
};
const waysOutOfOverlay: typeof waysOut = {
  Escape: (page) => page.keyboard.press('Escape'),
  Cancel: (page) => page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true }).click(),
  ...waysOut,
};
const waysOutOfPage: typeof waysOut = {
  'a link': (page) => page.getByRole('link', { name: 'CLI', exact: true }).click(),
  'another project': async (page) => {
    await page.getByRole('button', { name: /^Project: / }).click();
    await page.getByRole('menuitemradio', { name: 'Second project' }).click();
  },
  'Log out': menu('Account', 'Log out'),
  ...waysOut,
};

/** Ways out that no press of the mouse starts: the focus is still in the field. */
const staysInField = new Set(['Escape', 'Back', 'the palette']);

/** The browser's own question. */
async function reloadAndStay(page: Page): Promise<void> {
  const asked = page.waitForEvent('dialog');
  await page.evaluate('setTimeout(() => location.reload())');
  const dialog = await asked;
  assert.equal(dialog.type(), 'beforeunload');
  await dialog.dismiss();
}

async function escapeFromList(page: Page, list: string): Promise<void> {
  const chosen = page.getByRole('dialog').getByRole('combobox', { name: list });
  await chosen.click();
  await expect(chosen.getByRole('option').first()).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(page.locator('select:open')).toHaveCount(0);
}

async function walk(page: Page, { path, open, field, list }: Surface): Promise<void> {
  await goWithin(page, path);
  await open?.(page);
  const input = field(page);
  if (open && list) await escapeFromList(page, list);
  await expect(input).toBeVisible();
  const untouched = await input.inputValue();
  const url = page.url();
  const typed = '7';
  await input.fill(typed);
  for (const [name, leave] of Object.entries(open ? waysOutOfOverlay : waysOutOfPage)) {
    await input.focus();
    await leave(page);
    await expect(question(page), name).toBeVisible();
    await page.getByRole('button', { name: 'Keep editing' }).click();
    await expect(question(page), name).toBeHidden();
    await expect(input, name).toHaveValue(typed);
    if (staysInField.has(name)) await expect(input, name).toBeFocused();
    else await expect(page.locator('body'), name).not.toBeFocused();
    assert.equal(page.url(), url, name);
  }
  await reloadAndStay(page);
  await expect(input).toHaveValue(typed);
  if (!open) {
    await input.fill(untouched);
    return;
  }
  await page.mouse.click(5, 400);
  await expect(question(page)).toBeHidden();
  await page.evaluate('history.back()');
  await question(page).getByRole('button', { name: 'Discard' }).click();
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await open(page);
  await expect(input).toHaveValue(untouched);
  await page.evaluate('history.back()');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  assert.equal(page.url(), url, 'Back closes a panel without typed text, and stays on its page');
}

export async function waysOutTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account } = stage;
  await makeTunnel(account, 'walked', { type: 'ingress', ingressDomains: ['walked.example.com'] });
  const policy = { name: 'Walked', members: true, people: [] };
  await account.call('POST', `/api/access-policies?project=${account.project}`, policy);
  // A share link needs an address.
  await makeTunnel(account, 'guarded');
  await account.call('PATCH', `/api/tunnels/guarded?project=${account.project}`, { accessPolicy: policy.name });
  const page = await stage.open(t, 'dashboard');
  const name = await page.getByRole('button', { name: /^Project: / }).getAttribute('aria-label');
  const calls: string[] = [];
  page.on('request', (request) => request.method() === 'GET' || calls.push(`${request.method()} ${request.url()}`));
  for (const surface of surfaces((path) => projectUrl(account, path), 'walked', name!.replace('Project: ', ''))) {
    await t.test(surface.name, () => walk(page, surface));
  }
  assert.deepEqual(calls, [], 'no way out changes anything before the answer');

  await t.test('Log out, after Discard, ends the session', async () => {
    await goWithin(page, projectUrl(account, 'security-groups/default'));
    await inPage('Source address')(page).fill('half');
    await waysOutOfPage['Log out']?.(page);
    await question(page).getByRole('button', { name: 'Discard' }).click();
    await expect(page).toHaveURL('/login');
    assert.equal(calls.length, 1);
  });

  for (const [path, label] of [
    ['/abuse', 'What is wrong with it?'],
    ['/register', 'Company'],
  ] as const) {
    await t.test(`${path} before a sign-in`, async () => {
      await page.goto(path);
      await page.getByLabel(label).fill('half');
      await page.getByRole('contentinfo').getByRole('link', { name: 'Privacy Policy' }).click();
      await question(page).getByRole('button', { name: 'Keep editing' }).click();
      await expect(page.getByLabel(label)).toHaveValue('half');
      await reloadAndStay(page);
      await page.getByLabel(label).fill('');
    });
  }
}
