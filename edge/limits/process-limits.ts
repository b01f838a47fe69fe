// What this process may use of its machine: descriptors by its own limit, memory shared with the other workers.

import { totalmem } from 'node:os';
import { report } from 'node:process';
import type { ProcessLimits } from '../core/connection-limits.ts';

export function readProcessLimits(workers: number): ProcessLimits {
  // 0 or an absurdly large number where no cgroup sets a limit.
  const constrained = process.constrainedMemory();
  const memoryBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  return { descriptors: openFiles(), memoryBytes: memoryBytes / workers };
}

/** Node raises the soft limit to the hard one as it starts. Windows has none, and a system may say "unlimited". */
function openFiles(): number {
  // Else the report looks up the names of all peers.
  Object.assign(report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { readonly userLimits?: { readonly open_files?: { readonly soft: unknown } } };
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}
