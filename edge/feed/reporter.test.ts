import assert from 'node:assert/strict';
import { it } from 'node:test';
import { emptyFigures } from '@underpass/rules/tunnel/figures.ts';
import type { FeedTunnelReport } from '@underpass/wire/feed/feed.ts';
import { maxFeedMessageBytes } from '@underpass/wire/feed/feed-stream.ts';
import { Reporter } from './reporter.ts';

const client = { id: 'c', address: '', version: '', sinceMs: 0, rttMs: 1, provenAtMs: 0, healthy: true };
const reportOf = (tunnelId: string, clients = 1): FeedTunnelReport => ({
  tunnelId,
  rxBytes: 0,
  txBytes: 0,
  connections: 0,
  requests: 0,
  clients: Array(clients).fill(client),
});

const idsOf = (reports: readonly FeedTunnelReport[]): readonly string[] => reports.map(({ tunnelId }) => tunnelId);

it('reads and reports only the tunnels that it is asked for, while ten thousand have clients', () => {
  const tunnels = new Map(Array.from({ length: 10_000 }, (_, index) => [`t${index}`, reportOf(`t${index}`)]));
  let reads = 0;
  const reporter = new Reporter((id) => {
    const found = [...(id === undefined ? tunnels.values() : [tunnels.get(id) ?? []].flat())];
    reads += found.length;
    return found;
  });
  assert.equal(reporter.report('all').length, 10_000);
  reads = 0;
  assert.deepEqual(idsOf(reporter.report(new Set(['t7', 'unknown', 't8']))), ['t7', 't8']);
  assert.equal(reads, 2);
});

it('takes tunnels with some hundreds of clients from those that it is asked for, and all of them in the end', () => {
  const reporter = new Reporter((id) => [reportOf(id as string, 60)]);
  const ids = Array.from({ length: 20 }, (_, index) => `t${index}`);
  const asked = new Set(ids);
  const parts: (readonly string[])[] = [];
  while (asked.size > 0) parts.push(idsOf(reporter.report(asked)));
  assert.deepEqual(
    parts.map(({ length }) => length),
    [9, 9, 2],
  );
  assert.deepEqual(parts.flat(), ids);
});

it('says of a tunnel whose clients a partial report named that they are gone', () => {
  let clients = 0;
  const reporter = new Reporter(() => [reportOf('t', clients)]);
  assert.deepEqual(idsOf(reporter.report('changed')), []);
  clients = 1;
  assert.deepEqual(idsOf(reporter.report(new Set(['t']))), ['t']);
  clients = 0;
  assert.deepEqual(idsOf(reporter.report('changed')), ['t']);
  assert.deepEqual(idsOf(reporter.report('changed')), []);
});

it('fits one message with a hundred thousand tunnels that had answers, and says the figures of the rest with their news', () => {
  const figures = emptyFigures().map(() => 1_000);
  let moved = 1_000;
  const last = 'tunnel-99999';
  const report = (tunnelId: string): FeedTunnelReport => ({
    ...reportOf(tunnelId, 0),
    rxBytes: tunnelId === last ? moved : 1_000,
    figures,
  });
  const reporter = new Reporter(() => Array.from({ length: 100_000 }, (_, index) => report(`tunnel-${index}`)));
  const all = reporter.report('all');
  assert.equal(all.length, 100_000);
  const bytes = all.reduce((sum, each) => sum + JSON.stringify(each).length, 0);
  assert.ok(bytes < maxFeedMessageBytes, `${bytes} bytes`);
  assert.equal(all.at(-1)?.figures, undefined);
  moved++;
  assert.deepEqual(
    reporter.report('changed').map((each) => [each.tunnelId, each.figures]),
    [[last, figures]],
  );
});
