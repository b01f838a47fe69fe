// How an edge that connects is brought up to date while the state changes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { feedVersion, type ToEdge } from '@underpass/wire/feed/feed.ts';
import { EdgeSession } from './edge-session.ts';
import type { EdgeAbout } from './edge-view.ts';
import { RegionState } from './region-state.ts';

function certificate(id: string) {
  return { id, hosts: [`${id}.example.com`], certificatePem: 'x'.repeat(200_000), privateKeyPem: '', notAfterMs: 1 };
}

test('a change during a large snapshot follows its last piece, and the snapshot shows the state from before it', async () => {
  const state = new RegionState();
  for (const id of ['a', 'b', 'c']) state.patch('certificates', [], [certificate(id)]);
  const sent: ToEdge[] = [];
  const pieces = Promise.withResolvers<void>();
  const ignore = (): void => {};
  const session = new EdgeSession({
    region: 'eu',
    state,
    channel: { send: (message) => void sent.push(message), ready: () => pieces.promise, close: assert.fail },
    now: () => 0,
    ...{ onHello: ignore, onAck: ignore, onHeard: ignore, onReport: ignore, onVisitorLog: ignore, onRefused: assert.fail },
  });
  session.receive({ type: 'hello', version: feedVersion, edgeId: 'edge-1', region: 'eu', software: '' });
  const before = state.seq;
  session.send(state.patch('certificates', ['a'], [certificate('d')])!);
  assert.deepEqual(
    sent.map(({ type }) => type),
    ['welcome', 'snapshot'],
    'the second piece waits for the edge',
  );
  pieces.resolve();
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  const changes = sent.flatMap((message) => (message.type === 'delta' || message.type === 'snapshot' ? [message] : []));
  assert.deepEqual(
    changes.map(({ seq, more }) => [seq, more]),
    [
      [1, true],
      [2, true],
      [before, undefined],
      [before + 1, undefined],
    ],
  );
  const ids = changes.map((each) => (each.type === 'snapshot' ? each.state : each.put).certificates?.map(({ id }) => id));
  assert.deepEqual(ids, [['a'], ['b'], ['c'], ['d']]);
});

test('an edge tells of port problems of its own region only', () => {
  const state = new RegionState();
  const empty = { hosts: [], tokens: [], allowList: [], proxyProtocol: '', suspended: false } as const;
  state.patch('tunnels', [], [{ id: 'ours', projectId: 'p', name: 'ours', type: 'tcp', ...empty }]);
  const heard: EdgeAbout[] = [];
  const ignore = (): void => {};
  const session = new EdgeSession({
    region: 'eu',
    state,
    channel: { send: ignore, ready: async () => {}, close: assert.fail },
    now: () => 0,
    onHeard: (about) => void heard.push(about),
    ...{ onHello: ignore, onAck: ignore, onReport: ignore, onVisitorLog: ignore, onRefused: assert.fail },
  });
  session.receive({ type: 'hello', version: feedVersion, edgeId: 'edge-1', region: 'eu', software: '' });
  session.receive({ type: 'pong', id: 1, portProblems: { ours: 'taken', theirs: 'taken' } });
  assert.deepEqual(heard.at(-1)?.portProblems, { ours: 'taken' });
});
