// Deletes a project and everything in it. Its audit rows stay, as the privacy policy says.

import type { Queries } from '../../platform/store/store.ts';
import { reserveNames } from '../../tunnels/tunnel/ingress-hosts.ts';
import { restPorts } from '../../tunnels/tunnel/public-port.ts';

async function generatedNames(trx: Queries, projectId: string): Promise<string[]> {
  const query = trx.selectFrom('tunnel_hosts').select('host').where('project_id', '=', projectId);
  return (await query.where('apex_name', '=', '').execute()).map((row) => row.host);
}

/** Only this project could serve these names, so their certificates and keys are useless now. */
const dropCertificates = (trx: Queries, projectId: string) =>
  trx
    .deleteFrom('certificates')
    .where('name', 'in', (db) =>
      // A host that is not live here may be live in another project.
      db.selectFrom('tunnel_hosts').select('host').where('project_id', '=', projectId).where('live_host', 'is not', null),
    )
    .execute();

/** Runs under the project's lock. Returns the tunnels that the edges must drop after the commit. */
export async function deleteProject(trx: Queries, projectId: string, nowMs: number): Promise<string[]> {
  await reserveNames(trx, projectId, await generatedNames(trx, projectId), nowMs);
  await restPorts(trx, 'project_id', projectId, nowMs);
  await dropCertificates(trx, projectId);
  await trx.deleteFrom('device_logins').where('project_id', '=', projectId).execute();
  // Tunnels go before the groups that they refer to.
  const tunnels = await trx.deleteFrom('tunnels').where('project_id', '=', projectId).returning('id').execute();
  await trx.updateTable('users').set({ default_project: null }).where('default_project', '=', projectId).execute();
  await trx.deleteFrom('projects').where('id', '=', projectId).execute();
  return tunnels.map((row) => row.id);
}
