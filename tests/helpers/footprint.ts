// What a process of the product holds of the machine, and whether that comes back to where it was after a fault.
import { readFile, rm } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { eventually } from './load.ts';
import { type ProcessOf, weightFile } from './process.ts';
import { openDescriptors } from './visitor.ts';

/** Keep-alive connections, the second carrier of a client: what may be open beside what was. */
const moreDescriptors = 12;
/**
 * Code that runs for the first time, caches, slabs that are filled once: up to 5 MB are seen. 4 KiB kept of each of 4,000
 * visitors, or 64 KiB of each of 300, are more.
 */
const moreBytes = 16 * 1024 ** 2;
const withinMs = 60_000;

export interface Footprint {
  readonly descriptors: number;
  /** Heap, and buffers beside it, after a collection: the system's own count (RSS) falls later or never. */
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

/** Remembers what each holds now. The answer waits until they hold no more than that again, or fails with the figures. */
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
      t.diagnostic(`the ${name}: ${last.descriptors} descriptors and ${(last.bytes / 1e6).toFixed(1)} MB beside what it held`);
    }
  };
}
