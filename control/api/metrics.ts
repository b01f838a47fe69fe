// Prometheus metrics of control: calls by name and status, and what waits. Served by server/ on a private port.

import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Dependency, DependencyState } from '../platform/dependency/dependency.ts';
import { readQueue } from '../platform/job/waiting.ts';
import { type BackupNote, readBackupNote } from '../platform/store/backup-note.ts';
import { addGauge } from '../platform/store/gauge.ts';
import { isWaiting } from '../platform/store/known-time.ts';
import type { Store } from '../platform/store/store.ts';

export interface ControlMetrics {
  readonly registry: Registry;
  observe(call: string, status: number, seconds: number): void;
}

// A call takes from under a millisecond to the ten seconds that DNS may take.
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

function addDependencies(registry: Registry, dependencies: readonly Dependency[]): void {
  const gauge = (name: string, help: string, read: (state: DependencyState) => number): void =>
    addGauge(registry, { name, help, labels: ['dependency'] }, () =>
      dependencies.map(({ state }) => [{ dependency: state.name }, read(state)]),
    );
  gauge('underpass_dependency_answers', '1 while the dependency answers', ({ answers }) => (answers ? 1 : 0));
  gauge('underpass_dependency_changed_timestamp_seconds', 'When that last changed, Unix time', ({ sinceMs }) => sinceMs / 1000);
}

function addPool(registry: Registry, store: Store): void {
  const help = 'Connections to Postgres that are used or idle, and queries waiting for one';
  addGauge(registry, { name: 'underpass_database_pool', help, labels: ['state'] }, () =>
    Object.entries(store.pool?.() ?? {}).map(([state, count]) => [{ state }, count]),
  );
}

/** Only figures that exist are exported: an installation without backups of ours has none. */
function addBackups(registry: Registry, store: Store): void {
  const gauge = (name: string, help: string, read: (note: BackupNote) => number | undefined): void =>
    addGauge(registry, { name, help }, async () => {
      const note = await readBackupNote(store.db);
      const value = note && read(note);
      return value === undefined ? [] : [[{}, value]];
    });
  const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms / 1_000);
  gauge('underpass_backup_succeeded', '1 if the last backup succeeded', ({ error }) => (error === undefined ? 1 : 0));
  gauge('underpass_backup_timestamp_seconds', 'Last backup that succeeded, Unix time', ({ madeAtMs }) => seconds(madeAtMs));
  gauge('underpass_backup_due_timestamp_seconds', 'When the next backup is due, Unix time', ({ dueAtMs }) => seconds(dueAtMs));
}

export function createControlMetrics(store: Store, dependencies: readonly Dependency[]): ControlMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  addDependencies(registry, dependencies);
  addPool(registry, store);
  addBackups(registry, store);
  const common = { registers: [registry] };
  const calls = new Counter({ ...common, name: 'underpass_calls_total', help: 'API calls', labelNames: ['call', 'status'] });
  const durations = new Histogram({
    ...common,
    name: 'underpass_call_seconds',
    help: 'Time of API calls',
    labelNames: ['call'],
    buckets,
  });
  addGauge(registry, { name: 'underpass_jobs_waiting', help: 'Mails and other jobs that are not done' }, async () => [
    [{}, (await readQueue(store.db)).total],
  ]);
  const help = '1 while expired rows are kept because the clock jumped or most of a table has expired';
  addGauge(registry, { name: 'underpass_expiry_waits', help }, async () => [[{}, Number(await isWaiting(store.db))]]);
  return {
    registry,
    observe: (call, status, seconds) => {
      calls.inc({ call, status });
      durations.observe({ call }, seconds);
    },
  };
}
