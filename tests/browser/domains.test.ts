// spec 2, Domains list and Domain detail; spec 5, Domain add; spec 8, domain failures. Records come from a name server of the test.
import { type TestContext, test } from 'node:test';
import type { Page } from '@playwright/test';
import type { Domain } from '@underpass/rules/entity/entity.ts';
import { expect, readClipboard } from '../helpers/browser.ts';
import { type DashboardStage, makeTunnel, makeVerifiedDomain, openStage, projectUrl } from '../helpers/dashboard.ts';

const invalid = "Domain must be a valid apex domain, e.g. 'example.com'";
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Add Domain' });
const card = (page: Page, name: string) => page.getByRole('region', { name });

async function add(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Add Domain' }).first().click();
  await dialog(page).getByLabel('Name').fill(name);
  await dialog(page).getByRole('button', { name: 'Create' }).click();
}

test('domains', async (t) => {
  const stage = await openStage(t);
  await t.test('list', (t) => listTests(t, stage));
  await t.test('detail', (t) => detailTests(t, stage));
  await t.test('through a tunnel', (t) => tunnelTests(t, stage));
});

async function listTests(t: TestContext, stage: DashboardStage): Promise<void> {
  await t.test('an empty project says so', async (t) => {
    const page = await stage.open(t, 'domains');
    await expect(page.getByRole('heading', { name: 'No Domains' })).toBeVisible();
    await expect(page.getByText('Register a new domain.')).toBeVisible();
  });

  await t.test('a name that is no apex domain is refused under the field, and Cancel returns the focus', async (t) => {
    const page = await stage.open(t, 'domains');
    for (const name of ['', 'localhost', 'a_b.example', '-a.example.com', `${'x'.repeat(64)}.com`]) {
      await add(page, name);
      await expect(dialog(page).getByText(invalid)).toBeVisible();
      await expect(dialog(page).getByLabel('Name')).toBeFocused();
      await dialog(page).getByRole('button', { name: 'Cancel' }).click();
      if (name !== '') await page.getByRole('button', { name: 'Discard' }).click();
    }
    await expect(page.getByRole('button', { name: 'Add Domain' }).first()).toBeFocused();
  });

  await t.test('a 400 from control appears under the Name field, which keeps its text', async (t) => {
    const page = await stage.open(t, 'domains', { expectedErrors: /400/ });
    await add(page, 'sub.example.com');
    await expect(dialog(page).getByLabel('Name')).toHaveAccessibleDescription(invalid);
    await expect(dialog(page).getByLabel('Name')).toHaveValue('sub.example.com');
  });

  await t.test('adding a domain opens it, and adding it again is refused above the field', async (t) => {
    const page = await stage.open(t, 'domains', { expectedErrors: /409|400/ });
    await add(page, 'Example.com');
    await expect(page).toHaveURL(projectUrl(stage.account, 'domains/example.com'));
    await expect(page.getByRole('heading', { level: 1, name: 'example.com' })).toBeVisible();
    await page.getByRole('link', { name: 'Back' }).click();
    await add(page, 'example.com');
    await expect(
      dialog(page)
        .getByText(/example\.com/)
        .first(),
    ).toBeVisible();
    await expect(dialog(page)).toBeVisible();
  });

  await t.test('the list shows status and challenge, and a row opens the domain', async (t) => {
    await makeVerifiedDomain(stage, 'example.net');
    const page = await stage.open(t, 'domains');
    await expect(page.getByRole('columnheader')).toHaveText(['Domain', 'Status', 'DNS TXT Record Challenge', 'Details']);
    await expect(page.getByRole('row', { name: /example\.net/ })).toContainText('Verified');
    const row = page.getByRole('row', { name: /example\.com/ });
    await expect(row).toContainText('Unverified');
    await expect(row).toContainText('underpass-domain-verify=');
    await row.getByRole('cell').nth(1).click();
    await expect(page).toHaveURL(projectUrl(stage.account, 'domains/example.com'));
  });
}

async function detailTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account, names } = stage;

  await t.test('verification shows the record at @, copies it, and follows Refresh from Unverified to Verified', async (t) => {
    const page = await stage.open(t, 'domains/example.com');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const { body } = await account.call<Domain>('GET', `/api/domains/example.com?project=${account.project}`);
    const value = `underpass-domain-verify=${body.challenge}`;
    const verification = card(page, 'Domain verification');
    await expect(verification.getByRole('definition')).toHaveText(['TXT', '@', value]);
    await expect(verification).toContainText('60 seconds to 48 hours');
    await verification.getByRole('button', { name: 'Copy value' }).click();
    await expect.poll(() => readClipboard(page)).toBe(value);
    await verification.getByRole('button', { name: 'Refresh' }).click();
    await expect(page.getByText('Domain example.com is not verified yet.').first()).toBeVisible();
    names.set('TXT', 'example.com', value);
    await verification.getByRole('button', { name: 'Refresh' }).click();
    await expect(verification).toBeHidden();
    await expect(page.getByText('Verified', { exact: true })).toBeVisible();
  });

  await t.test('a domain in use is not deleted: the dialog names the tunnel with a capital letter', async (t) => {
    await makeTunnel(account, 'user-of-it', { ingressDomains: ['www.example.com'] });
    const page = await stage.open(t, 'domains/example.com', { expectedErrors: /409/ });
    await page.getByRole('button', { name: 'Delete' }).click();
    const confirm = page.getByRole('dialog', { name: 'Delete Domain' });
    await expect(confirm).toContainText('example.com');
    await confirm.getByRole('button', { name: 'Delete' }).click();
    await expect(confirm.getByRole('alert')).toHaveText("Domain 'example.com' is in use by tunnel 'user-of-it'");
  });

  await t.test('deleting an unused domain returns to the list', async (t) => {
    const page = await stage.open(t, 'domains/example.net');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog', { name: 'Delete Domain' }).getByRole('button', { name: 'Delete' }).click();
    await expect(page.getByText('Domain example.net deleted.').first()).toBeVisible();
    await expect(page).toHaveURL(projectUrl(account, 'domains'));
    await expect(page.getByRole('heading', { level: 1, name: 'Domains' })).toBeVisible();
    await expect(page.getByRole('link', { name: 'example.net' })).toBeHidden();
  });

  await t.test('a missing domain shows the error panel', async (t) => {
    const page = await stage.open(t, 'domains/absent.example', { expectedErrors: /404/ });
    await expect(page.getByRole('heading', { name: 'Something went wrong.' })).toBeVisible();
    await expect(page.getByRole('button', { name: 'Try Again' })).toBeVisible();
  });
}

async function tunnelTests(t: TestContext, stage: DashboardStage): Promise<void> {
  const { account, names } = stage;
  await makeTunnel(account, 'pointed', { ingressDomains: ['app.example.com', 'example.com', 'new.example.edu'] });

  await t.test('a name under the apex takes a CNAME to the data plane; Refresh sees the record', async (t) => {
    const page = await stage.open(t, 'tunnels/pointed/domains/app.example.com');
    const dns = card(page, 'DNS configuration');
    await expect(dns.getByText('DNS not configured')).toBeVisible();
    await expect(dns.getByRole('definition')).toHaveText(['CNAME', 'app', 'local.localhost']);
    await expect(page.getByRole('button', { name: 'Delete' })).toBeHidden();
    await expect(card(page, 'Domain verification')).toBeHidden();
    names.set('A', 'app.example.com', '127.0.0.1');
    await dns.getByRole('button', { name: 'Refresh' }).click();
    await expect(dns.getByText('DNS verified')).toBeVisible();
  });

  await t.test('the apex takes an A record at @ to the first address of the data plane', async (t) => {
    const page = await stage.open(t, 'tunnels/pointed/domains/example.com');
    await expect(card(page, 'DNS configuration').getByRole('definition')).toHaveText(['A', '@', '127.0.0.1']);
  });

  await t.test('the card names the provider and writes the record in its way', async (t) => {
    names.set('NS', 'example.edu', 'hydrogen.ns.hetzner.com', 'helium.ns.hetzner.de');
    const page = await stage.open(t, 'tunnels/pointed/domains/new.example.edu');
    const dns = card(page, 'DNS configuration');
    await expect(dns.getByText('at Hetzner')).toBeVisible();
    await expect(dns.getByRole('definition')).toHaveText(['CNAME', 'new', 'local.localhost.']);
    await expect(card(page, 'Domain verification').getByText('Enter @ as the name: it stands for example.edu.')).toBeVisible();
  });

  await t.test('an unverified name shows both cards', async (t) => {
    const page = await stage.open(t, 'tunnels/pointed/domains/new.example.edu');
    await expect(card(page, 'Domain verification')).toBeVisible();
    await expect(card(page, 'DNS configuration')).toBeVisible();
    await page.getByRole('link', { name: 'Back' }).click();
    await expect(page).toHaveURL(projectUrl(account, 'tunnels/pointed'));
  });

  await t.test('a name that the tunnel does not have shows an error', async (t) => {
    const page = await stage.open(t, 'tunnels/pointed/domains/other.example.com', { expectedErrors: /404.*other\.example\.com/ });
    await expect(page.getByText("Tunnel 'pointed' has no ingress domain 'other.example.com'.")).toBeVisible();
  });
}
