// Deletes a project and everything in it. Its audit rows stay, as the privacy policy says.

import { durations } from '@underpass/rules/limits.ts';
import type { Queries } from '../store/store.ts';

const dayMs = 24 * 3600_000;

/** Generated names stay reserved for a while, so that another project does not get their visitors (design 9). */
const restGeneratedNames = async (trx: Queries, projectId: string, nowMs: number): Promise<void> => {
  const query = trx.selectFrom('tunnel_hosts').select('host').where('project_id', '=', projectId);
  const names = await query.where('apex_name', '=', '').execute();
  const resting_until = nowMs + durations.generatedNameRestDays * dayMs;
  for (const { host } of names) {
    await trx
      .insertInto('released_names')
      .values({ host, project_id: projectId, resting_until })
      .onConflict((conflict) => conflict.column('host').doUpdateSet({ project_id: projectId, resting_until }))
      .execute();
  }
};

/** Only this project could serve these names, so their certificates and keys are useless now. */
const dropCertificates = (trx: Queries, projectId: string) =>
  trx
    .deleteFrom('certificates')
    .where('name', 'in', (db) =>
      // A host that is not live here may be live in another project.
      db.selectFrom('tunnel_hosts').select('host').where('project_id', '=', projectId).where('live_host', 'is not', null),
    )
    .execute();

/** Runs under the project's lock. Answers the tunnels that the edges must drop after the commit. */
export const deleteProject = async (trx: Queries, projectId: string, nowMs: number): Promise<string[]> => {
  await restGeneratedNames(trx, projectId, nowMs);
  await dropCertificates(trx, projectId);
  await trx.deleteFrom('device_logins').where('project_id', '=', projectId).execute();
  // Before the groups that they refer to.
  const tunnels = await trx.deleteFrom('tunnels').where('project_id', '=', projectId).returning('id').execute();
  await trx.updateTable('users').set({ default_project: null }).where('default_project', '=', projectId).execute();
  await trx.deleteFrom('projects').where('id', '=', projectId).execute();
  return tunnels.map((row) => row.id);
};
