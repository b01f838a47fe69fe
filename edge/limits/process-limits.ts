// Reads what this process may use of its machine: descriptors by its own limit, and its share of the memory.

import { totalmem } from 'node:os';
import { report } from 'node:process';
import type { ProcessLimits } from '../core/connection-limits.ts';

export function readProcessLimits(workers: number): ProcessLimits {
  // Without a limit from a cgroup it is 0 or absurdly large.
  const constrained = process.constrainedMemory();
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return { descriptors: openFiles(), memoryBytes: memoryBytes / workers };
}

/** Node raises the soft limit to the hard one when it starts. Windows reports none, and a system may report "unlimited". */
function openFiles(): number {
  // Without this the report resolves the names of all peers.
  Object.assign(report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { readonly userLimits?: { readonly open_files?: { readonly soft: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}
