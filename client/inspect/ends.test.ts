// Who ended an exchange: services that end their connection in every way, behind a client that carries, over real sockets.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import type { Stream } from '@underpass/wire/api.ts';
import { carry, startUpstream, visit } from '../carry/fixture/carrying.ts';
import { startFakeEdge } from '../carry/fixture/edge.ts';
import { Capture } from './capture.ts';
import type { KeptExchange } from './exchange-log.ts';
import { createTestLog, testRoute } from './fixture/exchanges.ts';

const get = 'GET / HTTP/1.1\r\nHost: app.example.com\r\n\r\n';
const upgrade = 'GET / HTTP/1.1\r\nHost: app.example.com\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n';
const switched = 'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n';
const hello = '\x81\x02hi';
const goodbye = '\x88\x02\x03\xe8';

type How = 'fin' | 'rst';
type Act = (socket: Socket) => void;

const endBy: Readonly<Record<How, Act>> = { fin: (socket) => socket.end(), rst: (socket) => socket.resetAndDestroy() };

/** What an edge does when the upstream ends. It resets also after an end that tells it nothing new. */
const asEdge = (stream: Stream): void => stream.reset('cancelled');

interface Scene {
  readonly request?: string;
  readonly answer: string;
  /** Called once the visitor has the whole answer. */
  readonly end: (ends: { readonly service: (how: Act) => void; readonly visitor: Stream; readonly socket: Socket }) => void;
}

/** Plays the scene and returns the exchange once it is over. */
async function play({ request = get, answer, end }: Scene): Promise<KeptExchange> {
  const { log } = createTestLog();
  const service = Promise.withResolvers<Socket>();
  await using upstream = await startUpstream((socket) => {
    // A probe of the client connects too, and sends nothing.
    socket.once('data', () => {
      service.resolve(socket);
      socket.write(Buffer.from(answer, 'latin1'));
    });
  });
  await using edge = await startFakeEdge();
  const ended = Promise.withResolvers<void>();
  using _client = carry({
    url: edge.url,
    upstreams: { type: 'http', list: [{ domain: null, upstream: upstream.upstream }] },
    openTap: () => {
      const route = { ...testRoute, upstream: upstream.upstream };
      const capture = new Capture(log, { tunnel: 't', route, visitorAddress: '', replayOf: null, rttMs: () => null });
      const closed = capture.closed.bind(capture);
      capture.closed = () => {
        closed();
        ended.resolve();
      };
      return capture;
    },
  });
  const stream = visit(await edge.next());
  let received = 0;
  const socket = service.promise;
  const act = async (): Promise<void> => {
    const at = await socket;
    end({ service: (how) => how(at), visitor: stream, socket: at });
  };
  stream.onData = (chunk) => {
    received += chunk.length;
    stream.consume(chunk.length);
    if (received === answer.length) void act();
  };
  stream.onEnd = () => asEdge(stream);
  stream.write(Buffer.from(request));
  if (answer === '') void act();
  await ended.promise;
  return log.get(1)!;
}

const cases: readonly (readonly [what: string, answer: string, code: string | null, request?: string])[] = [
  ['without an answer', '', 'upstream-closed'],
  ['after an interim answer only', 'HTTP/1.1 103 Early Hints\r\n\r\n', 'upstream-closed'],
  ['in the middle of a body of known length', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc', 'answer-incomplete'],
  ['before the first byte of such a body', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n', 'answer-incomplete'],
  ['in the middle of a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab', 'answer-incomplete'],
  ['between chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n', 'answer-incomplete'],
  [
    'in the middle of events',
    'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n',
    'answer-incomplete',
  ],
  ['after a whole body', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc', null],
  ['after the last chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', null],
  ['after 204', 'HTTP/1.1 204 No Content\r\n\r\n', null],
  ['after 304', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n', null],
  ['after the head of HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n', null, get.replace('GET', 'HEAD')],
  ['a WebSocket without a close frame', `${switched}${hello}`, 'websocket-cut', upgrade],
  ['a WebSocket after a close frame', `${switched}${hello}${goodbye}`, null, upgrade],
  ['another protocol', switched.replace('websocket', 'other'), null, upgrade.replace('websocket', 'other')],
];

for (const how of ['fin', 'rst'] as const)
  for (const [what, answer, code, request = get] of cases)
    test(`a service that ends with ${how} ${what}: ${code ?? 'no error'}`, async () => {
      const { error } = await play({ request, answer, end: ({ service, visitor }) => endOf(how, service, visitor, code) });
      assert.equal(error?.code ?? null, code);
    });

/** An edge keeps the connection of a whole answer for the next request, and takes its end as an end. */
function endOf(how: How, service: (act: Act) => void, visitor: Stream, code: string | null): void {
  if (code === null) visitor.onEnd = () => visitor.end();
  service(endBy[how]);
}

test('an answer until the end of the connection is whole with fin and cut with rst', async () => {
  const answer = 'HTTP/1.1 200 OK\r\n\r\nabc';
  const whole = await play({ answer, end: ({ service, visitor }) => endOf('fin', service, visitor, null) });
  const cut = await play({ answer, end: ({ service }) => service(endBy.rst) });
  assert.deepEqual([whole.error, cut.error?.code], [null, 'answer-incomplete']);
});

test('a visitor that leaves first is named, and so is one that leaves before the answer', async () => {
  const half = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc';
  for (const answer of ['', half]) {
    const { error } = await play({ answer, end: ({ visitor }) => visitor.reset('cancelled') });
    assert.equal(error?.code, 'visitor-left');
  }
});

test('a WebSocket that the visitor ends is whole; one that the edge cuts says why', async () => {
  const scene = { request: upgrade, answer: `${switched}${hello}` };
  const left = await play({ ...scene, end: ({ visitor }) => visitor.reset('cancelled') });
  const closed = await play({
    ...scene,
    end({ visitor, socket }) {
      socket.once('end', () => socket.end());
      visitor.end();
    },
  });
  const idle = await play({ ...scene, end: ({ visitor }) => visitor.reset('idle') });
  const denied = await play({ ...scene, end: ({ visitor }) => visitor.reset('denied') });
  assert.deepEqual(
    [left.error, closed.error, idle.error?.code, denied.error?.code],
    [null, null, 'stream-idle', 'access-denied'],
  );
});
