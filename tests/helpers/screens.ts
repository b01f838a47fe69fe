// Looks at a screen as everybody sees it: phone and desktop, light and dark. Axe judges each, nothing may scroll sideways
// from 320 to 2560 px, and a picture of each is kept in .artifacts/screens for people to look at.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from '@playwright/test';
import { assertNoSidewaysScroll, findAccessibilityProblems, type VisitOptions, visit } from './browser.ts';
import type { Stage } from './dashboard.ts';
import type { Account } from './product.ts';

export interface Screen {
  /** In kebab-case: it names the pictures. */
  readonly name: string;
  readonly path: string;
  /** Brings the screen into its state; it also has to wait for what the state is known by. */
  readonly ready: (page: Page) => Promise<unknown>;
  /** Who looks; null is nobody. The stage's own account unless told. */
  readonly account?: Account | null;
  readonly expectedErrors?: RegExp;
}

const folder = fileURLToPath(new URL('../../.artifacts/screens', import.meta.url));
/** The sizes of the pictures with the theme that axe judges there, and the narrowest and widest that a screen has to fit. */
const pictured = [
  { width: 390, height: 844, judged: 'light' },
  { width: 1440, height: 900, judged: 'dark' },
] as const;
const extremes = [
  { width: 320, height: 640 },
  { width: 2560, height: 1440 },
] as const;
const themes = ['light', 'dark'] as const;

/** One visit for all looks: theme and size change under the screen's state, as they do under a person's hands. */
export async function checkScreen(t: TestContext, stage: Stage, screen: Screen): Promise<void> {
  await mkdir(folder, { recursive: true });
  await t.test(screen.name, async (t) => {
    const page = await openScreen(t, stage, screen);
    for (const size of pictured) {
      await resize(page, size);
      for (const colorScheme of themes) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.screenshot({ path: join(folder, `${screen.name}-${size.width}-${colorScheme}.png`), animations: 'disabled' });
        if (colorScheme === size.judged)
          assert.deepEqual(await findAccessibilityProblems(page), [], `${size.width} ${colorScheme}`);
      }
      await assertNoSidewaysScroll(page);
    }
    for (const size of extremes) {
      await resize(page, size);
      await assertNoSidewaysScroll(page);
    }
  });
}

/** What follows the window, follows it in the next frame. */
async function resize(page: Page, { width, height }: { readonly width: number; readonly height: number }): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

async function openScreen(t: TestContext, stage: Stage, screen: Screen): Promise<Page> {
  const { path, ready, expectedErrors } = screen;
  const account = screen.account === undefined ? stage.account : screen.account;
  const options: VisitOptions = {
    viewport: { width: pictured[0].width, height: pictured[0].height },
    ...(account === null ? {} : { account }),
    ...(expectedErrors === undefined ? {} : { expectedErrors }),
  };
  const page = await visit(t, stage.browser, stage.product, options);
  await page.goto(path);
  await ready(page);
  return page;
}
