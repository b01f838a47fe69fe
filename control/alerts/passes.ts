// The background work of alerts: compares what needs attention with the open alerts, writes what changes, and mails the news. One
// control process at a time does it, and only if something changes.

import { type AlertKind, alertKinds } from '@underpass/rules/tunnel/alert.ts';
import type { OverviewDeps } from '../overview/facts.ts';
import type { BackgroundWork } from '../platform/job/background.ts';
import type { WithLease } from '../platform/store/lease.ts';
import type { Schema } from '../platform/store/schema.ts';
import type { CallDeps } from '../request/deps.ts';
import { applyStep, readAlerts, toAlert } from './alert-rows.ts';
import { findSlowSteps, findTunnelSteps, type ProjectSteps } from './findings.ts';
import { mailNews, readDue } from './mailing.ts';
import { type NewDelivery, queueDelivery } from './webhook/rows.ts';

type PassDeps = OverviewDeps & Pick<CallDeps, 'store' | 'clock' | 'jobs' | 'origin'> & { readonly withLease: WithLease };

type Look = (deps: OverviewDeps, nowMs: number) => Promise<readonly ProjectSteps[]>;

function deliveryOf(origin: string, row: Schema['alerts']): NewDelivery {
  const type =
    'once' in alertKinds[row.kind as AlertKind] ? 'alert.noted' : row.closed_at === null ? 'alert.opened' : 'alert.closed';
  const { project_id: projectId, kind, about } = row;
  return { projectId, type, alert: toAlert(row), url: `${origin}/projects/${projectId}/alerts`, lane: `${kind} ${about}` };
}

async function apply({ store, origin }: PassDeps, { projectId, steps }: ProjectSteps, nowMs: number): Promise<void> {
  await store.write(async (trx) => {
    const changed: string[] = [];
    for (const step of steps) {
      const id = await applyStep(trx, projectId, step, nowMs);
      if (id !== undefined) changed.push(id);
    }
    const rows = await readAlerts(trx, changed);
    for (const row of rows) await queueDelivery(trx, deliveryOf(origin, row), nowMs);
    if (rows.length > 0) await mailNews(trx, projectId, nowMs);
  });
}

/** Reads first, so that a service on which nothing changes writes nothing. */
async function runPass(deps: PassDeps, look: Look): Promise<void> {
  const { store, clock, withLease } = deps;
  const nowMs = clock();
  const isQuiet = async (): Promise<boolean> =>
    (await look(deps, nowMs)).length === 0 && (await readDue(store.db, nowMs)).length === 0;
  if (await isQuiet()) return;
  await withLease('alerts', async () => {
    for (const project of await look(deps, nowMs)) await apply(deps, project, nowMs);
    for (const projectId of await readDue(store.db, nowMs)) await store.write((trx) => mailNews(trx, projectId, nowMs));
  });
  deps.jobs.wake();
}

const quickEveryMs = 5_000;
const slowEveryMs = 5 * 60_000;

export const createAlertPasses = (deps: PassDeps): readonly BackgroundWork[] => [
  { name: 'alerts: tunnels', everyMs: quickEveryMs, run: () => runPass(deps, findTunnelSteps) },
  { name: 'alerts: domains, certificates, tokens, quotas', everyMs: slowEveryMs, run: () => runPass(deps, findSlowSteps) },
];
