// The pages about a project's people and programs: members, invitations, tokens, audit log, settings.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page, Route } from '@playwright/test';
import { expect, visit } from '../helpers/browser.ts';
import { openStage, projectUrl } from '../helpers/dashboard.ts';
import { linkIn, waitForMail } from '../helpers/mail.ts';
import { createPerson, registrationStored } from '../helpers/people.ts';

async function confirm(page: Page, title: string, button: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: title });
  await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  await dialog.getByRole('button', { name: button }).click();
  await expect(dialog).toBeHidden();
}

async function confirmTyped(page: Page, title: string, button: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: title });
  await dialog.getByRole('button', { name: button }).click();
  await expect(dialog).toBeHidden();
}

test('a project and its people', async (t) => {
  const { product, browser, account: owner } = await openStage(t);
  const project = (page: string) => projectUrl(owner, page);
  const open = (t: TestContext, expectedErrors?: RegExp) =>
    visit(t, browser, product, { account: owner, ...(expectedErrors ? { expectedErrors } : {}) });

  await t.test('an invited person joins by the link in the mail, with the chosen role', async (t) => {
    const email = 'grace@example.com';
    const guest = await createPerson(product, email);
    const page = await open(t);
    await page.goto(project('members'));
    await page.getByRole('button', { name: 'Invite' }).click();
    const panel = page.getByRole('dialog', { name: 'Invite to project' });
    await panel.getByRole('button', { name: 'Send invitation' }).click();
    await expect(panel.getByLabel('Email')).toHaveAccessibleDescription('Required.');
    await panel.getByLabel('Email').fill(email);
    await panel.getByRole('radio', { name: 'Viewer' }).check();
    await panel.getByRole('button', { name: 'Send invitation' }).click();
    await expect(panel).toBeHidden();
    await expect(page.getByRole('table', { name: 'Pending invitations' })).toContainText(email);

    const link = linkIn(await waitForMail(product, email, /Join a project/));
    const theirs = await visit(t, browser, product, { account: guest, expectedErrors: /status of 403 .*\/api\/tokens/ });
    await theirs.goto(link.pathname);
    await theirs.getByRole('button', { name: 'Join project' }).click();
    await theirs.waitForURL(project('dashboard'));
    await expect(theirs.getByText('Viewer').first()).toBeVisible();
    await theirs.goto(project('tokens'));
    await expect(theirs.getByText('Your role in this project does not allow this.')).toBeVisible();
    await expect(theirs.getByRole('button', { name: 'Try Again' })).toBeHidden();
    await page.reload();
    await expect(page.getByRole('table', { name: 'Members' })).toContainText(email);
    await expect(page.getByRole('table', { name: 'Pending invitations' })).toBeHidden();
  });

  await t.test('an open tab shows a new role at once, and says that its person was removed or its project deleted', async (t) => {
    const { body: shared } = await owner.call<{ id: string }>('POST', '/api/projects', { name: 'Shared' });
    /** A new member looks at the tunnels. */
    const join = async (email: string) => {
      const guest = await createPerson(product, email);
      await owner.call('POST', `/api/invitations?project=${shared.id}`, { email, role: 'member' });
      const link = linkIn(await waitForMail(product, email, /Join a project/));
      await guest.call('POST', '/api/invitations/accept', { token: link.pathname.split('/').at(-1) });
      const { body } = await owner.call<readonly { id: string; email: string }[]>('GET', `/api/members?project=${shared.id}`);
      const page = await visit(t, browser, product, { account: guest, expectedErrors: /status of 404/ });
      const live = page.waitForResponse((response) => response.url().includes('/api/events'));
      await page.goto(`/projects/${shared.id}/tunnels`);
      await live;
      const add = page.getByRole('main').getByRole('button', { name: 'Add Tunnel' }).first();
      await expect(add).toBeVisible();
      const memberPath = `/api/members/${body.find((member) => member.email === email)?.id}?project=${shared.id}`;
      return { guest, page, add, memberPath };
    };
    const joan = await join('joan@example.com');
    await owner.call('PATCH', joan.memberPath, { role: 'viewer' });
    await expect(joan.add).toBeHidden();
    await joan.page.goto(`/projects/${shared.id}/tunnels?new`);
    await expect(joan.page.getByText(/^Only .* may do this/)).toBeVisible();
    await joan.page.goto(`/projects/${shared.id}/members?invite`);
    await expect(joan.page.getByText(/^Only .* may do this/)).toBeVisible();
    // The role changes after the page was made, and before it hears of changes.
    const makeAdmin = async (route: Route) => {
      await owner.call('PATCH', joan.memberPath, { role: 'admin' });
      await route.continue();
    };
    await joan.page.route('**/api/events?*', makeAdmin, { times: 1 });
    await joan.page.goto(`/projects/${shared.id}/tunnels`);
    await expect(joan.page.getByRole('heading', { name: 'No Tunnels' })).toBeVisible();
    await expect(joan.add).toBeVisible();
    await owner.call('DELETE', joan.memberPath);
    await expect(joan.page.getByRole('heading', { name: 'You are no longer a member of ‘Shared’.' })).toBeVisible();

    const { guest, page } = await join('jean@example.com');
    await owner.call('DELETE', `/api/projects/${shared.id}`, { name: 'Shared' });
    await expect(page.getByRole('heading', { name: '‘Shared’ was deleted.' })).toBeVisible();
    await page.getByRole('link', { name: /^Go to / }).click();
    await page.waitForURL(projectUrl(guest, 'dashboard'));
  });

  await t.test('an invitation opened without a session says who invites, and returns after the sign-in', async (t) => {
    const email = 'linus@example.com';
    await createPerson(product, email);
    const page = await open(t);
    await page.goto(project('members'));
    await page.getByRole('button', { name: 'Invite' }).click();
    const panel = page.getByRole('dialog', { name: 'Invite to project' });
    await panel.getByLabel('Email').fill(email);
    await panel.getByRole('button', { name: 'Send invitation' }).click();
    const link = linkIn(await waitForMail(product, email, /Join a project/));
    const theirs = await visit(t, browser, product);
    await theirs.goto(link.pathname);
    await expect(theirs.getByText(`${owner.email} invited you to join `)).toContainText(`Sign in as ${email}`);
    await expect(theirs.getByLabel('Email')).toHaveValue(email);
    const { url } = JSON.parse(await product.operate('login-link', email, '--json')) as { url: string };
    await theirs.goto(url);
    await theirs.getByRole('button', { name: 'Sign in here' }).click();
    await theirs.waitForURL(link.pathname);
    await expect(theirs.getByText(`${owner.email} invited you to join `)).toContainText('as Member. You will join as linus@');
    await theirs.getByRole('button', { name: 'Join project' }).click();
    await theirs.waitForURL(project('dashboard'));
    await theirs.goto(link.pathname);
    await theirs.waitForURL(project('dashboard'));
  });

  await t.test('an invited person without an account registers, and reads that an operator must approve it first', async (t) => {
    const email = 'margaret@example.com';
    await owner.call('POST', `/api/invitations?project=${owner.project}`, { email, role: 'member' });
    const link = linkIn(await waitForMail(product, email, /Join a project/));
    const theirs = await visit(t, browser, product);
    await theirs.goto(link.pathname);
    await theirs.getByRole('link', { name: 'Create an account' }).click();
    await expect(theirs.getByText(`${owner.email} invited you to join `)).toContainText(
      'An operator must approve your account first; you will get a mail.',
    );
    await expect(theirs.getByLabel('Email')).toHaveValue(email);
    await theirs.getByLabel('First name').fill('Margaret');
    await theirs.getByLabel('Last name').fill('Hamilton');
    await theirs.getByRole('checkbox', { name: /terms of service/ }).check();
    await theirs.getByRole('checkbox', { name: 'I am human' }).click();
    await theirs.getByRole('button', { name: 'Register' }).click();
    await expect(theirs.getByRole('heading', { name: 'Registration successful.' })).toBeVisible();
    await expect(theirs.getByText('That email also has the link to join ‘')).toBeVisible();
    const page = await open(t);
    await registrationStored(owner, email);
    await page.goto('/operator/registrations');
    await expect(page.getByRole('row').filter({ hasText: email })).toContainText(`Invited by ${owner.email} to`);
    await product.operate('registrations', 'approve', email);
    const welcome = await waitForMail(product, email, /^Welcome to Underpass/);
    const join = /http\S+\/invitations\/\S+/.exec(welcome.text)![0];
    const { url } = JSON.parse(await product.operate('login-link', email, '--json')) as { url: string };
    await theirs.goto(url);
    await theirs.getByRole('button', { name: 'Sign in here' }).click();
    // The browser kept the page of the invitation; the mail's link leads there from any other.
    await theirs.waitForURL(link.pathname);
    assert.equal(new URL(join).pathname, link.pathname);
    await theirs.getByRole('button', { name: 'Join project' }).click();
    await theirs.waitForURL(project('dashboard'));
  });

  await t.test('a wrong account signs out, and the same page then asks for the right one', async (t) => {
    const email = 'barbara@example.com';
    const other = await createPerson(product, 'other@example.com');
    await owner.call('POST', `/api/invitations?project=${owner.project}`, { email, role: 'member' });
    const link = linkIn(await waitForMail(product, email, /Join a project/));
    const theirs = await visit(t, browser, product, { account: other, expectedErrors: /status of 400/ });
    await theirs.goto(link.pathname);
    await theirs.getByRole('button', { name: 'Sign out and use another account' }).click();
    await expect(theirs.getByText(`${owner.email} invited you to join `)).toContainText(`Sign in as ${email}`);
    await theirs.waitForURL(link.pathname);
  });

  await t.test('the link of an invitation fails after a member withdraws it in a dialog that names it', async (t) => {
    const email = 'alan@example.com';
    const guest = await createPerson(product, email);
    await owner.call('POST', `/api/invitations?project=${owner.project}`, { email, role: 'member' });
    const link = linkIn(await waitForMail(product, email, /Join a project/));
    const page = await open(t);
    await page.goto(project('members'));
    await page.getByRole('button', { name: `Withdraw the invitation for ${email}` }).click();
    await expect(page.getByRole('dialog')).toContainText(email);
    await confirm(page, 'Withdraw Invitation', 'Withdraw');
    await expect(page.getByText(`Invitation for ${email} withdrawn.`).first()).toBeVisible();
    const theirs = await visit(t, browser, product, { account: guest, expectedErrors: /status of 400/ });
    await theirs.goto(link.pathname);
    await expect(theirs.getByRole('alert').filter({ hasText: 'This invitation was withdrawn' })).toBeVisible();
    await expect(theirs.getByRole('button', { name: 'Join project' })).toBeHidden();
  });

  await t.test("a role changes in place and a member is removed after confirmation, except the last owner's", async (t) => {
    const page = await open(t, /status of 409/);
    await page.goto(project('members'));
    const row = page.getByRole('row').filter({ hasText: 'grace@example.com' });
    const role = row.getByRole('combobox', { name: /Role of/ });
    await expect(role).toHaveValue('viewer');
    const holdList = async () => {
      const held = Promise.withResolvers<void>();
      await page.route('**/api/members?*', async (route) => {
        await held.promise;
        await route.continue();
      });
      return async () => {
        held.resolve();
        await page.unrouteAll({ behavior: 'wait' });
      };
    };
    const releaseChanged = await holdList();
    await role.selectOption('Admin');
    await expect(page.getByText(/is now admin\./).first()).toBeVisible();
    expect(await role.inputValue(), 'before the new list arrives').toBe('admin');
    await releaseChanged();
    await page.reload();
    await expect(role).toHaveValue('admin');
    const releaseRefused = await holdList();
    await page.route('**/api/members/*', (route) => route.fulfill({ status: 409, body: 'Not now.' }));
    await role.selectOption('Viewer');
    await expect(page.getByText('The role could not be changed.').first()).toBeVisible();
    expect(await role.inputValue(), 'before the new list arrives').toBe('admin');
    await releaseRefused();
    const own = page.getByRole('row').filter({ hasText: 'You' });
    await expect(own.getByRole('combobox')).toBeHidden();
    await expect(own.getByRole('button')).toBeHidden();
    await row.getByRole('button', { name: /^Remove/ }).click();
    await confirm(page, 'Remove Member', 'Remove');
    await expect(row).toBeHidden();
    await expect(page.getByRole('heading', { level: 1 })).toBeFocused();
  });

  await t.test('an API token shows once and works until it is revoked', async (t) => {
    const page = await open(t);
    await page.goto(project('tokens'));
    await expect(page.getByRole('heading', { name: 'No API Tokens' })).toBeVisible();
    await page.getByRole('button', { name: 'Create token' }).first().click();
    const panel = page.getByRole('dialog', { name: 'Create API token' });
    await panel.getByRole('button', { name: 'Create' }).click();
    await expect(panel.getByLabel('Name')).toHaveAccessibleDescription(/^Required\./);
    await panel.getByLabel('Name').fill('deploy pipeline');
    await panel.getByRole('radio', { name: 'Viewer' }).check();
    await panel.getByRole('button', { name: 'Create' }).click();
    const shown = page.getByRole('dialog', { name: 'Your new API token' });
    const token = (await shown.getByLabel('API token', { exact: true }).textContent()) ?? '';
    const answer = () =>
      fetch(`${product.origin}/api/tunnels?project=${owner.project}`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal((await answer()).status, 200);
    await shown.getByRole('button', { name: 'Done' }).click();
    await expect(page.getByText(token)).toBeHidden();
    await expect(page.getByRole('table', { name: 'API tokens' })).toContainText('deploy pipeline');
    await page.getByRole('button', { name: 'Revoke deploy pipeline' }).click();
    await confirm(page, 'Revoke API Token', 'Revoke');
    await expect(page.getByRole('heading', { name: 'No API Tokens' })).toBeVisible();
    assert.equal((await answer()).status, 401);
  });

  await t.test('the audit log says in sentences who did what, filters by choice, unfolds, and exports', async (t) => {
    const page = await open(t);
    await page.goto(project('audit'));
    const log = page.getByRole('table', { name: 'Audit log' });
    await expect(log).toContainText('You created the API token');
    await page.getByLabel('What').selectOption('Domains');
    await expect(page.getByRole('heading', { name: 'No Entries Found' })).toBeVisible();
    await expect(page).toHaveURL(/what=domains/);
    await page.getByRole('button', { name: 'Clear' }).click();
    await expect(log).toBeVisible();
    await expect(page.getByLabel('What')).toHaveValue('');
    await expect(page.getByRole('searchbox')).toBeFocused();
    await page.getByLabel('Who').selectOption({ label: 'Underpass' });
    await expect(log).toBeHidden();
    await page.getByLabel('Who').selectOption('');
    await page.getByLabel('When').selectOption('Between dates');
    await page.getByLabel('To').fill('2020-01-01');
    await expect(log).toBeHidden();
    await page.getByLabel('When').selectOption('Today');
    await page.getByLabel('What').selectOption('API tokens and terminals');
    const entry = log.getByRole('row').filter({ hasText: 'created the API token' }).first();
    await entry.locator('summary').focus();
    await page.keyboard.press('Enter');
    await expect(entry.getByText('api-token.create')).toBeVisible();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await entry.getByRole('button', { name: 'Copy as JSON' }).click();
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
    await expect.poll(copied).toMatch(/^\{/);
    assert.equal((JSON.parse(await copied()) as { action: string }).action, 'api-token.create');
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Export CSV' }).click();
    assert.match((await downloading).suggestedFilename(), /\.csv$/);
  });

  await t.test('renaming a project also changes the selector', async (t) => {
    const page = await open(t);
    await page.goto(project('settings'));
    await expect(page.getByRole('button', { name: 'Save' })).toBeDisabled();
    await page.getByRole('textbox', { name: 'Name' }).fill('Home lab');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByRole('button', { name: 'Project: Home lab' })).toBeVisible();
    await page.getByRole('textbox', { name: 'Name' }).fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByRole('textbox', { name: 'Name' })).toHaveAccessibleDescription('Required.');
  });

  await t.test('a new project opens on its dashboard, with its creator as owner', async (t) => {
    const page = await open(t);
    await page.goto(project('settings'));
    await page.getByRole('link', { name: 'New project' }).click();
    // The settings page also has a Name field.
    await expect(page.getByRole('heading', { name: 'New project' })).toBeVisible();
    await page.getByRole('textbox', { name: 'Name' }).fill('Second');
    await page.getByRole('button', { name: 'Create project' }).click();
    await page.waitForURL((url) => /\/dashboard$/.test(url.pathname) && !url.pathname.includes(owner.project));
    await expect(page.getByText('Project: Second')).toBeVisible();
  });

  await t.test('the account page lists the sessions, and revokes another one after confirmation', async (t) => {
    const other = await product.signIn();
    const page = await open(t);
    await page.goto('/');
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Account' }).click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Account');
    await expect(page.getByRole('main').getByRole('heading', { level: 2 })).toHaveText([
      'Sessions',
      'Passkeys',
      'Terminals and API tokens',
      'Your data',
      'Delete account',
    ]);
    const table = page.getByRole('region', { name: 'Sessions' }).getByRole('table', { name: 'Sessions' });
    await expect(table.getByText('This session')).toHaveCount(1);
    await table
      .getByRole('button', { name: /^Revoke/ })
      .first()
      .click();
    await confirm(page, 'Revoke Session', 'Revoke');
    await expect(page.getByText('Session revoked.').first()).toBeVisible();
    assert.equal((await other.call('GET', '/api/user')).status, 401, 'the newest other session is first in the list');
  });

  await t.test('a command line client signs in by its code, and another can be denied', async (t) => {
    const start = async () => {
      const answer = await fetch(`${product.origin}/auth/device`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'ada@workstation' }),
      });
      return (await answer.json()) as { deviceCode: string; userCode: string; verificationUrl: string };
    };
    const poll = (deviceCode: string) =>
      fetch(`${product.origin}/auth/device/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ deviceCode }),
      });
    const page = await open(t, /status of 404/);
    const wanted = await start();
    await page.goto('/activate');
    await page.getByLabel('Code').fill('nonsense');
    await page.getByRole('button', { name: 'Continue' }).click();
    await expect(page.getByText('Enter the code that the terminal shows')).toBeVisible();
    await page.getByLabel('Code').fill('BCDF-GHJK');
    await page.getByRole('button', { name: 'Continue' }).click();
    await expect(page.getByText('Code BCDF-GHJK is not valid.')).toBeVisible();
    await page.getByRole('button', { name: 'Enter another code' }).click();
    await page.getByLabel('Code').fill(wanted.userCode.toLowerCase());
    await page.getByRole('button', { name: 'Continue' }).click();
    await expect(page.getByRole('heading', { name: 'Sign in this terminal?' })).toBeVisible();
    await expect(page.getByRole('definition').filter({ hasText: 'workstation' })).toHaveText('‘ada@workstation’');
    await page.getByRole('button', { name: 'Approve' }).click();
    await expect(page.getByText('The terminal is signed in.')).toBeVisible();
    assert.equal((await poll(wanted.deviceCode)).status, 200);

    const strange = await start();
    await page.goto(`${new URL(strange.verificationUrl).pathname}?code=${strange.userCode}`);
    await expect(page.getByLabel('Code')).toHaveValue('');
    await page.getByLabel('Code').fill(strange.userCode);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Deny' }).click();
    await expect(page.getByText('You denied the request.')).toBeVisible();
    assert.equal((await poll(strange.deviceCode)).status, 410);
  });

  await t.test('typing its name deletes a project and opens the next one', async (t) => {
    const guest = await createPerson(product, 'ada@example.com');
    const { body } = await guest.call<{ id: string }>('POST', '/api/projects', { name: 'Attic' });
    const page = await visit(t, browser, product, { account: guest });
    await page.goto(`/projects/${body.id}/settings`);
    await page.getByRole('button', { name: 'Delete project' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete Project' });
    await expect(dialog.getByRole('button', { name: 'Delete project' })).toBeDisabled();
    await dialog.getByLabel('Type the project name to confirm').fill('Cellar');
    await expect(dialog.getByRole('button', { name: 'Delete project' })).toBeDisabled();
    await dialog.getByLabel('Type the project name to confirm').fill('Attic');
    await confirmTyped(page, 'Delete Project', 'Delete project');
    await page.waitForURL(projectUrl(guest, 'dashboard'));
    assert.equal((await guest.call<unknown[]>('GET', '/api/projects')).body.length, 1);
  });

  await t.test(
    'typing its address deletes an account, unless it is the last owner of a project with other members',
    async (t) => {
      const email = 'mary@example.com';
      const guest = await createPerson(product, email);
      const page = await visit(t, browser, product, { account: guest, expectedErrors: /status of (409|401)/ });
      await owner.call('POST', `/api/invitations?project=${owner.project}`, { email, role: 'owner' });
      const link = linkIn(await waitForMail(product, email, /Join a project/));
      await guest.call('POST', '/api/invitations/accept', { token: link.pathname.split('/').at(-1) });
      const { body: members } = await guest.call<{ id: string; isSelf: boolean; role: string }[]>(
        'GET',
        `/api/members?project=${owner.project}`,
      );
      for (const { id } of members.filter((each) => !each.isSelf && each.role === 'owner'))
        await guest.call('PATCH', `/api/members/${id}?project=${owner.project}`, { role: 'admin' });
      await page.goto('/account');
      await page.getByRole('button', { name: 'Delete account' }).click();
      const dialog = page.getByRole('dialog', { name: 'Delete Account' });
      await dialog.getByLabel('Type your email address to confirm').fill(email);
      await dialog.getByRole('button', { name: 'Delete account' }).click();
      await expect(dialog.getByText(/Make one of them an owner, or delete the project first/)).toBeVisible();
      const other = members.find((each) => !each.isSelf && each.role === 'owner');
      await guest.call('PATCH', `/api/members/${other?.id}?project=${owner.project}`, { role: 'owner' });
      await confirmTyped(page, 'Delete Account', 'Delete account');
      await page.waitForURL('/login');
      assert.equal((await guest.call('GET', '/api/user')).status, 401);
      await waitForMail(product, email, /account is deleted/);
    },
  );
});
