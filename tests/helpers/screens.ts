// Checks one screen on phone and desktop, light and dark: axe must find no problem, and nothing may scroll sideways from
// 320 to 2560 px. Screenshots of all four go to .artifacts/screens for people to look at, except in CI.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Page } from '@playwright/test';
import { assertNoSidewaysScroll, findAccessibilityProblems, type VisitOptions, visit } from './browser.ts';
import type { DashboardStage } from './dashboard.ts';
import type { Account } from './product.ts';

export interface Screen {
  /** The name in kebab-case: it names the screenshots. */
  readonly name: string;
  readonly path: string;
  /** Brings the screen into the state to check, and waits until the page shows it. */
  readonly ready: (page: Page) => Promise<unknown>;
  /** The account that is signed in: by default the stage's; null means signed out. */
  readonly account?: Account | null;
  readonly expectedErrors?: RegExp;
  /** Runs before the page opens. */
  readonly prepare?: (page: Page) => Promise<void>;
}

/** What a screen needs of the product. Without an account, every screen must set its own. */
export interface ScreenStage extends Pick<DashboardStage, 'browser'>, Partial<Pick<DashboardStage, 'account'>> {
  readonly product: Pick<DashboardStage['product'], 'origin'>;
}

const folder = fileURLToPath(new URL('../../.artifacts/screens', import.meta.url));
/** Sizes of the screenshots, with the theme in which axe checks each size. */
const pictured = [
  { width: 390, height: 844, judged: 'light' },
  { width: 1440, height: 900, judged: 'dark' },
] as const;
/** The smallest and the largest window that a screen must fit. */
const extremes = [
  { width: 320, height: 640 },
  { width: 2560, height: 1440 },
] as const;
const themes = ['light', 'dark'] as const;
const takesPictures = !process.env.CI;

/** Checks all themes and sizes in one visit: they change while the screen keeps its state, as they do for a person. */
export async function checkScreen(t: TestContext, stage: ScreenStage, screen: Screen): Promise<void> {
  await mkdir(folder, { recursive: true });
  await t.test(screen.name, async (t) => {
    const page = await openScreen(t, stage, screen);
    for (const size of pictured) {
      await resize(page, size);
      for (const colorScheme of themes) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const path = join(folder, `${screen.name}-${size.width}-${colorScheme}.png`);
        if (takesPictures) await page.screenshot({ path, animations: 'disabled' });
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

/** The page reacts to its new size in the next frame: wait for two. */
async function resize(page: Page, { width, height }: { readonly width: number; readonly height: number }): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

async function openScreen(t: TestContext, stage: ScreenStage, screen: Screen): Promise<Page> {
  const { path, ready, expectedErrors } = screen;
  const account = screen.account === undefined ? stage.account : screen.account;
  const options: VisitOptions = {
    viewport: { width: pictured[0].width, height: pictured[0].height },
    ...(account ? { account } : {}),
    ...(expectedErrors === undefined ? {} : { expectedErrors }),
  };
  const page = await visit(t, stage.browser, stage.product, options);
  await screen.prepare?.(page);
  await page.goto(path);
  await ready(page);
  return page;
}
