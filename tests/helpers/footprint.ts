// Counts the descriptors and the memory that a process of the product holds, and asserts that both return to their
// earlier values after a fault.
import { readFile, rm } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { type ProcessOf, weightFile } from './process.ts';
import { openDescriptors } from './visitor.ts';

/** Descriptors that may be open in addition: keep-alive connections, the second carrier of a client. */
const moreDescriptors = 12;
/**
 * Growth that is not a leak: code that runs for the first time, caches, memory slabs. It measured up to 5 MB. A leak of 5 KiB
 * for each of 4,000 visitors, or of 64 KiB for each of 300, exceeds this bound.
 */
const moreBytes = 16 * 1024 ** 2;
const withinMs = 60_000;

export interface Footprint {
  readonly descriptors: number;
  /** Heap and external buffers after a garbage collection. RSS does not serve: it falls late or never. */
  readonly bytes: number;
}

export async function footprintOf({ pid }: Pick<ProcessOf, 'pid'>): Promise<Footprint> {
  const file = weightFile(pid);
  await rm(file, { force: true });
  process.kill(pid, 'SIGUSR2');
  const weight = await eventually(
    () => readFile(file, 'utf8').catch(() => null),
    (text) => text !== null,
  );
  return { descriptors: await openDescriptors(pid), bytes: Number(weight) };
}

/** Remembers what each process holds now. The returned function waits until each holds no more than that again, or throws with the figures. */
export async function watchFootprints(
  t: TestContext,
  processes: Readonly<Record<string, Pick<ProcessOf, 'pid'>>>,
  beyondBytes = moreBytes,
): Promise<() => Promise<void>> {
  const before = new Map<string, Footprint>();
  for (const [name, each] of Object.entries(processes)) before.set(name, await footprintOf(each));
  return async () => {
    for (const [name, { descriptors, bytes }] of before) {
      const grown = async (): Promise<Footprint> => {
        const now = await footprintOf(processes[name] as ProcessOf);
        return { descriptors: now.descriptors - descriptors, bytes: now.bytes - bytes };
      };
      const fits = (now: Footprint): boolean => now.descriptors <= moreDescriptors && now.bytes <= beyondBytes;
      const last = await eventually(grown, fits, withinMs).catch((error: Error) => {
        throw new Error(`the ${name} holds more than before: ${error.message}`);
      });
      t.diagnostic(`the ${name}: ${last.descriptors} descriptors and ${(last.bytes / 1e6).toFixed(1)} MB more than before`);
    }
  };
}
