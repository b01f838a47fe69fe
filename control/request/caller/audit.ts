// Writes the audit log: who changed what, when and from where, in the transaction of the change.

import type { AuditAction } from '@underpass/rules/people/audit-sentence.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';
import type { Caller } from './caller.ts';

export interface AuditRow {
  readonly projectId: string | null;
  /**
   * An e-mail, `operator` for commands of underpass-server, `unknown` for a sign-in that fails, `webhook`, or `underpass` for
   * what the service does by itself.
   */
  readonly actor: string;
  /** Noun and verb. */
  readonly action: AuditAction;
  readonly target: string;
  readonly address: string;
  /** Never a secret. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Longer lists are cut. Nobody reads more, and a project may write 300 rows a minute, which stay for a year. */
const listMost = 50;

const shorten = (_: string, value: unknown): unknown =>
  Array.isArray(value) && value.length > listMost ? [...value.slice(0, listMost), `and ${value.length - listMost} more`] : value;

export async function writeAudit(db: Queries, row: AuditRow, nowMs: number): Promise<void> {
  await db
    .insertInto('audit')
    .values({
      id: createId(nowMs),
      at: nowMs,
      project_id: row.projectId,
      actor: row.actor,
      action: row.action,
      target: row.target,
      address: row.address,
      detail: JSON.stringify(row.detail ?? {}, shorten),
    })
    .execute();
}

/** What the log says of a list that changed. */
export const listChange = (before: readonly string[], after: readonly string[]) => ({
  added: [...new Set(after).difference(new Set(before))],
  removed: [...new Set(before).difference(new Set(after))],
});

interface Source {
  readonly caller: Caller;
  readonly membership: { readonly id: string } | null;
  readonly address: string;
  readonly nowMs: number;
}

/** Writes the row of a call: actor, project and address come from its context. */
export function auditCall(
  db: Queries,
  { caller, membership, address, nowMs }: Source,
  action: AuditAction,
  target: string,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const by = caller.token ? { ...detail, by: 'api-token', apiToken: caller.token.name } : detail;
  return writeAudit(db, { projectId: membership?.id ?? null, actor: caller.email, action, target, address, detail: by }, nowMs);
}
