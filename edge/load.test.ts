import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { createRig, type Rig, readAll, readUntil, tunnelOf, whenClosed } from './fixture/rig.ts';
import { bulkUpstream } from './fixture/upstreams.ts';

const host = 't.tunnels.test';
const block = Buffer.alloc(256 * 1024, 'b');
const mebibyte = 1024 * 1024;

/** How far resident memory rises during the task at its peak. */
async function peakGrowth(task: Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().rss;
  let peak = before;
  const sampling = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 20);
  await task.finally(() => clearInterval(sampling));
  return peak - before;
}

async function download(rig: Rig, mebibytes: number): Promise<number> {
  const visitor = await rig.visit(host);
  let received = 0;
  visitor.on('data', (chunk: Buffer) => {
    received += chunk.length;
  });
  const closed = whenClosed(visitor);
  visitor.write(`GET /${mebibytes * mebibyte} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  await closed;
  return received;
}

async function upload(rig: Rig, mebibytes: number): Promise<string> {
  const visitor = await rig.visit(host);
  const answer = readAll(visitor);
  visitor.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: ${mebibytes * mebibyte}\r\n\r\n`);
  for (let left = mebibytes * mebibyte; left > 0; left -= block.length) {
    if (!visitor.write(block)) await new Promise((resolve) => visitor.once('drain', resolve));
  }
  return answer;
}

describe('a body of any size', () => {
  // Visitor, edge, client and upstream run in one process here, so this is the sum for all of them.
  const allowed = 160 * mebibyte;

  it('passes to the visitor in memory that does not grow with it', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', bulkUpstream());
    await download(rig, 32);
    const task = download(rig, 256);
    assert.ok((await peakGrowth(task)) < allowed);
    assert.ok((await task) > 256 * mebibyte);
  });

  it('passes to the upstream in memory that does not grow with it', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', bulkUpstream());
    await upload(rig, 32);
    const task = upload(rig, 128);
    assert.ok((await peakGrowth(task)) < allowed);
    assert.match(await task, new RegExp(`read ${128 * mebibyte}$`));
  });

  it('delays no other visitor and holds little memory while its reader stalls', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    await rig.client('t', bulkUpstream());
    await download(rig, 32);
    const stalled = await Promise.all(Array.from({ length: 8 }, () => rig.visit(host)));
    for (const visitor of stalled) {
      visitor.pause();
      visitor.write(`GET /${512 * mebibyte} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    }
    const task = download(rig, 64);
    assert.ok((await peakGrowth(task)) < allowed);
    assert.ok((await task) > 64 * mebibyte);
  });
});

describe('memory and sockets are released', () => {
  it('after a few hundred visitors that leave in the middle of a response', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const client = await rig.client('t', bulkUpstream());
    await download(rig, 1);
    // The last socket is the client's.
    for (let round = 0; round < 4; round++) {
      const visitors = await Promise.all(Array.from({ length: 50 }, () => rig.visit(host)));
      for (const visitor of visitors) visitor.write(`GET /${64 * mebibyte} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      await Promise.all(visitors.map((visitor) => readUntil(visitor, () => true)));
      for (const visitor of visitors) visitor.destroy();
    }
    while (rig.edge.stats().sockets > 1 || client.session.openStreams > 0) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.deepEqual([rig.edge.stats().deadlines, rig.edge.stats().streams], [0, 0]);
  });
});

describe('an edge that drains', () => {
  it('ends idle visitors at once and busy ones after their response', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const release = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    await rig.client(
      't',
      createServer(async (request, response) => {
        if (request.url === '/slow') {
          arrived.resolve();
          await release.promise;
        }
        response.end('done');
      }),
    );
    const [idle, busy] = [await rig.visit(host), await rig.visit(host)];
    idle.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await readUntil(idle, (text) => text.endsWith('done'));
    busy.write(`GET /slow HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await arrived.promise;
    const drained = rig.edge.drain(10_000);
    assert.equal(await readAll(idle), '');
    const answer = readAll(busy);
    release.resolve();
    assert.match(await answer, /^HTTP\/1\.1 200 OK\r\n[\s\S]*Connection: close\r\n\r\n[\s\S]*done/);
    await drained;
    assert.equal(rig.edge.stats().sockets, 0);
  });

  it('answers visitors that connected before the drain, even if not yet accepted', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const visitors = await Promise.all(Array.from({ length: 20 }, (_, i) => rig.visitRaw(i % 2 === 0 ? 'https' : 'http')));
    const drained = rig.edge.drain(10_000);
    for (const visitor of visitors) visitor.end(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    const answers = await Promise.all(visitors.map(readAll));
    for (const answer of answers) assert.match(answer, /^HTTP\/1\.1 (400|301) /);
    await drained;
  });
});
