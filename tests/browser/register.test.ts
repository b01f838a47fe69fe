// Follows a registration to the first sign-in: the person, the operator, and the mails between them (spec 2 and 5, Register).
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Browser, Page } from '@playwright/test';
import { rateLimits } from '@underpass/rules/limits.ts';
import { expect, visit } from '../helpers/browser.ts';
import { openStage } from '../helpers/dashboard.ts';
import { linkIn, waitForMail } from '../helpers/mail.ts';
import { registrationStored } from '../helpers/people.ts';
import type { Product } from '../helpers/product.ts';

async function verify(page: Page): Promise<void> {
  await page.getByRole('checkbox', { name: 'I am human' }).click();
  await expect(page.getByRole('checkbox', { name: 'Verified' })).toBeChecked();
}

const acceptTerms = (page: Page) => page.getByRole('checkbox', { name: /terms of service/ });

interface Person {
  readonly first: string;
  readonly last: string;
  readonly email: string;
}

async function register(page: Page, { first, last, email }: Person): Promise<void> {
  await page.goto('/register');
  await page.getByLabel('First name').fill(first);
  await page.getByLabel('Last name').fill(last);
  await page.getByLabel('Email').fill(email);
  await acceptTerms(page).check();
  await verify(page);
  await page.getByRole('button', { name: 'Register' }).click();
  await expect(page.getByRole('heading', { name: 'Registration successful.' })).toBeFocused();
}

async function signIn(t: TestContext, browser: Browser, product: Product, email: string): Promise<Page> {
  const page = await visit(t, browser, product);
  await page.goto('/login');
  await page.getByLabel('Email').fill(email);
  await verify(page);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  // The answer marks the link as requested by this browser.
  await expect(page.getByRole('heading', { name: /We have sent an email/ })).toBeVisible();
  await page.goto(linkIn(await waitForMail(product, email, /login link/)).pathname);
  await page.waitForURL(/\/dashboard$/);
  return page;
}

test('registering', async (t) => {
  const { product, browser, account: operator } = await openStage(t);

  await t.test('an empty form names every required field, and no optional one', async (t) => {
    const page = await visit(t, browser, product);
    await page.goto('/register');
    await page.getByRole('button', { name: 'Register' }).click();
    for (const label of ['First name', 'Last name', 'Email']) {
      await expect(page.getByLabel(label)).toHaveAccessibleDescription('Required.');
    }
    await expect(acceptTerms(page)).toHaveAccessibleDescription('Please accept terms of service.');
    await expect(page.getByText('Please verify you are a human.')).toBeVisible();
    await expect(page.getByLabel('First name')).toBeFocused();
    for (const label of ['Company', 'GitHub account', 'X account']) {
      await expect(page.getByLabel(label)).toHaveAccessibleDescription('');
    }
  });

  await t.test('a malformed e-mail is refused', async (t) => {
    const page = await visit(t, browser, product);
    await page.goto('/register');
    await page.getByLabel('Email').fill('ada@@example.com');
    await page.getByRole('button', { name: 'Register' }).click();
    await expect(page.getByLabel('Email')).toHaveAccessibleDescription('Not a valid email address.');
  });

  await t.test('terms and privacy policy can be read in place, by keyboard too', async (t) => {
    const page = await visit(t, browser, product);
    await page.goto('/register');
    const texts = page.getByRole('region', { name: 'Terms of service and privacy policy' });
    await expect(texts.getByRole('heading', { name: 'Terms of service', exact: true })).toBeVisible();
    await texts.focus();
    await page.keyboard.press('End');
    await expect(texts.getByRole('heading', { name: /Contact$/ })).toBeInViewport();
  });

  await t.test('after approval the person signs in and owns a project', async (t) => {
    const email = 'ada@example.com';
    await register(await visit(t, browser, product), { first: 'Ada', last: 'Lovelace', email });
    await registrationStored(operator, email);
    const operatorPage = await visit(t, browser, product, { account: operator });
    await operatorPage.goto('/operator');
    await operatorPage.getByRole('link', { name: '1 registration waits' }).click();
    await operatorPage.waitForURL('/operator/registrations');
    const row = operatorPage.getByRole('row').filter({ hasText: email });
    await expect(row).toContainText('Ada Lovelace');
    await expect(row).toContainText('Not found');
    await row.getByRole('button', { name: `Approve ${email}` }).click();
    const question = operatorPage.getByRole('dialog', { name: 'Approve Without Subscription' });
    await expect(question).toContainText('suspend them on the page Users');
    await question.getByRole('button', { name: 'Cancel' }).click();
    await expect(row).toBeVisible();
    await row.getByRole('button', { name: `Approve ${email}` }).click();
    await question.getByRole('button', { name: 'Approve' }).click();
    await expect(operatorPage.getByText(`${email} approved.`).first()).toBeVisible();
    await expect(row).toBeHidden();
    await waitForMail(product, email, /Welcome/);
    const page = await signIn(t, browser, product, email);
    await expect(page.getByRole('heading', { name: 'Welcome Ada' })).toBeVisible();
    await expect(page.getByText('Owner').first()).toBeVisible();
  });

  await t.test('a rejection needs confirmation, sends a mail, and permits no sign-in', async (t) => {
    const email = 'mallory@example.com';
    await register(await visit(t, browser, product), { first: 'Mallory', last: 'M', email });
    await registrationStored(operator, email);
    const operatorPage = await visit(t, browser, product, { account: operator });
    await operatorPage.goto('/operator/registrations');
    await operatorPage.getByRole('button', { name: `Reject ${email}` }).click();
    const dialog = operatorPage.getByRole('dialog', { name: 'Reject Registration' });
    await expect(dialog).toContainText(email);
    await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
    await dialog.getByRole('button', { name: 'Reject' }).click();
    await expect(dialog).toBeHidden();
    await operatorPage.getByRole('button', { name: 'Rejected' }).click();
    await expect(operatorPage.getByRole('row').filter({ hasText: email })).toBeVisible();
    const mail = await waitForMail(product, email, /registration$/);
    assert.match(mail.text, /received|cannot approve/);
  });

  await t.test('a refused registration keeps the form and shows why', async (t) => {
    const page = await visit(t, browser, product, { expectedErrors: /status of 429|Registration failed/ });
    await page.goto('/register');
    await page.getByLabel('First name').fill('Grace');
    await page.getByLabel('Last name').fill('Hopper');
    await page.getByLabel('Email').fill('grace@example.com');
    await page.getByLabel('Company').fill('Navy');
    await acceptTerms(page).check();
    await spendRegistrations(product);
    await verify(page);
    await page.getByRole('button', { name: 'Register' }).click();
    await expect(page.getByRole('alert')).toContainText('Too many registrations.');
    await expect(page.getByLabel('Company')).toHaveValue('Navy');
    await expect(acceptTerms(page)).toBeChecked();
    await expect(page.getByRole('checkbox', { name: 'I am human' })).not.toBeChecked();
  });
});

/** The limit per address counts before the bot check runs, so wrong answers use it up too. */
async function spendRegistrations({ origin }: Product): Promise<void> {
  for (let count = 0; count < rateLimits.register.points; count += 1) {
    const body = new FormData();
    const fields = { 'first-name': 'A', 'last-name': 'B', email: 'a@example.com', 'accept-terms': 'true', 'bot-check': 'wrong' };
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    await fetch(`${origin}/auth/register`, { method: 'POST', headers: { origin }, body });
  }
}
