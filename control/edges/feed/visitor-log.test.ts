// The visitor log in the store: what control keeps of what edges send, who may read it, and when it goes.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { VisitorLogEntry } from '@underpass/rules/entity/resource.ts';
import { visitorLogBounds } from '@underpass/rules/tunnel/visitor-log.ts';
import type { FeedLogEntry } from '@underpass/wire/feed/feed.ts';
import { deleteAllExpired } from '../../sweep/sweep.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';
import { onBothDatabases, type StoreSuite } from '../../test-kit-databases.ts';
import { isVisitorLog } from './core/edge-words.ts';
import { VisitorLogWriter } from './visitor-log.ts';

/** The clock of the test's control. */
const nowMs = Date.UTC(2026, 10, 20, 10);

const entry: FeedLogEntry = {
  atMs: nowMs,
  address: '203.0.113.9',
  who: '',
  method: 'GET',
  host: 'shop.example.com',
  path: '/cart?item=1',
  status: 200,
  bytes: 512,
  edgeMs: 0.1,
  tunnelMs: 12.5,
  upstreamMs: null,
  totalMs: 20,
  code: '',
};

interface Page {
  readonly entries: readonly VisitorLogEntry[];
  readonly next: string | null;
}

interface Started {
  readonly test: TestControl;
  readonly ann: SignedUp;
  readonly id: string;
  readonly writer: VisitorLogWriter;
  /** Writes these, as if an edge had sent them. */
  note(entries: readonly Partial<FeedLogEntry>[], missed?: number): Promise<void>;
  change(body: object): Promise<Tunnel>;
  read(query?: string): Promise<Page>;
  end(): Promise<void>;
}

async function start(open: Parameters<StoreSuite>[2]): Promise<Started> {
  const test = await createTestControl({ store: await open() });
  const ann = await test.signUp('ann@example.com');
  const at = `?project=${ann.projectId}`;
  await ann.call('POST', `/api/tunnels${at}`, { name: 'shop', region: 'local' });
  const { id } = await test.store.db.selectFrom('tunnels').select('id').executeTakeFirstOrThrow();
  const writer = new VisitorLogWriter(test.store);
  return {
    ...{ test, ann, id, writer },
    note: async (entries, missed = 0) => {
      writer.add([{ tunnelId: id, entries: entries.map((each) => ({ ...entry, ...each })), missed }]);
      await writer.flush(nowMs);
    },
    change: (body) => ann.call<Tunnel>('PATCH', `/api/tunnels/shop${at}`, body),
    end: async () => {
      await test.close();
      await test.store.close();
    },
    read: (query = '') => ann.call<Page>('GET', `/api/tunnels/shop/visitor-log${at}${query}`),
  };
}

const suite: StoreSuite = (name, skip, open) =>
  describe(`the visitor log on ${name}`, { skip }, () => {
    it('keeps nothing of a tunnel whose log is off, whatever an edge sends', async () => {
      const { end, test, note, read, change, writer } = await start(open);
      await note([{}], 5);
      assert.deepEqual((await read()).entries, []);
      writer.add([{ tunnelId: 'deleted', entries: [entry], missed: 1 }]);
      await writer.flush(nowMs);
      const tunnel = await change({ visitorLog: 'truncated' });
      assert.deepEqual([tunnel.visitorLog, tunnel.visitorLogQuery], ['truncated', undefined]);
      assert.equal(await test.store.db.selectFrom('visitor_log').select('id').executeTakeFirst(), undefined);
      await end();
    });

    it('truncates addresses and cuts queries in the store, also what an edge did not', async () => {
      const { end, test, note, read, change } = await start(open);
      await change({ visitorLog: 'truncated' });
      await note([{}, { address: '2001:db8:1:2::3' }, { address: '203.0.113.0/24' }, { address: 'x' }]);
      const rows = await test.store.db.selectFrom('visitor_log').select(['address', 'path']).orderBy('id').execute();
      assert.deepEqual(
        rows.map((row) => [row.address, row.path]),
        [
          ['203.0.113.0/24', '/cart'],
          ['2001:db8:1::/48', '/cart'],
          ['203.0.113.0/24', '/cart'],
          ['', '/cart'],
        ],
      );
      const { id: _, at: __, ...shown } = (await read()).entries.at(-1)!;
      assert.deepEqual(shown, {
        ...{ missed: 0, address: '203.0.113.0/24', who: '', method: 'GET', host: 'shop.example.com', path: '/cart' },
        ...{ status: 200, bytes: 512, edgeMs: 0.1, tunnelMs: 12.5, upstreamMs: null, totalMs: 20, code: '', rule: '', trace: '' },
      });
      await end();
    });

    it('deletes what it has when it is switched off, and at any other change of it, and not otherwise', async () => {
      const { end, test, ann, note, read, change } = await start(open);
      await change({ visitorLog: 'full', visitorLogQuery: true });
      await note([{}]);
      assert.deepEqual(
        (await read()).entries.map(({ address, path }) => [address, path]),
        [['203.0.113.9', '/cart?item=1']],
      );
      await change({ visitorLog: 'full', proxyProtocol: 'v1' });
      assert.equal((await read()).entries.length, 1);
      await change({ visitorLogQuery: false });
      assert.deepEqual((await read()).entries, []);
      await note([{}]);
      await change({ visitorLog: 'off' });
      assert.equal(await test.store.db.selectFrom('visitor_log').select('id').executeTakeFirst(), undefined);
      const { entries } = await ann.call<{ entries: { sentence?: string; detail: object }[] }>(
        'GET',
        `/api/audit?project=${ann.projectId}`,
      );
      assert.deepEqual(
        entries.slice(0, 1).map(({ detail }) => (detail as { visitorLog?: string }).visitorLog),
        ['off'],
      );
      await end();
    });

    it('says how many visits it does not have, in their place', async () => {
      const { end, note, read, change } = await start(open);
      await change({ visitorLog: 'truncated' });
      await note([{ path: '/1' }], 37);
      await note([{ path: '/2' }]);
      assert.deepEqual(
        (await read()).entries.map(({ missed, path }) => missed || path),
        ['/2', 37, '/1'],
      );
      await end();
    });

    it('searches, filters by outcome, and pages', async () => {
      const { end, note, read, change } = await start(open);
      await change({ visitorLog: 'truncated' });
      await note([
        { path: '/a', status: 404 },
        { path: '/b', status: 502, code: 'UNDERPASS_NO_UPSTREAM' },
        { path: '/c_%', who: 'Ann' },
      ]);
      const paths = async (query: string) => (await read(query)).entries.map(({ path }) => path);
      assert.deepEqual(await paths('&status=4xx'), ['/a']);
      assert.deepEqual(await paths('&status=5xx'), ['/b']);
      assert.deepEqual(await paths('&status=refused'), ['/b']);
      assert.deepEqual(await paths('&q=ann'), ['/c_%']);
      assert.deepEqual(await paths('&q=_%25'), ['/c_%']);
      await note(Array.from({ length: 100 }, (_, at) => ({ path: `/${at}` })));
      const first = await read();
      assert.equal(first.entries.length, visitorLogBounds.pageRows);
      assert.deepEqual(await paths(`&before=${first.next}`), ['/c_%', '/b', '/a']);
      assert.deepEqual(
        await paths(`&after=${first.entries[1]!.id}`),
        first.entries.map(({ path }) => path),
      );
      await end();
    });

    it('ends after a day, in answers at once and in the store with the sweep, and at a bound of rows', async () => {
      const { end, test, id, note, read, change } = await start(open);
      await change({ visitorLog: 'truncated' });
      await note(Array.from({ length: 700 }, (_, at) => ({ path: `/${at}` })));
      const { db } = test.store;
      const count = async () =>
        Number((await db.selectFrom('visitor_log').select(db.fn.countAll().as('n')).executeTakeFirstOrThrow()).n);
      await db
        .updateTable('visitor_log')
        .set({ at: nowMs - visitorLogBounds.keptMs })
        .where('path', '<>', '/699')
        .execute();
      assert.deepEqual(
        (await read()).entries.map(({ path }) => path),
        ['/699'],
      );
      await deleteAllExpired(test.store, nowMs);
      assert.equal(await count(), 1);
      for (let at = 0; at < 11; at++) await note(Array.from({ length: 1_000 }, () => ({})));
      assert.ok((await count()) <= visitorLogBounds.rows + 1_000);
      await db.deleteFrom('tunnels').where('id', '=', id).execute();
      assert.equal(await count(), 0);
      await end();
    });

    it('has fewer rows of each tunnel where a project has many logs', async () => {
      const { end, test, id, note, change } = await start(open);
      await change({ visitorLog: 'truncated' });
      const { db } = test.store;
      const row = await db.selectFrom('tunnels').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
      const others = Array.from({ length: 49 }, (_, at) => ({ ...row, id: `other-${at}`, name: `other-${at}` }));
      await db.insertInto('tunnels').values(others).execute();
      for (let at = 0; at < 4; at++) await note(Array.from({ length: 1_000 }, () => ({})));
      const { n } = await db.selectFrom('visitor_log').select(db.fn.countAll().as('n')).executeTakeFirstOrThrow();
      const share = visitorLogBounds.projectRows / 50;
      assert.ok(Number(n) >= share && Number(n) <= share + 1_000, `${n} rows`);
      await end();
    });

    it('is read by members of the project, and by no one else', async () => {
      const { end, test, ann, note, change } = await start(open);
      await change({ visitorLog: 'full' });
      await note([{}]);
      const path = `/api/tunnels/shop/visitor-log?project=${ann.projectId}`;
      const eve = await test.signUp('eve@example.com');
      assert.ok([403, 404].includes((await eve.send('GET', path)).status));
      assert.equal((await eve.send('GET', `/api/tunnels/shop/visitor-log?project=${eve.projectId}`)).status, 404);
      await test.addMember(ann.projectId, eve.userId, 'viewer');
      assert.equal((await eve.send('GET', path)).status, 403);
      const mel = await test.signUp('mel@example.com');
      await test.addMember(ann.projectId, mel.userId, 'member');
      assert.equal((await mel.call<Page>('GET', path)).entries.length, 1);
      await end();
    });

    it('writes a bounded number at once, and counts what a flood has too much', async () => {
      const { end, test, id, writer, read, change } = await start(open);
      await change({ visitorLog: 'truncated' });
      for (let at = 0; at < 10; at++)
        writer.add([{ tunnelId: id, entries: Array.from({ length: 1_000 }, () => entry), missed: 0 }]);
      await writer.flush(nowMs);
      const first = await test.store.db.selectFrom('visitor_log').select(['missed']).execute();
      assert.equal(first.filter(({ missed }) => missed === 0).length, 1_000);
      for (let at = 0; at < 5; at++) await writer.flush(nowMs);
      const rows = await test.store.db.selectFrom('visitor_log').select(['missed']).execute();
      assert.equal(rows.filter(({ missed }) => missed === 0).length, 4_000);
      assert.equal(
        rows.reduce((sum, { missed }) => sum + missed, 0),
        6_000,
      );
      assert.ok((await read()).entries.length > 0);
      await end();
    });
  });

onBothDatabases(suite);

describe('what control takes of an edge for a visitor log', () => {
  const log = (changes: object) => ({ tunnels: [{ tunnelId: 't', entries: [{ ...entry, ...changes }], missed: 0 }] });
  it('is an entry as edges write it', () => assert.ok(isVisitorLog(log({}))));
  for (const [what, changes] of [
    ['a control character', { path: '/\x1b[2J' }],
    ['text that is not ASCII', { who: 'ann\u202e' }],
    ['a long path', { path: 'x'.repeat(visitorLogBounds.pathChars + 1) }],
    ['a status that is no number', { status: '200' }],
    ['a time that is none', { atMs: Number.NaN }],
    ['negative bytes', { bytes: -1 }],
    ['a missing field', { code: undefined }],
    ['an endless time', { totalMs: Number.POSITIVE_INFINITY }],
  ] as const)
    it(`is no entry with ${what}`, () => assert.equal(isVisitorLog(log(changes)), false));
  it('is no log of another shape', () => {
    for (const message of [{}, { tunnels: [null] }, { tunnels: [{ tunnelId: 't', entries: [], missed: -1 }] }])
      assert.equal(isVisitorLog(message as never), false);
  });
});
