// Lets a process that starts have only the time of the processor that the others leave.

import { readdirSync, readFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** A tenth of the share of a process with the usual priority, if all want more than there is. */
const spareNice = 10;
/** CAP_SYS_NICE, as a bit of the effective capabilities. */
const mayRaise = 1n << 23n;

/** True if this process may end what it begins: without that right, a lowered priority stays low for ever. */
function canGiveBack(nice: number): boolean {
  const limit = /^Max nice priority\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? '0';
  if (Number(limit) >= 20 - nice) return true;
  const capabilities = /^CapEff:\s+([\da-f]+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return (BigInt(`0x${capabilities}`) & mayRaise) !== 0n;
}

/**
 * Lowers the priority of a process that has just been started. Returns the function that gives it this process's own, which may be
 * called again. Does nothing where the system does not offer it or does not allow to undo it.
 */
export function takeSpareTime(pid: number | undefined): () => void {
  if (pid === undefined || process.platform !== 'linux') return () => {};
  let ended = false;
  try {
    const nice = getPriority();
    if (!canGiveBack(nice)) return () => {};
    setPriority(pid, nice + spareNice);
    return () => {
      if (ended) return;
      ended = true;
      // Linux has a priority for each thread, and threads begin with that of their parent.
      for (const thread of threadsOf(pid)) trySet(thread, nice);
    };
  } catch {
    return () => {};
  }
}

function threadsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [];
  }
}

/** Does nothing if the thread has ended since it was listed. */
function trySet(thread: number, nice: number): void {
  try {
    setPriority(thread, nice);
  } catch {}
}
