// Who acts for the operator: a signed-in operator, or somebody at the machine's command line.

import type { AuditRow } from '../audit/audit.ts';
import { writeAudit } from '../audit/audit.ts';
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

// What one page shows; whoever has more looks by name.
export const listedAtMost = 200;

/** A pattern for `like … escape '\'` that finds the text anywhere. */
export const containing = (text: string): string => `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
