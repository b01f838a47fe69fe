// An operator at work: signed in to the dashboard, or running a command on the machine.

import { type SelectQueryBuilder, sql } from 'kysely';
import type { FeedPort } from '../edges/feed/port.ts';
import type { Bus } from '../platform/bus/bus.ts';
import type { JobQueue } from '../platform/job/queue.ts';
import type { Queries, Store } from '../platform/store/store.ts';
import { type AuditRow, writeAudit } from '../request/caller/audit.ts';

export interface DeskDeps {
  readonly store: Store;
  readonly feed: Pick<FeedPort, 'tunnelsChanged' | 'blocksChanged' | 'regionChanged' | 'isServing'>;
  readonly bus: Bus;
  readonly jobs: Pick<JobQueue, 'wake'>;
  readonly origin: string;
  readonly operatorEmail: string;
}

/** What operator functions need, and who calls them. */
export interface Desk {
  readonly deps: DeskDeps;
  /** The operator's e-mail, or `operator` for a command. */
  readonly by: string;
  readonly address: string;
  readonly nowMs: number;
}

export const auditDesk = (
  db: Queries,
  { by, address, nowMs }: Desk,
  row: Pick<AuditRow, 'action' | 'target'> & Partial<Pick<AuditRow, 'projectId' | 'detail'>>,
): Promise<void> => writeAudit(db, { projectId: null, actor: by, address, ...row }, nowMs);

export interface AskedPage {
  /** The last id of the previous page. */
  readonly before?: string | undefined;
  /** The most rows. */
  readonly rows?: number;
}

/** Rows that a command prints: it asks for no page. */
const printedRows = 200;

/** One page of rows, newest first. */
export function pageOf<DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  id: string,
  { before, rows: most = printedRows }: AskedPage = {},
) {
  const page = rows.orderBy(sql.ref(id), 'desc').limit(most);
  return before === undefined ? page : page.where(sql<boolean>`${sql.ref(id)} < ${before}`);
}
