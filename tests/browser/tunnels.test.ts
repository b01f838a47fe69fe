// spec 2, Tunnels list and New Tunnel panel; spec 5, Tunnel name to Region and type; spec 8, Create tunnel failure.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from '@playwright/test';
import { expect } from '../helpers/browser.ts';
import { makeTunnel, openStage, projectUrl } from '../helpers/dashboard.ts';

const panel = (page: Page) => page.getByRole('dialog', { name: 'New Tunnel' });
const field = (page: Page, name: string) => panel(page).getByLabel(name, { exact: true });
const create = (page: Page) => panel(page).getByRole('button', { name: 'Create' }).click();

async function openPanel(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Add Tunnel' }).first().click();
  await expect(field(page, 'Name')).toBeFocused();
}

test('tunnels', async (t) => {
  const stage = await openStage(t);
  const { account } = stage;

  await t.test('an empty project says so and offers the first tunnel', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await expect(page.getByRole('heading', { level: 1, name: 'Tunnels' })).toBeVisible();
    await expect(page.getByText('Tunnels connect your applications to the Internet.')).toBeVisible();
    await expect(page.getByRole('heading', { name: 'No Tunnels' })).toBeVisible();
    await expect(page.getByText('Get started by creating a tunnel.')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Add Tunnel' })).toHaveCount(2);
    await page.getByRole('button', { name: 'Add Tunnel' }).last().click();
    await expect(panel(page)).toBeVisible();
  });

  await t.test('the panel has its texts, and closes by its button, Cancel and Escape with the focus returned', async (t) => {
    const page = await stage.open(t, 'tunnels');
    for (const close of [
      () => page.getByRole('button', { name: 'Close panel' }).click(),
      () => panel(page).getByRole('button', { name: 'Cancel' }).click(),
      () => page.keyboard.press('Escape'),
    ]) {
      await openPanel(page);
      await expect(panel(page)).toHaveAccessibleDescription(
        'Get started by filling in the information below to create a new tunnel.',
      );
      await close();
      await expect(panel(page)).toBeHidden();
      await expect(page.getByRole('button', { name: 'Add Tunnel' }).first()).toBeFocused();
    }
  });

  await t.test('a half-filled panel asks before it closes, and a click beside it does nothing', async (t) => {
    const page = await stage.open(t, 'tunnels');
    const question = page.getByRole('dialog', { name: 'Discard what you entered?' });
    await openPanel(page);
    await field(page, 'Name').fill('half');
    await page.mouse.click(5, 400);
    await expect(question).toBeHidden();
    for (const close of [
      () => page.getByRole('button', { name: 'Close panel' }).click(),
      () => panel(page).getByRole('button', { name: 'Cancel' }).click(),
      () => page.keyboard.press('Escape'),
    ]) {
      await close();
      await expect(question.getByRole('button', { name: 'Keep editing' })).toBeFocused();
      await page.keyboard.press('Escape');
      await expect(question).toBeHidden();
      await expect(field(page, 'Name')).toHaveValue('half');
    }
    await page.keyboard.press('Escape');
    await question.getByRole('button', { name: 'Discard' }).click();
    await expect(panel(page)).toBeHidden();
    await expect(page.getByRole('button', { name: 'Add Tunnel' }).first()).toBeFocused();
    await openPanel(page);
    await expect(field(page, 'Name')).toHaveValue('');
  });

  await t.test('Back closes the panel, and closing it leaves no history entry', async (t) => {
    const page = await stage.open(t, 'dashboard');
    const length = () => page.evaluate<number>('history.length');
    await page.getByRole('link', { name: 'Tunnels', exact: true }).first().click();
    await openPanel(page);
    const opened = await length();
    await page.goBack();
    await expect(panel(page)).toBeHidden();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels'));
    await openPanel(page);
    await page.evaluate(`for (const _ of 'ab') {
      document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
    }`);
    await expect(panel(page)).toBeHidden();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels'));
    await openPanel(page);
    assert.equal(await length(), opened);
    await page.goto(projectUrl(account, 'tunnels?new'));
    await expect(field(page, 'Name')).toBeFocused();
    await page.keyboard.press('Escape');
    await expect(page).toHaveURL(projectUrl(account, 'tunnels'));
  });

  await t.test('a missing value shows an error at its field, and the first such field has the focus', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await openPanel(page);
    await create(page);
    await expect(panel(page).getByText('A name that can be used as a DNS subdomain is required')).toBeVisible();
    await expect(panel(page).getByText('Provide at least one ingress domain')).toBeVisible();
    await expect(field(page, 'Name')).toBeFocused();
    await expect(field(page, 'Name')).toHaveAccessibleDescription(/A name that can be used as a DNS subdomain is required/);
  });

  await t.test('the name is lowercased as it is typed', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await openPanel(page);
    await field(page, 'Name').pressSequentially('My-Shop');
    await expect(field(page, 'Name')).toHaveValue('my-shop');
    await field(page, 'Name').fill('my-el');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.type('TUNN');
    await expect(field(page, 'Name')).toHaveValue('my-etunnl');
  });

  await t.test('Enter adds a domain, ignores a duplicate, and refuses a malformed one', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await openPanel(page);
    const domains = field(page, 'Ingress domains').and(page.getByRole('textbox'));
    const list = panel(page).getByRole('list', { name: 'Ingress domains' });
    await domains.fill('shop.example.com');
    await domains.press('Enter');
    await domains.fill('Shop.Example.com');
    await domains.press('Enter');
    await expect(list.getByRole('listitem')).toHaveCount(1);
    await domains.fill('no_domain');
    await domains.press('Enter');
    await expect(panel(page).getByText('Please enter a valid domain name.')).toBeVisible();
    await expect(domains).toHaveValue('no_domain');
    await panel(page).getByRole('button', { name: 'Remove shop.example.com' }).click();
    await expect(panel(page).getByText('No ingress domains')).toBeVisible();
  });

  await t.test('the generator is there only for http tunnels, and clears the domains', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await openPanel(page);
    const generate = panel(page).getByRole('switch', { name: 'Generate domain' });
    const domains = field(page, 'Ingress domains').and(page.getByRole('textbox'));
    await domains.fill('shop.example.com');
    await domains.press('Enter');
    await generate.click();
    await expect(domains).toBeHidden();
    await generate.click();
    await expect(panel(page).getByText('No ingress domains')).toBeVisible();
    await panel(page).getByRole('radio', { name: 'Ingress' }).check();
    await expect(generate).toBeHidden();
    await expect(panel(page).getByRole('radio', { name: 'HTTP endpoint' })).not.toBeChecked();
  });

  await t.test('a click on the text beside a switch toggles it once', async (t) => {
    const page = await stage.open(t, 'tunnels?new');
    const generate = panel(page).getByRole('switch', { name: 'Generate domain', exact: true });
    const words = panel(page).getByText('Generate domain', { exact: true });
    await words.click();
    await expect(generate).toBeChecked();
    await panel(page).getByText('ready immediately').click();
    await expect(generate).not.toBeChecked();
    await generate.press('Space');
    await expect(generate).toBeChecked();
    await expect(generate).toHaveAccessibleDescription(/ready immediately/);
    const target = await words.locator('xpath=ancestor::label').boundingBox();
    assert.ok(target !== null && target.height >= 24, `${target?.height} px`);
  });

  await t.test('in a low window the panel scrolls without overlapping parts', async (t) => {
    const page = await stage.open(t, 'tunnels?new', { viewport: { width: 390, height: 600 } });
    await panel(page).getByRole('switch', { name: 'Generate domain' }).click();
    const hint = await panel(page)
      .getByText(/^A name under/)
      .boundingBox();
    const next = await panel(page).getByText('Proxy protocol', { exact: true }).boundingBox();
    assert.ok(hint && next && hint.y + hint.height <= next.y, JSON.stringify({ hint, next }));
  });

  await t.test('proxy protocol is Disabled, v1 or v2', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await openPanel(page);
    await expect(field(page, 'Proxy protocol').getByRole('option')).toHaveText(['Disabled', 'v1', 'v2']);
    await expect(field(page, 'Proxy protocol')).toHaveValue('disabled');
  });

  await t.test('creating a tunnel with a generated name opens it', async (t) => {
    const page = await stage.open(t, 'tunnels');
    await openPanel(page);
    await field(page, 'Name').fill('generated');
    await panel(page).getByRole('switch', { name: 'Generate domain' }).click();
    await create(page);
    await expect(page.getByText('Tunnel generated created.').first()).toBeVisible();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels/generated'));
    // The address changes before the panel goes, and Back closes an open panel first.
    await expect(panel(page)).toBeHidden();
    await page.goBack();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels'));
    await page.goForward();
    await expect(page.getByRole('heading', { level: 1, name: 'generated' })).toBeVisible();
    await expect(page.getByRole('link', { name: /\.tunnels\.localhost$/ })).toBeVisible();
  });

  await t.test('a slow creation does not leave a page that the user opened since', async (t) => {
    const page = await stage.open(t, 'tunnels?new');
    const answer = Promise.withResolvers<void>();
    await page.route('**/api/tunnels?*', async (route) => {
      if (route.request().method() === 'POST') await answer.promise;
      await route.continue();
    });
    await field(page, 'Name').fill('late');
    await panel(page).getByRole('switch', { name: 'Generate domain' }).click();
    await create(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog', { name: 'Close before the answer?' }).getByRole('button', { name: 'Close' }).click();
    await page.getByRole('link', { name: 'Domains' }).click();
    await expect(page.getByRole('heading', { name: 'No Domains' })).toBeVisible();
    const next = page.waitForRequest(/\/api\/(domains\?|tunnels\/late)/);
    answer.resolve();
    assert.equal(new URL((await next).url()).pathname, '/api/domains');
    await expect(page.getByText('Tunnel late created.').first()).toBeVisible();
    await expect(page).toHaveURL(projectUrl(account, 'domains'));
    await account.call('DELETE', `/api/tunnels/late?project=${account.project}`);
  });

  await t.test('a refusal starts with a capital letter, can be dismissed, and keeps the form', async (t) => {
    const page = await stage.open(t, 'tunnels', { expectedErrors: /409/ });
    await openPanel(page);
    await field(page, 'Name').fill('generated');
    await panel(page).getByRole('switch', { name: 'Generate domain' }).click();
    await create(page);
    const alert = panel(page).getByRole('alert');
    await expect(alert).toContainText(/^The tunnel was not created\.[A-Z]/);
    await expect(field(page, 'Name')).toHaveValue('generated');
    await alert.getByRole('button', { name: 'Dismiss' }).click();
    await expect(alert).toBeHidden();
  });

  await t.test(
    'a panel that is being sent asks before it closes, and shows a failure that arrives during the question',
    async (t) => {
      const page = await stage.open(t, 'tunnels', { expectedErrors: /500/ });
      const answer = Promise.withResolvers<void>();
      await page.route('**/api/tunnels?*', async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        await answer.promise;
        await route.fulfill({ status: 500, body: 'No room left.' });
      });
      await openPanel(page);
      await field(page, 'Name').fill('refused');
      await panel(page).getByRole('switch', { name: 'Generate domain' }).click();
      await create(page);
      const question = page.getByRole('dialog', { name: 'Close before the answer?' });
      await page.keyboard.press('Escape');
      await expect(question.getByRole('button', { name: 'Keep open' })).toBeFocused();
      answer.resolve();
      await expect(question).toBeHidden();
      await expect(panel(page).getByRole('alert')).toContainText('No room left.');
    },
  );

  await t.test('the list has its columns, searches by every word and sorts', async (t) => {
    for (const name of ['alpha', 'beta-10', 'beta-9'])
      await makeTunnel(account, name, { type: 'ingress', ingressDomains: [`${name}.example.org`] });
    for (let i = 0; i < 5; i++)
      await makeTunnel(account, `filler-${i}`, { type: 'ingress', ingressDomains: [`f${i}.example.org`] });
    const page = await stage.open(t, 'tunnels');
    await expect(page.getByRole('columnheader')).toHaveText(['Name', 'Type', 'Region', 'Domains', 'Status', 'Details']);
    const names = page.getByRole('table').getByRole('link');
    await page.getByRole('searchbox', { name: 'Search tunnels' }).fill('beta ingress');
    await expect(names).toHaveText(['beta-9', 'beta-10']);
    await page.getByRole('button', { name: 'Name' }).click();
    await expect(names).toHaveText(['beta-10', 'beta-9']);
    await expect(page.getByRole('columnheader', { name: 'Name' })).toHaveAttribute('aria-sort', 'descending');
    await page.getByRole('searchbox').fill('connected');
    await expect(page.getByText('No tunnels match “connected”.')).toBeVisible();
    await page.getByRole('button', { name: 'Show all tunnels' }).click();
    await expect(page.getByRole('searchbox')).toHaveValue('');
    await page.getByRole('button', { name: 'Pending 8' }).click();
    await expect(names).toHaveCount(8);
    await account.call('DELETE', `/api/tunnels/filler-0?project=${account.project}`);
    await expect(page.getByRole('button', { name: 'Pending 7' })).toHaveAttribute('aria-pressed', 'true');
    await expect(names).toHaveCount(7);
    await page.getByRole('searchbox').fill('beta-9');
    await page
      .getByRole('row', { name: /beta-9/ })
      .getByRole('cell')
      .nth(4)
      .click();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels/beta-9'));
  });

  await t.test('without a network the list says what is wrong, and loads by itself when the network returns', async (t) => {
    const page = await stage.open(t, 'dashboard');
    await page.getByRole('link', { name: 'Domains', exact: true }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Domains' })).toBeVisible();
    await page.goto(projectUrl(account, 'tunnels'));
    await page.getByRole('link', { name: 'Dashboard' }).click();
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Tunnels', exact: true }).click();
    await expect(page.getByRole('heading', { name: 'Something went wrong.' })).toBeVisible();
    await expect(page.getByText('You are offline.').first()).toBeVisible();
    await page.context().setOffline(false);
    await expect(page.getByRole('table', { name: 'Tunnels' })).toBeVisible();
  });

  await t.test('a page that is opened while the server is down keeps its address and loads by itself', async (t) => {
    const page = await stage.open(t, 'dashboard', { expectedErrors: /ERR_FAILED|Page failed/ });
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    await page.route(/\/(api\/tunnels\?|assets\/)/, (route) => route.abort());
    await page.getByRole('link', { name: 'Tunnels', exact: true }).click();
    await expect(page.getByText('This page keeps trying by itself.')).toBeVisible();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels'));
    await page.unroute(/\/(api\/tunnels\?|assets\/)/);
    await expect(page.getByRole('table', { name: 'Tunnels' })).toBeVisible();
  });

  await t.test(
    'a page that is opened without the database says what is wrong and what goes on, and loads by itself',
    async (t) => {
      const page = await stage.open(t, 'dashboard', { expectedErrors: /503|Page failed/ });
      const calls = /\/(api|auth)\//;
      // The answer of control (control/api/app.ts).
      const body = 'The database does not answer at the moment. Tunnels carry on; please try again soon.';
      await page.route(calls, (route) => route.fulfill({ status: 503, body, headers: { 'retry-after': '1' } }));
      await page.goto(projectUrl(account, 'tunnels'));
      await expect(page.getByRole('alert')).toContainText(body);
      await expect(page.getByText('This page keeps trying by itself.')).toBeVisible();
      await page.unroute(calls);
      await expect(page.getByRole('table', { name: 'Tunnels' })).toBeVisible();
    },
  );
});
