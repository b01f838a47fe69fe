// Preloaded into a process under test: on SIGUSR2 it collects garbage and writes its memory use to a file.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectHeap } from '@underpass/runtime/heap.ts';

const folder = process.env.TEST_WEIGHTS;

/** Collects twice, one event loop turn apart: objects that the first collection frees may hold buffers that only the second frees. */
async function weigh(path: string): Promise<void> {
  for (let times = 0; times < 2; times++) {
    collectHeap();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(`${path}.part`, String(heapUsed + external));
  renameSync(`${path}.part`, path);
}

if (folder !== undefined) process.on('SIGUSR2', () => void weigh(join(folder, String(process.pid))));
