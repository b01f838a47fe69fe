// An operator at work: signed in to the dashboard, or running a command on the machine.

import { type ListQuery, searchWords } from '@underpass/rules/list/list-page.ts';
import { type RawBuilder, sql } from 'kysely';
import type { FeedPort } from '../edges/feed/port.ts';
import type { Bus } from '../platform/bus/bus.ts';
import type { JobQueue } from '../platform/job/queue.ts';
import type { Queries, Store } from '../platform/store/store.ts';
import { type AuditRow, writeAudit } from '../request/caller/audit.ts';

export interface OperatorNeeds {
  readonly store: Store;
  readonly feed: Pick<FeedPort, 'tunnelsChanged' | 'blocksChanged' | 'regionChanged' | 'isServing'>;
  readonly bus: Bus;
  readonly jobs: Pick<JobQueue, 'wake'>;
  readonly origin: string;
  readonly operatorEmail: string;
  readonly operatorName: string;
}

/** What operator functions need, and who calls them. */
export interface ActingOperator {
  readonly deps: OperatorNeeds;
  /** The operator's e-mail, or `operator` for a command. */
  readonly by: string;
  readonly address: string;
  readonly nowMs: number;
}

export const auditOperator = (
  db: Queries,
  { by, address, nowMs }: ActingOperator,
  row: Pick<AuditRow, 'action' | 'target'> & Partial<Pick<AuditRow, 'projectId' | 'detail'>>,
): Promise<void> => writeAudit(db, { projectId: null, actor: by, address, ...row }, nowMs);

/** Rows that a command prints: it asks for no page. */
const printedRows = 200;

/** The newest rows, which a command prints. */
export const newest = (q = '', limit = printedRows): ListQuery => ({
  ...{ words: searchWords(q), status: undefined, sort: undefined, descending: true },
  ...{ after: undefined, before: undefined, limit },
});

export const suspension = (column: string): RawBuilder<string> =>
  sql`case when ${sql.ref(column)} is null then 'Active' else 'Suspended' end`;
