// What the connections of all visitors of this process share. Each kind of connection takes the part that it uses.

import type { WindowBudget } from '@underpass/wire/core/credit.ts';
import type { ConnectionLimiter } from '../limits/connection-limiter.ts';
import type { Deadlines } from '../limits/deadlines.ts';
import type { Timeouts } from '../limits/timeouts.ts';
import type { RouteTable } from '../routes/route-table.ts';
import type { Visitor } from '../routes/tunnel-state.ts';
import type { Upstreams } from '../upstream/upstreams.ts';
import type { RequestLog } from './request-log.ts';
import type { VisitCheck } from './visit-check.ts';
import type { VisitorCounters } from './visitor-counters.ts';

export interface VisitorContext {
  readonly table: RouteTable;
  readonly visits: VisitCheck;
  readonly upstreams: Upstreams;
  readonly deadlines: Deadlines;
  readonly timeouts: Timeouts;
  readonly counters: VisitorCounters;
  readonly requestLog: RequestLog;
  readonly limiter: ConnectionLimiter;
  /** The budget of all HTTP/2 visitors together. */
  readonly uploadBudget: WindowBudget;
  /** Visitors whose host has no tunnel; the others are in the set of their tunnel. */
  readonly strangers: Set<Visitor>;
  /** Makes kept connections end with their next response. */
  draining: boolean;
}
