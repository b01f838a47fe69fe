// Visual details that no axe rule checks: line breaks, cut text, empty space.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from '@playwright/test';
import type { Invitation } from '@underpass/rules/entity/resource.ts';
import { assertNoSidewaysScroll, expect } from '../helpers/browser.ts';
import { makeTunnel, openStage, projectUrl } from '../helpers/dashboard.ts';

const phone = { width: 390, height: 844 } as const;

/** The rendered lines of the first element for a selector. */
const linesOf = (page: Page, selector: string) =>
  page.evaluate<string[]>(`(() => {
    const lines = new Map();
    const walker = document.createTreeWalker(document.querySelector(${JSON.stringify(selector)}), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (let at = 0; at < node.length; at++) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const { bottom, height } = range.getBoundingClientRect();
        if (height > 0) lines.set(Math.round(bottom), (lines.get(Math.round(bottom)) ?? '') + node.data[at]);
      }
    }
    return [...lines.values()].map((line) => line.trim());
  })()`);

function assertBreaksWell(lines: readonly string[]) {
  assert.ok(lines.length > 1);
  for (const [index, line] of lines.slice(1).entries()) assert.match(`${lines[index]}|${line}`, /@\||\|\./);
}

/** Words in tables that break across lines. A cell of one line cuts its text instead. */
const brokenWords = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const broken = [];
    const range = document.createRange();
    for (const cell of document.querySelectorAll('td')) {
      if (getComputedStyle(cell).textOverflow === 'ellipsis') continue;
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        for (const { 0: word, index } of node.data.matchAll(/[\\p{L}\\d]+/gu)) {
          range.setStart(node, index);
          range.setEnd(node, index + word.length);
          if (range.getClientRects().length > 1) broken.push(word);
        }
      }
    }
    return broken;
  })()`);

const cardOf = (page: Page, table: string, text: string) =>
  page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });

test('looks', async (t) => {
  const stage = await openStage(t);
  const { account } = stage;
  await makeTunnel(account, 'looked-at');
  const invitation = { email: 'linus.with.quite.a.long.name@accompanies.example.com', role: 'member' };
  await account.call('POST', `/api/invitations?project=${account.project}`, invitation);

  await t.test(
    'the picture of a tunnel keeps its stops apart in text of twice the size, and its lines in forced colours',
    async (t) => {
      for (const width of [390, 1440]) {
        const page = await stage.open(t, 'tunnels/looked-at', { viewport: { width, height: 900 } });
        await page.emulateMedia({ forcedColors: 'active' });
        await page.evaluate("document.documentElement.style.fontSize = '200%'");
        const picture = page.getByRole('img', { name: /^Visitors/ });
        await expect(picture).toBeVisible();
        await assertNoSidewaysScroll(page);
        const [outside, strokes] = await page.evaluate<[number, string[]]>(`(() => {
        const frame = document.querySelector('main [role="img"][aria-label^="Visitors"]');
        const box = frame.getBoundingClientRect();
        const parts = [...frame.firstElementChild.children].map((part) => part.getBoundingClientRect());
        const over = parts.filter((part, at) => part.right > box.right + 1 || (at > 0 && parts[at - 1].right > part.left + 1));
        return [over.length, [...frame.querySelectorAll('line[stroke-dasharray]')].map((line) => getComputedStyle(line).stroke)];
      })()`);
        assert.equal(outside, 0, `${width} px`);
        const ground = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
        assert.ok(strokes.length === 2 && strokes.every((stroke) => stroke !== ground && stroke !== 'none'), strokes.join());
      }
    },
  );

  await t.test(
    'on a phone with text of twice the size no page leaves the window, and cards have one thing under another',
    async (t) => {
      await account.call('POST', `/api/security-groups?project=${account.project}`, { name: 'office', allow: ['10.0.0.0/8'] });
      const page = await stage.open(t, 'security-groups', { viewport: phone });
      for (const path of [projectUrl(account, 'security-groups'), projectUrl(account, 'security-groups/office'), '/account']) {
        await page.goto(path);
        await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
        await page.evaluate("document.documentElement.style.fontSize = '200%'");
        await assertNoSidewaysScroll(page);
      }
      await page.goto(projectUrl(account, 'security-groups'));
      await expect(page.getByRole('row', { name: /office/ })).toBeVisible();
      await page.evaluate("document.documentElement.style.fontSize = '200%'");
      await assertNoSidewaysScroll(page);
      const lefts = await page.evaluate<number[]>(
        "[...document.querySelectorAll('tbody td')].map((cell) => cell.getBoundingClientRect().left)",
      );
      assert.equal(new Set(lefts).size, 1, lefts.join());
    },
  );

  await t.test('on a phone with text of twice the size a new tunnel of any type stays in its panel', async (t) => {
    const page = await stage.open(t, 'tunnels?new', { viewport: phone });
    const panel = page.getByRole('dialog', { name: 'New Tunnel' });
    await expect(panel.getByLabel('Name')).toBeFocused();
    await page.evaluate("document.documentElement.style.fontSize = '200%'");
    for (const type of await panel.getByRole('group', { name: 'Type' }).getByRole('radio').all()) {
      await type.check();
      const outside = `[...document.querySelectorAll('[role="dialog"] *')]
        .filter((part) => part.getBoundingClientRect().right > innerWidth + 1).map((part) => part.outerHTML.slice(0, 80))`;
      await expect.poll(() => page.evaluate<string[]>(outside)).toEqual([]);
    }
  });

  await t.test('on a phone an address breaks after the @ or before a dot, and a date stays on one line', async (t) => {
    const page = await stage.open(t, 'dashboard', { viewport: phone });
    const expiresAt = '2026-11-29T10:41:00Z';
    await page.route('**/api/invitations?*', async (route) => {
      const response = await route.fetch();
      const invitations = (await response.json()) as readonly Invitation[];
      await route.fulfill({ response, json: invitations.map((each) => ({ ...each, expiresAt })) });
    });
    await page.goto(projectUrl(account, 'members'));
    const card = cardOf(page, 'Pending invitations', invitation.email);
    await expect(card).toBeVisible();
    await page.evaluate('document.fonts.ready');
    const address = await linesOf(page, 'table[aria-label="Pending invitations"] td');
    assertBreaksWell(address);
    const [date, more] = await linesOf(page, 'table[aria-label="Pending invitations"] time');
    assert.match(date ?? '', /^\w+ \d+, \d{4}, \d+:\d\d\s[AP]M$/u);
    assert.equal(more, undefined);
  });

  await t.test('a long domain in the tunnel list breaks before a dot, and takes one line of a card on a phone', async (t) => {
    await makeTunnel(account, 'long', {
      type: 'ingress',
      ingressDomains: ['telephone-exchange.customers.accompanies.example.com'],
    });
    const page = await stage.open(t, 'tunnels', { viewport: { width: 768, height: 844 } });
    const card = cardOf(page, 'Tunnels', 'telephone-exchange');
    await expect(card).toBeVisible();
    await page.evaluate('document.fonts.ready');
    assertBreaksWell(await linesOf(page, 'table[aria-label="Tunnels"] td .font-mono'));
    await page.setViewportSize(phone);
    await expect.poll(async () => (await card.boundingBox())?.height ?? 0).toBeLessThan(80);
  });

  await t.test('the creator of a token breaks like an address', async (t) => {
    await account.call('POST', `/api/tokens?project=${account.project}`, { name: 'pipeline', role: 'member' });
    const page = await stage.open(t, 'tokens', { viewport: { width: 1200, height: 800 } });
    await expect(page.getByRole('row').filter({ hasText: 'pipeline' })).toBeVisible();
    await page.evaluate('document.fonts.ready');
    assertBreaksWell(await linesOf(page, 'td:nth-child(3)'));
  });

  for (const width of [390, 640, 768, 1024, 1200]) {
    await t.test(`a table breaks no word in a window of ${width} px, and a time into at most two lines`, async (t) => {
      const page = await stage.open(t, 'members', { viewport: { width, height: 900 } });
      const inProject = ['members', 'tokens', 'audit', 'tunnels'].map((path) => projectUrl(account, path));
      const ofOperator = ['users', 'projects', 'tunnels', 'regions', 'edges', 'audit'].map((path) => `/operator/${path}`);
      for (const path of [...inProject, ...ofOperator, '/account']) {
        await page.goto(path);
        await expect(page.getByRole('table').first()).toBeVisible();
        await page.evaluate('document.fonts.ready');
        assert.deepEqual(await brokenWords(page), [], path);
        const heights = await page.evaluate<number[]>(
          "[...document.querySelectorAll('td time')].map((each) => each.getBoundingClientRect().height)",
        );
        assert.ok(Math.max(0, ...heights) <= 48, `${path}: ${heights}`);
      }
    });
  }

  await t.test('a card without actions has no empty space for them', async (t) => {
    const page = await stage.open(t, 'members', { viewport: phone });
    const own = cardOf(page, 'Members', 'You');
    await expect(own).toBeVisible();
    await expect(own.locator('td').last()).toBeHidden();
    await expect(own.locator('td').nth(2)).toBeVisible();
  });

  await t.test("no line of a tunnel's facts begins or ends with a separator dot", async (t) => {
    const page = await stage.open(t, 'tunnels/looked-at', { viewport: phone });
    const facts = page.getByRole('listitem').filter({ hasText: /^(This machine|HTTP endpoint: .*)$/ });
    await expect(facts).toHaveCount(2);
    for (const fact of await facts.all()) {
      const shown = await fact.locator('xpath=ancestor::div[1]').boundingBox();
      const cutOff = (shown?.x ?? 0) - ((await fact.boundingBox())?.x ?? 0);
      assert.ok(cutOff >= 16, `the dot is ${cutOff} px outside`);
    }
  });

  await t.test('a printed page is white without bars over the text, from the dark theme too', async (t) => {
    const page = await stage.open(t, 'tunnels/looked-at', { colorScheme: 'dark' });
    await expect(page.getByRole('heading', { name: 'Connect', exact: true })).toBeVisible();
    await expect(page.locator('body')).toHaveCSS('color', 'rgb(243, 242, 239)');
    await page.emulateMedia({ media: 'print' });
    await expect(page.locator('body')).toHaveCSS('color', 'rgb(26, 27, 28)');
    await expect(page.getByRole('banner')).toBeHidden();
    await expect(page.getByRole('navigation', { name: 'Main' })).toBeHidden();
  });

  await t.test('an open menu never widens the page while the window narrows', async (t) => {
    const page = await stage.open(t, 'tunnels/looked-at', { viewport: { width: 2560, height: 1440 } });
    await page.getByRole('button', { name: 'Tunnel actions' }).click();
    const menu = page.getByRole('menu');
    await expect(menu).toBeVisible();
    await expect(menu.locator('..')).toHaveCSS('position', 'fixed');
    await page.setViewportSize({ width: 320, height: 640 });
    await assertNoSidewaysScroll(page);
    await expect(menu).toBeInViewport({ ratio: 1 });
  });
});
