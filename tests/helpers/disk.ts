// A small disk that a test fills. Needs root.
import { execFileSync } from 'node:child_process';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export interface SmallDisk {
  readonly path: string;
  /** Fills the disk until no byte is free. */
  fill(): Promise<void>;
  /** Removes what fill() wrote. */
  free(): Promise<void>;
}

const blockBytes = 4_096;

export async function mountSmallDisk(t: TestContext, mebibytes: number): Promise<SmallDisk> {
  const path = await mkdtemp(join(tmpdir(), 'underpass-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=700`, 'underpass-test', path]);
  t.after(async () => {
    // Lazy, because this test's processes still run: later hooks end them. They may write into the folder after the unmount, so
    // remove it with its content: if this hook failed, Node would skip those hooks.
    execFileSync('umount', ['--lazy', path]);
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
  });
  const ballast = join(path, 'ballast');
  return { path, fill: () => fillWith(ballast), free: () => rm(ballast) };
}

async function fillWith(path: string): Promise<void> {
  const file = await open(path, 'w');
  try {
    for (;;) await file.write(Buffer.alloc(blockBytes));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
}
