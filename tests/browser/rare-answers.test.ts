// Rare situations: a slow or odd answer, a missing clipboard, a page that fails (spec 2, 3, 8); and the footer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Route } from '@playwright/test';
import { expect, visit } from '../helpers/browser.ts';
import { makeTunnel, makeVerifiedDomain, openStage, projectUrl, withoutSession } from '../helpers/dashboard.ts';

test('rare answers', async (t) => {
  const stage = await openStage(t);
  const { account } = stage;

  await t.test('the footer of public pages has the copyright and links to both legal texts', async (t) => {
    const page = await visit(t, stage.browser, stage.product);
    await page.goto('/login');
    const footer = page.getByRole('contentinfo');
    await expect(footer.getByText(/^© \d{4} /)).toBeVisible();
    await footer.getByRole('link', { name: 'Terms of Service' }).click();
    await expect(page).toHaveURL('/terms-of-service');
    await page.getByRole('contentinfo').getByRole('link', { name: 'Privacy Policy' }).click();
    await expect(page).toHaveURL('/privacy-policy');
  });

  await t.test('a progress bar runs during the creation of a tunnel', async (t) => {
    const page = await stage.open(t, 'tunnels');
    const held = Promise.withResolvers<void>();
    await page.route('**/api/tunnels?*', async (route) => {
      if (route.request().method() === 'POST') await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'Add Tunnel' }).first().click();
    const panel = page.getByRole('dialog', { name: 'New Tunnel' });
    await panel.getByLabel('Name', { exact: true }).fill('slow');
    await panel.getByLabel('Generate domain').click();
    await expect(panel.getByRole('progressbar')).toBeHidden();
    await panel.getByRole('button', { name: 'Create' }).click();
    await expect(panel.getByRole('progressbar')).toBeVisible();
    held.resolve();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels/slow'));
  });

  await t.test('a double click on Create sends once', async (t) => {
    const page = await stage.open(t, 'tunnels?new');
    let posts = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST') posts += 1;
    });
    const panel = page.getByRole('dialog', { name: 'New Tunnel' });
    await panel.getByLabel('Name', { exact: true }).fill('once');
    await panel.getByLabel('Generate domain').click();
    await panel.getByRole('button', { name: 'Create' }).dblclick();
    await expect(page.getByText('Tunnel once created.').first()).toBeVisible();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels/once'));
    expect(posts).toBe(1);
  });

  await t.test('a slow list shows a spinner under the heading of its page', async (t) => {
    const page = await stage.open(t, 'dashboard');
    const held = Promise.withResolvers<void>();
    await page.route('**/api/tunnels?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(projectUrl(account, 'tunnels'));
    await expect(page.getByRole('heading', { level: 1, name: 'Tunnels' })).toBeVisible();
    await expect(page.getByRole('main').getByRole('status').getByText('Loading')).toBeVisible();
    held.resolve();
    await expect(page.getByRole('table')).toBeVisible();
  });

  await t.test('rows that arrive replace the spinner at once, in a page whose clock stands still', async (t) => {
    const page = await visit(t, stage.browser, stage.product, { account });
    await page.clock.install({ time: 0 });
    await page.goto(projectUrl(account, 'security-groups'));
    await expect(page.getByRole('table')).toBeVisible();
    const held = Promise.withResolvers<void>();
    await page.route('**/api/tunnels?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.clock.pauseAt(3_600_000);
    await page.getByRole('link', { name: 'Tunnels' }).click();
    await expect(page.getByRole('main').getByRole('status').getByText('Loading')).toBeVisible();
    held.resolve();
    await expect(page.getByRole('table', { name: 'Tunnels' })).toBeVisible();
  });

  await t.test('the badge of a domain is Loading until its DNS check is done', async (t) => {
    await makeVerifiedDomain(stage, 'example.com');
    await makeTunnel(account, 'checked', { type: 'ingress', ingressDomains: ['checked.example.com'] });
    const page = await stage.open(t, 'dashboard');
    const held = Promise.withResolvers<void>();
    await page.route('**/api/tunnels/checked/domains?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(projectUrl(account, 'tunnels/checked'));
    const domains = page.getByRole('list', { name: 'Ingress domains' });
    await expect(domains.getByText('Loading')).toBeVisible();
    held.resolve();
    await expect(domains.getByText('No DNS')).toBeVisible();
  });

  await t.test('a DNS check that fails is Not checked with its reason, never No DNS, and its retry checks again', async (t) => {
    const page = await stage.open(t, 'dashboard', { expectedErrors: /429/ });
    const reason = 'Too many DNS lookups. Please try again in a minute.';
    await page.route('**/api/tunnels/checked/domains?*', (route) => route.fulfill({ status: 429, body: reason }));
    await page.goto(projectUrl(account, 'tunnels/checked'));
    const domains = page.getByRole('list', { name: 'Ingress domains' });
    await expect(domains.getByText('Not checked')).toBeVisible();
    await expect(domains.getByText('No DNS')).toBeHidden();
    await expect(page.getByText('DNS of 1/1 tunnel domains was not checked.')).toBeVisible();
    const notice = page.getByRole('alert').filter({ hasText: 'The domains could not be checked.' });
    await expect(notice).toContainText(reason);
    await page.unroute('**/api/tunnels/checked/domains?*');
    await notice.getByRole('button', { name: 'Try Again' }).click();
    await expect(domains.getByText('No DNS')).toBeVisible();
    await expect(notice).toBeHidden();
  });

  await t.test('a domain that waited behind silent name servers is checked again at once', async (t) => {
    const page = await stage.open(t, 'dashboard');
    let checks = 0;
    await page.route('**/api/tunnels/checked/domains?*', async (route) => {
      const answer = await route.fetch();
      const { domains, ...rest } = await answer.json();
      const unanswered = domains.map(({ name }: { readonly name: string }) => ({ name, unchecked: 'unanswered' }));
      await route.fulfill({ json: { ...rest, domains: ++checks === 1 ? unanswered : domains } });
    });
    await page.goto(projectUrl(account, 'tunnels/checked'));
    // The next check by time is 13 s later.
    await expect(page.getByRole('list', { name: 'Ingress domains' }).getByText('No DNS')).toBeVisible({ timeout: 10_000 });
    assert.equal(checks, 2);
  });

  await t.test('a list without security groups says so and offers the first', async (t) => {
    const page = await stage.open(t, 'dashboard');
    await page.route('**/api/security-groups?*', (route) => route.fulfill({ json: [] }));
    await page.goto(projectUrl(account, 'security-groups'));
    await expect(page.getByRole('heading', { name: 'No Security Groups' })).toBeVisible();
    await expect(page.getByText('You have no security groups created yet.')).toBeVisible();
    await page.getByRole('button', { name: 'Add Security Group' }).last().click();
    await expect(page.getByRole('dialog', { name: 'New Security Group' })).toBeVisible();
  });

  await t.test("an empty answer for a security group is the error 'Empty response'", async (t) => {
    const page = await stage.open(t, 'dashboard');
    await page.route('**/api/security-groups/default?*', (route) => route.fulfill({ status: 200, body: '' }));
    await page.goto(projectUrl(account, 'security-groups/default'));
    await expect(page.getByRole('heading', { name: 'Something went wrong.' })).toBeVisible();
    await expect(page.getByText('Empty response')).toBeVisible();
  });

  await t.test('a security group without an allow-list in the answer has no rules', async (t) => {
    const page = await stage.open(t, 'dashboard');
    const group = { name: 'bare', updatedAt: '2026-01-02T03:04:05Z', assignmentCount: 0 };
    await page.route('**/api/security-groups/bare?*', (route) => route.fulfill({ json: group }));
    await page.goto(projectUrl(account, 'security-groups/bare'));
    await expect(page.getByRole('heading', { level: 1, name: 'bare' })).toBeVisible();
    await expect(page.getByText('Assigned to 0 Tunnels')).toBeVisible();
  });

  await t.test('a copy that the browser refuses is logged, and still confirmed', async (t) => {
    const page = await stage.open(t, 'domains', { expectedErrors: /Copy failed/ });
    await page.addInitScript("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))");
    await account.call('POST', `/api/domains?project=${account.project}`, { name: 'example.org' });
    const logged = page.waitForEvent('console', (message) => message.text().includes('Copy failed'));
    await page.goto(projectUrl(account, 'domains/example.org'));
    const copy = page.getByRole('button', { name: /^Copy/ }).first();
    // The confirmation lasts 1500 ms, so a poll from outside may miss it.
    await page.evaluate(`new MutationObserver(() => { globalThis.wasConfirmed ||= document.querySelector('[data-testid="copied"]') !== null })
      .observe(document.body, { subtree: true, childList: true })`);
    await copy.click();
    await expect.poll(() => page.evaluate('globalThis.wasConfirmed')).toBe(true);
    await logged;
  });

  await t.test('page code that fails to load is requested again, and then by a reload that needs no click', async (t) => {
    const page = await stage.open(t, 'dashboard', { expectedErrors: /ERR_FAILED|Page failed/ });
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    let refusals = 1;
    let asked = 0;
    await page.route('**/assets/members-*.js', async (route) => {
      asked += 1;
      await (asked > refusals ? route.continue() : route.abort());
    });
    const heading = page.getByRole('heading', { level: 1, name: 'Members' });
    await page.getByRole('link', { name: 'Members' }).click();
    await expect(heading).toBeVisible();
    await page.goto(projectUrl(account, 'dashboard'));
    await page.evaluate('globalThis.isOldDocument = true');
    refusals = asked + 2;
    await page.getByRole('link', { name: 'Members' }).click();
    await expect(page.getByRole('alert')).toContainText('This page could not be loaded.');
    await expect(heading).toBeVisible();
    await expect.poll(() => page.evaluate('globalThis.isOldDocument')).toBeUndefined();
  });

  await t.test('a part whose code fails to load leaves the page as it is, tries again, and finds a newer version', async (t) => {
    const page = await stage.open(t, 'tunnels/checked', { expectedErrors: /ERR_FAILED|could not be loaded/ });
    await page.route('**/assets/access-policy-field-*.js', (route) => route.abort());
    await page.getByRole('button', { name: 'Tunnel actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const panel = page.getByRole('dialog', { name: 'Update Tunnel' });
    const typed = panel.getByRole('textbox', { name: 'Ingress domains' });
    await typed.fill('half');
    const failure = panel.getByRole('alert');
    await expect(failure).toContainText('The choice of an access policy could not be loaded.');
    await page.route('**/tunnels/checked', (route) => route.fulfill({ contentType: 'text/html', body: '<div id="root"></div>' }));
    await failure.getByRole('button', { name: 'Try Again' }).click();
    await panel.getByText('A new version of the dashboard is ready.').waitFor();
    await panel.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('dialog', { name: 'Discard what you entered?' }).getByRole('button', { name: 'Keep editing' }).click();
    await expect(typed).toHaveValue('half');
    await page.unroute('**/tunnels/checked');
    await page.unroute('**/assets/access-policy-field-*.js');
    await panel.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await expect(panel).toBeHidden();
    await page.route('**/assets/access-policy-field-*.js', (route) => route.abort());
    await page.getByRole('button', { name: 'Tunnel actions' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    await expect(failure).toBeVisible();
    await page.unroute('**/assets/access-policy-field-*.js');
    await failure.getByRole('button', { name: 'Try Again' }).click();
    await expect(panel.getByText('An access policy needs an http tunnel')).toBeVisible();
    await expect(failure).toBeHidden();
  });

  await t.test(
    'traffic and clients show without the code of how to connect, and its failure and retry leave them alone',
    async (t) => {
      const page = await stage.open(t, 'dashboard', { expectedErrors: /ERR_FAILED|could not be loaded/ });
      const held = Promise.withResolvers<void>();
      await page.route('**/assets/connect-*.js', async (route) => {
        await held.promise;
        await route.abort();
      });
      await page.goto(projectUrl(account, 'tunnels/checked'));
      await expect(page.getByText('No client is connected.')).toBeVisible();
      const day = page.getByRole('button', { name: 'Day', exact: true });
      await day.click();
      held.resolve();
      const failure = page.getByRole('region', { name: 'Connect', exact: true }).getByRole('alert');
      await expect(failure).toContainText('How to connect could not be loaded.');
      await page.unroute('**/assets/connect-*.js');
      const clients = await page.getByRole('region', { name: 'Connected clients' }).elementHandle();
      await failure.getByRole('button', { name: 'Try Again' }).click();
      await expect(page.getByRole('tab', { name: 'Kubernetes' })).toBeVisible();
      await page.route('**/api/tunnels/checked?*', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), status: 'Pending' } });
      });
      await page.getByRole('button', { name: 'Refresh' }).click();
      await expect(page.getByRole('tab', { name: 'Kubernetes' })).toBeHidden();
      await expect(day).toHaveAttribute('aria-pressed', 'true');
      assert.equal(await clients?.isVisible(), true, 'nothing was mounted again');
    },
  );

  await t.test('something that was deleted elsewhere says so with a link to its list, and waits for what is typed', async (t) => {
    await account.call('POST', `/api/security-groups?project=${account.project}`, { name: 'gone', allow: ['10.0.0.0/8'] });
    await makeTunnel(account, 'gone', { type: 'ingress', ingressDomains: ['gone.example.com'] });
    const page = await stage.open(t, 'security-groups/gone', { expectedErrors: /404/ });
    const typed = page.getByRole('textbox', { name: 'Source address' });
    const notFound = (route: Route) => route.fulfill({ status: 404, body: 'Security group not found' });
    await typed.fill('half');
    await page.route('**/api/security-groups/gone?*', notFound);
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await expect(page.getByRole('alert')).toContainText('Security group not found');
    await expect(typed).toHaveValue('half');
    await page.unroute('**/api/security-groups/gone?*');
    await typed.fill('');
    for (const [path, list] of [
      ['security-groups', 'Security groups'],
      ['tunnels', 'Tunnels'],
    ] as const) {
      await page.goto(projectUrl(account, `${path}/gone`));
      await expect(page.getByText('Allowed source addresses').or(page.getByText('gone.example.com')).first()).toBeVisible();
      await account.call('DELETE', `/api/${path}/gone?project=${account.project}`);
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      await expect(page.getByRole('heading', { name: '‘gone’ was deleted.' })).toBeVisible();
      await page.getByRole('main').getByRole('link', { name: list, exact: true }).click();
      await expect(page).toHaveURL(projectUrl(account, path));
    }
  });

  await t.test("a page that cannot be rendered shows 'Unexpected Application Error!'", async (t) => {
    const page = await stage.open(t, 'dashboard', { expectedErrors: /./ });
    await withoutSession(page);
    await page.route('**/api/projects', (route) => route.fulfill({ json: { not: 'a list' } }));
    await page.goto(projectUrl(account, 'dashboard'));
    await expect(page.getByRole('heading', { name: 'Unexpected Application Error!' })).toBeVisible();
    await page.unroute('**/api/projects');
    await page.route('**/api/security-groups?*', (route) => route.fulfill({ json: [null] }));
    await page.goto(projectUrl(account, 'security-groups'));
    await expect(page.getByRole('heading', { name: 'Unexpected Application Error!' })).toBeVisible();
    await expect(page.getByRole('navigation').first()).toBeVisible();
  });
});
