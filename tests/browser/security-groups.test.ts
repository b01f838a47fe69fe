// spec 2, Security groups list and detail; spec 4, Security group editor; spec 5, Source address and Security group name.
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import { expect } from '../helpers/browser.ts';
import { type DashboardStage, makeTunnel, openStage, projectUrl } from '../helpers/dashboard.ts';

const panel = (page: Page) => page.getByRole('dialog', { name: 'New Security Group' });
const rules = (page: Page) => page.getByRole('list', { name: /Source address|Allow/ }).getByRole('listitem');

test('security groups', async (t) => {
  const stage = await openStage(t);
  await t.test('list and panel', (t) => listTests(t, stage));
  await t.test('detail', (t) => detailTests(t, stage));
});

async function openPanel(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add Security Group' }).first().click();
  await expect(panel(page).getByLabel('Name')).toBeFocused();
}

async function listTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await t.test('the list shows the seeded group with its columns and the date format of the spec', async (t) => {
    const page = await stage.open(t, 'security-groups');
    await expect(page.getByRole('columnheader')).toHaveText(['Name', 'Last Updated', 'Assigned', 'Rules']);
    const row = page.getByRole('row', { name: /default/ });
    await expect(row.getByRole('time')).toHaveText(/^[A-Z][a-z]+ \d{1,2}, \d{4} at \d{1,2}:\d{2}:\d{2}\s[AP]M$/);
    await expect(row.getByRole('cell').nth(3)).toContainText('2');
    await expect(row.getByRole('time')).toHaveAttribute('title', /\(.+\) · \d{4}-\d{2}-\d{2}T/);
  });

  await t.test('a name and a rule are required', async (t) => {
    const page = await stage.open(t, 'security-groups');
    await openPanel(page);
    await panel(page).getByRole('button', { name: 'Create' }).click();
    await expect(panel(page).getByText('Name is required.')).toBeVisible();
    await expect(panel(page).getByText('Provide at least one rule.')).toBeVisible();
  });

  await t.test('a rule must be an address or a range', async (t) => {
    const page = await stage.open(t, 'security-groups');
    await openPanel(page);
    const allow = panel(page).getByRole('textbox', { name: 'Allow' });
    for (const rule of ['1.2.3', '10.0.0.0/33', '10.0.0.0/08', '::/129', 'example.com', 'fe80::1%eth0']) {
      await allow.fill(rule);
      await allow.press('Enter');
      await expect(panel(page).getByText('Please enter a valid IP/CIDR.')).toBeVisible();
    }
    for (const rule of ['10.0.0.1', '10.0.0.1', '2001:DB8::/32']) {
      await allow.fill(rule);
      await allow.press('Enter');
    }
    await expect(rules(page)).toHaveText(['10.0.0.1', '2001:db8::/32']);
  });

  await t.test('a pasted list becomes a rule each, and what is no address stays to be corrected', async (t) => {
    const page = await stage.open(t, 'security-groups');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await openPanel(page);
    const allow = panel(page).getByRole('textbox', { name: 'Allow' });
    await page.evaluate("navigator.clipboard.writeText('10.0.0.1/32\\n10.0.0.2, oops;192.0.2.0/24')");
    await allow.focus();
    await page.keyboard.press('Control+v');
    await expect(rules(page)).toHaveText(['10.0.0.1', '10.0.0.2', '192.0.2.0/24']);
    await expect(allow).toHaveValue('oops');
    await expect(panel(page).getByText('Please enter a valid IP/CIDR.')).toBeVisible();
  });

  await t.test('a person can add their own address, and a rule for every address warns', async (t) => {
    const page = await stage.open(t, 'security-groups');
    await openPanel(page);
    await panel(page).getByRole('button', { name: 'Add my address' }).click();
    await expect(rules(page)).toHaveText(['127.0.0.1']);
    await expect(panel(page).getByText('127.0.0.1 is the address that you use now.')).toBeVisible();
    await expect(panel(page).getByText('Anyone on the internet can connect.')).toBeHidden();
    const allow = panel(page).getByRole('textbox', { name: 'Allow' });
    await allow.fill('::/0');
    await allow.press('Enter');
    await expect(panel(page).getByText('Anyone on the internet can connect.')).toBeVisible();
  });

  await t.test('a typed rule is created with the group without Add', async (t) => {
    const page = await stage.open(t, 'security-groups');
    await openPanel(page);
    await panel(page).getByLabel('Name').fill('Office');
    await panel(page).getByRole('textbox', { name: 'Allow' }).fill('203.0.113.0/24');
    await panel(page).getByRole('button', { name: 'Create' }).click();
    await expect(page).toHaveURL(projectUrl(stage.account, 'security-groups/Office'));
    await expect(rules(page)).toHaveText(['203.0.113.0/24']);
  });

  await t.test('a refusal is an alert in the panel, which keeps its text', async (t) => {
    const page = await stage.open(t, 'security-groups', { expectedErrors: /409/ });
    await openPanel(page);
    await panel(page).getByLabel('Name').fill('Office');
    await panel(page).getByRole('textbox', { name: 'Allow' }).fill('10.0.0.1');
    await panel(page).getByRole('button', { name: 'Create' }).click();
    await expect(panel(page).getByRole('alert')).toContainText('Office');
    await expect(panel(page).getByLabel('Name')).toHaveValue('Office');
    await expect(panel(page).getByRole('textbox', { name: 'Allow' })).toHaveValue('10.0.0.1');
    await panel(page).getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await openPanel(page);
    await expect(panel(page).getByLabel('Name')).toHaveValue('');
    await expect(panel(page).getByRole('alert')).toBeHidden();
  });
}

async function detailTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account } = stage;
  const save = (page: Page) => page.getByRole('button', { name: 'Save' });
  const source = (page: Page) => page.getByRole('textbox', { name: 'Source address' });

  await t.test('Save is enabled only after a change, and Cancel restores the saved rules', async (t) => {
    const page = await stage.open(t, 'security-groups/Office');
    await expect(page.getByText('Assigned to 0 Tunnels')).toBeVisible();
    await expect(save(page)).toBeDisabled();
    await source(page).fill('198.51.100.7');
    await source(page).press('Enter');
    await expect(save(page)).toBeEnabled();
    await source(page).fill('nonsense');
    await source(page).press('Enter');
    await expect(page.getByText('Please enter a valid IP/CIDR.')).toBeVisible();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect(page.getByText('Please enter a valid IP/CIDR.')).toBeHidden();
    await expect(rules(page)).toHaveText(['203.0.113.0/24']);
    await expect(save(page)).toBeDisabled();
  });

  await t.test('unsaved text of one group does not appear in the next', async (t) => {
    const page = await stage.open(t, 'security-groups/default');
    const { account } = stage;
    await account.call('POST', `/api/security-groups?project=${account.project}`, { name: 'next', allow: ['10.0.0.0/8'] });
    await page.getByRole('textbox', { name: 'Source address' }).fill('192.0.2.1');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('next');
    await page.getByRole('option', { name: 'next' }).click();
    const question = page.getByRole('dialog', { name: 'Discard what you entered?' });
    await question.getByRole('button', { name: 'Keep editing' }).click();
    await expect(page.getByRole('textbox', { name: 'Source address' })).toHaveValue('192.0.2.1');
    await page.getByRole('link', { name: 'Security Groups' }).click();
    await question.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('link', { name: 'next' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'next' })).toBeVisible();
    await expect(page.getByRole('textbox', { name: 'Source address' })).toHaveValue('');
    await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled();
  });

  await t.test('saved rules are there after a reload', async (t) => {
    const page = await stage.open(t, 'security-groups/Office');
    await source(page).fill('198.51.100.7');
    await save(page).click();
    await expect(page.getByText('Security group Office saved.').first()).toBeVisible();
    await expect(save(page)).toBeDisabled();
    await page.reload();
    await expect(rules(page)).toHaveText(['203.0.113.0/24', '198.51.100.7']);
  });

  await t.test('a rule that is typed while a save is on its way stays, and the next save adds it', async (t) => {
    const page = await stage.open(t, 'security-groups/next');
    const held = Promise.withResolvers<void>();
    await page.route('**/api/security-groups/next?*', async (route) => {
      if (route.request().method() === 'PATCH') await held.promise;
      await route.continue();
    });
    await source(page).fill('192.0.2.1');
    await save(page).click();
    await source(page).fill('192.0.2.2');
    held.resolve();
    await expect(rules(page)).toHaveText(['10.0.0.0/8', '192.0.2.1']);
    await expect(source(page)).toHaveValue('192.0.2.2');
    await expect(save(page)).not.toHaveAttribute('aria-busy', 'true');
    await save(page).click();
    await expect(rules(page)).toHaveText(['10.0.0.0/8', '192.0.2.1', '192.0.2.2']);
    await expect(save(page)).toBeDisabled();
  });

  await t.test('a change that another user saved is not overwritten, and can be loaded', async (t) => {
    const page = await stage.open(t, 'security-groups/Office', { expectedErrors: /412/ });
    const path = `/api/security-groups/Office?project=${account.project}`;
    const saved = ['203.0.113.0/24', '198.51.100.7'];
    await source(page).fill('192.0.2.1');
    await source(page).press('Enter');
    await account.call('PATCH', path, { allow: [...saved, '192.0.2.99'] });
    await save(page).click();
    await expect(page.getByRole('alert')).toContainText("Security group 'Office' has changed since you opened it.");
    await page.getByRole('button', { name: 'Load latest version' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await expect(rules(page)).toHaveText([...saved, '192.0.2.99']);
    await expect(page.getByRole('alert')).toBeHidden();
    await expect(source(page)).toBeFocused();
    await source(page).fill('192.0.2.1');
    await save(page).click();
    await expect(page.getByText('Security group Office saved.').first()).toBeVisible();
    await expect(rules(page)).toHaveText([...saved, '192.0.2.99', '192.0.2.1']);
    await account.call('PATCH', path, { allow: saved });
  });

  await t.test('a group without rules cannot be saved', async (t) => {
    const page = await stage.open(t, 'security-groups/Office');
    for (const rule of ['203.0.113.0/24', '198.51.100.7']) await page.getByRole('button', { name: `Remove ${rule}` }).click();
    await save(page).click();
    await expect(page.getByText('Provide at least one rule.')).toBeVisible();
  });

  await t.test('the group named default has no Delete', async (t) => {
    const page = await stage.open(t, 'security-groups/default');
    await expect(rules(page)).toHaveText(['0.0.0.0/0', '::/0']);
    await expect(page.getByRole('button', { name: 'Delete' })).toBeHidden();
  });

  await t.test('a group in use is not deleted, and a red banner names the tunnels until dismissed', async (t) => {
    await makeTunnel(account, 'guarded');
    await account.call('PATCH', `/api/tunnels/guarded?project=${account.project}`, { securityGroup: 'Office' });
    const page = await stage.open(t, 'security-groups/Office', { expectedErrors: /409/ });
    await expect(page.getByText('Assigned to 1 Tunnels')).toBeVisible();
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete Security Group' });
    await expect(dialog).toHaveAccessibleDescription('Warning! This operation is permanent.');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    const banner = page.getByRole('alert').filter({ hasText: "'guarded'" });
    await expect(banner).toBeVisible();
    await banner.getByRole('button', { name: 'Dismiss' }).click();
    await expect(banner).toBeHidden();
  });

  await t.test('deleting an unused group returns to the list', async (t) => {
    await account.call('PATCH', `/api/tunnels/guarded?project=${account.project}`, { securityGroup: 'default' });
    const page = await stage.open(t, 'security-groups/Office');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: 'Delete Security Group' }).getByRole('button', { name: 'Delete' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'security-groups'));
    await expect(page.getByRole('link', { name: 'Office' })).toBeHidden();
  });
}
