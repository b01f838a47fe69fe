// Preloaded into a process under test: at SIGUSR2 it collects its garbage and writes down what its program holds then.
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { collectHeap } from '@underpass/wire/heap.ts';

const folder = process.env.TEST_WEIGHTS;

/** Twice, with a turn between: what the first finds dead may hold buffers that only the second can free. */
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
