// The visitor log at an edge: what leaves it for control, of which tunnels, and how much of a flood.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:http2';
import { describe, it, type TestContext } from 'node:test';
import { visitorLogBounds } from '@underpass/rules/tunnel/visitor-log.ts';
import type { FeedLogEntry, FeedTunnel, FeedTunnelLog } from '@underpass/wire/feed/feed.ts';
import { VisitorLogQueue } from '../core/visitor-log-queue.ts';
import { createRig, type Rig, readAll, tunnelOf, whenClosed } from '../fixture/rig.ts';
import { visitOf } from '../fixture/visits.ts';
import { TunnelState } from '../routes/tunnel-state.ts';
import { RequestLog } from './request-log.ts';
import { SeenRequest } from './seen-request.ts';
import { VisitorLog } from './visitor-log.ts';

const host = 't.tunnels.test';
const on = { visitorLog: { address: 'truncated', query: false } } as const;
const get = (path: string, fields = ''): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}Connection: close\r\n\r\n`;

async function start(t: TestContext, changes: Partial<FeedTunnel>, workers = 1): Promise<Rig> {
  const rig = await createRig([tunnelOf('t', changes)], { workers });
  t.after(() => rig[Symbol.asyncDispose]());
  return rig;
}

const nextLog = async (rig: Rig): Promise<readonly FeedTunnelLog[]> => (await rig.control.next('visitor-log')).tunnels;

async function visit(rig: Rig, request: string): Promise<void> {
  const visitor = await rig.visit(host);
  visitor.end(request);
  await readAll(visitor);
}

const seenOf = (tunnel: TunnelState, target = '/', address = '203.0.113.9'): SeenRequest =>
  new SeenRequest(
    { tunnel, address, host, method: 'GET', target, version: '1.1', referer: '', agent: '', who: '', rule: '', trace: '' },
    () => {},
  );

describe('the visitor log of an edge', () => {
  for (const workers of [1, 2])
    it(`sends a request with its answer and times to control, with ${workers} workers`, async (t) => {
      const rig = await start(t, on, workers);
      await rig.client(
        't',
        createServer((_request, response) => response.writeHead(201).end('made')),
      );
      const log = nextLog(rig);
      await visit(rig, get('/made?secret=1', 'Authorization: Bearer secret\r\nCookie: secret\r\n'));
      const [{ tunnelId, entries, missed }] = (await log) as [FeedTunnelLog];
      const { atMs, bytes, edgeMs, tunnelMs, upstreamMs, totalMs, ...rest } = entries[0] as FeedLogEntry;
      assert.deepEqual([tunnelId, entries.length, missed], ['t', 1, 0]);
      assert.deepEqual(rest, { address: '127.0.0.0/24', who: '', method: 'GET', host, path: '/made', status: 201, code: '' });
      assert.ok(bytes >= 4 && Math.abs(atMs - Date.now()) < 60_000);
      assert.ok(edgeMs! >= 0 && tunnelMs! >= 0 && upstreamMs! >= 0 && totalMs >= upstreamMs!);
    });

  it('says which rule refused, over HTTP/2 too, and keeps whole addresses and queries if asked', async (t) => {
    const rig = await start(t, { visitorLog: { address: 'full', query: true }, allowList: ['192.0.2.1/32'] });
    const log = nextLog(rig);
    const session = connect(`https://${host}`, { createConnection: () => rig.connectTls(host, { ALPNProtocols: ['h2'] }) });
    const stream = session.request({ ':path': '/a?b' });
    stream.resume();
    await once(stream, 'close');
    session.close();
    const entry = (await log)[0]?.entries[0];
    assert.deepEqual(
      [entry?.address, entry?.path, entry?.status, entry?.code, entry?.upstreamMs],
      ['127.0.0.1', '/a?b', 403, 'UNDERPASS_SOURCE_DENIED', null],
    );
  });

  it('notes connections of an ingress tunnel, those that it refuses too', async (t) => {
    const rig = await start(t, { ...on, type: 'ingress' });
    await rig.client('t', (socket) => socket.once('data', () => socket.end('bytes')));
    const log = nextLog(rig);
    await whenClosed(rig.connectTls(host));
    const entry = (await log)[0]?.entries[0];
    assert.deepEqual([entry?.method, entry?.status, entry?.bytes, entry?.code], ['', 0, 5, '']);
    await rig.control.change({ tunnels: [tunnelOf('t', { ...on, type: 'ingress', allowList: [] })] });
    const refused = nextLog(rig);
    rig.connectTls(host);
    assert.equal((await refused)[0]?.entries[0]?.code, 'UNDERPASS_SOURCE_DENIED');
  });

  for (const workers of [1, 2])
    it(`sends the visits of its last moment before it ends, with ${workers} workers`, async (t) => {
      const rig = await start(t, on, workers);
      await rig.client(
        't',
        createServer((_request, response) => response.end()),
      );
      await visit(rig, get('/last'));
      await rig.edge.drain(10_000);
      const all = rig.control.received.flatMap((message) => (message.type === 'visitor-log' ? message.tunnels : []));
      assert.deepEqual(
        all.flatMap(({ entries }) => entries.map(({ path }) => path)),
        ['/last'],
      );
    });

  it('names the path rule that refused, and no rule where none did', async (t) => {
    const rules = [
      { path: '/open/*', action: 'public' },
      { path: '/private/*', action: 'deny' },
    ] as const;
    const rig = await start(t, { ...on, visit: visitOf({ rules }) });
    for (const path of ['/private/a', '/open/a', '/elsewhere']) await visit(rig, get(path));
    await rig.edge.drain(10_000);
    const entries = rig.control.received
      .flatMap((message) => (message.type === 'visitor-log' ? message.tunnels : []))
      .flatMap((each) => each.entries)
      .map(({ path, rule }) => [path, rule]);
    assert.deepEqual(entries, [
      ['/private/a', '/private/*'],
      ['/open/a', undefined],
      ['/elsewhere', undefined],
    ]);
  });

  it('sends nothing of a tunnel whose log is off, nor to a control that takes none', async (t) => {
    const rig = await start(t, {});
    await rig.client(
      't',
      createServer((_request, response) => response.end()),
    );
    await visit(rig, get('/off'));
    await rig.control.change({ tunnels: [tunnelOf('t', on)] });
    const log = nextLog(rig);
    await visit(rig, get('/on'));
    assert.deepEqual(
      (await log)[0]?.entries.map(({ path }) => path),
      ['/on'],
    );
    await rig.control.change({ tunnels: [tunnelOf('t')] });
    await visit(rig, get('/off again'.replace(' ', '-')));
    const all = rig.control.received.flatMap((message) => (message.type === 'visitor-log' ? message.tunnels : []));
    assert.equal(all.flatMap(({ entries }) => entries).length, 1);
  });

  it('takes a burst of one tunnel, then counts what is too much, and leaves other tunnels their share', (t) => {
    t.mock.timers.enable({ apis: ['Date'] });
    let nowMs = 0;
    t.mock.method(performance, 'now', () => nowMs);
    const queue = new VisitorLogQueue(() => 'p');
    const log = new VisitorLog(queue);
    const [loud, quiet] = [new TunnelState(tunnelOf('loud', on)), new TunnelState(tunnelOf('quiet', on))];
    const visit = (tunnel: TunnelState): void => {
      if (log.admit(tunnel)) log.take(seenOf(tunnel));
    };
    for (let at = 0; at < 1_000; at++) visit(loud);
    visit(quiet);
    const taken = (logs: readonly FeedTunnelLog[]) =>
      logs.map(({ tunnelId, entries, missed }) => [tunnelId, entries.length, missed]);
    assert.deepEqual(taken(queue.take()), [
      ['loud', visitorLogBounds.burst, 1_000 - visitorLogBounds.burst],
      ['quiet', 1, 0],
    ]);
    nowMs = 2_000;
    for (let at = 0; at < 100; at++) visit(loud);
    assert.deepEqual(taken(queue.take()), [['loud', 2 * visitorLogBounds.perSecond, 100 - 2 * visitorLogBounds.perSecond]]);
  });

  it('reads nothing of a visit that is too much, unless an access log takes it', (t) => {
    t.mock.method(performance, 'now', () => 0);
    const source = { tunnel: new TunnelState(tunnelOf('t', on)), address: '203.0.113.9', version: '1.1' };
    const visitors = new VisitorLog(new VisitorLogQueue(() => 'p'));
    const alone = new RequestLog([], visitors);
    const seen = Array.from({ length: visitorLogBounds.burst + 5 }, () => alone.beginUnread(source, host));
    assert.equal(seen.filter((each) => each !== null).length, visitorLogBounds.burst);
    assert.equal(alone.beginConnection(source, host), null);
    let lines = 0;
    new RequestLog([() => lines++], visitors).beginUnread(source, host)?.end();
    assert.equal(lines, 1);
  });

  it('escapes what a terminal would obey, and bounds the path', () => {
    const queue = new VisitorLogQueue(() => 'p');
    const tunnel = new TunnelState(tunnelOf('t', on));
    new VisitorLog(queue).take(seenOf(tunnel, `/\x1b]0;x\x07\x9b2J${'a'.repeat(9_000)}`));
    const path = queue.take()[0]?.entries[0]?.path ?? '';
    assert.match(path, /^\/\\x1B\]0;x\\x07\\x9B2Ja+\.\.\.$/);
    assert.ok(path.length <= visitorLogBounds.pathChars);
  });
});

describe('the queue of visitor logs', () => {
  const entry = { path: '/' } as FeedLogEntry;

  it('holds a bounded number while nothing takes it, and counts the rest', () => {
    const queue = new VisitorLogQueue(() => 'p');
    for (let at = 0; at < 5_000; at++) queue.add(`t${at % 10}`, entry);
    let [entries, missed, messages] = [0, 0, 0];
    for (let logs = queue.take(); logs.length > 0; logs = queue.take()) {
      messages++;
      for (const log of logs) [entries, missed] = [entries + log.entries.length, missed + log.missed];
    }
    assert.deepEqual([entries, missed, messages], [2_000, 3_000, 4]);
  });

  it('has room again after it was taken', () => {
    const queue = new VisitorLogQueue(() => 'p');
    for (let round = 0; round < 10; round++) {
      for (let at = 0; at < 400; at++) queue.add('t', entry);
      assert.deepEqual(
        queue.take().map((log) => [log.entries.length, log.missed]),
        [[400, 0]],
      );
    }
  });

  it('keeps room for others beside a flood on one tunnel', () => {
    const queue = new VisitorLogQueue(() => 'p');
    for (let at = 0; at < 5_000; at++) queue.add('flood', entry);
    queue.add('quiet', entry);
    const counts = Object.fromEntries(queue.take().map((log) => [log.tunnelId, [log.entries.length, log.missed]]));
    assert.deepEqual(counts, { flood: [400, 4_600], quiet: [1, 0] });
  });

  it('makes room at the tunnel with most of the project with most, one entry at a time', () => {
    const queue = new VisitorLogQueue((id) => id.split('/')[0]!);
    const many = (id: string, count: number): void => {
      for (let at = 0; at < count; at++) queue.add(id, entry);
    };
    for (const [id, count] of [
      ...['a/1', 'a/2', 'a/3'].map((id) => [id, 300] as const),
      ...[['b/1', 400] as const, ['b/2', 299] as const, ['c/1', 400] as const, ['c/2', 1] as const],
    ])
      many(id, count);
    many('d/1', 203);
    const counts: Record<string, number> = {};
    for (let logs = queue.take(); logs.length > 0; logs = queue.take())
      for (const { tunnelId, entries } of logs) counts[tunnelId] = (counts[tunnelId] ?? 0) + entries.length;
    const expected = { 'a/1': 232, 'a/2': 233, 'a/3': 233, 'b/1': 399, 'b/2': 299, 'c/1': 400, 'c/2': 1, 'd/1': 203 };
    assert.deepEqual(counts, expected);
  });

  it('gives each project its share, however many tunnels another one floods', () => {
    const queue = new VisitorLogQueue((id) => id.split('/')[0]!);
    for (let at = 0; at < 20_000; at++) queue.add(`flood/${at % 100}`, entry);
    for (let at = 0; at < 300; at++) queue.add(`quiet/${at % 2}`, entry);
    for (let at = 0; at < 1_000; at++) queue.add(`flood/${at % 100}`, entry);
    const sums: Record<string, number[]> = { flood: [0, 0], quiet: [0, 0] };
    for (let logs = queue.take(); logs.length > 0; logs = queue.take())
      for (const { tunnelId, entries, missed } of logs) {
        const sum = sums[tunnelId.split('/')[0]!]!;
        sum[0]! += entries.length;
        sum[1]! += missed;
      }
    assert.deepEqual(sums, { flood: [1_700, 19_300], quiet: [300, 0] });
  });

  it('shares its room evenly between two projects that both flood it', () => {
    const queue = new VisitorLogQueue((id) => id.split('/')[0]!);
    for (const project of ['a', 'b']) for (let at = 0; at < 5_000; at++) queue.add(`${project}/${at % 20}`, entry);
    const counts: Record<string, number> = { a: 0, b: 0 };
    for (let logs = queue.take(); logs.length > 0; logs = queue.take())
      for (const { tunnelId, entries } of logs) counts[tunnelId[0]!]! += entries.length;
    assert.deepEqual(counts, { a: 1_000, b: 1_000 });
  });
});
