import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import {
  encodeH2Frame,
  endHeaders,
  endStream,
  FrameReader,
  frameTypes as frame,
  h2Preface,
  hpackText,
  literal,
  requestFields,
  setting,
  u32,
} from './fixture/h2-frames.ts';
import { createRig, type Rig, readUntil, tunnelOf, whenClosed } from './fixture/rig.ts';

const host = 't.tunnels.test';
const mebibyte = 1024 * 1024;
const initialWindowSize = 4;
const headerTableSize = 1;
const paddedFlag = 8;
const cancel = u32(8);

const get = (stream: number): Buffer => encodeH2Frame(frame.headers, endHeaders | endStream, stream, requestFields(host));
const post = (stream: number): Buffer => encodeH2Frame(frame.headers, endHeaders, stream, requestFields(host, 'POST'));
const nth = (i: number): number => 1 + 2 * i;

/** RFC 7541 6.2.1: a long field goes into the table once; then each octet stands for all of it. */
const tableField = Buffer.concat([Buffer.of(0x40), hpackText('x'), hpackText('a'.repeat(4_000))]);
const newestField = 0xbe;

const served = () =>
  createServer((request, response) => {
    request.resume();
    response.end('ok');
  });

async function attack(rig: Rig, ...settings: Buffer[]): Promise<{ attacker: TLSSocket; reader: FrameReader }> {
  const attacker = await rig.visit(host, { ALPNProtocols: ['h2'] });
  const reader = new FrameReader(attacker);
  attacker.write(h2Preface(...settings));
  return { attacker, reader };
}

async function assertServed(rig: Rig): Promise<void> {
  const visitor = await rig.visit(host);
  visitor.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  assert.match(await readUntil(visitor, (text) => text.endsWith('ok')), /^HTTP\/1\.1 200/);
  visitor.destroy();
}

/** All that stays is the client's carrier. */
async function assertNothingHeld({ edge }: Rig): Promise<void> {
  const end = performance.now() + 5_000;
  const held = (): readonly number[] => {
    const { sockets, open, streams, deadlines } = edge.stats();
    return [sockets, open, streams, deadlines];
  };
  while (held().join() !== '1,1,0,0' && performance.now() < end) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(held(), [1, 1, 0, 0], 'sockets, open, streams, deadlines');
}

/** Far above what any of the bounds allows: some seconds of all that this machine can send. */
const maxBytes = 256 * mebibyte;
const growthBytes = 200 * mebibyte;

describe('a flood ends the connection that sends it, and nothing else', () => {
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
    'WINDOW_UPDATE by one octet': () => encodeH2Frame(frame.windowUpdate, 0, 0, u32(1)),
    PRIORITY: (i) => encodeH2Frame(frame.priority, 0, nth(i % 1_000), Buffer.concat([u32(0), Buffer.of(1)])),
    'frames of a type that nobody knows': () => encodeH2Frame(0xf0, 0, 0, Buffer.alloc(10)),
  };
  for (const [name, make] of Object.entries(floods)) {
    it(name, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      await rig.client('t', served());
      const { attacker, reader } = await attack(rig);
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
      await assertServed(rig);
      await assertNothingHeld(rig);
    });
  }
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

describe('a visitor who never opens its window', () => {
  /** Answers with as much as the path asks for. */
  const bulk = () =>
    createServer((request, response) => {
      const block = Buffer.alloc(64 * 1024, 'b');
      let left = Number(request.url?.slice(1));
      if (left === 0) return void response.end('ok');
      const more = (): void => {
        while (left > 0 && !response.destroyed) {
          left -= block.length;
          if (!response.write(block)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });

  for (const [name, size] of [
    ['for a small answer', 1],
    ['for a large one', 64 * mebibyte],
  ] as const) {
    it(`${name} is reset in time, a hundred times over, and others are served meanwhile`, async () => {
      await using rig = await createRig([tunnelOf('t')], { timeouts: { stallMs: 1_000 } });
      await rig.client('t', bulk());
      const before = process.memoryUsage.rss();
      const { attacker, reader } = await attack(rig, setting(initialWindowSize, 0));
      const streams = Array.from({ length: 100 }, (_, i) => nth(i));
      const fields = requestFields(host, 'GET', `/${size}`);
      attacker.write(
        Buffer.concat(streams.map((stream) => encodeH2Frame(frame.headers, endHeaders | endStream, stream, fields))),
      );
      for (const stream of streams) await reader.until((one) => one.type === frame.headers && one.stream === stream);
      const visitor = await rig.visit(host);
      visitor.write(`GET /0 HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      await readUntil(visitor, (text) => text.endsWith('ok'));
      visitor.destroy();
      for (const stream of streams) assert.ok(await reader.until((one) => one.type === frame.rstStream && one.stream === stream));
      const grown = process.memoryUsage.rss() - before;
      assert.ok(grown < growthBytes, `${grown} bytes`);
      attacker.destroy();
      await assertNothingHeld(rig);
    });
  }

  it('is another than one to whom nothing is said for a while', async () => {
    await using rig = await createRig([tunnelOf('t')], { timeouts: { stallMs: 500 } });
    const events: ServerResponse[] = [];
    await rig.client(
      't',
      createServer((_, response) => {
        events.push(response);
        response.write('first');
      }),
    );
    const { attacker: visitor, reader } = await attack(rig);
    visitor.write(get(1));
    const said = (words: string) => reader.until(({ type, payload }) => type === frame.data && payload.toString() === words);
    await said('first');
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    events[0]?.write('second');
    assert.ok(await said('second'));
  });
});

it('streams beyond those that may run, with answers under way, never stop the edge', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  await rig.client('t', served());
  for (let round = 0; round < 10; round++) {
    const { attacker, reader } = await attack(rig);
    const posts = (from: number): Buffer => Buffer.concat(Array.from({ length: 100 }, (_, k) => post(nth(from + k))));
    attacker.write(posts(0));
    await reader.until(({ type }) => type === frame.headers);
    attacker.write(posts(100));
    await reader.until(() => false);
  }
  await assertServed(rig);
  await assertNothingHeld(rig);
});

describe('answers that wait for a window when their connection ends', () => {
  const ends: Record<string, (rig: Rig, attacker: TLSSocket) => void> = {
    'by an error of the visitor': () => {},
    'by the visitor’s leaving': (_rig, attacker) => void attacker.end(),
    'by a change of the list': (rig) => void rig.control.change({ tunnels: [tunnelOf('t', { allowList: [] })] }),
  };
  for (const [name, end] of Object.entries(ends)) {
    it(`${name}, hold up nobody`, async () => {
      await using rig = await createRig([tunnelOf('t'), tunnelOf('u')]);
      await rig.client('t', served());
      await rig.client('u', served());
      const { attacker, reader } = await attack(rig, setting(initialWindowSize, 0));
      // Requests without an end, answered early: Node resets these another way.
      const streams = Array.from({ length: 20 }, (_, i) => nth(i));
      attacker.write(Buffer.concat(streams.map((stream, i) => (i % 2 === 0 ? post(stream) : get(stream)))));
      for (const stream of streams) await reader.until((one) => one.type === frame.headers && one.stream === stream);
      const windows = streams.map((stream) => encodeH2Frame(frame.windowUpdate, 0, stream, u32(1_000)));
      const offence = encodeH2Frame(frame.ping, 1, 0, Buffer.alloc(8));
      attacker.write(Buffer.concat(name.includes('error') ? [...windows, offence] : windows));
      end(rig, attacker);
      await reader.until(() => false);
      const visitor = await rig.visit('u.tunnels.test');
      visitor.write('GET / HTTP/1.1\r\nHost: u.tunnels.test\r\n\r\n');
      await readUntil(visitor, (text) => text.endsWith('ok'));
    });
  }
});
