// Adds the row of an alert. What happens at one moment is added in the transaction of the change, and the next pass over the alerts
// (control/alerts) tells people.

import { type AlertFacts, subjectOf } from '@underpass/rules/tunnel/alert.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';

/** Returns the id of the row. `openedAt`: null while its waiting time runs, and for what the next pass opens. */
export async function recordAlert(
  trx: Queries,
  projectId: string,
  facts: AlertFacts,
  nowMs: number,
  openedAt: number | null = null,
): Promise<string> {
  const id = createId(nowMs);
  const times = { observed_at: nowMs, opened_at: openedAt, closed_at: null, ended: null };
  const about = subjectOf(facts) || id;
  const row = { id, project_id: projectId, kind: facts.kind, about, facts: JSON.stringify(facts), ...times };
  // Another pass may have written it.
  await trx
    .insertInto('alerts')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return id;
}
