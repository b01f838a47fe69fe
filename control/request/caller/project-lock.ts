// The project's lock, as calls take it: every write that counts or checks begins with it.

import { type Queries, takeProjectLock } from '../../platform/store/store.ts';
import { refuse } from '../http/refusal.ts';

/** Refuses if the project was deleted after the call was permitted. */
export async function lockProject(trx: Queries, projectId: string): Promise<void> {
  if (!(await takeProjectLock(trx, projectId))) refuse('missing', 'Project not found');
}
