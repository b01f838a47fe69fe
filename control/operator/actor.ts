// An operator at work: signed in to the dashboard, or running a command on the machine.

import { type ListQuery, searchWords } from '@underpass/rules/list/list-page.ts';
import { type RawBuilder, sql } from 'kysely';
import type { FeedPort } from '../edges/feed/port.ts';
import type { Queries } from '../platform/store/store.ts';
import { type AuditRow, writeAudit } from '../request/caller/audit.ts';
import type { CallDeps } from '../request/deps.ts';

export interface OperatorNeeds extends Pick<CallDeps, 'store' | 'bus' | 'jobs' | 'origin'> {
  readonly feed: Pick<FeedPort, 'tunnelsChanged' | 'blocksChanged' | 'regionChanged' | 'isServing'>;
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
