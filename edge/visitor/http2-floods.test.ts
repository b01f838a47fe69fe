import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import {
  assertNothingHeld,
  assertServed,
  encodeH2Frame,
  endHeaders,
  endStream,
  frameTypes as frame,
  getFrame,
  h2Preface,
  hpackText,
  literal,
  postFrame,
  requestFields,
  setting,
  settingIds,
  u32,
  visitByFrame,
} from '../fixture/h2-frames.ts';
import { createRig, type Rig, tunnelOf, whenClosed } from '../fixture/rig.ts';
import { visitInThread } from '../fixture/thread-visitor.ts';
import { bulkUpstream, plainUpstream } from '../fixture/upstreams.ts';

const host = 't.tunnels.test';
const mebibyte = 1024 * 1024;
const { headerTableSize, initialWindowSize } = settingIds;
const paddedFlag = 8;
const cancel = u32(8);

const get = (stream: number): Buffer => getFrame(host, stream);
const post = (stream: number): Buffer => postFrame(host, stream);
const nth = (i: number): number => 1 + 2 * i;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** RFC 7541 6.2.1: a long field enters the table once; from then on one octet stands for the whole field. */
const tableField = Buffer.concat([Buffer.of(0x40), hpackText('x'), hpackText('a'.repeat(4_000))]);
const newestField = 0xbe;

/** Far above every bound: as much as a machine sends in some seconds. */
const maxBytes = 256 * mebibyte;
const growthBytes = 200 * mebibyte;

describe('a flood ends its own connection and no other', () => {
  const floods: Record<string, (i: number) => Buffer> = {
    'requests that are reset at once': (i) => Buffer.concat([get(nth(i)), encodeH2Frame(frame.rstStream, 0, nth(i), cancel)]),
    'requests that the edge is made to reset': (i) =>
      Buffer.concat([post(nth(i)), encodeH2Frame(frame.windowUpdate, 0, nth(i), u32(0))]),
    'requests beyond those that may run at once': (i) => post(nth(i)),
    'CONTINUATION without end': (i) =>
      i === 0
        ? encodeH2Frame(frame.headers, 0, 1, literal('a', 'b'))
        : encodeH2Frame(frame.continuation, 0, 1, literal(`x-${i}`, 'y'.repeat(100))),
    'empty CONTINUATION': (i) =>
      i === 0 ? encodeH2Frame(frame.headers, 0, 1, literal('a', 'b')) : encodeH2Frame(frame.continuation, 0, 1),
    'heads that unpack to a thousand times their size': (i) =>
      encodeH2Frame(
        frame.headers,
        endHeaders | endStream,
        nth(i),
        Buffer.concat([requestFields(host), i === 0 ? tableField : Buffer.alloc(8_000, newestField)]),
      ),
    'heads without what a request needs': (i) =>
      encodeH2Frame(frame.headers, endHeaders | endStream, nth(i), literal(':method', 'GET')),
    'PING, its answers read': () => encodeH2Frame(frame.ping, 0, 0, Buffer.alloc(8)),
    'PING answers that nobody asked for': () => encodeH2Frame(frame.ping, 1, 0, Buffer.alloc(8)),
    'empty SETTINGS, their answers read': () => encodeH2Frame(frame.settings, 0, 0),
    'SETTINGS with many entries': () =>
      encodeH2Frame(frame.settings, 0, 0, Buffer.concat(Array.from({ length: 40 }, () => setting(initialWindowSize, 65_535)))),
    'SETTINGS that resize the table': (i) =>
      encodeH2Frame(frame.settings, 0, 0, setting(headerTableSize, i % 2 === 0 ? 0 : 4_096)),
    'empty DATA': (i) => (i === 0 ? post(1) : encodeH2Frame(frame.data, 0, 1)),
    'DATA that is all padding': (i) =>
      i === 0 ? post(1) : encodeH2Frame(frame.data, paddedFlag, 1, Buffer.concat([Buffer.of(200), Buffer.alloc(200)])),
    'DATA on a stream that is no more': (i) => (i === 0 ? get(1) : encodeH2Frame(frame.data, 0, 1, Buffer.alloc(1))),
    'WINDOW_UPDATE beyond the largest window': () => encodeH2Frame(frame.windowUpdate, 0, 0, u32(0x7fff_ffff)),
    'WINDOW_UPDATE by one octet': () => encodeH2Frame(frame.windowUpdate, 0, 0, u32(1)),
    PRIORITY: (i) => encodeH2Frame(frame.priority, 0, nth(i % 1_000), Buffer.concat([u32(0), Buffer.of(1)])),
    'frames of a type that nobody knows': () => encodeH2Frame(0xf0, 0, 0, Buffer.alloc(10)),
  };
  for (const [name, make] of Object.entries(floods)) {
    it(name, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      await rig.client('t', plainUpstream());
      const { visitor: attacker, reader } = await visitByFrame(rig, host);
      const closed = whenClosed(attacker);
      const before = process.memoryUsage.rss();
      let [sent, bytes] = [0, 0];
      while (!attacker.destroyed && !reader.ended && bytes < maxBytes) {
        const burst = Buffer.concat(Array.from({ length: 50 }, () => make(sent++)));
        bytes += burst.length;
        if (!attacker.write(burst)) await Promise.race([new Promise((resolve) => attacker.once('drain', resolve)), closed]);
        await new Promise((resolve) => setImmediate(resolve));
      }
      assert.ok(reader.ended || attacker.destroyed, `${sent} frames were taken`);
      const grown = process.memoryUsage.rss() - before;
      assert.ok(grown < growthBytes, `${grown} bytes`);
      attacker.destroy();
      await assertServed(rig, host);
      await assertNothingHeld(rig);
    });
  }
});

it('ends a connection whose requests have thousands of fields with a malformed name, one request at a time', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  await rig.client('t', plainUpstream());
  const { visitor, reader } = await visitByFrame(rig, host);
  // Node drops such a field before it counts it; one octet stands for each after the first.
  const malformed = Buffer.concat([Buffer.of(0x40), hpackText('a b'), hpackText('c')]);
  for (let i = 0; i < 1_000 && !reader.ended; i++) {
    const fields = i === 0 ? malformed : Buffer.alloc(15_000, newestField);
    visitor.write(encodeH2Frame(frame.headers, endHeaders | endStream, nth(i), Buffer.concat([requestFields(host), fields])));
    await reader.until(({ type, stream }) => type === frame.headers && stream === nth(i));
  }
  assert.ok(reader.ended);
  await assertServed(rig, host);
  await assertNothingHeld(rig);
});

it('forwards no more than a hundred requests of those that come and are reset in one write', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  const client = await rig.client('t', plainUpstream());
  const { visitor: attacker, reader } = await visitByFrame(rig, host);
  await reader.until(({ type }) => type === frame.settings);
  // RFC 7541 6.1: one octet for each of :method GET, :scheme https, :path / and the authority, which is in the table by then.
  const first = Buffer.concat([Buffer.of(0x82, 0x87, 0x84, 0x41), hpackText(host)]);
  const next = Buffer.of(0x82, 0x87, 0x84, newestField);
  const pairs = Array.from({ length: 2_000 }, (_, i) => [
    encodeH2Frame(frame.headers, endHeaders | endStream, nth(i), i === 0 ? first : next),
    encodeH2Frame(frame.rstStream, 0, nth(i), cancel),
  ]);
  attacker.write(Buffer.concat(pairs.flat()));
  await reader.until(() => false);
  await assertServed(rig, host);
  await assertNothingHeld(rig);
  // With the one that was served.
  assert.ok(client.opened <= 101, `${client.opened} streams`);
});

it('PING and SETTINGS whose answers are not read cost bounded memory', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  for (const ping of [encodeH2Frame(frame.ping, 0, 0, Buffer.alloc(8)), encodeH2Frame(frame.settings, 0, 0)]) {
    const attacker = await rig.visit(host, { ALPNProtocols: ['h2'] });
    attacker.pause();
    attacker.write(h2Preface());
    const burst = Buffer.concat(Array.from({ length: 1_000 }, () => ping));
    const before = process.memoryUsage.rss();
    for (let bursts = 0; !attacker.destroyed && attacker.writableLength < 1_000_000 && bursts < 1_000; bursts++) {
      attacker.write(burst);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const grown = process.memoryUsage.rss() - before;
    attacker.destroy();
    assert.ok(grown < 100_000_000, `${grown} bytes`);
  }
});

describe('a visitor that never opens its window', () => {
  for (const [name, size] of [
    ['for a small answer', 1],
    ['for a large one', 64 * mebibyte],
  ] as const) {
    it(`${name} is reset in time, a hundred times, while others are served`, async () => {
      await using rig = await createRig([tunnelOf('t')], { timeouts: { stallMs: 1_000 } });
      await rig.client('t', bulkUpstream());
      const before = process.memoryUsage.rss();
      const { visitor: attacker, reader } = await visitByFrame(rig, host, setting(initialWindowSize, 0));
      const streams = Array.from({ length: 100 }, (_, i) => nth(i));
      attacker.write(Buffer.concat(streams.map((stream) => getFrame(host, stream, `/${size}`))));
      for (const stream of streams) await reader.until((one) => one.type === frame.headers && one.stream === stream);
      await assertServed(rig, host);
      for (const stream of streams) assert.ok(await reader.until((one) => one.type === frame.rstStream && one.stream === stream));
      const grown = process.memoryUsage.rss() - before;
      assert.ok(grown < growthBytes, `${grown} bytes`);
      attacker.destroy();
      await assertNothingHeld(rig);
    });
  }

  for (const windowBytes of [0, 65_535]) {
    it(`and never ends its body gets an error page and a reset, with a window of ${windowBytes}`, async () => {
      await using rig = await createRig([tunnelOf('t')], { timeouts: { responseMs: 300, stallMs: 300 } });
      await rig.client('t', (socket) => void socket.resume());
      const { visitor, reader } = await visitByFrame(rig, host, setting(initialWindowSize, windowBytes));
      visitor.write(post(1));
      assert.ok(await reader.until(({ type, stream }) => type === frame.headers && stream === 1));
      assert.ok(await reader.until(({ type, stream }) => type === frame.rstStream && stream === 1));
    });
  }

  it('is not confused with one whose upstream is silent for a while', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { stallMs: 500 } });
    const events: ServerResponse[] = [];
    await rig.client(
      't',
      createServer((_, response) => {
        events.push(response);
        response.write('first');
      }),
    );
    const { visitor, reader } = await visitByFrame(rig, host);
    visitor.write(get(1));
    const said = (words: string) => reader.until(({ type, payload }) => type === frame.data && payload.toString() === words);
    await said('first');
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    events[0]?.write('second');
    assert.ok(await said('second'));
  });
});

it('a visitor that breaks a rule after its GOAWAY, while an answer waits, holds nothing', async () => {
  await using rig = await createRig([tunnelOf('t')], { timeouts: { stallMs: 300 } });
  await rig.client('t', plainUpstream());
  const { visitor, reader } = await visitByFrame(rig, host, setting(initialWindowSize, 0));
  visitor.write(get(1));
  await reader.until(({ type, stream }) => type === frame.headers && stream === 1);
  // Node sends nothing more, not even a reset, and does not end the connection.
  visitor.write(Buffer.concat([encodeH2Frame(frame.goaway, 0, 0, Buffer.alloc(8)), encodeH2Frame(frame.data, 0, 1)]));
  await reader.until(() => false);
  await assertNothingHeld(rig);
});

it('streams beyond the limit, while answers are under way, never stop the edge', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  await rig.client('t', plainUpstream());
  for (let round = 0; round < 10; round++) {
    const { visitor: attacker, reader } = await visitByFrame(rig, host);
    const posts = (from: number): Buffer => Buffer.concat(Array.from({ length: 100 }, (_, k) => post(nth(from + k))));
    attacker.write(posts(0));
    await reader.until(({ type }) => type === frame.headers);
    attacker.write(posts(100));
    // If many were answered early, too few are beyond the limit to end the connection; then each stream ends by itself.
    await reader.until(() => reader.frames.filter(({ type }) => type === frame.rstStream).length === 200);
    attacker.destroy();
  }
  await assertServed(rig, host);
  await assertNothingHeld(rig);
});

describe('answers that wait for a window when their connection ends', () => {
  const ends: Record<string, (rig: Rig, attacker: TLSSocket) => void> = {
    'by an error of the visitor': () => {},
    'by the visitor’s leaving': (_rig, attacker) => void attacker.end(),
    'by a change of the list': (rig) => void rig.control.change({ tunnels: [tunnelOf('t', { allowList: [] })] }),
  };
  for (const [name, end] of Object.entries(ends)) {
    it(`${name}, hold up no other visitor`, async () => {
      await using rig = await createRig([tunnelOf('t'), tunnelOf('u')]);
      await rig.client('t', plainUpstream());
      await rig.client('u', plainUpstream());
      const { visitor: attacker, reader } = await visitByFrame(rig, host, setting(initialWindowSize, 0));
      // Unfinished requests that are answered early: Node resets these in another way.
      const streams = Array.from({ length: 20 }, (_, i) => nth(i));
      attacker.write(Buffer.concat(streams.map((stream, i) => (i % 2 === 0 ? post(stream) : get(stream)))));
      for (const stream of streams) await reader.until((one) => one.type === frame.headers && one.stream === stream);
      const windows = streams.map((stream) => encodeH2Frame(frame.windowUpdate, 0, stream, u32(1_000)));
      const offence = encodeH2Frame(frame.ping, 1, 0, Buffer.alloc(8));
      attacker.write(Buffer.concat(name.includes('error') ? [...windows, offence] : windows));
      end(rig, attacker);
      await reader.until(() => false);
      await assertServed(rig, 'u.tunnels.test');
    });
  }
});

it('a request that ends while its reset waits for a full connection never stops the edge', async () => {
  const stallMs = 1_000;
  const bulk = Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${maxBytes}\r\n\r\n`), Buffer.alloc(maxBytes)]);
  await using rig = await createRig([tunnelOf('t'), tunnelOf('u')], { timeouts: { stallMs } });
  await rig.client('t', (socket) => {
    socket.once('data', (request: Buffer) => {
      if (request.toString().startsWith('GET')) socket.write(bulk);
      else socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n\r\n');
    });
  });
  await rig.client('u', plainUpstream());
  await using attacker = await visitInThread(rig, host);
  const open = (stream: number, bytes: number): Buffer => encodeH2Frame(frame.windowUpdate, 0, stream, u32(bytes));
  // The window takes the body of the answer to this request, and not its end.
  attacker.send(Buffer.concat([h2Preface(setting(initialWindowSize, 4)), open(0, maxBytes), post(1)]));
  await pause(stallMs / 2);
  attacker.send(Buffer.concat([get(3), open(3, maxBytes)]));
  // The first request has been reset by then, and the second not yet.
  await pause(stallMs * 0.8);
  attacker.send(Buffer.concat([open(1, 1_000), encodeH2Frame(frame.data, endStream, 1)]), true);
  // Afterwards the edge finds that it can read from this connection and write to it.
  const end = performance.now() + 200;
  while (performance.now() < end);
  await assertServed(rig, 'u.tunnels.test');
});
