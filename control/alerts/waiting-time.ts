// How long a tunnel of a project may be down before its people hear of it.

import { alertLimits } from '@underpass/rules/limits.ts';
import type { Queries } from '../platform/store/store.ts';

export async function readWaitSeconds(db: Queries, projectId: string): Promise<number> {
  const project = db.selectFrom('projects').select('alert_wait_seconds').where('id', '=', projectId);
  return (await project.executeTakeFirst())?.alert_wait_seconds ?? alertLimits.waitSeconds;
}
