// What most parts of control need. Each names the few that it takes.

import type { Logger } from 'pino';
import type { Bus } from './bus/bus.ts';
import type { JobQueue } from './job/queue.ts';
import type { Limiter } from './limit/limiter.ts';
import type { KeyRing } from './secret/key-ring.ts';
import type { Store } from './store/store.ts';

export interface PlatformDeps {
  readonly store: Store;
  readonly clock: () => number;
  readonly log: Logger;
  readonly keyRing: KeyRing;
  readonly bus: Bus;
  readonly limiter: Limiter;
  readonly jobs: Pick<JobQueue, 'wake'>;
}
