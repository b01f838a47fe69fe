// The product without a mouse: signing in, making a tunnel, the palette, deleting. The focus is visible, moves as expected and returns.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Locator, Page } from '@playwright/test';
import { expect, visit } from '../helpers/browser.ts';
import { type DashboardStage, makeTunnel, openStage, projectUrl } from '../helpers/dashboard.ts';

/** More stops than any screen has: after this many, the focus is trapped. */
const mostStops = 90;

interface Stop {
  readonly name: string;
  readonly seen: boolean;
  readonly inPanel: boolean;
}

/** The focused element, two frames after it got the focus: its name, if its ring is visible, and if it is in a dialog. */
const stopOf = (page: Page) =>
  page.evaluate<Stop>(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => {
    const element = document.activeElement;
    const { top, bottom, left, right } = element.getBoundingClientRect();
    const parent = element.parentElement === null ? [] : [[element.parentElement]];
    const ringed = [[element], [element, '::after'], ...parent].some((one) => {
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(...one);
      return (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2) || boxShadow !== 'none';
    });
    return {
      name: element.tagName + ' ' + (element.getAttribute('aria-label') ?? element.textContent.slice(0, 40)),
      seen: ringed && bottom > 0 && top < innerHeight && right > 0 && left < innerWidth,
      inPanel: element.closest('[role=dialog], [role=alertdialog]') !== null,
    };
  })`);

/** Waits while the ring appears or the page still grows. Between the last stop and the first, the body has the focus. */
async function settledStop(page: Page): Promise<Stop> {
  const endsAt = performance.now() + 15_000;
  while (true) {
    const stop = await stopOf(page);
    if (stop.seen || stop.name.startsWith('BODY') || performance.now() > endsAt) return stop;
  }
}

async function tabTo(page: Page, wanted: Locator): Promise<void> {
  for (let stops = 0; stops < mostStops; stops++) {
    if (await isFocused(wanted)) {
      assert.ok((await settledStop(page)).seen, `the focus is seen on ${wanted}`);
      return;
    }
    await page.keyboard.press('Tab');
  }
  assert.fail(`${wanted} is not reached by Tab`);
}

const isFocused = async (wanted: Locator) => (await wanted.and(wanted.page().locator(':focus')).count()) === 1;

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).first();

test('by keyboard', async (t) => {
  const stage = await openStage(t);
  await makeTunnel(stage.account, 'doomed');
  await t.test('a user can ask for a login link', (t) => signIn(t, stage));
  await t.test('every stop of a screen is visible, and Tab returns to the first', (t) => comesRound(t, stage));
  await t.test('a user can make a tunnel in a panel that keeps the focus until Escape returns it', (t) => create(t, stage));
  await t.test('every panel focuses its first field on each opening, and returns the focus to its button', (t) =>
    panels(t, stage),
  );
  await t.test('a panel that a link opened gives the focus to the heading', (t) => linkedPanel(t, stage));
  await t.test('removing an entry moves the focus to its neighbour', (t) => removeFromList(t, stage));
  await t.test('the palette opens on any screen, opens the chosen page on Enter, and returns the focus', (t) =>
    palette(t, stage),
  );
  await t.test('the delete dialog focuses Cancel first, returns to the menu on Escape, and ends on the list', (t) =>
    remove(t, stage),
  );
});

async function signIn(t: TestContext, { browser, product }: DashboardStage): Promise<void> {
  const page = await visit(t, browser, product);
  await page.goto('/login');
  await expect(page.getByLabel('Email')).toBeFocused();
  await page.keyboard.type('ada@example.com');
  await tabTo(page, page.getByRole('checkbox', { name: 'I am human' }));
  await page.keyboard.press('Space');
  await expect(page.getByRole('checkbox', { name: 'Verified' })).toBeChecked();
  await tabTo(page, button(page, 'Sign in'));
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: /We have sent an email/ })).toBeFocused();
}

async function comesRound(t: TestContext, stage: DashboardStage): Promise<void> {
  for (const path of ['dashboard', 'tunnels', 'tunnels/doomed', 'security-groups/default', 'settings']) {
    const page = await stage.open(t, path, { viewport: { width: 1280, height: 720 } });
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await expect(page.getByRole('status', { name: 'Loading' })).toHaveCount(0);
    const skip = page.getByRole('link', { name: 'Skip to content' });
    await tabTo(page, skip);
    let stops = 0;
    do {
      await page.keyboard.press('Tab');
      const stop = await settledStop(page);
      if (!stop.name.startsWith('BODY')) assert.ok(stop.seen, `${path}: the focus is not seen on ${stop.name}`);
      stops++;
    } while (!(await isFocused(skip)) && stops < mostStops);
    t.diagnostic(`${path}: ${stops} stops`);
    assert.ok(stops < mostStops, `${path} does not come round`);
  }
}

async function create(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await stage.open(t, 'tunnels');
  const panel = page.getByRole('dialog', { name: 'New Tunnel' });
  const add = button(page, 'Add Tunnel');
  await expect(add).toBeVisible();
  await tabTo(page, add);
  await page.keyboard.press('Enter');
  await expect(panel.getByLabel('Name')).toBeFocused();
  for (let stops = 0; stops < 25; stops++) {
    await page.keyboard.press('Tab');
    const stop = await settledStop(page);
    assert.ok(stop.inPanel && stop.seen, `the focus left the panel for ${stop.name}, or is not seen there`);
  }
  await page.keyboard.press('Escape');
  await expect(panel).toBeHidden();
  await expect(add).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(panel.getByLabel('Name')).toBeFocused();
  await page.keyboard.type('Typed');
  await tabTo(page, panel.getByRole('switch', { name: 'Generate domain' }));
  await page.keyboard.press('Space');
  await tabTo(page, panel.getByRole('button', { name: 'Create' }));
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname === projectUrl(stage.account, 'tunnels/typed'));
  // The heading of the placeholder had the focus; the button comes with the tunnel's data.
  await expect(button(page, 'Refresh')).toBeVisible();
  await expect(page.getByRole('heading', { level: 1, name: 'typed' })).toBeFocused();
}

async function panels(t: TestContext, stage: DashboardStage): Promise<void> {
  for (const [path, opener, title, field] of [
    ['tunnels', 'Add Tunnel', 'New Tunnel', 'Name'],
    ['security-groups', 'Add Security Group', 'New Security Group', 'Name'],
    ['members', 'Invite', 'Invite to project', 'Email'],
  ] as const) {
    const page = await stage.open(t, path);
    const panel = page.getByRole('dialog', { name: title });
    await expect(button(page, opener)).toBeVisible();
    await tabTo(page, button(page, opener));
    for (const way of ['Enter', 'Space', 'Enter']) {
      await page.keyboard.press(way);
      await expect(panel.getByLabel(field)).toBeFocused();
      await page.keyboard.press('Escape');
      await expect(panel).toBeHidden();
      await expect(button(page, opener)).toBeFocused();
    }
  }
  const members = await stage.open(t, 'members');
  await button(members, 'Invite').click();
  await expect(members.getByLabel('Email')).toBeFocused();
  await members.keyboard.type('grace@example.com');
  await members.keyboard.press('Enter');
  await expect(members.getByRole('table', { name: 'Pending invitations' })).toContainText('grace@example.com');
  await expect(button(members, 'Invite')).toBeFocused();
}

async function linkedPanel(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await stage.open(t, 'members?invite=1');
  const panel = page.getByRole('dialog', { name: 'Invite to project' });
  await expect(panel.getByLabel('Email')).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(panel).toBeHidden();
  await expect(page.getByRole('heading', { level: 1, name: 'Members' })).toBeFocused();
}

async function removeFromList(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await stage.open(t, 'security-groups/default');
  const rule = page.getByRole('textbox', { name: 'Source address' });
  await expect(rule).toBeVisible();
  await tabTo(page, rule);
  await page.keyboard.type('192.0.2.1');
  await page.keyboard.press('Enter');
  await expect(rule).toBeFocused();
  const removal = page.getByRole('button', { name: 'Remove 192.0.2.1' });
  await expect(removal).toBeVisible();
  await tabTo(page, removal);
  await page.keyboard.press('Enter');
  await expect(removal).toBeHidden();
  await expect(page.getByRole('button', { name: /^Remove / }).last()).toBeFocused();
}

async function palette(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await stage.open(t, 'tunnels');
  const add = button(page, 'Add Tunnel');
  await expect(add).toBeVisible();
  await tabTo(page, add);
  const search = page.getByRole('combobox', { name: /^Search pages/ });
  await page.keyboard.press('Control+k');
  await expect(search).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(search).toBeHidden();
  await expect(add).toBeFocused();
  await page.keyboard.press('Control+k');
  await expect(search).toBeFocused();
  await page.keyboard.type('domains');
  await expect(page.getByRole('option', { name: 'Domains' })).toHaveAttribute('data-highlighted');
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.pathname === projectUrl(stage.account, 'domains'));
  await expect(page.getByRole('heading', { level: 1, name: 'Domains' })).toBeFocused();
}

async function remove(t: TestContext, stage: DashboardStage): Promise<void> {
  const page = await stage.open(t, 'tunnels/doomed');
  const actions = button(page, 'Tunnel actions');
  await expect(actions).toBeVisible();
  await tabTo(page, actions);
  const dialog = page.getByRole('alertdialog', { name: 'Delete Tunnel' }).or(page.getByRole('dialog', { name: 'Delete Tunnel' }));
  const ask = async () => {
    await page.keyboard.press('Enter');
    await expect(page.getByRole('menuitem', { name: 'Edit' })).toBeFocused();
    await page.keyboard.press('End');
    await expect(page.getByRole('menuitem', { name: 'Delete' })).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(dialog.getByRole('button', { name: 'Cancel' })).toBeFocused();
  };
  await ask();
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await expect(actions).toBeFocused();
  await ask();
  await tabTo(page, dialog.getByRole('button', { name: 'Delete' }));
  await page.keyboard.press('Enter');
  await expect(page.getByText('Tunnel doomed deleted.').first()).toBeVisible();
  await page.waitForURL((url) => url.pathname === projectUrl(stage.account, 'tunnels'));
  await expect(page.getByRole('heading', { level: 1, name: 'Tunnels' })).toBeFocused();
}
