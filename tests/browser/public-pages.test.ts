// The legal pages, the 404 page and the download page (spec 2), with the facts of this deployment.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { expect, visit } from '../helpers/browser.ts';
import { openStage } from '../helpers/dashboard.ts';
import { makeReleases, releaseContent, releaseFile, releasePlatforms } from '../helpers/releases.ts';

const operator = {
  UNDERPASS_OPERATOR_NAME: 'Example Tunnels Ltd',
  UNDERPASS_OPERATOR_ADDRESS: '1 High Street, Leeds LS1 1AA',
  UNDERPASS_OPERATOR_COMPANY_NUMBER: '01234567',
};

test('public pages', async (t) => {
  const releases = await makeReleases(t);
  const stage = await openStage(t, { ...operator, UNDERPASS_RELEASES: releases });
  const { product, browser, account } = stage;

  await t.test("the footer has the operator's copyright and links to both legal texts", async (t) => {
    const page = await visit(t, browser, product);
    await page.goto('/login');
    const footer = page.getByRole('contentinfo');
    await expect(footer).toContainText(/© \d{4} Example Tunnels Ltd\./);
    await footer.getByRole('link', { name: 'Terms of Service' }).click();
    await page.waitForURL('/terms-of-service');
    // The first page, the sign-in, runs without the router: its links load a document, which begins at its top.
    await expect(page.getByRole('heading', { level: 1, name: 'Terms of service' })).toBeVisible();
    await footer.getByRole('link', { name: 'Privacy Policy' }).click();
    await page.waitForURL('/privacy-policy');
    await expect(page.getByRole('heading', { level: 1, name: 'Privacy policy' })).toBeFocused();
  });

  await t.test('the legal texts name the operator with number and office, and sections have links', async (t) => {
    const page = await visit(t, browser, product);
    await page.goto('/terms-of-service');
    await expect(
      page.getByText(/Example Tunnels Ltd, a company registered in England and Wales \(company number 01234567\)/),
    ).toBeVisible();
    await page
      .getByRole('navigation', { name: 'Contents' })
      .getByRole('link', { name: /Liability/ })
      .click();
    await expect(page.getByRole('heading', { name: /\d+\. Liability/ })).toBeInViewport();
    await expect(page).toHaveURL(/#liability$/);
    await expect(page.getByText(/the greater of 100 pounds sterling/)).toBeVisible();
  });

  await t.test('an unknown path shows the 404 page with a link to home', async (t) => {
    const page = await visit(t, browser, product);
    await page.goto('/no/such/page');
    await expect(page.getByRole('heading', { name: 'Page not found.' })).toBeVisible();
    await expect(page.getByText("Sorry, we couldn't find the page you're looking for.")).toBeVisible();
    await page.getByRole('link', { name: 'Back to home' }).click();
    await page.waitForURL('/login');
  });

  await t.test('the download page gives the steps of each system, from this deployment', async (t) => {
    const page = await visit(t, browser, product, { account });
    await page.goto('/download');
    await expect(page.getByText(`curl -fsSLO ${product.origin}/install.sh`)).toBeVisible();
    await page.getByRole('tab', { name: 'Windows' }).click();
    await expect(page.getByText(`Invoke-WebRequest ${product.origin}/install.ps1 -OutFile install.ps1`)).toBeVisible();
    await expect(page.getByText('Get-FileHash underpass-0.10.0-win-x64.exe -Algorithm SHA256')).toBeVisible();
  });

  await t.test('every file of the newest release has the checksum that the page shows', async (t) => {
    const page = await visit(t, browser, product, { account });
    await page.goto('/download');
    const table = page.getByRole('table', { name: 'Files of 0.10.0' });
    for (const platform of releasePlatforms) {
      const name = releaseFile('0.10.0', platform);
      const row = table.getByRole('row').filter({ has: page.getByRole('link', { name: `Download ${name}` }) });
      await expect(row).toContainText(createHash('sha256').update(releaseContent('0.10.0', platform)).digest('hex'));
      const href = await row.getByRole('link').getAttribute('href');
      const answer = await fetch(new URL(href ?? '', product.origin));
      assert.equal(await answer.text(), releaseContent('0.10.0', platform));
    }
  });

  await t.test('the releases page lists every version, the newest first', async (t) => {
    const page = await visit(t, browser, product, { account });
    await page.goto('/download');
    await page.getByRole('link', { name: 'All releases' }).click();
    await page.waitForURL('/download/releases');
    await expect(page.getByRole('main').getByRole('heading', { level: 2 })).toHaveText([/^0\.10\.0/, /^0\.9\.0/]);
  });
});

test('a deployment without releases explains how to run the client of a clone', async (t) => {
  const none = await mkdtemp(join(tmpdir(), 'underpass-releases-'));
  t.after(() => rm(none, { recursive: true }));
  const stage = await openStage(t, { UNDERPASS_RELEASES: none });
  await t.test('on the download page', async (t) => {
    const page = await visit(t, stage.browser, stage.product, { account: stage.account });
    await page.goto('/download');
    await expect(page.getByRole('heading', { name: 'No Releases' })).toBeVisible();
    await expect(page.getByText(`npx underpass login --server ${stage.product.origin}`)).toBeVisible();
    await expect(page.getByText(/install\.(sh|ps1)/)).toHaveCount(0);
    await page.getByRole('link', { name: 'All releases' }).click();
    await expect(page.getByRole('heading', { name: 'No Releases' })).toBeVisible();
  });
});
