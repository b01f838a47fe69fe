// Records what happens at one moment and people of the project should hear of, in the transaction of the change. The next pass over the
// alerts tells them (control/alerts).

import { type AlertFacts, subjectOf } from '@underpass/rules/tunnel/alert.ts';
import { createId } from '../../platform/store/id.ts';
import type { Queries } from '../../platform/store/store.ts';

export async function recordAlert(trx: Queries, projectId: string, facts: AlertFacts, nowMs: number): Promise<void> {
  const id = createId(nowMs);
  const times = { observed_at: nowMs, opened_at: null, closed_at: null, ended: null };
  const row = {
    id,
    project_id: projectId,
    kind: facts.kind,
    about: subjectOf(facts) || id,
    facts: JSON.stringify(facts),
    ...times,
  };
  await trx
    .insertInto('alerts')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
