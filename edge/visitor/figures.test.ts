// The figures of a tunnel at an edge: which answers and times it counts, and what of it reaches control.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:http2';
import { it, type TestContext } from 'node:test';
import { countOfClass, countsOf, type Figures, firstByteParts, statusClasses } from '@underpass/rules/tunnel/figures.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { createRig, type Rig, readAll, tunnelOf } from '../fixture/rig.ts';

const host = 't.tunnels.test';

async function start(t: TestContext, changes: Partial<FeedTunnel> = {}, workers = 1): Promise<Rig> {
  const rig = await createRig([tunnelOf('t', changes)], { workers });
  t.after(() => rig[Symbol.asyncDispose]());
  return rig;
}

/** Answers with the status that the path names. */
const upstream = () => createServer(({ url = '/200' }, response) => response.writeHead(Number(url.slice(1))).end());

async function visit(rig: Rig, path: string): Promise<void> {
  const visitor = await rig.visit(host);
  visitor.end(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  await readAll(visitor);
}

async function visitOverHttp2(rig: Rig, paths: readonly string[]): Promise<void> {
  const session = connect(`https://${host}`, { createConnection: () => rig.connectTls(host, { ALPNProtocols: ['h2'] }) });
  for (const path of paths) {
    const stream = session.request({ ':path': path });
    stream.resume();
    await once(stream, 'close');
  }
  session.close();
}

const classesOf = (figures: Figures): readonly number[] => statusClasses.map((name) => countOfClass(figures, name));
const timedOf = (figures: Figures): readonly number[] =>
  firstByteParts.map((part) => countsOf(figures, part).reduce((a, b) => a + b));

/** The next report that says so many answers. */
async function figuresOf(rig: Rig, answers: number): Promise<Figures> {
  const report = await rig.control.next('report', ({ tunnels }) =>
    tunnels.some(({ figures }) => figures !== undefined && classesOf(figures).reduce((a, b) => a + b) === answers),
  );
  return report.tunnels.find(({ figures }) => figures !== undefined)!.figures!;
}

for (const workers of [1, 2])
  it(`counts answers by status and by time over both versions of HTTP, with ${workers} workers`, async (t) => {
    const rig = await start(t, {}, workers);
    await rig.client('t', upstream());
    const told = figuresOf(rig, 6);
    for (const path of ['/200', '/304', '/404']) await visit(rig, path);
    await visitOverHttp2(rig, ['/200', '/404', '/503']);
    const figures = await told;
    assert.deepEqual(classesOf(figures), [0, 2, 1, 2, 1]);
    assert.deepEqual(timedOf(figures), [6, 6, 6, 6]);
  });

it('counts what the edge answers itself, without a time: no upstream took any', async (t) => {
  const rig = await start(t, { allowList: ['192.0.2.1/32'] });
  const told = figuresOf(rig, 2);
  await visit(rig, '/200');
  await visitOverHttp2(rig, ['/200']);
  const figures = await told;
  assert.deepEqual(
    [classesOf(figures), timedOf(figures)],
    [
      [0, 0, 0, 2, 0],
      [0, 0, 0, 0],
    ],
  );
});

it('counts an answer that the edge replaces once: HTTP/1.0 takes no chunks', async (t) => {
  const rig = await start(t);
  const answer = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n';
  await rig.client('t', (socket) => socket.once('data', () => socket.end(answer)));
  const told = rig.control.next('report', ({ tunnels }) => tunnels.some(({ figures }) => figures !== undefined));
  const visitor = await rig.visit(host);
  visitor.end(`GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
  assert.match(String(await readAll(visitor)), /^HTTP\/1\.[01] 502 /);
  const figures = (await told).tunnels.find((each) => each.figures !== undefined)!.figures!;
  assert.deepEqual(classesOf(figures), [0, 0, 0, 0, 1]);
});

it('says nothing of a tunnel without answers, and figures only when they are new', async (t) => {
  const rig = await start(t);
  await rig.client('t', upstream());
  const said = () =>
    rig.control.received.flatMap((message) =>
      message.type === 'report' ? message.tunnels.map(({ figures }) => figures !== undefined) : [],
    );
  await rig.control.next('report');
  assert.ok(said().every((has) => !has));
  const told = figuresOf(rig, 1);
  await visit(rig, '/200');
  await told;
  const count = said().length;
  await rig.control.next('report');
  assert.deepEqual(said().slice(count), [false]);
});
