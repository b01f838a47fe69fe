// A lock among commands of one user, for the moments in which one of them looks at a file and changes it: a folder beside the file.

import { mkdir, rmdir } from 'node:fs/promises';
import { waitMs } from './wait.ts';

const guardPollMs = 20;
/** 2 s: after that its owner has crashed, and the guard counts no more. What is guarded takes about a second at most. */
const mostGuardPolls = 100;

/** Runs it while no other command of this machine does the same at this path, whose folder is there. */
export async function guarded<T>(path: string, act: () => Promise<T>): Promise<T> {
  const guard = `${path}.guard`;
  const isTaken = () =>
    mkdir(guard).then(
      () => false,
      ({ code }: NodeJS.ErrnoException) => code === 'EEXIST',
    );
  for (let polls = 0; polls < mostGuardPolls && (await isTaken()); polls++) await waitMs(guardPollMs);
  try {
    return await act();
  } finally {
    await rmdir(guard).catch(() => {});
  }
}
