// Makes the pages of the browser tests as slow as on a busy machine with a distant server, to find tests that rely on speed.
import type { Page, Route } from '@playwright/test';

/** UNDERPASS_TEST_SLOWNESS=4 gives the pages a quarter of the CPU, and delays scripts and answers by random times. */
const slowness = Number(process.env.UNDERPASS_TEST_SLOWNESS ?? 1);
const scriptDelayMs = [300, 800] as const;
const answerDelayMs = [100, 300] as const;

export async function slowDown(page: Page): Promise<void> {
  if (slowness === 1) return;
  const session = await page.context().newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: slowness });
  await page.context().route(/\/assets\/[^/]+\.js$/, delayed(scriptDelayMs));
  await page.context().route(/^[^?]*\/(api|auth)\//, delayed(answerDelayMs));
}

/** Ignores the error if the page closes before the delay ends. */
const delayed =
  ([least, most]: readonly [number, number]) =>
  async (route: Route): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, least + Math.random() * (most - least)));
    await route.continue().catch(() => {});
  };
