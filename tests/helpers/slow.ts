// Makes the pages of the browser tests as slow as a busy machine with a far server: what only a fast one passes fails here.
import type { Page, Route } from '@playwright/test';

/** UNDERPASS_TEST_SLOWNESS=4: the pages have a quarter of the CPU, and code and answers come late by chance. */
const slowness = Number(process.env.UNDERPASS_TEST_SLOWNESS ?? 1);
const codeLateMs = [300, 800] as const;
const answerLateMs = [100, 300] as const;

export async function slowDown(page: Page): Promise<void> {
  if (slowness === 1) return;
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowness });
  await page.context().route(/\/assets\/[^/]+\.js$/, late(codeLateMs));
  await page.context().route(/^[^?]*\/(api|auth)\//, late(answerLateMs));
}

/** A page that is closed meanwhile needs no answer. */
const late =
  ([least, most]: readonly [number, number]) =>
  async (route: Route): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, least + Math.random() * (most - least)));
    await route.continue().catch(() => {});
  };
