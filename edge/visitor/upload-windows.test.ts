import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { ServerHttp2Session } from 'node:http2';
import { it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { WindowBudget } from '@underpass/wire/core/credit.ts';
import { streamWindowBytes } from '../core/http2-overhead.ts';
import {
  encodeH2Frame,
  endHeaders,
  endStream,
  type Frame,
  type FrameReader,
  frameTypes as frame,
  getFrame,
  literal,
  postFrame,
  requestFields,
  settingIds,
  u32,
  visitByFrame,
} from '../fixture/h2-frames.ts';
import { createRig, tunnelOf } from '../fixture/rig.ts';
import { UploadWindows } from './upload-windows.ts';

const host = 't.tunnels.test';
const mebibyte = 1024 * 1024;
const farMs = 100;

/** A session whose visitor answers when the test tells it to. */
class Session {
  destroyed = false;
  sizes: number[] = [];
  pings: ((ms: number) => void)[] = [];
  acks: (() => void)[] = [];

  get pendingSettingsAck(): boolean {
    return this.acks.length > 0;
  }

  settings({ initialWindowSize }: { initialWindowSize: number }, acknowledged: () => void): void {
    this.sizes.push(initialWindowSize);
    this.acks.push(acknowledged);
  }

  ping(answered: (error: null, ms: number) => void): boolean {
    this.pings.push((ms) => answered(null, ms));
    return true;
  }

  acknowledge(): void {
    this.acks.shift()?.();
  }
}

function visitorOf(budget = new WindowBudget(64 * mebibyte)): { session: Session; windows: UploadWindows } {
  const session = new Session();
  return { session, windows: new UploadWindows(session as unknown as ServerHttp2Session, budget) };
}

type Visitor = ReturnType<typeof visitorOf>;

/** Takes one window, which causes a ping, then a share of a window until its answer. */
function round({ session, windows }: Visitor, upload: ReturnType<UploadWindows['begin']>, share = 1, ms = farMs): void {
  const windowBytes = session.sizes.at(-1) ?? streamWindowBytes;
  windows.taken(upload, windowBytes);
  windows.taken(upload, windowBytes * share);
  session.pings.shift()?.(ms);
  session.acknowledge();
}

it('an upload that takes its window in every round trip gets a larger one, up to 2 MiB, until it ends', () => {
  const budget = new WindowBudget(64 * mebibyte);
  const visitor = visitorOf(budget);
  const upload = visitor.windows.begin();
  for (let i = 0; i < 6; i++) round(visitor, upload);
  assert.deepEqual(visitor.session.sizes, [mebibyte / 2, mebibyte, 2 * mebibyte]);
  assert.equal(budget.usedBytes, 2 * mebibyte - streamWindowBytes);
  visitor.windows.end(upload);
  visitor.windows.end(upload);
  assert.equal(budget.usedBytes, 0);
  assert.equal(visitor.session.sizes.at(-1), streamWindowBytes);
});

it('an upload with a short round trip or a slow upstream keeps the first window', () => {
  const near = visitorOf();
  const nearUpload = near.windows.begin();
  for (let i = 0; i < 3; i++) round(near, nearUpload, 1, 5);
  const slow = visitorOf();
  const slowUpload = slow.windows.begin();
  for (let i = 0; i < 3; i++) round(slow, slowUpload, 0.25);
  assert.deepEqual([near.session.sizes, slow.session.sizes], [[], []]);
});

it('an upload beyond the promised bytes waits until the visitor acknowledges smaller windows', () => {
  const visitor = visitorOf();
  const { session, windows } = visitor;
  const first = windows.begin();
  for (let i = 0; i < 3; i++) round(visitor, first);
  let begun = 1;
  while (windows.makeRoom()) {
    windows.begin();
    begun++;
  }
  assert.equal(begun, Math.floor((100 * streamWindowBytes) / (2 * mebibyte - streamWindowBytes)));
  assert.equal(session.sizes.at(-1), streamWindowBytes);
  assert.equal(windows.makeRoom(), false, 'the larger windows hold until the visitor acknowledges the smaller setting');
  session.acknowledge();
  assert.equal(windows.makeRoom(), true);
});

it('all visitors share one bound: half for growth, the rest for new uploads', () => {
  const budget = new WindowBudget(8 * mebibyte);
  const visitors = Array.from({ length: 20 }, () => visitorOf(budget));
  const uploads = visitors.map(({ windows }) => windows.begin());
  for (let i = 0; i < 5; i++) {
    for (const [k, visitor] of visitors.entries()) round(visitor, uploads[k] as (typeof uploads)[number]);
  }
  assert.ok(budget.usedBytes <= 4 * mebibyte && budget.usedBytes > 3 * mebibyte, `${budget.usedBytes} bytes`);
  for (const { windows } of visitors) for (let i = 0; i < 100 && windows.makeRoom(); i++) windows.begin();
  assert.ok(budget.usedBytes <= 8 * mebibyte, `${budget.usedBytes} bytes`);
});

/** The stream window in a SETTINGS frame; null in other frames. */
function windowOf({ payload, type, flags }: Frame): number | null {
  if (type !== frame.settings || flags !== 0) return null;
  for (let i = 0; i < payload.length; i += 6) {
    if (payload.readUInt16BE(i) === settingIds.initialWindowSize) return payload.readUInt32BE(i + 2);
  }
  return null;
}

/** Sends the body of an open request over a path of 30 ms, as fast as the windows allow. */
function pour(visitor: TLSSocket, reader: FrameReader, stream: number): void {
  let [seen, windowBytes, credit] = [0, 65_535, 65_535];
  const hear = (one: Frame): void => {
    if (one.type === frame.ping && one.flags === 0) visitor.write(encodeH2Frame(frame.ping, 1, 0, one.payload));
    if (one.type === frame.windowUpdate && one.stream === stream) credit += one.payload.readUInt32BE();
    const size = windowOf(one);
    if (size !== null) {
      visitor.write(encodeH2Frame(frame.settings, 1, 0));
      credit += size - windowBytes;
      windowBytes = size;
    }
    for (; credit >= 16_384; credit -= 16_384) visitor.write(encodeH2Frame(frame.data, 0, stream, Buffer.alloc(16_384)));
  };
  const listen = (): void => {
    for (; seen < reader.frames.length; seen++) setTimeout(hear, 30, reader.frames[seen] as Frame);
  };
  visitor.on('data', listen);
  listen();
}

it('an upload over a path of 30 ms gets a window of 2 MiB, and may stall and break off', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  const uploads: IncomingMessage[] = [];
  const upstream = createServer((request, response) => {
    if (request.method === 'GET') response.end('ok');
    else uploads.push(request.on('error', () => {}).resume());
  });
  await rig.client('t', upstream);
  const { visitor, reader } = await visitByFrame(rig, host);
  visitor.write(postFrame(host, 1));
  pour(visitor, reader, 1);
  assert.ok(await reader.until((one) => windowOf(one) === 2 * mebibyte));
  uploads[0]?.pause();
  // Two checks of the overhead limit (core/http2-overhead.ts), during which the edge grants nothing.
  const granted = (): number => reader.frames.filter(({ type, stream }) => type === frame.windowUpdate && stream === 1).length;
  for (let before = -1; granted() > before; await new Promise((resolve) => setTimeout(resolve, 1_000))) before = granted();
  visitor.write(encodeH2Frame(frame.rstStream, 0, 1, u32(8)));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  visitor.write(getFrame(host, 3));
  assert.ok(await reader.until(({ type, stream }) => type === frame.headers && stream === 3), 'the connection has ended');
  assert.equal(
    reader.frames.map(windowOf).findLast((size) => size !== null),
    streamWindowBytes,
  );
  visitor.destroy();
});

it('an upload whose upstream is gone gets no larger window', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  await rig.client('t', (socket) => socket.destroy());
  const { visitor, reader } = await visitByFrame(rig, host);
  visitor.write(postFrame(host, 1));
  assert.ok(await reader.until(({ type, stream }) => type === frame.headers && stream === 1));
  pour(visitor, reader, 1);
  const bytes = (): number =>
    reader.frames.reduce(
      (sum, { type, stream, payload }) => sum + (type === frame.windowUpdate && stream === 1 ? payload.readUInt32BE() : 0),
      0,
    );
  assert.ok(await reader.until(() => bytes() > 4 * streamWindowBytes));
  assert.deepEqual(new Set(reader.frames.map(windowOf).filter((size) => size !== null)), new Set([streamWindowBytes]));
  visitor.destroy();
});

it('small requests beside an upload with a large window are served: each counts by its content-length', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  const upstream = createServer((request, response) => {
    request.on('error', () => {}).resume();
    if (request.headers['content-length'] === '2') response.end('ok');
  });
  await rig.client('t', upstream);
  const { visitor, reader } = await visitByFrame(rig, host);
  visitor.write(postFrame(host, 1));
  pour(visitor, reader, 1);
  assert.ok(await reader.until((one) => windowOf(one) === 2 * mebibyte));
  const streams = Array.from({ length: 40 }, (_, index) => 3 + 2 * index);
  const fields = Buffer.concat([requestFields(host, 'POST'), literal('content-length', '2')]);
  visitor.write(Buffer.concat(streams.map((stream) => encodeH2Frame(frame.headers, endHeaders, stream, fields))));
  const answered = (...types: number[]): number =>
    reader.frames.filter(({ type, stream }) => stream > 1 && types.includes(type)).length;
  visitor.write(Buffer.concat(streams.map((stream) => encodeH2Frame(frame.data, endStream, stream, Buffer.from('ok')))));
  assert.ok(await reader.until(() => answered(frame.headers, frame.rstStream) === streams.length));
  assert.equal(answered(frame.headers), streams.length);
  visitor.destroy();
});
