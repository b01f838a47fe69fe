// The path of a new user, from the registration to their page through a tunnel: every step is in the browser, or pasted
// from it into a shell.
import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from '@playwright/test';
import { expect, readClipboard, visit } from '../helpers/browser.ts';
import { type DashboardStage, openStage } from '../helpers/dashboard.ts';
import { linkIn, waitForMail } from '../helpers/mail.ts';
import { registrationStored } from '../helpers/people.ts';

const email = 'grace@example.com';
const greeting = 'Hello from the other side';
const cli = fileURLToPath(new URL('../../client/main.ts', import.meta.url));

test('the walk', async (t) => {
  const stage = await openStage(t);
  await t.test('a new user gets from the registration to a page served through a tunnel', (t) => walk(t, stage));
});

async function walk(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await visit(t, stage.browser, stage.product);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await register(page);
  await approve(t, stage);
  await signIn(page, stage);
  const snippet = await createTunnel(page, await startApplication(t));
  await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
  await runInShell(t, snippet);
  await expect(page.getByText('Connected', { exact: true }).first()).toBeVisible();
  await seePage(t, stage, (await page.getByRole('link', { name: /\.tunnels\.localhost$/ }).getAttribute('href')) ?? '');
}

async function proveHumanity(page: Page): Promise<void> {
  await page.getByRole('checkbox', { name: 'I am human' }).click();
  await expect(page.getByRole('checkbox', { name: 'Verified' })).toBeChecked();
}

async function register(page: Page): Promise<void> {
  await page.goto('/');
  await page.getByRole('link', { name: 'Register' }).click();
  await page.getByLabel('First name').fill('Grace');
  await page.getByLabel('Last name').fill('Hopper');
  await page.getByLabel('Email').fill(email);
  await page.getByRole('checkbox', { name: /terms of service/ }).check();
  await proveHumanity(page);
  await page.getByRole('button', { name: 'Register' }).click();
  await expect(page.getByRole('heading', { name: 'Registration successful.' })).toBeVisible();
}

async function approve(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await visit(t, stage.browser, stage.product, { account: stage.account });
  await registrationStored(stage.account, email);
  await page.goto('/operator/registrations');
  await page.getByRole('button', { name: `Approve ${email}` }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
  await expect(page.getByText(`${email} approved.`).first()).toBeVisible();
}

async function signIn(page: Page, stage: DashboardStage): Promise<void> {
  await page.goto('/login');
  await page.getByLabel('Email').fill(email);
  await proveHumanity(page);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await expect(page.getByText(`We have sent an email with a login link to ${email}`)).toBeVisible();
  await page.goto(linkIn(await waitForMail(stage.product, email, /login link/i)).pathname);
  await expect(page.getByRole('heading', { level: 1, name: 'Welcome Grace' })).toBeVisible();
}

/** Returns the command that Copy of the CLI tab puts on the clipboard. */
async function createTunnel(page: Page, upstream: string): Promise<string> {
  await page.getByRole('link', { name: 'Add Tunnel' }).click();
  const panel = page.getByRole('dialog', { name: 'New Tunnel' });
  await panel.getByLabel('Name').fill('hello');
  await panel.getByRole('switch', { name: 'Generate domain' }).click();
  await panel.getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'hello' })).toBeVisible();
  await page.getByRole('tab', { name: 'CLI' }).click();
  await page.getByLabel('Upstream').fill(upstream);
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await expect.poll(() => readClipboard(page)).toContain(upstream);
  return readClipboard(page);
}

async function startApplication(t: TestContext): Promise<string> {
  const server = createServer((_request, response) => response.end(greeting));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Runs the pasted command in a shell that has the command line installed. */
async function runInShell(t: TestContext, snippet: string): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'underpass-walk-'));
  await writeFile(join(home, 'underpass'), `#!/bin/sh\nexec '${process.execPath}' '${cli}' "$@"\n`);
  await chmod(join(home, 'underpass'), 0o755);
  const shell = spawn('sh', ['-c', snippet], {
    env: { HOME: home, PATH: `${home}:${process.env.PATH}` },
    stdio: 'ignore',
    detached: true,
  });
  const ended = new Promise((resolve) => shell.once('exit', resolve));
  t.after(async () => {
    if (shell.pid !== undefined && shell.exitCode === null) process.kill(-shell.pid, 'SIGTERM');
    await ended;
    await rm(home, { recursive: true, force: true });
  });
}

async function seePage(t: TestContext, stage: DashboardStage, url: string): Promise<void> {
  const context = await stage.browser.newContext({ ignoreHTTPSErrors: true });
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  await expect(page.getByText(greeting)).toBeVisible();
}
