// How all parts of the installation stand, as this process knows it: the rows of `underpass-server status`.

import type { Control } from '@underpass/control/control.ts';
import type { KnownEdge } from '@underpass/control/edges/feed/edge-notes.ts';
import type { FeedHub } from '@underpass/control/edges/feed/hub.ts';
import type { Dependency, DependencyState } from '@underpass/control/platform/dependency/dependency.ts';
import { readQueue, type WaitingJobs } from '@underpass/control/platform/job/waiting.ts';
import { type BackupNote, readBackupNote } from '@underpass/control/platform/store/backup-note.ts';
import type { Edge } from '@underpass/edge/edge.ts';
import type { StatusRow } from '@underpass/rules/entity/resource.ts';
import type { FeedCopy } from '@underpass/wire/feed/feed.ts';
import { build, software } from '../process/version.ts';
import type { Settings } from '../settings/settings.ts';
import type { State } from '../state/state.ts';

type Given = Pick<StatusRow, 'part' | 'name' | 'ok' | 'state'> & Partial<StatusRow>;
const row = (given: Given): StatusRow => ({ since: null, lastError: null, build: null, ...given });
const at = (ms: number | null | undefined): string | null =>
  ms === null || ms === undefined ? null : new Date(ms).toISOString();
const startedAtMs = Date.now();

export function dependencyRow({ name, answers, sinceMs, lastError }: DependencyState): StatusRow {
  return row({
    part: name,
    name: '',
    ok: answers,
    state: answers ? 'answers' : 'does not answer',
    since: at(sinceMs),
    lastError,
  });
}

function copyRow(name: string, copy: FeedCopy | null | undefined): StatusRow[] {
  if (copy === null || copy === undefined) return [];
  const { writtenAtMs, error } = copy;
  const state = error !== null ? 'not kept' : writtenAtMs === null ? 'none yet' : 'kept';
  return [row({ part: 'copy', name, ok: error === null, state, since: at(writtenAtMs), lastError: error })];
}

/** A connected edge stands so since it connected, another since its last word. */
export function edgeRows(edges: readonly KnownEdge[]): StatusRow[] {
  return edges.flatMap(({ id, region, version, connected, since, lastSeenAt, copy }) => {
    const name = `${region}/${id}`;
    const state = connected ? 'connected' : 'cut off, or down';
    const own = { part: 'edge', name, ok: connected, state, since: connected ? since : lastSeenAt } as const;
    return [row({ ...own, build: version.replace(/^underpass\//, '') }), ...copyRow(name, copy)];
  });
}

export function regionRows(regions: readonly string[], edges: readonly KnownEdge[]): StatusRow[] {
  return regions.map((name) => {
    const own = edges.filter(({ region }) => region === name);
    const up = own.filter(({ connected }) => connected).length;
    return row({ part: 'region', name, ok: up > 0, state: `${up} of ${own.length} edges connected` });
  });
}

/** None is no failure: others may back up the database by its own means. */
export function backupRow({ madeAtMs, dueAtMs, error, failedAtMs }: BackupNote = {}, nowMs: number): StatusRow {
  const own = { part: 'backup', name: '' } as const;
  if (error !== undefined) return row({ ...own, ok: false, state: 'failed', since: at(failedAtMs), lastError: error });
  if (madeAtMs === undefined) return row({ ...own, ok: true, state: 'none noted' });
  const late = dueAtMs !== undefined && dueAtMs < nowMs;
  return row({ ...own, ok: !late, state: late ? 'late' : 'made', since: at(madeAtMs) });
}

/** A mail that a server refused once is tried again: it fails once it has waited for longer. */
const queueLateMs = 15 * 60_000;

export function queueRow({ total, oldestAtMs, lastError }: WaitingJobs, nowMs: number): StatusRow {
  const ok = oldestAtMs === null || nowMs - oldestAtMs < queueLateMs;
  return row({
    part: 'queue',
    name: '',
    ok,
    state: total === 0 ? 'empty' : `${total} waiting`,
    since: at(oldestAtMs),
    lastError,
  });
}

/** Reads the metrics, which know what the authority cannot issue. */
async function certificateRows(metrics: Control['metrics']): Promise<StatusRow[]> {
  const read = async (name: string): Promise<Map<string, number>> => {
    const { values } = (await metrics.getSingleMetric(name)?.get()) ?? { values: [] };
    return new Map(values.map(({ labels, value }) => [`${labels.region} ${labels.kind}`, value]));
  };
  const ends = await read('underpass_certificate_expiry_timestamp_seconds');
  const missing = await read('underpass_certificates_missing');
  return [...missing].map(([name, count]) => {
    // A user's name that does not prove itself is the user's.
    const ok = count === 0 || name.endsWith(' tunnel');
    const end = ends.get(name);
    const until = end ? ` until ${new Date(end * 1_000).toISOString().slice(0, 10)}` : '';
    return row({ part: 'certificate', name, ok, state: count === 0 ? `valid${until}` : `${count} missing` });
  });
}

/** What waits for a database that hangs is unknown after this. */
const answerMs = 3_000;

async function orUnknown(part: StatusRow['part'], read: () => Promise<StatusRow[]>): Promise<StatusRow[]> {
  const unknown = (error: unknown): StatusRow[] => [
    row({
      part,
      name: '',
      ok: false,
      state: 'unknown',
      lastError: error instanceof Error ? error.message.slice(0, 200) : String(error),
    }),
  ];
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${answerMs / 1_000} s`)), answerMs);
  return Promise.race([read(), promise])
    .catch(unknown)
    .finally(() => clearTimeout(timer));
}

interface StatusSources {
  readonly hub: FeedHub;
  readonly control: Control;
  /** Dependencies of this process alone. */
  readonly dependencies: readonly Dependency[];
}

export async function readControlStatus(
  settings: Settings,
  { store, clock, dependencies }: State,
  { hub, control, dependencies: mail }: StatusSources,
  local: Edge | undefined,
): Promise<StatusRow[]> {
  const edges = hub.knownEdges();
  const embedded = row({ part: 'database', name: 'embedded', ok: true, state: 'answers', since: at(startedAtMs) });
  const outside = [...dependencies, ...mail].map(({ state }) => dependencyRow(state));
  const stored = await Promise.all([
    orUnknown('region', async () => {
      const regions = await control.operator.listRegions();
      return regionRows(
        regions.map(({ name }) => name),
        edges,
      );
    }),
    orUnknown('certificate', async () => {
      const rows = await certificateRows(control.metrics);
      // The metrics leave out what the database does not answer: then this fails with the reason.
      if (rows.length === 0) await control.operator.listRegions();
      return rows;
    }),
    orUnknown('queue', async () => [queueRow(await readQueue(store.db), clock())]),
    orUnknown('backup', async () => [backupRow(await readBackupNote(store.db), clock())]),
  ]);
  return [
    row({ part: 'control', name: settings.origin, ok: true, state: 'runs', since: at(startedAtMs), build }),
    ...(settings.databaseUrl === undefined ? [embedded] : []),
    ...outside,
    ...edgeRows(edges),
    // The edge of this process speaks to control in memory, and has a copy all the same.
    ...(edges.some(({ copy }) => copy !== undefined) ? [] : copyRow(settings.region, local?.copy())),
    ...stored.flat(),
  ];
}

export function readEdgeStatus({ region, controlUrl = '' }: Settings, edge: Edge): StatusRow[] {
  const { connected, sinceMs, lastError } = edge.feed();
  return [
    row({
      part: 'edge',
      name: region,
      ok: true,
      state: 'runs',
      since: at(startedAtMs),
      build: software.replace(/^underpass\//, ''),
    }),
    row({
      ...{ part: 'feed', name: controlUrl, ok: connected, state: connected ? 'connected' : 'cut off from control' },
      ...{ since: at(sinceMs), lastError },
    }),
    ...copyRow(region, edge.copy()),
  ];
}
