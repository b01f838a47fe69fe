import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { brotliCompressSync, constants, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { formatUpstream } from '@underpass/rules/tunnel/upstream.ts';
import { collectHeap } from '@underpass/runtime/heap.ts';
import type { Capture } from './capture.ts';
import { createTestLog, requestOf, testRoute } from './fixture/exchanges.ts';
import { summarize, viewExchange } from './view.ts';

const none = () => null;
const get = 'GET /cart?a=1 HTTP/1.1\r\nHost: shop.example.com\r\nUser-Agent: curl/8\r\n\r\n';

function endBy(capture: Capture, code: 'cancelled' | 'carrier-lost'): void {
  capture.reset(code);
  capture.closed();
}

function endEarly(capture: Capture): void {
  capture.tx(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab'));
  capture.txEnd();
  capture.closed();
}

/** Bytes of objects for each of what is made. */
function heldBy(make: () => unknown): number {
  const made = [];
  collectHeap();
  const before = process.memoryUsage().heapUsed;
  for (let count = 0; count < 20; count++) made.push(make());
  collectHeap();
  return (process.memoryUsage().heapUsed - before) / made.length;
}

describe('an exchange', () => {
  const request = requestOf({ 'Content-Type': 'text/plain' }, 'hello');
  const answer =
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n5\r\nworld\r\n1\r\n!\r\n0\r\n\r\n';

  it('is the same however its bytes are cut', async () => {
    for (const step of [1, 7, 1_000]) {
      const { log, open } = createTestLog();
      const capture = open();
      capture.connected();
      for (let at = 0; at < request.length; at += step) capture.rx(Buffer.from(request.slice(at, at + step)));
      for (let at = 0; at < answer.length; at += step) capture.tx(Buffer.from(answer.slice(at, at + step)));
      const view = await viewExchange(log.get(1)!, none, false);
      assert.equal(view.request.body.text, 'hello');
      assert.equal(view.response?.body.text, 'world!');
      assert.deepEqual([view.state, view.status, view.requestBytes, view.responseBytes], ['done', 200, 5, 6]);
      capture.closed();
      assert.equal(log.get(1)!.error, null);
    }
  });

  it('names the upstream that serves its path', async () => {
    const { log, open } = createTestLog();
    const api = { path: '/api', upstream: { ...testRoute.upstream, port: 4000, base: '/v1' } };
    const capture = open({ route: { ...testRoute, routes: [{ upstream: testRoute.upstream }, api] } });
    capture.connected();
    for (const path of ['/', '/api/x']) {
      capture.rx(Buffer.from(`GET ${path} HTTP/1.1\r\nHost: shop.example.com\r\n\r\n`));
      capture.tx(Buffer.from('HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok'));
    }
    const shown = [1, 2].map(async (id) => (await viewExchange(log.get(id)!, none, false)).upstream);
    assert.deepEqual(await Promise.all(shown), [formatUpstream(testRoute.upstream), formatUpstream(api.upstream)]);
  });

  it('follows another on the same connection, and each has its answer', () => {
    const { log, open } = createTestLog();
    const capture = open();
    capture.connected();
    for (const status of [200, 404]) {
      capture.rx(Buffer.from(get));
      capture.tx(Buffer.from(`HTTP/1.1 ${status} X\r\nContent-Length: 2\r\n\r\nok`));
    }
    assert.deepEqual(
      [...log.all()].map((exchange) => summarize(exchange, none).status),
      [200, 404],
    );
  });

  it('shows where the time went', async () => {
    const { log, open, clock } = createTestLog();
    const capture = open();
    const steps = [
      () => capture.rx(Buffer.from(request.slice(0, -2))),
      () => capture.connected(),
      () => capture.rx(Buffer.from(request.slice(-2))),
      () => capture.tx(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab')),
      () => capture.tx(Buffer.from('cd')),
    ];
    for (const step of steps) {
      step();
      clock.at += 10;
    }
    const { timing, durationMs } = await viewExchange(log.get(1)!, none, false);
    assert.deepEqual(timing, { edgeMs: null, tunnelMs: 20, connectMs: 10, sendMs: 10, waitMs: 10, receiveMs: 10 });
    assert.equal(durationMs, 40);
  });

  it('names the Host that the upstream got if it is not the one of the headers', async () => {
    const { log, open } = createTestLog();
    open({ route: { ...testRoute, sentHost: 'localhost:5173' } }).rx(Buffer.from(get));
    open().rx(Buffer.from(get));
    assert.deepEqual(
      (await Promise.all([1, 2].map((id) => viewExchange(log.get(id)!, none, false)))).map(({ sentHost }) => sentHost),
      ['localhost:5173', null],
    );
  });

  it('skips interim answers, and reads no body after HEAD', () => {
    const { log, open } = createTestLog();
    const capture = open();
    capture.rx(Buffer.from(get.replace('GET', 'HEAD')));
    capture.tx(Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n'));
    assert.deepEqual([log.get(1)!.state, summarize(log.get(1)!, none).status], ['done', 200]);
  });

  for (const [why, act, code] of [
    [
      'the upstream refuses',
      (capture) => capture.failed({ code: 'upstream-refused', detail: 'http://127.0.0.1:9' }),
      'upstream-refused',
    ],
    ['the upstream closes before it answers', (capture) => capture.closed(), 'upstream-closed'],
    ['the visitor leaves', (capture) => endBy(capture, 'cancelled'), 'visitor-left'],
    ['the carrier is lost', (capture) => endBy(capture, 'carrier-lost'), 'carrier-lost'],
    ['the answer is cut', endEarly, 'answer-incomplete'],
  ] as const satisfies readonly (readonly [string, (capture: Capture) => void, string])[]) {
    it(`has an error with a code and a fix if ${why}`, () => {
      const { log, open } = createTestLog();
      const capture = open();
      capture.rx(Buffer.from(get));
      act(capture);
      const { error, state } = log.get(1)!;
      assert.deepEqual([state, error?.code], ['failed', code]);
      assert.ok(error!.title.length > 10 && error!.fix.length > 10);
    });
  }

  it('that the edge has timed has its share and that of the tunnel, both ways; before, the last round trip', async () => {
    const { log, clock, open } = createTestLog();
    const capture = open();
    capture.connected();
    capture.rx(Buffer.from(get));
    clock.at += 30;
    capture.tx(Buffer.from('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
    const { timing } = await viewExchange(log.get(1)!, none, false);
    assert.deepEqual([timing.edgeMs, timing.tunnelMs, timing.waitMs], [null, 20, 30]);
    capture.times({ edgeMs: 5, totalMs: 52.5 });
    const timed = (await viewExchange(log.get(1)!, none, false)).timing;
    assert.deepEqual([timed.edgeMs, timed.tunnelMs, timed.waitMs], [5, 17.5, 30]);
  });

  it('that is no HTTP ends the reading and nothing else', () => {
    const { log, open } = createTestLog();
    const capture = open();
    capture.rx(Buffer.from(get));
    capture.tx(Buffer.from('\x15\x03\x01\x00\x02\x02\x28 garbage that goes on'));
    capture.tx(Buffer.alloc(70_000));
    capture.rx(Buffer.alloc(70_000));
    capture.closed();
    assert.equal(log.get(1)!.state, 'failed');
    assert.ok(log.keptBytes < 10_000);
  });
});

describe('limits', () => {
  it('keep 1 MiB of a body and count the rest', async () => {
    const { exchange } = createTestLog();
    const kept = exchange(
      get,
      `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3000000\r\n\r\n${'x'.repeat(3_000_000)}`,
    );
    assert.deepEqual([kept.response.bytes, kept.response.keptBytes], [3_000_000, 1024 * 1024]);
    assert.equal((await viewExchange(kept, none, false)).response?.body.isCut, true);
  });

  it('remove the oldest finished exchanges first, whole, and give their bytes back', () => {
    const { log, exchange, open } = createTestLog({ bytes: 100_000 });
    open().rx(Buffer.from(get));
    for (let count = 0; count < 50; count++) exchange(requestOf({}, 'x'.repeat(10_000)));
    assert.ok(log.keptBytes <= 100_000);
    assert.ok(log.size > 2 && log.size < 12);
    assert.equal(log.get(1)?.state, 'open');
    assert.equal(log.get(2), undefined);
    log.clear();
    assert.equal(log.keptBytes, 0);
  });

  it('keep the newest in order, and an open one before them', () => {
    const { log, exchange, open } = createTestLog({ exchanges: 4 });
    open().rx(Buffer.from(get));
    for (let count = 0; count < 23; count++) exchange(get);
    const ids = [...log.all()].map(({ id }) => id);
    assert.deepEqual([ids, log.droppedCount, log.get(23)?.id], [[1, 22, 23, 24], 20, 23]);
  });

  it('bound the number of exchanges even if all are open, and keep nothing more of those that left', () => {
    const { log, open } = createTestLog({ exchanges: 10 });
    const captures = Array.from({ length: 30 }, () => open());
    for (const capture of captures) capture.rx(Buffer.from(requestOf({ 'Content-Length': '50000' })));
    const before = log.keptBytes;
    captures[0]!.rx(Buffer.alloc(40_000));
    assert.deepEqual([log.size, log.keptBytes], [10, before]);
  });

  it('hold a body that comes byte by byte in few buffers', () => {
    const { log, open } = createTestLog();
    const capture = open();
    capture.rx(Buffer.from(requestOf({ 'Content-Length': '200000' })));
    for (let count = 0; count < 200_000; count++) capture.rx(Buffer.from('x'));
    assert.ok(log.get(1)!.request.chunks.length < 30);
    assert.equal(log.get(1)!.request.keptBytes, 200_000);
    assert.ok(log.keptBytes < 600_000);
  });
});

describe('a small body', () => {
  it('keeps no other bytes alive', () => {
    const { exchange } = createTestLog();
    collectHeap();
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 1_000; count++) {
      exchange(requestOf({}, 'small'));
      Buffer.allocUnsafe(8_000);
    }
    collectHeap();
    const kept = process.memoryUsage().arrayBuffers - before;
    assert.ok(kept < 1_000_000, `${kept} bytes of buffers for 1,000 bodies of 5 bytes`);
  });
});

describe('a body', () => {
  const page = '{"a":"ä","b":[1,2]}';
  const codings: readonly (readonly [string, Buffer])[] = [
    ['gzip', gzipSync(page)],
    ['br', brotliCompressSync(page)],
    ['deflate', deflateRawSync(page)],
    ['zstd', zstdCompressSync(page)],
    ['gzip, br', brotliCompressSync(gzipSync(page))],
  ];
  const answerOf = (body: Buffer, headers: string) =>
    Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${headers}\r\n`), body]);
  const bodyOf = async (body: Buffer, headers: string) =>
    (await viewExchange(createTestLog().exchange(get, answerOf(body, headers)), none, false)).response!.body;

  for (const [coding, bytes] of codings) {
    it(`is shown without its coding ${coding}`, async () => {
      const body = await bodyOf(bytes, `Content-Encoding: ${coding}\r\nContent-Type: application/json\r\n`);
      assert.deepEqual([body.shape, body.text, body.bytes], ['json', page, bytes.length]);
    });
  }

  it('that is a bomb is not decoded, in any coding', async () => {
    const bomb = Buffer.alloc(20 * 1024 * 1024);
    for (const [coding, bytes] of [
      ['gzip', gzipSync(bomb)],
      ['br', brotliCompressSync(bomb, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
      ['deflate', deflateRawSync(bomb)],
      ['zstd', zstdCompressSync(bomb)],
      ['gzip, gzip', gzipSync(gzipSync(bomb))],
    ] as const) {
      const body = await bodyOf(bytes, `Content-Encoding: ${coding}\r\nContent-Type: text/plain\r\n`);
      assert.match(body.problem, /was not removed: it is larger than 4 MiB/, coding);
      assert.equal(body.text, null);
    }
  });

  it('with more codings than a sender uses, an unknown or a false one is left as it is', async () => {
    assert.match((await bodyOf(Buffer.from('x'), 'Content-Encoding: gzip, gzip, gzip, gzip\r\n')).problem, /4 content codings/);
    assert.match((await bodyOf(Buffer.from('x'), 'Content-Encoding: constructor\r\n')).problem, /'constructor' is unknown/);
    assert.match((await bodyOf(Buffer.from('not gzip'), 'Content-Encoding: gzip\r\n')).problem, /damaged/);
  });

  it('has the shape of its type; SVG is text, never an image', async () => {
    const shapes = [
      'image/png',
      'image/svg+xml',
      'text/html',
      'application/problem+json',
      'application/octet-stream',
      'model/x',
    ].map(async (type) => (await bodyOf(Buffer.from('\x00<svg/>'), `Content-Type: ${type}\r\n`)).shape);
    assert.deepEqual(await Promise.all(shapes), ['image', 'text', 'text', 'json', 'binary', 'binary']);
    assert.equal((await bodyOf(Buffer.from('plain'), '')).shape, 'text');
  });

  it('that is a form is shown by its fields', async () => {
    const { exchange } = createTestLog();
    const type = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const { fields } = (await viewExchange(exchange(requestOf(type, 'user=ada&note=a%20b')), none, false)).request.body;
    assert.deepEqual(
      fields.map(({ name, value }) => [name, value]),
      [
        ['user', 'ada'],
        ['note', 'a b'],
      ],
    );
  });

  it('in several parts is shown by its parts, a file by its size, also if the end is missing', async () => {
    const { exchange } = createTestLog();
    const type = { 'Content-Type': 'multipart/form-data; boundary="b b"' };
    const parts =
      '--b b\r\nContent-Disposition: form-data; name="title"\r\n\r\nHi\r\n' +
      '--b b\r\nContent-Disposition: form-data; name="f"; filename="a\\"b.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n';
    for (const end of ['--b b--\r\n', '']) {
      const { fields } = (await viewExchange(exchange(requestOf(type, parts + end)), none, false)).request.body;
      assert.deepEqual(
        fields.map(({ name, value, fileName }) => [name, value, fileName]),
        [
          ['title', 'Hi', null],
          ['f', null, 'a"b.png'],
        ],
      );
    }
  });
});

describe('streams', () => {
  it('of events are read as they pass, however they are cut, with every kind of line end', () => {
    const text =
      '\ufeff: comment\r\nid: 1\r\ndata: a\r\ndata: b\r\n\r\nevent: progress\ndata:c\n\ndata: d\rid: 2\r\rdata: never complete';
    for (const step of [1, 5, 1_000]) {
      const { log, open } = createTestLog();
      const capture = open();
      capture.rx(Buffer.from(get));
      capture.tx(Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n'));
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += step) capture.tx(bytes.subarray(at, at + step));
      const { kind, events } = log.get(1)!;
      assert.equal(kind, 'events');
      assert.deepEqual(
        events.map(({ event, lastEventId, data }) => [event, lastEventId, data]),
        [
          ['message', '1', 'a\nb'],
          ['progress', '1', 'c'],
          ['message', '2', 'd'],
        ],
      );
    }
  });

  it('of events hold a line that comes byte by byte in one buffer', () => {
    const held = heldBy(() => {
      const { open } = createTestLog();
      const capture = open();
      capture.rx(Buffer.from(get));
      capture.tx(Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: '));
      for (let count = 0; count < 16_000; count++) capture.tx(Buffer.from('x'));
      return capture;
    });
    assert.ok(held < 200_000, `${held} bytes of objects for a line of 16 kB`);
  });

  it('of events keep the newest, and cut a long one', () => {
    const { log, open } = createTestLog({ frames: 10 });
    const capture = open();
    capture.rx(Buffer.from(get));
    capture.tx(Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n'));
    for (let count = 0; count < 25; count++) capture.tx(Buffer.from(`data: ${count}\n\n`));
    capture.tx(Buffer.from(`data: ${'x'.repeat(100_000)}\n\n`));
    const { events, droppedEvents } = log.get(1)!;
    assert.deepEqual([events.length, droppedEvents, events[0]!.data], [10, 16, '16']);
    assert.deepEqual([events.at(-1)!.isCut, events.at(-1)!.data.length < 17_000], [true, true]);
  });

  const upgrade = (extensions: string) => {
    const made = createTestLog();
    const capture = made.open();
    capture.rx(Buffer.from('GET /ws HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'));
    const head = `HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${extensions}\r\n`;
    capture.tx(Buffer.from(head));
    return { ...made, capture, kept: made.log.get(1)! };
  };
  const frameOf = (first: number, payload: Buffer, mask?: Buffer): Buffer => {
    const length = payload.length < 126 ? [payload.length] : [126, payload.length >> 8, payload.length & 255];
    const masked = mask === undefined ? payload : payload.map((octet, index) => octet ^ mask[index & 3]!);
    length[0]! |= mask === undefined ? 0 : 0x80;
    return Buffer.concat([Buffer.from([first, ...length]), mask ?? Buffer.alloc(0), masked]);
  };
  const mask = Buffer.from([1, 2, 3, 250]);

  it('of a WebSocket count in the sizes of the list, each way, and belong to no body', async () => {
    const { capture, kept } = upgrade('');
    capture.rx(frameOf(0x81, Buffer.from('four'), mask));
    capture.tx(frameOf(0x81, Buffer.from('hi')));
    const { requestBytes, responseBytes, request, response } = await viewExchange(kept, none, false);
    assert.deepEqual([requestBytes, responseBytes, request.body.bytes, response?.body.bytes], [10, 4, 0, 0]);
  });

  it('of a WebSocket are read with masks and fragments, control frames between, however they are cut', () => {
    for (const step of [1, 3, 1_000]) {
      const { capture, kept } = upgrade('');
      const bytes = Buffer.concat([
        frameOf(0x01, Buffer.from('Hel'), mask),
        frameOf(0x89, Buffer.from('p'), mask),
        frameOf(0x80, Buffer.from('lo'), mask),
        frameOf(0x82, Buffer.alloc(300, 7), mask),
        frameOf(0x88, Buffer.concat([Buffer.from([0x03, 0xe8]), Buffer.from('bye')]), mask),
      ]);
      for (let at = 0; at < bytes.length; at += step) capture.rx(bytes.subarray(at, at + step));
      capture.closed();
      assert.deepEqual(
        kept.frames.map(({ from, kind, bytes: size, text, closeCode }) => [from, kind, size, text, closeCode]),
        [
          ['visitor', 'ping', 1, 'p', null],
          ['visitor', 'text', 5, 'Hello', null],
          ['visitor', 'binary', 300, null, null],
          ['visitor', 'close', 5, 'bye', 1000],
        ],
      );
      assert.deepEqual([kept.kind, kept.state], ['websocket', 'done']);
    }
  });

  it('of a WebSocket hold a message that comes in tiny frames in few buffers', () => {
    const pieces = Buffer.concat([
      frameOf(0x01, Buffer.from('a')),
      ...Array.from({ length: 16_000 }, () => frameOf(0, Buffer.from('b'))),
    ]);
    const held = heldBy(() => {
      const { capture } = upgrade('');
      capture.rx(pieces);
      return capture;
    });
    assert.ok(held < 200_000, `${held} bytes of objects for a message of 16 kB`);
  });

  it('of a WebSocket are inflated across messages, and a bomb is not', () => {
    const { capture, kept } = upgrade('Sec-WebSocket-Extensions: permessage-deflate\r\n');
    const packed = (text: string | Buffer, dictionary?: Buffer) =>
      deflateRawSync(text, { finishFlush: constants.Z_SYNC_FLUSH, ...(dictionary && { dictionary }) }).subarray(0, -4);
    const first = 'the same words again and again';
    capture.tx(frameOf(0xc1, packed(first)));
    capture.tx(frameOf(0xc1, packed(first, Buffer.from(first))));
    capture.tx(frameOf(0xc1, packed(Buffer.alloc(30 * 1024 * 1024))));
    capture.tx(frameOf(0xc1, packed('after the bomb')));
    assert.deepEqual(
      kept.frames.map(({ text }) => text),
      [first, first, null, null],
    );
  });

  it('of a WebSocket are inflated up to 16 MiB a second: a visitor who sends little may ask for much', () => {
    const { capture, kept, clock } = upgrade('Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n');
    const packed = deflateRawSync(Buffer.alloc(1_000_000), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
    const send = (): void => capture.rx(frameOf(0xc2, packed, mask));
    for (let i = 0; i < 100; i++) send();
    assert.equal(kept.frames.filter(({ bytes }) => bytes === 1_000_000).length, 17);
    clock.at += 1_000;
    send();
    assert.equal(kept.frames.at(-1)?.bytes, 1_000_000);
  });

  it('that are no WebSocket frames end the reading and nothing else', () => {
    const { capture, kept } = upgrade('');
    capture.rx(Buffer.from([0x83, 0x01, 0x41]));
    capture.rx(frameOf(0x81, Buffer.from('x'), mask));
    capture.tx(Buffer.from([0x81, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]));
    capture.tx(Buffer.alloc(100_000, 0x81));
    assert.deepEqual([kept.frames.length, kept.state], [0, 'open']);
  });
});
