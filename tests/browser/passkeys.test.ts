// Passkeys with Chromium's virtual authenticator: adding, signing in, confirming, recovery codes, and pages that require one.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { CDPSession, Page } from '@playwright/test';
import { expect, findAccessibilityProblems, type VisitOptions, visit } from '../helpers/browser.ts';
import { type DashboardStage, openStage, projectUrl } from '../helpers/dashboard.ts';
import { createPerson } from '../helpers/people.ts';
import type { Account, Product } from '../helpers/product.ts';
import { checkScreen } from '../helpers/screens.ts';

interface Authenticator {
  readonly cdp: CDPSession;
  readonly id: string;
}

/** A laptop with a fingerprint reader, which its person uses each time. */
async function giveAuthenticator(page: Page, verified = true): Promise<Authenticator> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: verified,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, id: authenticatorId };
}

/** The passkeys of one authenticator in another, as when a person takes their laptop to another browser. */
async function carry(from: Authenticator, to: Authenticator): Promise<void> {
  const { credentials } = await from.cdp.send('WebAuthn.getCredentials', { authenticatorId: from.id });
  assert.ok(credentials.length > 0, 'there is no passkey to carry');
  for (const credential of credentials) {
    await to.cdp.send('WebAuthn.addCredential', { authenticatorId: to.id, credential });
  }
}

/** Makes the person's sessions look old. Others keep theirs: the operator adds a passkey later. */
function outdateProofs({ home }: Product, email: string): void {
  const database = new DatabaseSync(join(home, 'underpass.db'), { timeout: 10_000 });
  const old = 'proven_at = 0, passkey_at = case when passkey_at is null then null else 0 end';
  const sessions = database.prepare(`update sessions set ${old} where user_id = (select id from users where email = ?)`);
  assert.ok(sessions.run(email).changes > 0);
  database.close();
}

const refused = /status of (400|401|403|409)/;
const rows = (page: Page) => page.getByRole('table', { name: 'Passkeys' }).getByRole('row');

async function addPasskey(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add passkey' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Add passkey' });
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Continue' }).click();
  await expect(dialog).toBeHidden();
}

async function chooseFor(page: Page, name: string, item: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

test('passkeys', async (t) => {
  const stage = await openStage(t);
  const { product, browser } = stage;
  const open = (test: TestContext, options: VisitOptions = {}) =>
    visit(test, browser, product, { expectedErrors: refused, ...options });

  await t.test('a person adds one, signs in with it in another browser, renames and removes it', async (t) => {
    const ada = await createPerson(product, 'ada@example.com', 'Ada');
    const page = await open(t, { account: ada });
    const laptop = await giveAuthenticator(page);
    await page.goto('/account');
    await addPasskey(page, 'Work laptop');
    await expect(rows(page)).toHaveCount(2);
    await expect(rows(page).last()).toContainText('Work laptop');

    const other = await open(t);
    await carry(laptop, await giveAuthenticator(other));
    await other.goto('/login');
    await other.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await other.waitForURL(/\/projects\/[^/]+\/dashboard$/);
    await expect(other.getByRole('heading', { name: 'Welcome Ada' })).toBeVisible();

    await chooseFor(page, 'Work laptop', 'Rename');
    await page.getByRole('dialog', { name: 'Rename passkey' }).getByLabel('Name').fill('Home laptop');
    await page.keyboard.press('Enter');
    await expect(rows(page).last()).toContainText('Home laptop');
    await chooseFor(page, 'Home laptop', 'Remove');
    await page.getByRole('dialog', { name: 'Remove Passkey' }).getByRole('button', { name: 'Remove' }).click();
    await expect(page.getByRole('table', { name: 'Passkeys' })).toBeHidden();
    await other.goto('/account');
    await expect(other.getByRole('heading', { name: 'Sign in' })).toBeVisible();
  });

  await t.test('a browser without a passkey, and a person who declines, stay on the sign-in page with the reason', async (t) => {
    const page = await open(t);
    await giveAuthenticator(page, false);
    await page.goto('/login');
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await expect(page.getByText('No passkey was confirmed.')).toBeVisible();
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await expect(page.getByLabel('Email')).toBeVisible();
  });

  await t.test(
    'recovery codes are shown once; one confirms a session that signed in by email, and the count goes down',
    async (t) => {
      const bea = await createPerson(product, 'bea@example.com', 'Bea');
      const page = await open(t, { account: bea });
      await giveAuthenticator(page);
      await page.goto('/account');
      await addPasskey(page, 'Laptop');
      await page.getByRole('button', { name: 'Create recovery codes' }).click();
      await page.getByRole('button', { name: 'Create codes' }).click();
      const shown = page.getByRole('dialog', { name: 'Your recovery codes' });
      const codes = ((await shown.getByLabel('Recovery codes').textContent()) ?? '').trim().split('\n');
      assert.equal(codes.length, 10);
      await shown.getByRole('button', { name: 'Done' }).click();
      await expect(page.getByText('10 left.')).toBeVisible();

      const byMail = await open(t, { account: await product.signIn('bea@example.com') });
      await giveAuthenticator(byMail);
      await byMail.goto('/account');
      await chooseFor(byMail, 'Laptop', 'Remove');
      await byMail.getByRole('dialog', { name: 'Remove Passkey' }).getByRole('button', { name: 'Remove' }).click();
      const question = byMail.getByRole('dialog', { name: "Confirm it's you" });
      await expect(question).toContainText('an emailed link is not enough');
      await question.getByRole('button', { name: 'Use a recovery code' }).click();
      await question.getByLabel('Recovery code').fill('BCDFG');
      await byMail.keyboard.press('Enter');
      await expect(question).toContainText('Enter a code such as');
      await question.getByLabel('Recovery code').fill(codes[3]!.toLowerCase());
      await byMail.keyboard.press('Enter');
      await expect(question).toBeHidden();
      await expect(byMail.getByRole('table', { name: 'Passkeys' })).toBeHidden();
    },
  );

  await t.test("Confirm it's you asks a person who has a passkey for that, and offers no mail", async (t) => {
    const gil = await createPerson(product, 'gil@example.com', 'Gil');
    const page = await open(t, { account: gil });
    await giveAuthenticator(page);
    await page.goto('/account');
    await addPasskey(page, 'Laptop');
    await page.goto(projectUrl(gil, 'tokens'));
    outdateProofs(product, gil.email);
    await page.getByRole('button', { name: 'Create token' }).first().click();
    await page.getByLabel('Name').fill('ci');
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    const question = page.getByRole('dialog', { name: "Confirm it's you" });
    await expect(question).toContainText('an emailed link is not enough');
    await expect(question.getByRole('button', { name: 'Email me a link' })).toBeHidden();
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await question.getByRole('button', { name: 'Use a passkey' }).click();
    await expect(page.getByRole('dialog', { name: 'Your new API token' })).toBeVisible();
  });

  const requirePasskey = async (page: Page, account: Account): Promise<void> => {
    await page.goto(projectUrl(account, 'settings'));
    await page.getByRole('switch', { name: 'Require a passkey' }).click();
    await expect(page.getByText('Passkeys are required.')).toBeVisible();
  };

  await t.test(
    'a project that requires one opens after a passkey is added or confirmed; the account page stays open',
    async (t) => {
      const cleo = await createPerson(product, 'cleo@example.com', 'Cleo');
      const page = await open(t, { account: cleo });
      const laptop = await giveAuthenticator(page);
      await page.goto(projectUrl(cleo, 'settings'));
      await page.getByRole('switch', { name: 'Require a passkey' }).click();
      await expect(page.getByText('Add a passkey to your own account')).toBeVisible();
      await page.goto('/account');
      await addPasskey(page, 'Laptop');
      await requirePasskey(page, cleo);
      await page.goto('/account');
      await chooseFor(page, 'Laptop', 'Remove');
      await page.getByRole('dialog', { name: 'Remove Passkey' }).getByRole('button', { name: 'Remove' }).click();
      await expect(page.getByText('and this is your last one')).toBeVisible();

      const byMail = await product.signIn('cleo@example.com');
      const other = await open(t, { account: byMail });
      await carry(laptop, await giveAuthenticator(other));
      await other.goto(projectUrl(cleo, 'tunnels'));
      await expect(other.getByRole('heading', { name: 'Confirm with your passkey' })).toBeVisible();
      await other.goto('/account');
      await expect(other.getByRole('table', { name: 'Passkeys' })).toBeVisible();
      await other.goto(projectUrl(cleo, 'tunnels'));
      await other.getByRole('button', { name: 'Use a passkey' }).click();
      await expect(other.getByRole('heading', { name: 'No Tunnels' })).toBeVisible();
    },
  );

  await screens(t, stage);

  await t.test('operators need one where an operator requires it, and a second operator adds a first one', async (t) => {
    const page = await stage.open(t, '', { expectedErrors: refused });
    await giveAuthenticator(page);
    await page.goto('/account');
    await addPasskey(page, 'Laptop');
    await page.goto('/operator/users');
    await page.getByRole('switch', { name: 'Require a passkey of operators' }).click();
    const dora = await createPerson(product, 'dora@example.com', 'Dora');
    await page.goto('/operator/users');
    await chooseFor(page, 'dora@example.com', 'Make operator');
    await page.getByRole('dialog').getByRole('button', { name: 'Make operator' }).click();
    await expect(page.getByText('dora@example.com is now an operator.')).toBeVisible();
    const second = await open(t, { account: dora });
    await giveAuthenticator(second);
    await second.goto('/operator/users');
    await expect(second.getByRole('heading', { name: 'You have no passkey yet' })).toBeVisible();
    await addPasskey(second, 'Key');
    await expect(second.getByRole('table', { name: 'Users' })).toBeVisible();
  });
});

async function screens(t: TestContext, stage: DashboardStage): Promise<void> {
  const { product, browser } = stage;
  const eve = await createPerson(product, 'eve@example.com', 'Eve');
  const fay = await createPerson(product, 'fay@example.com', 'Fay');
  await t.test('a passkey for the pictures', async (t) => {
    const page = await visit(t, browser, product, { account: eve });
    await giveAuthenticator(page);
    await page.goto('/account');
    await addPasskey(page, 'Work laptop');
    await page.goto(projectUrl(eve, 'settings'));
    await page.getByRole('switch', { name: 'Require a passkey' }).click();
    await expect(page.getByText('Passkeys are required.')).toBeVisible();
  });
  const asked = await product.signIn('eve@example.com');
  const heading = (name: string) => (page: Page) => expect(page.getByRole('heading', { name })).toBeVisible();
  const table = (page: Page) => expect(page.getByRole('table', { name: 'Passkeys' })).toBeVisible();
  await checkScreen(t, stage, { name: 'passkeys', path: '/account', account: eve, ready: table });
  await checkScreen(t, stage, {
    name: 'passkey-add',
    path: '/account',
    account: fay,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Add passkey' }).click();
      await expect(page.getByRole('dialog', { name: 'Add passkey' })).toBeVisible();
    },
  });
  await checkScreen(t, stage, {
    name: 'passkey-needed',
    path: projectUrl(eve, 'tunnels'),
    account: asked,
    expectedErrors: refused,
    ready: heading('Confirm with your passkey'),
  });
  const database = new DatabaseSync(join(product.home, 'underpass.db'), { timeout: 10_000 });
  database.prepare('update projects set passkey_required = 1 where id = ?').run(fay.project);
  database.close();
  await checkScreen(t, stage, {
    name: 'passkey-missing',
    path: projectUrl(fay, 'tunnels'),
    account: fay,
    expectedErrors: refused,
    ready: heading('You have no passkey yet'),
  });
  await checkScreen(t, stage, {
    name: 'passkey-codes',
    path: '/account',
    account: eve,
    ready: async (page) => {
      await page.getByRole('button', { name: 'Create recovery codes' }).click();
      await page.getByRole('button', { name: 'Create codes' }).click();
      await expect(page.getByRole('dialog', { name: 'Your recovery codes' })).toBeVisible();
    },
  });
  const question = async (page: Page) => {
    outdateProofs(product, 'eve@example.com');
    await page.getByRole('button', { name: 'Create token' }).first().click();
    await page.getByLabel('Name').fill('ci');
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    await expect(page.getByRole('button', { name: 'Use a passkey' })).toBeVisible();
  };
  const path = projectUrl(eve, 'tokens');
  await checkScreen(t, stage, { name: 'proof-passkey', path, account: eve, expectedErrors: refused, ready: question });
  await checkScreen(t, stage, {
    name: 'proof-recovery-code',
    path,
    account: eve,
    expectedErrors: refused,
    ready: async (page) => {
      await question(page);
      await page.getByRole('button', { name: 'Use a recovery code' }).click();
      await page.getByLabel('Recovery code').fill('BCDFG');
      await page.keyboard.press('Enter');
      await expect(page.getByText('Enter a code such as')).toBeVisible();
    },
  });
}
