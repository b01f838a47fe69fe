// "Confirm it's you": a call that gives lasting access, made in a session whose proof is too old.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import { expect, findAccessibilityProblems, visit } from '../helpers/browser.ts';
import { openStage, projectUrl } from '../helpers/dashboard.ts';
import { linkIn, waitForMail } from '../helpers/mail.ts';
import type { Product } from '../helpers/product.ts';
import { checkScreen } from '../helpers/screens.ts';

/** Makes every session look old. */
function outdateProofs({ home }: Product): void {
  const database = new DatabaseSync(join(home, 'underpass.db'), { timeout: 10_000 });
  database.exec('update sessions set proven_at = 0');
  database.close();
}

const refused = /status of 403/;
const question = (page: Page) => page.getByRole('dialog', { name: "Confirm it's you" });

test('a change that gives lasting access, long after the sign-in', async (t) => {
  const stage = await openStage(t);
  const { product, browser, account } = stage;
  const proofLink = async () => linkIn(await waitForMail(product, account.email, /Confirm it is you/)).pathname;

  const openInvite = async (t: TestContext, email: string): Promise<Page> => {
    const page = await visit(t, browser, product, { account, expectedErrors: refused });
    await page.goto(projectUrl(account, 'members'));
    await page.getByRole('button', { name: 'Invite' }).click();
    await page.getByLabel('Email').fill(email);
    outdateProofs(product);
    await page.getByRole('button', { name: 'Send invitation' }).click();
    await expect(question(page)).toBeVisible();
    return page;
  };

  await t.test('waits for the mailed link, and is then sent again with what was typed', async (t) => {
    const page = await openInvite(t, 'lin@example.com');
    await expect(question(page).getByRole('button', { name: 'Email me a link' })).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(question(page)).toContainText(`We sent a link to ${account.email}.`);
    await expect(question(page).getByRole('link', { name: 'mailbox' })).toHaveAttribute('href', '/dev/mailbox');
    await question(page).getByRole('button', { name: 'Continue' }).click();
    await expect(question(page)).toContainText('has not been opened in this browser yet');
    const mailed = await page.context().newPage();
    await mailed.goto(await proofLink());
    await expect(mailed.getByRole('heading', { name: 'Confirmed' })).toBeVisible();
    expect(await findAccessibilityProblems(mailed)).toEqual([]);
    await expect(question(page)).toBeHidden();
    await expect(page.getByRole('dialog', { name: 'Invite to project' })).toBeHidden();
    await expect(page.getByRole('table', { name: 'Pending invitations' })).toContainText('lin@example.com');
  });

  await t.test('is dropped by Escape alone, and the form behind keeps what was typed', async (t) => {
    const page = await openInvite(t, 'kim@example.com');
    await page.keyboard.press('Escape');
    await expect(question(page)).toBeHidden();
    const panel = page.getByRole('dialog', { name: 'Invite to project' });
    await expect(panel.getByLabel('Email')).toHaveValue('kim@example.com');
    await expect(panel).toContainText('Confirm that it is you first');
    await panel.getByRole('button', { name: 'Send invitation' }).click();
    await question(page).getByRole('button', { name: 'Cancel' }).click();
    await expect(panel.getByLabel('Email')).toHaveValue('kim@example.com');
  });

  await t.test('keeps the focus in the question', async (t) => {
    const page = await openInvite(t, 'mia@example.com');
    for (let i = 0; i < 6; i++) {
      await page.keyboard.press('Tab');
      await expect(question(page).locator(':focus')).toHaveCount(1);
    }
    expect(await findAccessibilityProblems(page)).toEqual([]);
  });

  await t.test('is not confirmed by a link that is opened in another browser', async (t) => {
    const page = await openInvite(t, 'noa@example.com');
    await question(page).getByRole('button', { name: 'Email me a link' }).click();
    await expect(question(page)).toContainText('We sent a link');
    const other = await visit(t, browser, product, { expectedErrors: /status of 40[01]/ });
    await other.goto(await proofLink());
    await expect(other.getByRole('heading', { name: 'Not confirmed' })).toBeVisible();
    await expect(other.getByText('Open this link in the browser that asked you')).toBeVisible();
  });

  await t.test('a person downloads what is held about them after the question', async (t) => {
    const page = await visit(t, browser, product, { account, expectedErrors: refused });
    await page.goto('/account');
    outdateProofs(product);
    await page.getByRole('button', { name: 'Download your data' }).click();
    await expect(question(page)).toBeVisible();
    await question(page).getByRole('button', { name: 'Email me a link' }).click();
    await expect(question(page)).toContainText('We sent a link');
    const saving = page.waitForEvent('download');
    const mailed = await page.context().newPage();
    await mailed.goto(await proofLink());
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), 'underpass-account.json');
    const { sessions } = JSON.parse(await readFile(await saved.path(), 'utf8')) as { sessions: unknown[] };
    assert.ok(sessions.length > 0);
  });

  const ask = async (page: Page) => {
    outdateProofs(product);
    await page.getByRole('button', { name: 'Create token' }).first().click();
    await page.getByLabel('Name').fill('ci');
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    await expect(question(page)).toBeVisible();
  };
  const path = projectUrl(account, 'tokens');
  await checkScreen(t, stage, { name: 'proof', path, expectedErrors: refused, ready: ask });
  await checkScreen(t, stage, {
    name: 'proof-sent',
    path,
    expectedErrors: refused,
    ready: async (page) => {
      await ask(page);
      await question(page).getByRole('button', { name: 'Email me a link' }).click();
      await expect(question(page)).toContainText('We sent a link');
    },
  });
  await checkScreen(t, stage, {
    name: 'proof-refused',
    path: '/confirm/some-token',
    expectedErrors: /status of 40[01]/,
    ready: (page) => expect(page.getByRole('heading', { name: 'Not confirmed' })).toBeVisible(),
  });
});
