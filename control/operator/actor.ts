// Who acts for the operator: a signed-in operator, or somebody at the machine's command line.

import { limits } from '@underpass/rules/limits.ts';
import { type SelectQueryBuilder, sql } from 'kysely';
import type { AuditRow } from '../access/audit.ts';
import { writeAudit } from '../access/audit.ts';
import type { Parts } from '../parts.ts';
import type { Queries } from '../store/store.ts';

/** What operator functions need of control, and who uses them. */
export interface Desk {
  readonly parts: Parts;
  /** An e-mail, or `operator` for a command. */
  readonly by: string;
  readonly address: string;
  readonly nowMs: number;
}

export const auditDesk = (
  db: Queries,
  { by, address, nowMs }: Desk,
  row: Pick<AuditRow, 'action' | 'target'> & Partial<Pick<AuditRow, 'projectId' | 'detail'>>,
): Promise<void> => writeAudit(db, { projectId: null, actor: by, address, ...row }, nowMs);

/** The newest first, a page of them; `before` is the id that ends the page above, of which the next begins behind. */
export const pageOf = <DB, TB extends keyof DB, O>(
  rows: SelectQueryBuilder<DB, TB, O>,
  id: string,
  before: string | undefined,
) => {
  const page = rows.orderBy(sql.ref(id), 'desc').limit(limits.operatorPageRows);
  return before === undefined ? page : page.where(sql<boolean>`${sql.ref(id)} < ${before}`);
};

/** A pattern for `like … escape '\'` that finds the text anywhere. */
export const containing = (text: string): string => `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
