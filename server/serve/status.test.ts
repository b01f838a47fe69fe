// The rows of `underpass-server status` in the states that an operator meets. Pure.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KnownEdge } from '@underpass/control/edges/feed/edge-notes.ts';
import type { StatusRow } from '@underpass/rules/entity/resource.ts';
import { backupRow, dependencyRow, edgeRows, queueRow, regionRows } from './status.ts';

const hour = 3_600_000;
const nowMs = Date.UTC(2026, 0, 2);
const since = new Date(nowMs - hour).toISOString();
const edge: KnownEdge = {
  ...{ id: 'edge-1', region: 'eu', version: 'underpass/0.1.0+5f3d77cb0123', connected: true, acknowledged: true, clients: 2 },
  ...{ since, lastSeenAt: new Date(nowMs).toISOString(), copy: { writtenAtMs: nowMs - hour, error: null } },
};
const answering = { answers: true, sinceMs: nowMs - hour, lastError: null };
const away = { answers: false, sinceMs: nowMs - hour, lastError: 'connect ECONNREFUSED' };
const made = backupRow({ madeAtMs: nowMs - hour, dueAtMs: nowMs + hour }, nowMs);

const failing = (rows: readonly StatusRow[]): readonly (readonly (string | null)[])[] =>
  rows.filter(({ ok }) => !ok).map(({ part, state, since: at, lastError }) => [part, state, at, lastError]);

const cutOff = { ...edge, connected: false, lastSeenAt: since };
const states: readonly (readonly [name: string, rows: readonly StatusRow[], fails: ReturnType<typeof failing>])[] = [
  [
    'healthy',
    [
      ...(['database', 'bus', 'mail'] as const).map((name) => dependencyRow({ name, ...answering })),
      ...edgeRows([edge]),
      ...regionRows(['eu'], [edge]),
      made,
    ],
    [],
  ],
  ['NATS away', [dependencyRow({ name: 'bus', ...away })], [['bus', 'does not answer', since, 'connect ECONNREFUSED']]],
  [
    'Postgres away',
    [dependencyRow({ name: 'database', ...away })],
    [['database', 'does not answer', since, 'connect ECONNREFUSED']],
  ],
  [
    'an edge cut off, and its region without one',
    [...edgeRows([cutOff]), ...regionRows(['eu'], [cutOff])],
    [
      ['edge', 'cut off, or down', since, null],
      ['region', '0 of 1 edges connected', null, null],
    ],
  ],
  ['no backup, which others may make', [backupRow(undefined, nowMs)], []],
  [
    'mails that wait for long',
    [queueRow({ total: 2, oldestAtMs: nowMs - hour, lastError: '421' }, nowMs)],
    [['queue', '2 waiting', since, '421']],
  ],
  ['a mail that has just come', [queueRow({ total: 1, oldestAtMs: nowMs - 1000, lastError: null }, nowMs)], []],
  ['a late backup', [backupRow({ madeAtMs: nowMs - hour, dueAtMs: nowMs - 1 }, nowMs)], [['backup', 'late', since, null]]],
  [
    'a failed backup',
    [backupRow({ madeAtMs: 1, error: 'ENOSPC', failedAtMs: nowMs - hour }, nowMs)],
    [['backup', 'failed', since, 'ENOSPC']],
  ],
  [
    'an edge that cannot keep its copy',
    edgeRows([{ ...edge, copy: { writtenAtMs: nowMs - hour, error: 'ENOSPC' } }]),
    [['copy', 'not kept', since, 'ENOSPC']],
  ],
];
for (const [name, rows, fails] of states)
  test(`names exactly the parts that fail: ${name}`, () => assert.deepEqual(failing(rows), fails));

test('shows the exact build of each edge', () => assert.equal(edgeRows([edge])[0]?.build, '0.1.0+5f3d77cb0123'));
