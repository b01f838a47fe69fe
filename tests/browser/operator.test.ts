// The operator's pages: actions there take effect, and other users cannot open them.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Page } from '@playwright/test';
import type { OperatorProject, OperatorUser, ServiceOverview, Subscription } from '@underpass/rules/entity/resource.ts';
import { pageRows, selectPage } from '@underpass/rules/list/list-page.ts';
import { expect, visit } from '../helpers/browser.ts';
import { connectClient, makeTunnel, openStage } from '../helpers/dashboard.ts';
import { createPerson } from '../helpers/people.ts';

async function confirm(page: Page, title: string, button: string): Promise<void> {
  const dialog = page.getByRole('dialog', { name: title });
  await dialog.getByRole('button', { name: button, exact: true }).click();
  await expect(dialog).toBeHidden();
}

async function act(page: Page, on: string, action: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${on}` }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

test('the operator pages', async (t) => {
  const { product, browser, account } = await openStage(t);
  const person = await createPerson(product, 'ada@example.com');
  const list = async <T>(path: string): Promise<T> => (await account.call<T>('GET', `/api/operator/${path}`)).body;

  await t.test(
    'a user without operator rights sees no entry in the navigation, an explanation on the page, and no data',
    async (t) => {
      const page = await visit(t, browser, product, { account: person, expectedErrors: /status of 403/ });
      await page.goto('/operator/users');
      await expect(page.getByRole('heading', { name: 'Operators Only' }).first()).toBeVisible();
      await expect(page.getByRole('link', { name: 'Operator pages' })).toBeHidden();
      for (const path of ['users', 'overview']) assert.equal((await person.call('GET', `/api/operator/${path}`)).status, 403);
      await page.goto('/operator');
      await expect(page.getByRole('heading', { name: 'Operators Only' }).first()).toBeVisible();
      await expect(page.getByRole('navigation', { name: 'Main' })).toBeVisible();
    },
  );

  const open = async (t: Parameters<typeof visit>[0], path: string, expectedErrors?: RegExp) => {
    const page = await visit(t, browser, product, { account, ...(expectedErrors ? { expectedErrors } : {}) });
    await page.goto(`/operator/${path}`);
    return page;
  };

  await t.test('the first page says in one line that all is well, and stands outside any project', async (t) => {
    const page = await visit(t, browser, product, { account });
    await page.goto('/');
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Operator pages' }).click();
    await expect(page).toHaveURL('/operator');
    await expect(page.getByText('All is well. The edge is connected. Nothing waits.')).toBeVisible();
    await expect(page.getByRole('heading', { name: 'Needs attention' })).toBeHidden();
    await expect(page.getByRole('heading', { name: 'This machine' })).toBeVisible();
    await expect(page.getByRole('listitem').filter({ hasText: 'Queue' })).toContainText('OK');
    await expect(page.getByRole('button', { name: /^Project/ })).toBeHidden();
    await expect(page.getByRole('navigation', { name: 'Main' })).toBeHidden();
    const navigation = page.getByRole('navigation', { name: 'Operator', exact: true });
    await navigation.getByRole('link', { name: 'Edges' }).click();
    await expect(page).toHaveURL('/operator/edges');
    await expect(navigation.locator('[aria-current=page]')).toHaveText(['Edges']);
    await page.getByRole('link', { name: 'Back to projects' }).click();
    await expect(page).toHaveURL(`/projects/${account.project}/dashboard`);
    await expect(page.getByRole('navigation', { name: 'Main' })).toBeVisible();
  });

  await t.test('the first page lists what fails before what waits, each with the way to mend it', async (t) => {
    const page = await visit(t, browser, product, { account, viewport: { width: 390, height: 844 } });
    const well = await list<ServiceOverview>('overview');
    const [region] = well.regions;
    const edge = { ...region!.edges[0]!, connected: false, acknowledged: false };
    const down: ServiceOverview = {
      ...well,
      attention: [
        { kind: 'part-failing', part: 'mail', name: '', state: 'does not answer', error: 'connect ECONNREFUSED' },
        { kind: 'part-failing', part: 'region', name: 'local', state: '0 of 1 edges connected' },
        { kind: 'registrations-waiting', affected: 2, since: edge.since },
      ],
      regions: [{ ...region!, edges: [edge], connectedEdges: 0 }],
      connectedEdges: 0,
    };
    await page.route('**/api/operator/overview', (route) => route.fulfill({ json: down }));
    await page.goto('/operator');
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await expect(attention.getByRole('listitem')).toHaveText([
      /Mail server: does not answer.*ECONNREFUSED/,
      /Region local: 0 of 1 edges connected/,
      /2 registrations wait/,
    ]);
    await expect(attention.getByRole('link')).toHaveCount(2);
    await expect(page.getByText('Disconnected')).toBeVisible();
    assert.equal(await page.evaluate('document.documentElement.scrollWidth > innerWidth'), false);
    await attention.getByRole('link', { name: '2 registrations wait' }).click();
    await expect(page).toHaveURL('/operator/registrations');
  });

  await t.test('a subscription added by hand includes its last day, and is deleted after confirmation', async (t) => {
    const page = await open(t, 'subscriptions');
    await expect(page.getByRole('heading', { name: 'No Subscriptions' })).toBeVisible();
    await page.getByRole('button', { name: 'Add subscription' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Add Subscription' });
    await dialog.getByRole('button', { name: 'Add' }).click();
    await expect(dialog.getByLabel('Email')).toHaveAccessibleDescription('Required.');
    await dialog.getByLabel('Email').fill('bob@example.com');
    await dialog.getByLabel('Last day').fill('2030-01-31');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await expect(page.getByRole('table', { name: 'Subscriptions' })).toContainText('bob@example.com');
    const [subscription] = await list<readonly Subscription[]>('subscriptions');
    const lastDay = await page.evaluate<string>("new Date('2030-01-31T23:59:59').toISOString()");
    assert.equal(subscription?.expiresAt, lastDay);
    await page.getByRole('button', { name: 'Delete the subscription of bob@example.com' }).click();
    await confirm(page, 'Delete Subscription', 'Delete');
    await expect(page.getByRole('heading', { name: 'No Subscriptions' })).toBeVisible();
  });

  await t.test('a list of several pages leads to older rows and back, and a tablet has the navigation in its menu', async (t) => {
    const page = await visit(t, browser, product, { account, viewport: { width: 768, height: 1024 } });
    const [user] = await list<readonly OperatorUser[]>('users');
    const users = Array.from({ length: 3 * pageRows }, (_, i) => ({ ...user, id: `${i}`, email: `${i}@example.org` }));
    await page.route('**/api/operator/users*', (route) => {
      const asked = new URL(route.request().url()).searchParams;
      const query = { words: [], status: undefined, sort: undefined, descending: false, limit: pageRows };
      const [after, before] = [asked.get('after') ?? undefined, asked.get('before') ?? undefined];
      const { rows, next, previous, total } = selectPage(users, { ...query, after, before });
      const links = [
        ...(next === null ? [] : [`</?after=${next}>; rel="next"`]),
        ...(previous === null ? [] : [`</?before=${previous}>; rel="prev"`]),
      ];
      return route.fulfill({
        json: rows,
        headers: { link: links.join(', '), 'underpass-counts': `total=${total}, Active=${total}` },
      });
    });
    await page.goto('/operator/users?q=example');
    await expect(page.getByText('150 users')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Active 150' })).toBeVisible();
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect(page).toHaveURL(/q=example&after=/);
    await expect(page.getByRole('link', { name: 'Previous page' })).toBeVisible();
    await page.getByRole('link', { name: 'Next page' }).click();
    const rows = page.getByRole('table', { name: 'Users' }).getByRole('row');
    await expect(rows).toHaveCount(pageRows + 1);
    await expect(page.getByRole('link', { name: 'Next page' })).toBeHidden();
    await page.getByRole('button', { name: 'Open navigation' }).click();
    const navigation = page.getByRole('navigation', { name: 'Operator', exact: true });
    await expect(navigation.getByRole('link', { name: 'Audit log' })).toBeInViewport();
    await page.getByRole('button', { name: 'Close navigation' }).click();
    await page.getByRole('link', { name: 'Previous page' }).click();
    await expect(page).toHaveURL(/q=example&before=/);
    await page
      .getByRole('link', { name: 'First page' })
      .or(page.getByRole('link', { name: 'Previous page' }))
      .first()
      .click();
    await expect(page).toHaveURL('/operator/users?q=example');
    await expect(page.getByRole('link', { name: 'Previous page' })).toBeHidden();
    await page.getByRole('button', { name: 'User', exact: true }).click();
    await expect(page).toHaveURL('/operator/users?q=example&sort=user');
  });

  await t.test('subscriptions are imported from CSV, and unreadable lines are named and stay in the form', async (t) => {
    const page = await open(t, 'subscriptions');
    await page.getByRole('button', { name: 'Import CSV' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Import Subscriptions' });
    await expect(dialog.getByRole('button', { name: 'Import' })).toBeDisabled();
    await dialog.getByLabel('Lines').fill('email\nbob@example.com\nnobody');
    await dialog.getByRole('button', { name: 'Import' }).click();
    await expect(dialog.getByRole('alert')).toContainText('line 3: Not a valid email address.');
    await expect(dialog.getByLabel('Lines')).toHaveValue('email\nbob@example.com\nnobody');
    await expect(page.getByText('1 subscription imported.').first()).toBeVisible();
    const csv = Buffer.from('email,expires_at\ncarol@example.com,2031-01-31\ndan@example.com,\n');
    await dialog.getByLabel('File').setInputFiles({ name: 'subscriptions.csv', mimeType: 'text/csv', buffer: csv });
    await expect(dialog.getByLabel('Lines')).toHaveValue(/carol@example\.com/);
    await dialog.getByRole('button', { name: 'Import' }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByRole('table', { name: 'Subscriptions' })).toContainText('dan@example.com');
  });

  await t.test('a suspended user is signed out at once, and is active again after Resume', async (t) => {
    const page = await open(t, 'users?q=ad');
    await page.getByLabel('Search users').fill('ada@');
    await expect(page.getByRole('table', { name: 'Users' }).getByRole('row')).toHaveCount(2);
    await act(page, 'ada@example.com', 'Suspend');
    await expect(page.getByRole('dialog')).toContainText('ada@example.com');
    await expect(page.getByRole('dialog')).toContainText('Goes dark, because no other owner is active: 0 tunnels in 1 project');
    await expect(page.getByRole('dialog').getByRole('listitem')).toHaveText(['Ada Example: 0 tunnels']);
    await confirm(page, 'Suspend User', 'Suspend');
    await expect(page.getByRole('row').filter({ hasText: 'ada@example.com' })).toContainText('Suspended');
    assert.equal((await person.call('GET', '/api/user')).status, 401);
    await act(page, 'ada@example.com', 'Resume');
    await expect(page.getByRole('dialog', { name: 'Resume User' })).toContainText(
      'Dark now, and back with the user: 0 tunnels in 1 project',
    );
    await confirm(page, 'Resume User', 'Resume');
    await expect(page.getByRole('row').filter({ hasText: 'ada@example.com' })).toContainText('Active');
  });

  await t.test('the data of a user is downloaded for them', async (t) => {
    const page = await open(t, 'users?q=ad');
    const saving = page.waitForEvent('download');
    await act(page, 'ada@example.com', 'Download data');
    const saved = await saving;
    assert.equal(saved.suggestedFilename(), 'underpass-ada@example.com.json');
    const { account: rows } = JSON.parse(await readFile(await saved.path(), 'utf8')) as { account: { email: string }[] };
    assert.deepEqual(
      rows.map(({ email }) => email),
      ['ada@example.com'],
    );
  });

  await t.test('the last operator keeps the operator rights, and the dialog shows the refusal', async (t) => {
    const page = await open(t, 'users', /status of 409/);
    await act(page, account.email, 'Revoke operator rights');
    const dialog = page.getByRole('dialog', { name: 'Revoke Operator Rights' });
    await dialog.getByRole('button', { name: 'Revoke rights' }).click();
    await expect(dialog.getByRole('alert')).toBeVisible();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const users = await list<readonly OperatorUser[]>('users');
    assert.equal(users.find(({ email }) => email === account.email)?.operator, true);
  });

  await t.test('each limit of a project changes on its own, and a malformed number is refused', async (t) => {
    const page = await open(t, 'projects?q=ada%40example.com');
    const [project] = await list<readonly OperatorProject[]>('projects?q=ada%40example.com');
    await act(page, project!.name, 'Limits');
    const panel = page.getByRole('dialog', { name: `Limits of ${project!.name}`, exact: true });
    await panel.getByLabel('Tunnels').fill('many');
    await panel.getByRole('button', { name: 'Save' }).click();
    await expect(panel.getByLabel('Tunnels')).toHaveAccessibleDescription(/^Enter a whole number\./);
    await panel.getByLabel('Tunnels').fill('0');
    await panel.getByRole('button', { name: 'Save' }).click();
    await expect(panel).toBeHidden();
    const tunnel = { name: 'one-too-many', region: 'local', type: 'http', ingressDomains: [], proxyProtocol: '' };
    const back = await product.signIn('ada@example.com');
    const refused = await back.call<string>('POST', `/api/tunnels?project=${back.project}`, tunnel);
    assert.equal(refused.body, 'This project may have at most 0 tunnels. Delete some, or ask the operator for more.');
  });

  await t.test('a tunnel can be found by its domain, suspended and resumed', async (t) => {
    const tunnel = await makeTunnel(account, 'shop');
    const page = await open(t, `tunnels?q=${tunnel.ingressDomains[0]?.name}`);
    const row = page.getByRole('row').filter({ hasText: 'shop' });
    await expect(row).toContainText('This machine');
    await expect(row).toContainText('Disconnected');
    await connectClient(t, tunnel, 'http://127.0.0.1:9');
    await expect(async () => {
      await page.reload();
      await expect(row.getByText('Connected', { exact: true })).toBeVisible({ timeout: 1000 });
    }).toPass();
    await row.getByRole('button', { name: /^Suspend shop/ }).click();
    await confirm(page, 'Suspend Tunnel', 'Suspend');
    await expect(row).toContainText('Suspended');
    await row.getByRole('button', { name: /^Resume/ }).click();
    await confirm(page, 'Resume Tunnel', 'Resume');
    await expect(row).not.toContainText('Suspended');
  });

  await t.test('a region can be added, changed, given a key that shows once, closed and deleted', async (t) => {
    const page = await open(t, 'regions');
    await page.getByRole('button', { name: 'Add region' }).click();
    const panel = page.getByRole('dialog', { name: 'Add region' });
    await panel.getByRole('button', { name: 'Add', exact: true }).click();
    await expect(panel.getByLabel('Data-plane host')).toHaveAccessibleDescription(/^Required\./);
    await panel.getByLabel('Name', { exact: true }).fill('eu-west-1');
    await panel.getByLabel('Description').fill('London');
    await panel.getByLabel('Data-plane host').fill('eu-west-1.underpass.example');
    await panel.getByRole('switch', { name: 'TLS termination' }).click();
    await panel.getByRole('button', { name: 'Add', exact: true }).click();
    await expect(panel).toBeHidden();
    const row = page.getByRole('row').filter({ hasText: 'eu-west-1.underpass.example' });
    await expect(row).toContainText('Passthrough only');
    await page.getByRole('button', { name: 'Add region' }).click();
    await expect(panel.getByRole('switch', { name: 'TLS termination' })).toBeChecked();
    await panel.getByRole('button', { name: 'Cancel' }).click();
    await act(page, 'eu-west-1', 'Edit');
    const edit = page.getByRole('dialog', { name: 'Edit eu-west-1' });
    await edit.getByLabel('Description').fill('London, Docklands');
    await edit.getByRole('switch', { name: 'TLS termination' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(row).toContainText('London, Docklands');
    await expect(row).toContainText('Terminated');
    await act(page, 'eu-west-1', 'New key');
    await confirm(page, 'Create New Key', 'Create key');
    const shown = page.getByRole('dialog', { name: 'New region key' });
    assert.match((await shown.getByLabel('Key', { exact: true }).textContent()) ?? '', /^[\w-]{32,}$/);
    await shown.getByRole('button', { name: 'Done' }).click();
    await act(page, 'eu-west-1', 'Close to new tunnels');
    await confirm(page, 'Close Region', 'Close');
    await expect(row).toContainText('Closed');
    await act(page, 'eu-west-1', 'Delete');
    await confirm(page, 'Delete Region', 'Delete');
    await expect(row).toBeHidden();
  });

  await t.test('the edge of this process shows as up to date', async (t) => {
    const page = await open(t, 'edges');
    await expect(page.getByRole('table', { name: 'Edges' })).toContainText('Up to date');
  });

  await t.test('the audit log has sign-ins and no project entries, searches, and goes back page by page', async (t) => {
    const page = await open(t, 'audit');
    const log = page.getByRole('table', { name: 'Audit log' });
    await expect(log).toContainText('signed in');
    await expect(log).not.toContainText('created the tunnel');
    await expect(page.getByLabel('Who')).toBeHidden();
    await page.getByRole('searchbox', { name: 'Search the log' }).fill(person.email);
    await expect(log).not.toContainText('You signed in');
    await expect(log.getByRole('row').nth(1)).toBeVisible();
    const entry = {
      action: 'region.create',
      target: 'older',
      actor: 'bob@example.com',
      address: '',
      detail: {},
      at: '2026-01-02T03:04:05Z',
    };
    await page.route('**/api/operator/audit*', (route) => {
      const isOlder = new URL(route.request().url()).searchParams.get('before') === '7';
      const page = isOlder ? { id: '6', next: null, previous: '6' } : { id: '7', next: '7', previous: null };
      return route.fulfill({
        json: { entries: [{ ...entry, id: page.id, target: `r${page.id}` }], next: page.next, previous: page.previous },
      });
    });
    await page.getByRole('button', { name: 'Clear' }).click();
    await expect(log).toContainText('bob@example.com created the region ‘r7’');
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect(log).toContainText('‘r6’');
    await expect(page.getByRole('link', { name: 'Next page' })).toBeHidden();
    await page.getByRole('link', { name: 'Previous page' }).click();
    await expect(log).toContainText('‘r7’');
  });

  await t.test('a report of abuse reaches the operator, who finds the tunnel and closes the report', async (t) => {
    const visitor = await visit(t, browser, product);
    await visitor.goto('/abuse?host=bank-login.tunnels.localhost');
    await visitor.getByRole('button', { name: 'Send report' }).click();
    await expect(visitor.getByLabel('What is wrong with it?')).toHaveAccessibleDescription('Required.');
    await visitor.getByLabel('What is wrong with it?').fill('It copies the sign-in of our bank.');
    await visitor.getByLabel('Your email').fill('eve@example.org');
    await visitor.getByRole('checkbox', { name: 'I am human' }).click();
    await expect(visitor.getByRole('checkbox', { name: 'Verified' })).toBeChecked();
    await visitor.getByRole('button', { name: 'Send report' }).click();
    await expect(visitor.getByRole('heading', { name: 'Thank you for the report.' })).toBeFocused();

    const page = await open(t, 'abuse-reports');
    const report = page.getByRole('row').filter({ hasText: 'bank-login.tunnels.localhost' });
    await expect(report).toContainText('It copies the sign-in of our bank.');
    await expect(report.getByRole('link', { name: 'bank-login.tunnels.localhost' })).toBeHidden();
    await report.getByRole('button', { name: /^Close/ }).click();
    await expect(page.getByRole('heading', { name: 'No Open Reports' })).toBeVisible();
    await page.getByRole('button', { name: 'Closed' }).click();
    await expect(report).toBeVisible();
  });
});
