// The background work of alerts: compares what needs attention with the open alerts, writes what changes, and mails the news. One
// control process at a time does it, and only if something changes.

import type { BackgroundWork } from '../platform/job/background.ts';
import type { JobQueue } from '../platform/job/queue.ts';
import type { WithLease } from '../platform/store/lease.ts';
import type { Store } from '../platform/store/store.ts';
import { applyStep } from './alert-rows.ts';
import { type FindingDeps, findSlowSteps, findTunnelSteps, type ProjectSteps } from './findings.ts';
import { mailNews, readDue } from './mailing.ts';

export interface PassDeps extends FindingDeps {
  readonly store: Store;
  readonly clock: () => number;
  readonly withLease: WithLease;
  readonly jobs: Pick<JobQueue, 'wake'>;
}

type Look = (deps: FindingDeps, nowMs: number) => Promise<readonly ProjectSteps[]>;

async function apply({ store }: PassDeps, { projectId, steps }: ProjectSteps, nowMs: number): Promise<void> {
  await store.write(async (trx) => {
    for (const step of steps) await applyStep(trx, projectId, step, nowMs);
    if (steps.some(({ step }) => step === 'open' || step === 'close')) await mailNews(trx, projectId, nowMs);
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
