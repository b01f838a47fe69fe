// Unmaps the code and constants of the running program and its libraries. Most served only the start; the kernel maps a page again
// when it is used, from the file or its cache.

import { readFileSync } from 'node:fs';
import { findAdvise } from './libc.ts';

// madvise(2)
const dontNeed = 4;

interface Mapping {
  readonly start: bigint;
  readonly bytes: bigint;
}

let advise: ReturnType<typeof findAdvise> | undefined;

export function unmapProgram(): void {
  if (process.platform !== 'linux') return;
  advise ??= findAdvise();
  if (advise === null) return;
  try {
    for (const { start, bytes } of unchangedMappings(readFileSync('/proc/self/smaps', 'utf8'))) {
      advise(start, bytes, dontNeed);
    }
  } catch {
    // A system without /proc: the pages stay.
  }
}

/**
 * The private mappings of files, in the text of /proc/<pid>/smaps, that may not be written and have no page that differs from the
 * file: the kernel can read them from the file again. Data that is read-only now may have been written before (relocations).
 */
export function unchangedMappings(smaps: string): readonly Mapping[] {
  return smaps.split(/\n(?=[0-9a-f]+-)/).flatMap((text) => {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ [0-9a-f:]+ [1-9]\d* +\//.exec(text) ?? [];
    if (from === undefined || !/^Anonymous: +0 kB$/m.test(text)) return [];
    const start = BigInt(`0x${from}`);
    return [{ start, bytes: BigInt(`0x${to}`) - start }];
  });
}
