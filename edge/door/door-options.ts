// What all public doors need, and how each takes its connections.

import type { DashboardHost } from '../visitor/dashboard-host.ts';
import type { VisitorContext } from '../visitor/visitor-context.ts';
import type { AcceptRules } from './unrouted-connection.ts';

export interface DoorOptions {
  readonly context: VisitorContext;
  readonly isBalancer: (address: string) => boolean;
  /** Connections to these hosts belong to clients and ACME. */
  readonly isRegionHost: (host: string) => boolean;
  /** Missing if the dashboard is served elsewhere. */
  readonly dashboard: DashboardHost | undefined;
}

export function createAcceptRules(
  { context, isBalancer }: DoorOptions,
  own: Pick<AcceptRules, 'peeks' | 'awaitsBytes' | 'decider'>,
): AcceptRules {
  const { deadlines, limiter, timeouts, table, counters } = context;
  return {
    ...own,
    deadlines,
    limiter,
    headMs: timeouts.headMs,
    isBalancer,
    isReady: () => table.loaded,
    onAdapted: (control) => counters.countAccepted(control),
    onLost: () => {
      counters.unrouted++;
    },
  };
}
