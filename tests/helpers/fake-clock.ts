// Sets the clock of a running program by libfaketime. The monotonic clock, which measures durations, stays true.
import { globSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryHome } from './process.ts';
import { requireTool } from './tool.ts';

export interface FakeClock {
  /** Environment for the program. */
  readonly env: Record<string, string>;
  /** Sets the clock to the true time plus `hours`; the program sees it within a second. */
  set(hours: number): Promise<void>;
}

export async function createFakeClock(t: TestContext): Promise<FakeClock> {
  requireTool('faketime');
  const [library] = globSync('/usr/lib/{*/,}faketime/libfaketime.so.1');
  if (library === undefined) throw new Error('faketime is installed without its library');
  const file = join(await temporaryHome(t), 'clock');
  // Replace the file atomically: the program reads it every second and must not see half a line.
  const set = async (hours: number): Promise<void> => {
    await writeFile(`${file}.next`, `${hours < 0 ? '' : '+'}${hours}h\n`);
    await rename(`${file}.next`, file);
  };
  await set(0);
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: '1',
    DONT_FAKE_MONOTONIC: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  };
  return { env, set };
}
