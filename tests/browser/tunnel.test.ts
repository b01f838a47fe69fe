// spec 2, Tunnel detail; spec 4, statuses and checklist; spec 5, Connect snippets; against a real edge and client.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import type { Domain, Tunnel } from '@underpass/rules/entity/entity.ts';
import { expect, readClipboard } from '../helpers/browser.ts';
import {
  connectClient,
  type DashboardStage,
  makeTunnel,
  makeVerifiedDomain,
  openStage,
  projectUrl,
} from '../helpers/dashboard.ts';
import { tunnelCreated } from '../helpers/product.ts';

const snippet = (page: Page) => page.getByRole('region', { name: /snippet$/ });
const tab = (page: Page, name: string) => page.getByRole('tab', { name }).click();
const metric = (page: Page, label: string) =>
  page
    .getByRole('region', { name: 'Metrics' })
    .locator('div', { has: page.getByText(label, { exact: true }) })
    .last()
    .getByRole('definition');

/** Records the time of the click, and when the confirmation appears and disappears. */
const clockOfCopied = `
  globalThis.copiedTimes = [];
  addEventListener('click', () => copiedTimes.push(performance.now()), { capture: true, once: true });
  new MutationObserver(() => {
    const isShown = document.querySelector('[data-testid="copied"]') !== null;
    if (copiedTimes.length === (isShown ? 1 : 2)) copiedTimes.push(performance.now());
  }).observe(document.body, { subtree: true, childList: true });
`;

async function act(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Tunnel actions' }).click();
  await page.getByRole('menuitem', { name }).click();
}

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer((_request, response) => response.end('hello from the other side'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('tunnel', async (t) => {
  const stage = await openStage(t);
  await t.test('header', (t) => headerTests(t, stage));
  await t.test('domains and checklist', (t) => domainTests(t, stage));
  await t.test('connect', (t) => connectTests(t, stage));
  await t.test('update', (t) => updateTests(t, stage));
  await t.test('delete', (t) => deleteTests(t, stage));
  await t.test('live', (t) => liveTests(t, stage));
});

async function headerTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account } = stage;
  await makeTunnel(account, 'plain');
  await makeTunnel(account, 'passed', { type: 'ingress', ingressDomains: ['passed.example.org'], proxyProtocol: 'v2' });

  await t.test('an http tunnel shows name, status, region and the meaning of its type', async (t) => {
    const page = await stage.open(t, 'tunnels/plain');
    await expect(page.getByRole('heading', { level: 1, name: 'plain' })).toBeVisible();
    await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
    await expect(page.getByText('This machine')).toBeVisible();
    await expect(page.getByText('HTTP endpoint: TLS is terminated by the service.')).toBeVisible();
    await expect(page.getByText(/^Proxy protocol/)).toBeHidden();
    await page.getByRole('link', { name: 'Back' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels'));
  });

  await t.test('a temporary tunnel is marked, says when it is deleted, and can be kept', async (t) => {
    const query = `?project=${account.project}`;
    const { body } = await account.call<Tunnel>('POST', `/api/quick-tunnels${query}`, { key: 'k'.repeat(43) });
    const page = await stage.open(t, 'tunnels');
    await expect(page.getByRole('row').filter({ hasText: 'Temporary' })).toContainText(body.name);
    await page.goto(projectUrl(account, `tunnels/${body.name}`));
    await expect(page.getByText('Deleted 5 minutes after its last client disconnects.')).toBeVisible();
    await page.getByRole('button', { name: 'Keep' }).click();
    await expect(page.getByText(`Tunnel ${body.name} is kept.`)).toBeVisible();
    await expect(page.getByText('Temporary')).toBeHidden();
    await page.close();
    await account.call('DELETE', `/api/tunnels/${body.name}${query}`);
  });

  await t.test(
    'a pending ingress tunnel shows its proxy protocol, zeros and what it waits for, without a connect section',
    async (t) => {
      const page = await stage.open(t, 'tunnels/passed');
      await expect(page.getByText('Pending', { exact: true })).toBeVisible();
      await expect(page.getByText('Proxy protocol v2')).toBeVisible();
      await expect(page.getByText('Ingress: Ports 80 and 443 are passed through.')).toBeVisible();
      await expect(page.getByText('Waiting for domain verification.')).toBeVisible();
      for (const label of ['Connected Clients', 'RX (5m)', 'TX (5m)', 'TCP conn rate (5m)'])
        await expect(metric(page, label)).toHaveText('0');
      await expect(page.getByRole('heading', { name: 'Connect', exact: true })).toBeHidden();
    },
  );

  await t.test('a failed refresh keeps the page and its text, and says so until one works', async (t) => {
    await makeTunnel(account, 'typed');
    const page = await stage.open(t, 'tunnels/typed', { expectedErrors: /ERR_FAILED/ });
    const upstream = page.getByLabel('Upstream');
    await upstream.fill('http://127.0.0.1:5555');
    await page.route('**/api/tunnels/typed?*', (route) => route.abort());
    await page.getByRole('button', { name: 'Refresh' }).click();
    const notice = page.getByRole('alert').filter({ hasText: 'This page could not be refreshed.' });
    await expect(notice).toContainText('The server cannot be reached.');
    await expect(upstream).toHaveValue('http://127.0.0.1:5555');
    await page.unroute('**/api/tunnels/typed?*');
    await notice.getByRole('button', { name: 'Try Again' }).click();
    await expect(notice).toBeHidden();
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect(page.getByRole('button', { name: 'Refresh' })).not.toHaveAttribute('aria-busy', 'true');
    await expect(upstream).toHaveValue('http://127.0.0.1:5555');
    await page.context().setOffline(false);
    await expect(page.getByText('You are offline.')).toBeHidden();
    await expect(upstream).toHaveValue('http://127.0.0.1:5555');
  });

  await t.test('a missing tunnel shows the error panel, and its retry asks again', async (t) => {
    const page = await stage.open(t, 'tunnels/missing', { expectedErrors: /404/ });
    await expect(page.getByRole('heading', { name: 'Something went wrong.' })).toBeVisible();
    await makeTunnel(account, 'missing');
    await page.getByRole('button', { name: 'Try Again' }).click();
    await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
  });
}

async function domainTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account, names } = stage;
  await makeVerifiedDomain(stage, 'example.com');
  await makeTunnel(account, 'mixed', { ingressDomains: ['here.example.com', 'there.example.com'] });
  await makeTunnel(account, 'unproven', { ingressDomains: ['unproven.example.net'] });
  await makeTunnel(account, 'generated');
  names.set('A', 'here.example.com', '127.0.0.1');

  await t.test('a badge says what a domain lacks, and a domain with correct DNS has none', async (t) => {
    const page = await stage.open(t, 'tunnels/mixed');
    const rows = page.getByRole('list', { name: 'Ingress domains' }).getByRole('listitem');
    await expect(rows.filter({ hasText: 'there.example.com' }).getByText('No DNS')).toBeVisible();
    await expect(
      rows
        .filter({ hasText: 'here.example.com' })
        .first()
        .getByText(/No DNS|Unverified|Loading/),
    ).toBeHidden();
    await expect(page.getByText('All domains are verified.')).toBeVisible();
    await expect(page.getByText('Configure DNS for 1/2 tunnel domains.')).toBeVisible();
    await expect(page.getByText('Connect a tunnel client.')).toBeVisible();
    names.set('A', 'there.example.com', '127.0.0.1');
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect(page.getByText('DNS has been configured.')).toBeVisible();
  });

  await t.test('an unverified domain shows Unverified and counts in the checklist', async (t) => {
    const page = await stage.open(t, 'tunnels/unproven');
    await expect(page.getByRole('list', { name: 'Ingress domains' }).getByText('Unverified')).toBeVisible();
    await expect(page.getByText('Configure DNS to verify ownership of 1/1 domains.')).toBeVisible();
  });

  await t.test('a generated name needs no DNS: no badge, no Configure DNS', async (t) => {
    const page = await stage.open(t, 'tunnels/generated');
    const row = page.getByRole('list', { name: 'Ingress domains' }).getByRole('listitem');
    await expect(row.getByRole('link', { name: /tunnels\.localhost/ })).toBeVisible();
    await expect(row.getByText(/No DNS|Unverified|Loading|Configure DNS/)).toBeHidden();
  });

  await t.test('a domain links to its https address and copies it, with a confirmation for 1500 ms', async (t) => {
    const page = await stage.open(t, 'tunnels/mixed');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const link = page.getByRole('link', { name: 'there.example.com', exact: true });
    assert.match((await link.getAttribute('href')) ?? '', /^https:\/\/there\.example\.com(:\d+)?$/);
    await page.evaluate(clockOfCopied);
    await page.getByRole('button', { name: 'Copy address of there.example.com' }).click();
    await expect.poll(() => readClipboard(page)).toBe(await link.getAttribute('href'));
    await expect.poll(() => page.evaluate<number>('copiedTimes.length')).toBe(3);
    const shownMs = await page.evaluate<number>('copiedTimes[2] - copiedTimes[0]');
    // A page without CPU time removes it late.
    assert.ok(shownMs >= 1450 && shownMs < 15_000, `the confirmation was there for ${shownMs} ms`);
  });

  await t.test('of many domains the failing ones come first, the rest folds, and a search finds any', async (t) => {
    const labels = Array.from({ length: 12 }, (_, at) => `many${at}.example.com`);
    for (const name of labels.slice(0, 11)) names.set('A', name, '127.0.0.1');
    await makeTunnel(account, 'many', { ingressDomains: labels });
    const page = await stage.open(t, 'tunnels/many');
    const rows = page.getByRole('list', { name: 'Ingress domains' }).getByRole('listitem');
    await expect(rows).toHaveCount(8);
    await expect(rows.first()).toContainText('many11.example.com');
    await expect(rows.first()).toContainText('No address found. Expected: 127.0.0.1, ::1.');
    await page.getByLabel('Upstream of all domains').fill('http://127.0.0.1:9000');
    await expect(page.getByLabel('CLI snippet')).toContainText('many3.example.com=http://127.0.0.1:9000');
    await page.getByRole('button', { name: 'Set each domain' }).click();
    await page.getByLabel('Upstream of many3.example.com').fill('http://127.0.0.1:3333');
    await page.getByLabel('Upstream of all domains').fill('http://127.0.0.1:9001');
    await expect(page.getByLabel('CLI snippet')).toContainText('many3.example.com=http://127.0.0.1:3333');
    await expect(page.getByLabel('CLI snippet')).toContainText('many4.example.com=http://127.0.0.1:9001');
    await page.getByRole('searchbox', { name: 'Search domains' }).fill('many10');
    await expect(rows).toHaveCount(1);
    await page.getByRole('searchbox', { name: 'Search domains' }).fill('');
    await page.getByRole('button', { name: 'Show all 12 domains' }).click();
    await expect(rows).toHaveCount(12);
    await page.getByRole('button', { name: 'Actions for many11.example.com' }).click();
    await page.getByRole('menuitem', { name: 'QR code' }).click();
    await expect(page.getByRole('img', { name: /^QR code of https:\/\/many11\.example\.com/ })).toBeVisible();
  });

  await t.test('Configure DNS opens the domain through the tunnel, and Back returns', async (t) => {
    const page = await stage.open(t, 'tunnels/mixed');
    await page.getByRole('link', { name: 'Configure DNS of there.example.com' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels/mixed/domains/there.example.com'));
    // The page before also has a Back link.
    await expect(page.getByRole('heading', { level: 1, name: 'there.example.com' })).toBeVisible();
    await page.getByRole('link', { name: 'Back' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels/mixed'));
  });
}

async function connectTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account } = stage;
  const { token = '' } = await makeTunnel(account, 'snippets', { ingressDomains: ['one.example.com', 'two.example.com'] });
  await makeVerifiedDomain(stage, 'example.edu');
  await makeTunnel(account, 'through', { type: 'ingress', ingressDomains: ['example.edu'] });

  await t.test('in all three tabs the token is masked until revealed, and Copy takes it whole', async (t) => {
    const page = await stage.open(t, 'tunnels/snippets');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await expect(page.getByRole('tab')).toHaveText(['Kubernetes YAML', 'CLI', 'systemd']);
    for (const name of ['Kubernetes YAML', 'CLI', 'systemd']) {
      await tab(page, name);
      await expect(snippet(page)).toContainText(`********${token.slice(8)}`);
      await expect(snippet(page)).not.toContainText(token);
      await page.getByRole('button', { name: 'Show token' }).click();
      await expect(snippet(page)).toContainText(token);
      // The button's name tells the state; with `pressed` too, a screen reader would say the opposite.
      await expect(page.getByRole('button', { name: 'Hide token', pressed: true })).toBeHidden();
      await page.getByRole('button', { name: 'Hide token' }).click();
      await page.evaluate("navigator.clipboard.writeText('')");
      await page.getByRole('button', { name: 'Copy', exact: true }).click();
      await expect.poll(() => readClipboard(page), `${name} copies the token`).toContain(token);
    }
  });

  await t.test("the highlighter colours the snippet without a violation of the page's policy", async (t) => {
    const page = await stage.open(t, 'tunnels/snippets');
    await snippet(page).scrollIntoViewIfNeeded();
    const colours = "new Set([...document.querySelectorAll('pre span')].map((span) => getComputedStyle(span).color)).size";
    await expect.poll(() => page.evaluate<number>(colours)).toBeGreaterThan(2);
  });

  await t.test('each domain has its own upstream, and a malformed one shows an error and blocks Copy', async (t) => {
    const page = await stage.open(t, 'tunnels/snippets');
    const upstream = page.getByLabel('Upstream of two.example.com');
    await upstream.fill('http://10.0.0.7:3000');
    await expect(snippet(page)).toContainText('two.example.com=http://10.0.0.7:3000');
    await expect(snippet(page)).toContainText('one.example.com=http://127.0.0.1:8080');
    await upstream.fill('10.0.0.7:3000');
    await expect(page.getByText('Upstream must start with http://')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Copy', exact: true })).toBeDisabled();
    await upstream.fill('');
    await expect(page.getByText('Please provide an upstream')).toBeVisible();
    await tab(page, 'systemd');
    await expect(page.getByLabel('Upstream of two.example.com')).toHaveValue('');
    await tab(page, 'Kubernetes YAML');
    await expect(page.getByLabel('Upstream of two.example.com')).toHaveValue('http://snippets.default.svc.cluster.local:80');
  });

  await t.test('an ingress tunnel offers the known controllers, and needs a service name', async (t) => {
    const page = await stage.open(t, 'tunnels/through');
    await expect(page.getByRole('tab', { name: 'CLI' })).toHaveAttribute('aria-selected', 'true');
    await tab(page, 'Kubernetes YAML');
    const service = page.getByLabel('Ingress service name');
    const namespace = page.getByLabel('Namespace');
    const presets = [
      ['ingress-nginx', 'ingress-nginx-controller', 'default'],
      ['istio', 'istio-ingress-gateway', 'istio-system'],
      ['traefik', 'traefik', 'kube-system'],
      ['custom', '', ''],
    ] as const;
    for (const [name, serviceName, namespaceName] of presets) {
      await page.getByRole('combobox', { name: 'Preset' }).click();
      await page.getByRole('option', { name, exact: true }).click();
      await expect(service).toHaveValue(serviceName);
      await expect(namespace).toHaveValue(namespaceName);
    }
    await expect(page.getByText('Please provide an ingress service name')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Copy', exact: true })).toBeDisabled();
    await page.reload();
    await expect(page.getByRole('combobox', { name: 'Preset' }), 'the tab is remembered').toHaveValue('ingress-nginx');
    await namespace.fill('ingress-nginx');
    await expect(page.getByRole('combobox', { name: 'Preset' })).toHaveValue('custom');
    await tab(page, 'CLI');
    await page.getByLabel('Upstream').fill('');
    await expect(page.getByText('Please provide an upstream')).toBeVisible();
  });

  await t.test('rotating asks first, and says how long the old token stays valid', async (t) => {
    const page = await stage.open(t, 'tunnels/snippets');
    await act(page, 'Rotate token');
    const dialog = page.getByRole('dialog', { name: 'Rotate Token' });
    await expect(dialog).toContainText('The old one works for 24 more hours');
    await expect(dialog).toContainText('snippets');
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    await expect(dialog).toBeHidden();
    await expect(snippet(page)).not.toContainText(token.slice(8));
  });

  await t.test('a rotation can end a leaked token at once', async (t) => {
    const page = await stage.open(t, 'tunnels/snippets');
    await act(page, 'Rotate token');
    const dialog = page.getByRole('dialog', { name: 'Rotate Token' });
    await dialog.getByText('Revoke the old token immediately').click();
    await expect(dialog).toContainText('The old one stops working now');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await act(page, 'Rotate token');
    await expect(dialog).toContainText('The old one works for');
    await dialog.getByText('Revoke the old token immediately').click();
    const rotated = page.waitForResponse((response) => response.url().includes('/token/rotate'));
    await dialog.getByRole('button', { name: 'Rotate' }).click();
    assert.equal(new URL((await rotated).url()).searchParams.get('overlap'), '0');
    await expect(dialog).toBeHidden();
  });
}

async function updateTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account } = stage;
  await makeTunnel(account, 'edited', { ingressDomains: ['edited.example.com'] });
  await makeTunnel(account, 'wordy');
  await account.call('POST', `/api/security-groups?project=${account.project}`, { name: 'Office', allow: ['203.0.113.0/24'] });
  const panel = (page: Page) => page.getByRole('dialog', { name: 'Update Tunnel' });

  await t.test('turning on proxy protocol warns, and saving changes domains, protocol and group', async (t) => {
    const page = await stage.open(t, 'tunnels/edited');
    await act(page, 'Edit');
    await panel(page).getByRole('combobox', { name: 'Proxy protocol' }).click();
    await page.getByRole('option', { name: 'v1' }).click();
    await expect(panel(page).getByRole('alert')).toHaveText(
      'Switching proxy protocol on for upstreams which do not support it will render the whole service inaccessible.',
    );
    await panel(page).getByRole('combobox', { name: 'Security group' }).click();
    await page.getByRole('option', { name: 'Office' }).click();
    await panel(page).getByRole('textbox', { name: 'Ingress domains' }).fill('second.example.com');
    await panel(page).getByRole('button', { name: 'Save' }).click();
    await expect(panel(page)).toBeHidden();
    await expect(page.getByText('Proxy protocol v1')).toBeVisible();
    await expect(page.getByRole('link', { name: 'second.example.com', exact: true })).toBeVisible();
    const { body } = await account.call<{ securityGroup: string }>('GET', `/api/tunnels/edited?project=${account.project}`);
    assert.equal(body.securityGroup, 'Office');
  });

  await t.test('a refused change shows in the panel, which keeps its text', async (t) => {
    const page = await stage.open(t, 'tunnels/edited', { expectedErrors: /409|400|Tunnel update failed/ });
    await act(page, 'Edit');
    const domains = panel(page).getByRole('textbox', { name: 'Ingress domains' });
    await domains.fill('one.example.com');
    await domains.press('Enter');
    await panel(page).getByRole('button', { name: 'Save' }).click();
    await expect(panel(page).getByRole('alert')).toContainText('The tunnel was not saved.');
    await expect(panel(page).getByRole('list', { name: 'Ingress domains' })).toContainText('one.example.com');
  });

  await t.test('a change that another user saved is not overwritten, and can be loaded', async (t) => {
    const page = await stage.open(t, 'tunnels/edited', { expectedErrors: /412|Tunnel update failed/ });
    await act(page, 'Edit');
    const domains = panel(page).getByRole('textbox', { name: 'Ingress domains' });
    await domains.fill('mine.example.com');
    await domains.press('Enter');
    const theirs = { ingressDomains: ['edited.example.com', 'second.example.com', 'theirs.example.com'] };
    await account.call('PATCH', `/api/tunnels/edited?project=${account.project}`, theirs);
    await panel(page).getByRole('button', { name: 'Save' }).click();
    await expect(panel(page).getByRole('alert')).toContainText("Tunnel 'edited' has changed since you opened it.");
    const list = panel(page).getByRole('list', { name: 'Ingress domains' }).getByRole('listitem');
    await expect(list).toHaveText(['edited.example.com', 'second.example.com', 'mine.example.com']);
    await panel(page).getByRole('button', { name: 'Load latest version' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await expect(list).toHaveText(theirs.ingressDomains);
    await panel(page).getByRole('button', { name: 'Remove theirs.example.com' }).click();
    await panel(page).getByRole('button', { name: 'Save' }).click();
    await expect(panel(page)).toBeHidden();
    await expect(page.getByRole('link', { name: 'theirs.example.com', exact: true })).toBeHidden();
  });

  await t.test('the last domain cannot be removed', async (t) => {
    const page = await stage.open(t, 'tunnels/edited');
    await act(page, 'Edit');
    for (const name of ['edited.example.com', 'second.example.com'])
      await panel(page)
        .getByRole('button', { name: `Remove ${name}` })
        .click();
    await panel(page).getByRole('button', { name: 'Save' }).click();
    await expect(panel(page).getByText('Provide at least one ingress domain')).toBeVisible();
  });

  await t.test('generated names cannot be edited', async (t) => {
    const page = await stage.open(t, 'tunnels/wordy');
    await act(page, 'Edit');
    await expect(panel(page).getByRole('combobox', { name: 'Proxy protocol' })).toBeVisible();
    await expect(panel(page).getByRole('textbox', { name: 'Ingress domains' })).toBeHidden();
  });
}

async function deleteTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await makeTunnel(stage.account, 'doomed');
  await t.test('the delete dialog names the tunnel and warns, and deleting returns to the list', async (t) => {
    const page = await stage.open(t, 'tunnels/doomed');
    await act(page, 'Delete');
    const dialog = page.getByRole('dialog', { name: 'Delete Tunnel' });
    await expect(dialog).toHaveAccessibleDescription(
      'Warning! Deleting this tunnel will disconnect all clients and interrupt all network traffic. This operation is permanent.',
    );
    await expect(dialog.getByText('doomed')).toBeVisible();
    await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await expect(page.getByText('Tunnel doomed deleted.').first()).toBeVisible();
    await expect(page).toHaveURL(projectUrl(stage.account, 'tunnels'));
    await expect(page.getByRole('heading', { level: 1, name: 'Tunnels' })).toBeVisible();
    await expect(page.getByRole('link', { name: 'doomed' })).toBeHidden();
  });

  await t.test('a failed delete closes the dialog and says so', async (t) => {
    const tunnel = await makeTunnel(stage.account, 'survivor');
    const page = await stage.open(t, 'tunnels/survivor', { expectedErrors: /Tunnel delete failed/ });
    await act(page, 'Delete');
    await page.context().setOffline(true);
    await page.getByRole('dialog', { name: 'Delete Tunnel' }).getByRole('button', { name: 'Delete' }).click();
    await expect(page.getByRole('dialog', { name: 'Delete Tunnel' })).toBeHidden();
    await expect(page.getByText(`Tunnel ${tunnel.name} was not deleted.`).first()).toBeVisible();
    await page.context().setOffline(false);
  });
}

/** Collects the page's live events, so the test can wait for them. */
const keepEvents = `
  globalThis.kept = [];
  globalThis.EventSource = class extends EventSource {
    constructor(url) {
      super(url);
      this.addEventListener('tunnel', ({ data }) => kept.push(data));
    }
  };
`;

async function liveTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await t.test(
    'connecting and disconnecting a client changes badge, checklist, figures and client list without a reload',
    async (t) => {
      const tunnel = await makeTunnel(stage.account, 'alive');
      const page = await stage.open(t, 'tunnels/alive');
      await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
      await expect(page.getByText('No client is connected.')).toBeVisible();
      const client = await connectClient(t, tunnel, await startUpstream(t));
      await expect(page.getByText('Connected', { exact: true }).first()).toBeVisible();
      await expect(metric(page, 'Connected Clients')).toHaveText('1');
      const row = page.getByRole('table', { name: 'Connected clients' }).getByRole('row').nth(1);
      await expect(row).toContainText('127.0.0.1');
      await expect(row).toContainText(tunnel.underpassVersion);
      await expect(row).toContainText('Healthy');
      await expect(page.getByRole('heading', { name: 'Setup' })).toBeHidden();
      client.signal('SIGTERM');
      await client.ended;
      await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
    },
  );

  await t.test('the page asks once for its clients', async (t) => {
    const page = await stage.open(t, 'dashboard');
    await expect(page.getByRole('heading', { name: 'Tips' })).toBeVisible();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const answered = page.waitForResponse(/\/last-client\?/);
    await page.goto(projectUrl(stage.account, 'tunnels/alive'));
    await answered;
    await expect(page.getByText('No client is connected.')).toBeVisible();
    const paths = ['clients', 'last-client'].map((end) => `/api/tunnels/alive/${end}`);
    assert.deepEqual(asked.filter((path) => paths.includes(path)).sort(), paths);
  });

  await t.test('the page of a tunnel that somebody else deletes says that it is gone', async (t) => {
    await makeTunnel(stage.account, 'gone');
    const page = await stage.open(t, 'tunnels/gone', { expectedErrors: /404/ });
    await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
    await stage.account.call('DELETE', `/api/tunnels/gone?project=${stage.account.project}`);
    await expect(page.getByRole('heading', { name: '‘gone’ was deleted.' })).toBeVisible();
  });

  await t.test('so does the page of its domain, which tells it from a domain that the tunnel no longer has', async (t) => {
    await makeVerifiedDomain(stage, 'doomed.com');
    const { account } = stage;
    await makeTunnel(account, 'doomed', { ingressDomains: ['a.doomed.com', 'b.doomed.com'] });
    const page = await stage.open(t, 'tunnels/doomed/domains/b.doomed.com', { expectedErrors: /404/ });
    await expect(page.getByRole('heading', { name: 'DNS configuration' })).toBeVisible();
    const path = `/api/tunnels/doomed?project=${account.project}`;
    await account.call('PATCH', path, { ingressDomains: ['a.doomed.com'] });
    await page.evaluate("dispatchEvent(new Event('online'))");
    await page.getByRole('button', { name: 'Refresh' }).click();
    await expect(page.getByRole('heading', { name: '‘b.doomed.com’ was deleted.' })).toBeVisible();
    await page.goto(projectUrl(account, 'tunnels/doomed/domains/a.doomed.com'));
    await expect(page.getByRole('heading', { name: 'DNS configuration' })).toBeVisible();
    await account.call('DELETE', path);
    await expect(page.getByRole('heading', { name: '‘doomed’ was deleted.' })).toBeVisible();
  });

  /** A tunnel that waits for its domain, and a function that makes it Created. */
  const makePending = async (name: string) => {
    const { account, names } = stage;
    const apex = `${name}.net`;
    const { challenge } = (await account.call<Domain>('POST', `/api/domains?project=${account.project}`, { name: apex })).body;
    await makeTunnel(account, name, { type: 'ingress', ingressDomains: [apex] });
    return async () => {
      names.set('TXT', apex, `underpass-domain-verify=${challenge}`);
      await account.call('POST', `/api/domains/${apex}/verify?project=${account.project}`);
      await tunnelCreated(account, name);
    };
  };

  await t.test('a change between the answer about a tunnel and the start of the events is shown', async (t) => {
    const verify = await makePending('between');
    const page = await stage.open(t, 'dashboard');
    const held = Promise.withResolvers<void>();
    await page.route('**/api/events?*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.goto(projectUrl(stage.account, 'tunnels/between'));
    await expect(page.getByText('Pending', { exact: true })).toBeVisible();
    await verify();
    held.resolve();
    await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
  });

  await t.test('a change while the answer about a tunnel is on its way is shown', async (t) => {
    const verify = await makePending('on-its-way');
    const page = await stage.open(t, 'dashboard');
    await page.addInitScript(keepEvents);
    const [answered, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route('**/api/tunnels/on-its-way?*', async (route) => {
      const response = await route.fetch();
      answered.resolve();
      await held.promise;
      await route.fulfill({ response });
    });
    await page.goto(projectUrl(stage.account, 'tunnels/on-its-way'));
    await answered.promise;
    await verify();
    await expect.poll(() => page.evaluate("kept.join('\\n')")).toMatch(/"on-its-way","status":"Created"/);
    held.resolve();
    await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
  });

  await t.test('the charts show an hour, a day and a week, with the same figures as text', async (t) => {
    const page = await stage.open(t, 'tunnels/alive');
    for (const [range, words] of [
      ['Day', 'day'],
      ['Week', 'week'],
      ['Hour', 'hour'],
    ] as const) {
      await page.getByRole('button', { name: range }).click();
      await expect(page.getByRole('button', { name: range })).toHaveAttribute('aria-pressed', 'true');
      await expect(page.getByText(new RegExp(`(Peak of|No traffic in) the last ${words}`)).first()).toBeVisible();
    }
    await page.getByRole('heading', { name: 'Traffic' }).scrollIntoViewIfNeeded();
    await expect(page.locator('canvas')).toHaveCount(2);
  });
}
