import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import type { FeedCertificate } from '@underpass/wire/feed/feed.ts';
import { pino } from 'pino';
import { createRig, readUntil, tunnelOf } from '../fixture/rig.ts';
import { nextBackoffMs } from './feed-link.ts';

const ok = 'HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 08:49:37 GMT\r\nContent-Length: 2\r\n\r\nok';
const answerOk = (socket: import('node:net').Socket) => void socket.on('data', () => socket.write(ok));

async function withHome(use: (home: string) => Promise<void>): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'underpass-feed-test-'));
  try {
    await use(home);
  } finally {
    await rm(home, { recursive: true });
  }
}

describe('the copy on disk', () => {
  it('is readable by its owner only, and an edge serves from it while control is away', () =>
    withHome(async (home) => {
      const path = join(home, 'edge', 'routes.json');
      const first = await createRig([tunnelOf('t')], { home });
      await first[Symbol.asyncDispose]();
      assert.equal((await stat(path)).mode & 0o777, 0o600);
      assert.equal((await stat(join(home, 'edge'))).mode & 0o777, 0o700);
      await using rig = await createRig([], { home }, { reachable: false });
      await rig.client('t', answerOk);
      const visitor = await rig.visit('t.tunnels.test');
      visitor.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n');
      assert.equal(await readUntil(visitor, (text) => text.endsWith('ok')), ok);
    }));

  it('is ignored and replaced if it is damaged or of another format', () =>
    withHome(async (home) => {
      const first = await createRig([tunnelOf('t')], { home });
      await first[Symbol.asyncDispose]();
      const path = join(home, 'edge', 'routes.json');
      for (const text of ['{"format":1,"position"', '', '{"format":9}', 'null']) {
        await writeFile(path, text);
        const next = await createRig([tunnelOf('t')], { home });
        await next[Symbol.asyncDispose]();
        assert.equal(JSON.parse(await readFile(path, 'utf8')).state.tunnels[0].id, 't');
      }
    }));

  it('that cannot be written is written as soon as possible', () =>
    withHome(async (home) => {
      const folder = join(home, 'edge');
      await writeFile(folder, 'in the way');
      const refused = Promise.withResolvers<void>();
      const log = pino({ level: 'error' }, { write: () => refused.resolve() });
      await using _ = await createRig([tunnelOf('t')], { home, log });
      await refused.promise;
      await rm(folder);
      const written = () => readFile(join(folder, 'routes.json'), 'utf8').catch(() => null);
      await eventually(async () => (await written()) !== null);
      assert.equal(JSON.parse((await written()) ?? '').state.tunnels[0].id, 't');
    }));

  it('tells control its position', () =>
    withHome(async (home) => {
      const first = await createRig([tunnelOf('t')], { home });
      await first[Symbol.asyncDispose]();
      await using rig = await createRig([tunnelOf('t')], { home });
      const hello = rig.control.received.find(({ type }) => type === 'hello');
      assert.deepEqual(hello?.type === 'hello' && [hello.epoch, hello.seq], ['epoch', 1]);
    }));
});

it('an edge without routes resets connections, instead of answering that the host does not exist', async () => {
  await using rig = await createRig([tunnelOf('t')], {}, { reachable: false });
  for (const port of [rig.edge.ports.https, rig.edge.ports.http]) {
    const visitor = connect({ host: '127.0.0.1', port }).resume();
    visitor.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n');
    await new Promise((resolve) => visitor.once('error', resolve));
    assert.equal(visitor.bytesRead, 0);
  }
  assert.equal(rig.edge.stats().unrouted, 2);
  const applied = rig.control.next('ack');
  rig.control.reachable = true;
  await applied;
  await rig.visit('t.tunnels.test');
});

it('tells control of a client at once, and nothing about the clients of other tunnels', async () => {
  await using rig = await createRig([tunnelOf('t'), tunnelOf('u')]);
  const named = (id: string) =>
    rig.control.next('report', ({ tunnels, partial }) => partial === true && tunnels.some(({ tunnelId }) => tunnelId === id));
  const first = named('t');
  await rig.client('t', answerOk);
  await first;
  const second = named('u');
  await rig.client('u', answerOk);
  assert.deepEqual(
    (await second).tunnels.map(({ tunnelId, clients }) => [tunnelId, clients.length]),
    [['u', 1]],
  );
});

describe('a feed that is cut', () => {
  it('does not disturb visitors, and resumes with a snapshot and all counters', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', answerOk);
    const visitor = await rig.visit('t.tunnels.test');
    const ask = async () => {
      visitor.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n');
      assert.equal(await readUntil(visitor, (text) => text.endsWith('ok')), ok);
    };
    await ask();
    const report = rig.control.next('report', ({ tunnels }) => tunnels[0]?.requests === 2);
    rig.control.feed?.destroy();
    await ask();
    await report;
    await rig.control.change({ tunnels: [tunnelOf('t', { allowList: [] })] });
  });

  it('applies a snapshot in pieces as a whole, and uses the earlier state until the last piece', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', answerOk);
    const { tunnels, certificates } = rig.control.state;
    const none = { tunnels: [], certificates: [], challenges: [], peers: [] };
    const fresh = { ...(certificates[0] as FeedCertificate), id: 'fresh' };
    const ask = async () => {
      const visitor = await rig.visit('t.tunnels.test');
      visitor.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n');
      assert.equal(await readUntil(visitor, (text) => text.endsWith('ok')), ok);
    };
    const heard = rig.control.next('pong');
    rig.control.feed?.send({ type: 'snapshot', seq: 2, state: { ...none, tunnels: [tunnelOf('u')] }, more: true });
    rig.control.feed?.send({ type: 'delta', seq: 3, put: { tunnels }, drop: {}, more: true });
    rig.control.feed?.send({ type: 'ping', id: 1 });
    await heard;
    await ask();
    const acknowledged = rig.control.next('ack');
    rig.control.feed?.send({ type: 'delta', seq: 4, put: { certificates: [fresh] }, drop: {} });
    assert.equal((await acknowledged).seq, 4);
    await ask();
    await rig.client('u', answerOk);
  });

  it('drops what a new snapshot does not hold', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('u')]);
    rig.control.state = { ...rig.control.state, tunnels: [tunnelOf('u')] };
    const applied = rig.control.next('ack');
    rig.control.feed?.destroy();
    await applied;
    const visitor = await rig.visit('t.tunnels.test');
    visitor.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n');
    assert.match(await readUntil(visitor, (text) => text.endsWith('</html>\n')), /UNDERPASS_NO_SUCH_HOST/);
  });

  it('is dialled again with growing, jittered, bounded waits', () => {
    for (const random of [0, 0.5, 1]) {
      const waits = Array.from({ length: 12 }, (_, failures) => nextBackoffMs(failures, random));
      assert.deepEqual(
        waits,
        waits.toSorted((a, b) => a - b),
      );
      assert.ok((waits.at(-1) ?? 0) <= 15_000 && (waits[0] ?? 0) >= 125);
    }
    assert.notEqual(nextBackoffMs(3, 0.1), nextBackoffMs(3, 0.9));
  });
});
