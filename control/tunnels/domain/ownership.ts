// What happens when a project verifies or loses an apex: the hosts of its tunnels under it go live, or stop being live.

import { addJob } from '../../platform/job/queue.ts';
import { isUniqueViolation, type Queries, type Store } from '../../platform/store/store.ts';
import { recordAlert } from '../../request/caller/alert.ts';
import { writeAudit } from '../../request/caller/audit.ts';
import { lockProject } from '../../request/caller/project-lock.ts';
import type { CallDeps } from '../../request/deps.ts';
import { refuse } from '../../request/http/refusal.ts';
import { foreignDomainText, tunnelsUnder } from './domains.ts';

interface Owned {
  readonly id: string;
  readonly projectId: string;
  readonly apexName: string;
}

async function setLive(trx: Queries, { projectId, apexName }: Owned, isLive: boolean): Promise<string[]> {
  await trx
    .updateTable('tunnel_hosts')
    .set((eb) => ({ live_host: isLive ? eb.ref('host') : null }))
    .where('project_id', '=', projectId)
    .where('apex_name', '=', apexName)
    .where('blocked', 'is', null)
    .execute();
  return (await tunnelsUnder(trx, projectId, apexName)).map((tunnel) => tunnel.id);
}

const markVerified = (trx: Queries, { id, apexName }: Owned, nowMs: number) =>
  trx
    .updateTable('domains')
    .set({ verified_at: nowMs, owned_apex: apexName, checked_at: nowMs, misses: 0, first_missed_at: null })
    .where('id', '=', id)
    .where('verified_at', 'is', null)
    .returning('id')
    .executeTakeFirst();

/**
 * The first project to prove an apex owns it: the unique `owned_apex` decides a race. Returns the tunnels whose hosts went live;
 * none if the domain is gone or another call verified it first.
 */
export async function claimDomain(
  store: Store,
  domain: Owned,
  nowMs: number,
  inSameWrite: (trx: Queries) => Promise<void>,
): Promise<string[]> {
  try {
    return await store.write(async (trx) => {
      await lockProject(trx, domain.projectId);
      if (!(await markVerified(trx, domain, nowMs))) return [];
      await inSameWrite(trx);
      return setLive(trx, domain, true);
    });
  } catch (error) {
    if (isUniqueViolation(error)) return refuse('conflict', foreignDomainText(domain.apexName));
    throw error;
  }
}

type LossDeps = Pick<CallDeps, 'clock' | 'feed' | 'jobs'>;

async function managerEmails(db: Queries, projectId: string): Promise<string[]> {
  const query = db.selectFrom('members as m').innerJoin('users as u', 'u.id', 'm.user_id').select('u.email');
  const rows = await query.where('m.project_id', '=', projectId).where('m.role', 'in', ['owner', 'admin']).execute();
  return rows.map((row) => row.email);
}

/** Makes what the daily re-check calls for a lost domain: it works in the given transaction, and returns what to do after it. */
export const createDomainLoss =
  ({ clock, feed, jobs }: LossDeps) =>
  async (trx: Queries, domain: Owned): Promise<() => void> => {
    const { projectId, apexName } = domain;
    const nowMs = clock();
    const tunnelIds = await setLive(trx, domain, false);
    for (const email of await managerEmails(trx, projectId)) await addJob(trx, nowMs, 'domain-lost', { email, apexName });
    await writeAudit(trx, { projectId, actor: 'underpass', action: 'domain.lost', target: apexName, address: '' }, nowMs);
    await recordAlert(trx, projectId, { kind: 'domain-lost', domain: apexName }, nowMs);
    return () => {
      feed.tunnelsChanged(tunnelIds);
      jobs.wake();
    };
  };
