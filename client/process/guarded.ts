// A lock among commands of one user, for the moments in which one of them looks at a file and changes it: a folder beside the file.

import { lstat, mkdir, rmdir } from 'node:fs/promises';
import { waitMs } from './wait.ts';

const guardPollMs = 20;
/** 2 s: after that its owner has crashed, and its guard counts no more. What is guarded takes about a second at most. */
const mostGuardPolls = 100;

/** Runs it while no other command of this machine does the same at this path, whose folder is there. */
export async function guarded<T>(path: string, act: () => Promise<T>): Promise<T> {
  const guard = `${path}.guard`;
  await take(guard);
  try {
    return await act();
  } finally {
    await rmdir(guard).catch(() => {});
  }
}

/** Waits for one owner after the other, however many there are, but for none of them longer than it can live. */
async function take(guard: string): Promise<void> {
  let owner: string | undefined;
  let polls = 0;
  while (await isTaken(guard)) {
    const now = await ownerOf(guard);
    polls = now === owner ? polls + 1 : 0;
    owner = now;
    if (polls < mostGuardPolls) await waitMs(guardPollMs);
    else if (!(await isGone(guard))) return;
  }
}

/** Removes the guard of a crash. One that cannot be removed stops nobody. */
const isGone = (guard: string): Promise<boolean> =>
  rmdir(guard).then(
    () => true,
    ({ code }: NodeJS.ErrnoException) => code === 'ENOENT',
  );

/** Whether another owner has it. Where no guard can be made, what is guarded runs without one, and fails if it needs to write. */
const isTaken = (guard: string): Promise<boolean> =>
  mkdir(guard).then(
    () => false,
    ({ code }: NodeJS.ErrnoException) => code === 'EEXIST',
  );

/** Tells one owner's guard from the next one's. */
const ownerOf = (guard: string): Promise<string | undefined> =>
  lstat(guard).then(
    ({ ino, mtimeMs }) => `${ino} ${mtimeMs}`,
    () => undefined,
  );
