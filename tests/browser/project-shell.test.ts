// spec 2, Project shell and Dashboard: bar, account menu, project selector, navigation; and beyond it palette, theme and live counts.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import type { Project, Tunnel } from '@underpass/rules/entity/entity.ts';
import { expect, visit } from '../helpers/browser.ts';
import {
  connectClient,
  type DashboardStage,
  makeTunnel,
  makeVerifiedDomain,
  openStage,
  projectUrl,
  withoutSession,
} from '../helpers/dashboard.ts';
import { createPerson } from '../helpers/people.ts';
import { waysOutTests } from '../helpers/ways-out.ts';

const navigation = (page: Page) => page.getByRole('navigation', { name: 'Main' });
const remembered = (page: Page) => page.evaluate<string | null>("localStorage.getItem('selected-project')");
const theme = (page: Page) => page.evaluate<string>('getComputedStyle(document.documentElement).colorScheme');

test('project shell', async (t) => {
  const stage = await openStage(t);
  const { body: other } = await stage.account.call<Project>('POST', '/api/projects', { name: 'Second project' });
  await t.test('shell', (t) => shellTests(t, stage));
  await t.test('project selector', (t) => selectorTests(t, stage, other));
  await t.test('dashboard', (t) => dashboardTests(t, stage));
  await t.test('first steps', (t) => firstStepsTests(t, stage, other));
  await t.test('command palette', (t) => paletteTests(t, stage));
  await t.test('theme', (t) => themeTests(t, stage));
  await t.test('ways out of a form', (t) => waysOutTests(t, stage));
});

/** Signs in by a link from the operator's command, in a browser that did not ask for one. */
async function signInHere(page: Page, { product }: DashboardStage, ...email: readonly string[]): Promise<void> {
  await page.goto((JSON.parse(await product.operate('login-link', ...email, '--json')) as { url: string }).url);
  await page.getByRole('button', { name: 'Sign in here' }).click();
  await page.waitForURL(/\/projects\//);
}

/** Reports the tab as hidden or shown, because headless Chromium shows every tab. */
const setHidden = (page: Page, hidden: boolean) =>
  page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'))`);

async function shellTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await t.test('every project page redirects to /login without a sign-in', async (t) => {
    const page = await visit(t, stage.browser, stage.product);
    for (const path of [
      'dashboard',
      'tunnels',
      'tunnels/x',
      'domains',
      'domains/x',
      'security-groups',
      'security-groups/default',
    ]) {
      await page.goto(projectUrl(stage.account, path));
      await expect(page).toHaveURL('/login');
    }
  });

  await t.test('the navigation has its entries in order, and marks the open page', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await expect(navigation(page)).toBeVisible();
    const entries = await navigation(page).getByRole('link').allInnerTexts();
    assert.deepEqual(entries.slice(0, 6), ['Dashboard', 'Tunnels', 'Domains', 'Security Groups', 'Access', 'CLI']);
    await expect(navigation(page).getByRole('link', { name: 'Tunnels' })).toHaveAttribute('aria-current', 'page');
    await navigation(page).getByRole('link', { name: 'CLI' }).click();
    await expect(page).toHaveURL('/download');
    await expect(page.getByRole('heading', { level: 1 })).toBeFocused();
    await navigation(page).getByRole('link', { name: 'Security Groups' }).click();
    await expect(page).toHaveURL(projectUrl(stage.account, 'security-groups'));
    await expect(page.getByRole('heading', { level: 1, name: 'Security Groups' })).toBeFocused();
  });

  await t.test('on a phone the navigation is behind a button, and closes after a choice or Escape', async (t) => {
    const page = await stage.open(t, 'tunnels', { viewport: { width: 390, height: 844 } });
    await expect(navigation(page)).toBeHidden();
    await page.getByRole('button', { name: 'Open navigation' }).click();
    await navigation(page).getByRole('link', { name: 'Domains' }).click();
    await expect(page).toHaveURL(projectUrl(stage.account, 'domains'));
    // A new page closes the navigation and takes the focus.
    await expect(page.getByRole('heading', { level: 1, name: 'Domains' })).toBeFocused();
    await expect(navigation(page)).toBeHidden();
    await page.getByRole('button', { name: 'Open navigation' }).click();
    await expect(navigation(page)).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(navigation(page)).toBeHidden();
    await expect(page.getByRole('button', { name: 'Open navigation' })).toBeFocused();
  });

  await t.test('the account menu names the user, and logging out ends the session and goes home', async (t) => {
    const account = await stage.product.signIn();
    const page = await visit(t, stage.browser, stage.product, { account });
    await page.goto(projectUrl(account, 'dashboard'));
    await page.getByRole('button', { name: 'Account' }).click();
    await expect(page.getByText(`Signed in as${account.email}`)).toBeVisible();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await expect(page).toHaveURL('/login');
    assert.equal((await account.call('GET', '/api/user')).status, 401);
    await page.goto(projectUrl(account, 'dashboard'));
    await expect(page).toHaveURL('/login');
  });

  await t.test('a session that ended elsewhere leads to /login at the next action at the latest', async (t) => {
    const account = await stage.product.signIn();
    const page = await visit(t, stage.browser, stage.product, { account, expectedErrors: /401/ });
    await page.goto(projectUrl(account, 'dashboard'));
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await account.call('POST', '/auth/logout');
    // The page also asks by itself, and may leave before the click reaches the navigation.
    const left = page.waitForURL('/login');
    await Promise.race([left, navigation(page).getByRole('link', { name: 'Tunnels' }).click()]).catch(() => {});
    await left;
  });

  await t.test('after a session ends, /login says so and returns to the page after the sign-in', async (t) => {
    const account = await stage.product.signIn();
    const page = await visit(t, stage.browser, stage.product, { account, expectedErrors: /401/ });
    await page.goto(projectUrl(account, 'security-groups'));
    await expect(page.getByRole('table', { name: 'Security groups' })).toBeVisible();
    await account.call('POST', '/auth/logout');
    await page.getByRole('link', { name: 'default' }).click();
    await expect(page).toHaveURL('/login');
    await expect(page.getByText(/^Your session has ended\./)).toBeVisible();
    await signInHere(page, stage);
    await expect(page).toHaveURL(projectUrl(account, 'security-groups/default'));
  });

  await t.test('a form keeps its text when the session ends, and can be sent after a sign-in', async (t) => {
    const account = await stage.product.signIn();
    const page = await visit(t, stage.browser, stage.product, { account, expectedErrors: /401/ });
    await page.goto(projectUrl(account, 'security-groups'));
    await page.getByRole('button', { name: 'Add Security Group' }).first().click();
    const panel = page.getByRole('dialog', { name: 'New Security Group' });
    await panel.getByLabel('Name').fill('kept');
    await panel.getByRole('textbox', { name: 'Allow' }).fill('10.0.0.0/8');
    await account.call('POST', '/auth/logout');
    await panel.getByRole('button', { name: 'Create' }).click();
    await expect(panel.getByRole('alert')).toContainText('Your session has ended. Sign in again in another tab');
    const other = await page.context().newPage();
    await signInHere(other, stage);
    await panel.getByRole('button', { name: 'Create' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'security-groups/kept'));
  });

  await t.test('a tab shown again after the session ended keeps its form and says so until a sign-in elsewhere', async (t) => {
    const account = await stage.product.signIn();
    const page = await visit(t, stage.browser, stage.product, { account, expectedErrors: /401/ });
    await page.goto(projectUrl(account, 'security-groups'));
    await page.getByRole('button', { name: 'Add Security Group' }).first().click();
    const panel = page.getByRole('dialog', { name: 'New Security Group' });
    await panel.getByLabel('Name').fill('kept too');
    await panel.getByRole('textbox', { name: 'Allow' }).fill('10.0.0.0/8');
    await setHidden(page, true);
    await account.call('POST', '/auth/logout');
    await setHidden(page, false);
    const notice = page.getByText('Your session has ended.');
    await expect(notice).toBeVisible();
    await expect(panel.getByLabel('Name')).toHaveValue('kept too');
    await signInHere(await page.context().newPage(), stage);
    await page.evaluate("dispatchEvent(new Event('focus'))");
    await expect(notice).toBeHidden();
    await panel.getByRole('button', { name: 'Create' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'security-groups/kept%20too'));
  });

  await t.test('a tab shown again lists a project that was made elsewhere', async (t) => {
    const account = await createPerson(stage.product, 'carol@example.com');
    const page = await visit(t, stage.browser, stage.product, { account });
    await page.goto(projectUrl(account, 'dashboard'));
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await setHidden(page, true);
    await account.call('POST', '/api/projects', { name: 'Made elsewhere' });
    await setHidden(page, false);
    await page.getByRole('button', { name: /^Project: / }).click();
    await expect(page.getByRole('menuitemradio', { name: 'Made elsewhere' })).toBeVisible();
  });

  await t.test('a form stays when the network returns after the session ended', async (t) => {
    const account = await stage.product.signIn();
    const page = await visit(t, stage.browser, stage.product, { account, expectedErrors: /401/ });
    await page.goto(projectUrl(account, 'security-groups/default'));
    await page.getByRole('textbox', { name: 'Source address' }).fill('10.1.0.0/16');
    await page.context().setOffline(true);
    await expect(page.getByText('You are offline.')).toBeVisible();
    await account.call('POST', '/auth/logout');
    await page.context().setOffline(false);
    await expect(page.getByText('Your session has ended.')).toBeVisible();
    await expect(page.getByRole('textbox', { name: 'Source address' })).toHaveValue('10.1.0.0/16');
  });

  await t.test('another person who signs in after a session ended starts at their own dashboard', async (t) => {
    const ada = await createPerson(stage.product, 'ada@example.com');
    const account = await stage.product.signIn();
    const page = await visit(t, stage.browser, stage.product, { account, expectedErrors: /401/ });
    await page.goto(projectUrl(account, 'security-groups'));
    await expect(page.getByRole('table', { name: 'Security groups' })).toBeVisible();
    await account.call('POST', '/auth/logout');
    await page.getByRole('link', { name: 'default' }).click();
    await expect(page).toHaveURL('/login');
    await signInHere(page, stage, ada.email);
    await expect(page).toHaveURL(projectUrl(ada, 'dashboard'));
  });

  await t.test("a tab shown again after another person signed in shows that person's projects", async (t) => {
    const account = await stage.product.signIn();
    const bob = await createPerson(stage.product, 'bob@example.com');
    const page = await visit(t, stage.browser, stage.product, { account, expectedErrors: /40[134]/ });
    await page.goto(projectUrl(account, 'dashboard'));
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await setHidden(page, true);
    await page.context().clearCookies();
    await signInHere(await page.context().newPage(), stage, bob.email);
    await setHidden(page, false);
    await expect(page).toHaveURL(projectUrl(bob, 'dashboard'));
    await page.getByRole('button', { name: 'Account' }).click();
    await expect(page.getByText(`Signed in as${bob.email}`)).toBeVisible();
  });

  await t.test("another user's project does not look like an empty one", async (t) => {
    const page = await visit(t, stage.browser, stage.product, { account: stage.account, expectedErrors: /40[34]/ });
    await page.goto('/projects/nobodys/tunnels');
    await expect(page.getByText('This project does not exist, or you are not a member of it.')).toBeVisible();
  });

  await t.test('the keyboard can skip the navigation', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await expect(page.getByRole('heading', { name: 'No Tunnels' })).toBeVisible();
    await page.keyboard.press('Tab');
    await expect(page.getByRole('link', { name: 'Skip to content' })).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(page.getByRole('main')).toBeFocused();
    await page.keyboard.press('Tab');
    await expect(page.getByRole('button', { name: 'Add Tunnel' }).first()).toBeFocused();
  });
}

async function selectorTests(t: TestContext, stage: DashboardStage, other: Project): Promise<void> {
  const select = async (page: Page, name: string) => {
    await page.getByRole('button', { name: /^Project: / }).click();
    await page.getByRole('menuitemradio', { name }).click();
  };

  await t.test('choosing another project opens the same page of it, up to three segments, and is remembered', async (t) => {
    await makeTunnel(stage.account, 'deep', { type: 'ingress', ingressDomains: ['deep.example.org'] });
    const page = await stage.open(t, 'tunnels/deep');
    await expect(page.getByRole('heading', { level: 1, name: 'deep' })).toBeVisible();
    assert.equal(await remembered(page), stage.account.project);
    await select(page, 'Second project');
    await expect(page).toHaveURL(`/projects/${other.id}/tunnels`);
    await expect(page.getByRole('heading', { name: 'No Tunnels' })).toBeVisible();
    assert.equal(await remembered(page), other.id);
    await page.goto('/');
    await expect(page).toHaveURL(`/projects/${other.id}/dashboard`);
  });

  await t.test('on a page without a project, choosing one changes the navigation', async (t) => {
    const page = await visit(t, stage.browser, stage.product, { account: stage.account });
    await page.goto('/download');
    await select(page, 'Second project');
    await expect(page).toHaveURL('/download');
    await expect(navigation(page).getByRole('link', { name: 'Tunnels' })).toHaveAttribute(
      'href',
      `/projects/${other.id}/tunnels`,
    );
  });

  await t.test('the selector and the palette tell projects of the same name apart', async (t) => {
    const page = await visit(t, stage.browser, stage.product, { account: stage.account });
    const own = { id: stage.account.project, name: 'default', role: 'owner' };
    const others = [
      { id: 'theirs', name: 'default', role: 'member' },
      { id: 'shop', name: 'Shop', role: 'owner' },
    ];
    await withoutSession(page);
    await page.route('**/api/projects', (route) => route.fulfill({ json: [own, ...others] }));
    await page.goto(projectUrl(stage.account, 'dashboard'));
    await page.getByRole('button', { name: 'Project: default' }).click();
    await expect(page.getByRole('menuitemradio')).toHaveText(['defaultOwner', 'defaultMember', 'Shop']);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await expect(page.getByRole('option', { name: 'Switch to default' })).toHaveText('Switch to defaultMember');
    await expect(page.getByRole('option', { name: 'Switch to Shop' })).toHaveText('Switch to Shop');
  });

  await t.test('without a remembered project the default one opens, and a deleted one is forgotten', async (t) => {
    const page = await visit(t, stage.browser, stage.product, { account: stage.account });
    await page.goto('/');
    await expect(page).toHaveURL(projectUrl(stage.account, 'dashboard'));
    await page.evaluate("localStorage.setItem('selected-project', 'gone')");
    await page.goto('/');
    await expect(page).toHaveURL(projectUrl(stage.account, 'dashboard'));
  });
}

async function dashboardTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await t.test('it shows project, role, the four counts and six tips', async (t) => {
    await makeVerifiedDomain(stage, 'example.com');
    const tunnel = await makeTunnel(stage.account, 'counted', { ingressDomains: ['a.example.com', 'b.example.com'] });
    const page = await stage.open(t, 'dashboard');
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(/^(Dashboard|Welcome .+)$/);
    await expect(page.getByText(/^Project: /)).toBeVisible();
    await expect(page.getByText('Owner', { exact: true })).toBeVisible();
    const metrics = page.getByRole('region', { name: 'Metrics' });
    await expect(metrics.getByRole('term')).toHaveText(['Tunnels', 'Verified domains', 'Upstream domains', 'Connected clients']);
    await expect(metrics.getByRole('definition')).toHaveText(['2', '1', '3', '0']);
    await connectClient(t, tunnel, 'http://127.0.0.1:9');
    await expect(metrics.getByRole('definition')).toHaveText(['2', '1', '3', '1']);
    const tips = page.getByRole('region', { name: 'Tips' }).getByRole('link');
    await expect(tips).toHaveCount(6);
    for (const tip of await tips.all()) assert.match((await tip.getAttribute('href')) ?? '', /^https:\/\//);
  });

  await t.test('it tells a client that fell from one that somebody stopped, each as it happens', async (t) => {
    const page = await stage.open(t, 'dashboard');
    const rows = page.getByRole('region', { name: 'Tunnels' });
    const row = rows.getByRole('listitem').filter({ hasText: 'preview' });
    const attention = page.getByRole('region', { name: 'Needs attention' });
    const tunnel = await makeTunnel(stage.account, 'preview');
    await expect(row).toContainText('Not used yet');
    const stopped = await connectClient(t, tunnel, 'http://127.0.0.1:9');
    await expect(attention.getByRole('link', { name: 'preview: the upstream does not answer' })).toBeVisible();
    await expect(page.getByRole('region', { name: /^(Needs attention|First steps)$/ })).toHaveText([
      /^Needs attention/,
      /^First steps/,
    ]);
    stopped.signal('SIGTERM');
    await stopped.ended;
    await expect(row).toContainText('Stopped');
    await expect(attention.getByRole('link', { name: /^preview/ })).toBeHidden();
    await connectClient(t, tunnel, stage.product.origin);
    await expect(row).toContainText('Connected');
    await stage.account.call('POST', `/api/tunnels/preview/token/rotate?project=${stage.account.project}&overlap=0`);
    await expect(row).toContainText('Lost');
    await expect(row).toContainText('Last error: token refused');
    await expect(rows.getByRole('listitem').first()).toContainText('preview');
    await attention.getByRole('link', { name: 'preview is down' }).click();
    await expect(page).toHaveURL(projectUrl(stage.account, 'tunnels/preview'));
    await page.close();
    await stage.account.call('DELETE', `/api/tunnels/preview?project=${stage.account.project}`);
  });

  await t.test('a viewer sees how the project stands, and not who changed what', async (t) => {
    const page = await stage.open(t, 'dashboard');
    const changes = page.getByRole('region', { name: 'What changed' });
    await expect(changes.getByRole('listitem').first()).toContainText(/^You /);
    await page.route('**/api/overview?*', async (route) => {
      const { changes: _changes, ...rest } = (await (await route.fetch()).json()) as Record<string, unknown>;
      await route.fulfill({ json: rest });
    });
    await page.reload();
    await expect(page.getByRole('region', { name: 'Tunnels' })).toBeVisible();
    await expect(changes).toBeHidden();
  });

  await t.test('if the counts fail to load, one line says so and the tips stay', async (t) => {
    const page = await stage.open(t, 'dashboard', { expectedErrors: /ERR_FAILED/ });
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await navigation(page).getByRole('link', { name: 'CLI' }).click();
    await expect(page).toHaveURL('/download');
    await page.route('**/api/overview?*', (route) => route.abort());
    await navigation(page).getByRole('link', { name: 'Dashboard' }).click();
    await expect(page.getByText('Failed to get metrics.')).toBeVisible();
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await page.unroute('**/api/overview?*');
    await page.getByRole('button', { name: 'Try Again' }).click();
    await expect(page.getByRole('region', { name: 'Metrics' }).getByRole('definition').first()).toHaveText('2');
  });

  await t.test('the counts load when the network returns', async (t) => {
    const page = await stage.open(t, 'dashboard');
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await navigation(page).getByRole('link', { name: 'CLI' }).click();
    await expect(page).toHaveURL('/download');
    await page.context().setOffline(true);
    await navigation(page).getByRole('link', { name: 'Dashboard' }).click();
    await expect(page.getByText('Failed to get metrics.')).toBeVisible();
    await expect(page.getByText('You are offline.')).toBeVisible();
    await page.context().setOffline(false);
    await expect(page.getByRole('region', { name: 'Metrics' }).getByRole('definition').first()).toHaveText('2');
    await expect(page.getByText('You are offline.')).toBeHidden();
  });
}

async function firstStepsTests(t: TestContext, stage: DashboardStage, empty: Project): Promise<void> {
  await t.test('a new project starts with them, each ticks itself without a reload, and a dismissal is remembered', async (t) => {
    const page = await visit(t, stage.browser, stage.product, { account: stage.account });
    await page.goto(`/projects/${empty.id}/dashboard`);
    const steps = page.getByRole('region', { name: 'First steps' });
    const taken = (name: string) => steps.getByRole('heading', { name: `${name} (done)` });
    await expect(steps.getByRole('listitem')).toHaveCount(4);
    await expect(taken('Create a tunnel')).toBeHidden();
    await makeTunnel({ ...stage.account, project: empty.id }, 'first');
    await expect(taken('Create a tunnel')).toBeVisible();
    await expect(taken('Connect a client')).toBeHidden();
    await expect(steps.getByRole('link', { name: 'Open first' })).toBeVisible();
    await steps.getByRole('button', { name: 'Dismiss first steps' }).click();
    await expect(steps).toBeHidden();
    await page.reload();
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await expect(steps).toBeHidden();
  });
}

async function paletteTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await t.test('Ctrl-K finds a tunnel by its name, Enter opens it, Escape returns the focus', async (t) => {
    const page = await stage.open(t, 'dashboard');
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await page.keyboard.press('Control+k');
    const input = page.getByRole('combobox', { name: /^Search pages/ });
    await expect(input).toBeFocused();
    await input.fill('count');
    await expect(page.getByRole('option', { name: /^counted/ })).toHaveAttribute('data-highlighted');
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(projectUrl(stage.account, 'tunnels/counted'));
    await expect(page.getByRole('heading', { level: 1, name: 'counted' })).toBeVisible();
    await expect(input).toBeHidden();
    await page.keyboard.press('Meta+k');
    await expect(input).toBeFocused();
    await page.keyboard.press('Escape');
    await expect(input).toBeHidden();
  });

  await t.test(
    'with the keyboard alone, the palette invites, adds a domain, makes a token, copies and opens an address, and logs out',
    async (t) => {
      const page = await stage.open(t, 'dashboard');
      await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const run = async (words: string, option: RegExp, on: Page = page) => {
        await on.keyboard.press('Control+k');
        await expect(on.getByRole('combobox', { name: /^Search pages/ })).toBeFocused();
        await on.keyboard.type(words);
        await expect(on.getByRole('option', { name: option })).toHaveAttribute('data-highlighted');
        await on.keyboard.press('Enter');
      };
      await run('invite', /^Invite a member/);
      await expect(page.getByRole('dialog', { name: 'Invite to project' })).toBeVisible();
      await page.keyboard.press('Escape');
      await expect(page).toHaveURL(projectUrl(stage.account, 'members'));
      await expect(page.getByRole('dialog')).toBeHidden();
      await run('add dom', /^Add Domain/);
      await expect(page.getByRole('dialog', { name: 'Add Domain' })).toBeVisible();
      await page.keyboard.press('Escape');
      await expect(page).toHaveURL(projectUrl(stage.account, 'domains'));
      await expect(page.getByRole('dialog')).toBeHidden();
      await run('new api', /^New API token/);
      await expect(page.getByRole('dialog', { name: 'Create API token' })).toBeVisible();
      await page.keyboard.press('Escape');
      await expect(page.getByRole('dialog')).toBeHidden();
      await run('copy counted', /^Copy address of counted/);
      await expect(page.getByText('Address copied.').first()).toBeVisible();
      const { body } = await stage.account.call<Tunnel>('GET', `/api/tunnels/counted?project=${stage.account.project}`);
      const [domain] = body.ingressDomains;
      await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(domain!.url);
      const { host } = new URL(domain!.url);
      const opened = page.context().waitForEvent('request', (request) => new URL(request.url()).host === host);
      await run('open counted', /^Open address of counted/);
      await opened;
      assert.match(page.url(), /tokens$/, 'the dashboard stays in its own tab');
      // The end of the account's own session would end the next tests.
      const other = await visit(t, stage.browser, stage.product);
      await signInHere(other, stage);
      await expect(other.getByRole('heading', { name: 'Tips' })).toBeVisible();
      await run('log out', /^Log out/, other);
      await expect(other).toHaveURL(/login$/);
    },
  );

  await t.test('text typed while the palette loads goes to the palette, not to the page', async (t) => {
    const page = await stage.open(t, 'tunnels');
    const letGo = await holdPalette(page);
    const add = page.getByRole('button', { name: 'Add Tunnel' }).first();
    await add.focus();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('coumt');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Backspace');
    await page.keyboard.press('Enter');
    await page.keyboard.type('nt');
    await expect(page.getByRole('status').filter({ hasText: 'count' })).toBeVisible();
    letGo();
    const input = page.getByRole('combobox', { name: /^Search pages/ });
    await expect(input).toBeFocused();
    await expect(input).toHaveValue('count');
    await page.keyboard.type('ed');
    await expect(page.getByRole('option', { name: /^counted/ })).toHaveAttribute('data-highlighted');
    await page.keyboard.press('Escape');
    await expect(input).toBeHidden();
    await expect(add).toBeFocused();
    await expect(page.getByRole('dialog', { name: 'New Tunnel' })).toBeHidden();
  });

  await t.test('a palette that loads slowly can be closed, and one that fails to load says so', async (t) => {
    const page = await stage.open(t, 'tunnels', { expectedErrors: /command-palette/ });
    await holdPalette(page);
    const coming = page.getByRole('status').filter({ hasText: 'Loading the command palette' });
    const add = page.getByRole('button', { name: 'Add Tunnel' }).first();
    await expect(add).toBeVisible();
    await page.keyboard.press('Control+k');
    await expect(coming).toBeVisible();
    await page.keyboard.press('Escape');
    await expect(coming).toBeHidden();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.reload();
    await page.route('**/assets/command-palette-*.js', (route) => route.abort());
    await expect(add).toBeVisible();
    await page.keyboard.press('Control+k');
    await expect(page.getByText('The command palette could not be loaded.').first()).toBeVisible();
    await expect(coming).toBeHidden();
  });
}

/** Delays the palette's code; returns the function that releases it. */
async function holdPalette(page: Page): Promise<() => void> {
  const held = Promise.withResolvers<void>();
  await page.route('**/assets/command-palette-*.js', async (route) => {
    await held.promise;
    await route.continue();
  });
  return held.resolve;
}

async function themeTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await t.test('the theme follows the system until the user chooses one, which applies before the first paint', async (t) => {
    const page = await stage.open(t, 'dashboard', { colorScheme: 'dark' });
    assert.equal(await theme(page), 'light dark');
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitemradio', { name: 'Light' }).click();
    await expect.poll(() => theme(page)).toBe('light');
    await page.reload({ waitUntil: 'commit' });
    await page.waitForSelector('#root', { state: 'attached' });
    // The browser paints nothing before the style sheet loads, and until then the document has no theme.
    await expect.poll(() => theme(page)).not.toBe('normal');
    assert.equal(await theme(page), 'light');
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitemradio', { name: 'System' }).click();
    await expect.poll(() => theme(page)).toBe('light dark');
  });
}
