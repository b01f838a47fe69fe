// The visitor side of a benchmark: one process, one workload, one line of JSON as its result.
// argv: workload, JSON of Target.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, createSecureContext, type SecureContextOptions } from 'node:tls';
import { median } from './core/table.ts';

interface Target {
  readonly host: string;
  readonly address: string;
  readonly port: number;
  readonly tls: boolean;
  readonly connections: number;
  readonly seconds: number;
  readonly bytes: number;
  /** One Cookie value a line; visitors take them in turn. */
  readonly cookieFile?: string;
  /** All streams on one connection. Only `pull` and `push` know it. */
  readonly http2?: boolean;
}

type Result = Record<string, number>;

const [workload = '', json = '{}'] = process.argv.slice(2);
const target = JSON.parse(json) as Target;
// Peers present self-signed certificates made for this run; their identity is not what is measured.
const unchecked: SecureContextOptions & { rejectUnauthorized: boolean } = { rejectUnauthorized: false };
const context = createSecureContext(unchecked);

const workloads: Record<string, () => Promise<Result>> = {
  small: () => keepAlive(target.connections),
  turns,
  latency: () => keepAlive(1),
  connect: newConnections,
  down: () => bulk(downloadOnce),
  up: () => bulk(uploadOnce),
  pull: () => pull(),
  push: () => push(),
  pieces,
  idle: idleWebSockets,
  stalled: stalledBesideFast,
};

const door = { host: target.address, port: target.port, noDelay: true };
const openTls = (protocol: string): Socket =>
  connectTls({
    ...door,
    servername: target.host,
    secureContext: context,
    rejectUnauthorized: false,
    ALPNProtocols: [protocol],
  });

function open(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = target.tls ? openTls('http/1.1') : connectTcp(door);
    socket.once(target.tls ? 'secureConnect' : 'connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

const cookieLines =
  target.cookieFile === undefined
    ? ['']
    : readFileSync(target.cookieFile, 'utf8')
        .split('\n')
        .map((value) => `Cookie: ${value}\r\n`);
let visitors = 0;
const nextCookie = (): string => cookieLines[visitors++ % cookieLines.length] as string;

const smallRequest = (): Buffer =>
  Buffer.from(`GET /small HTTP/1.1\r\nHost: ${target.host}\r\nUser-Agent: bench\r\nAccept: */*\r\n${nextCookie()}\r\n`, 'latin1');

/** Calls back once per whole response, until the returned function is called. Bodies are short: head and body are awaited together. */
function onResponses(socket: Socket, done: (bytes: number) => void): () => void {
  let pending: Buffer = Buffer.alloc(0);
  let headEnd = -1;
  let total = 0;
  const take = (chunk: Buffer): void => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (true) {
      if (headEnd < 0) {
        headEnd = pending.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        total = headEnd + 4 + contentLength(pending.toString('latin1', 0, headEnd));
      }
      if (pending.length < total) return;
      const bytes = total;
      pending = pending.subarray(total);
      headEnd = -1;
      done(bytes);
      if (pending.length === 0) return;
    }
  };
  socket.on('data', take);
  return () => void socket.off('data', take);
}

function contentLength(head: string): number {
  if (!/^HTTP\/1\.1 [12]/.test(head)) throw new Error(`unexpected answer: ${head.slice(0, 60)}`);
  return Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
}

interface Asking {
  readonly socket: Socket;
  readonly request: Buffer;
}

async function openAsking(): Promise<Asking> {
  return { socket: await open(), request: smallRequest() };
}

async function keepAlive(connections: number): Promise<Result> {
  const all = await Promise.all(Array.from({ length: connections }, openAsking));
  const result = await askAll(all);
  for (const { socket } of all) socket.destroy();
  return result;
}

/** Loads the same connections once for each line on stdin. */
async function turns(): Promise<Result> {
  const all = await Promise.all(Array.from({ length: target.connections }, openAsking));
  for await (const _ of process.stdin) process.stdout.write(`${JSON.stringify(await askAll(all))}\n`);
  return {};
}

async function askAll(all: readonly Asking[]): Promise<Result> {
  const times: number[] = [];
  const started = performance.now();
  const deadline = started + target.seconds * 1000;
  await Promise.all(all.map((asking) => askUntil(asking, deadline, (ms) => void times.push(ms))));
  const seconds = (performance.now() - started) / 1000;
  times.sort((a, b) => a - b);
  return { count: times.length, seconds, p50: median(times), p99: times[Math.floor(times.length * 0.99)] ?? Number.NaN };
}

function askUntil({ socket, request }: Asking, deadline: number, took: (ms: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    let asked = performance.now();
    const closed = (): void => reject(new Error('closed early'));
    socket.once('close', closed);
    const stop = onResponses(socket, () => {
      const now = performance.now();
      took(now - asked);
      if (now >= deadline) {
        stop();
        socket.off('close', closed);
        resolve();
        return;
      }
      asked = now;
      socket.write(request);
    });
    socket.write(request);
  });
}

async function newConnections(): Promise<Result> {
  const started = performance.now();
  const deadline = started + target.seconds * 1000;
  let count = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < deadline) {
      const socket = await open();
      await new Promise<void>((resolve) => {
        onResponses(socket, () => resolve());
        socket.write(smallRequest());
      });
      socket.destroy();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: target.connections }, worker));
  return { count, seconds: (performance.now() - started) / 1000 };
}

async function bulk(once: (socket: Socket) => Promise<void>): Promise<Result> {
  const sockets = await Promise.all(Array.from({ length: target.connections }, open));
  const started = performance.now();
  await Promise.all(sockets.map(once));
  const seconds = (performance.now() - started) / 1000;
  for (const socket of sockets) socket.destroy();
  return { bytes: target.bytes * target.connections, seconds };
}

function downloadOnce(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let got = 0;
    let headDone = false;
    socket.once('close', () => reject(new Error('closed early')));
    socket.on('data', (chunk: Buffer) => {
      got += headDone ? chunk.length : chunk.length - (chunk.indexOf('\r\n\r\n') + 4);
      headDone = true;
      if (got >= target.bytes) resolve();
    });
    socket.write(`GET /bulk/${target.bytes} HTTP/1.1\r\nHost: ${target.host}\r\n${nextCookie()}\r\n`);
  });
}

const uploadBlock = Buffer.alloc(256 * 1024, 'u');

function uploadOnce(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = target.bytes;
    socket.once('close', () => reject(new Error('closed early')));
    onResponses(socket, () => resolve());
    socket.write(`POST /sink HTTP/1.1\r\nHost: ${target.host}\r\nContent-Length: ${target.bytes}\r\n${nextCookie()}\r\n`);
    const more = (): void => {
      while (left > 0) {
        const part = left >= uploadBlock.length ? uploadBlock : uploadBlock.subarray(0, left);
        left -= part.length;
        if (!socket.write(part)) return void socket.once('drain', more);
      }
    };
    more();
  });
}

/** As browsers give a stream. */
const windowBytes = 6 * 1024 * 1024;
/** More than any path carries in a measurement. */
const endless = 1024 ** 4;

/** Downloads for a number of seconds; bytes of the start of a transfer count, as they do for a visitor. */
async function pull(): Promise<Result> {
  const streams = await beginEach('GET', `/bulk/${endless}`);
  let bytes = 0;
  const started = performance.now();
  for (const stream of streams) stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await neverEnds(streams);
  return { bytes, seconds: (performance.now() - started) / 1000 };
}

/** Uploads for a number of seconds. The origin knows how many bytes arrived. */
async function push(): Promise<Result> {
  const streams = await beginEach('POST', '/sink');
  const started = performance.now();
  for (const stream of streams) {
    const more = (): void => {
      while (stream.write(uploadBlock));
    };
    stream.on('drain', more);
    more();
  }
  await neverEnds(streams);
  return { seconds: (performance.now() - started) / 1000 };
}

/** What a page loads: with a piece of this size even a slow path ends many streams in a measurement. */
const pieceBytes = 131_072;

/** Visitors load pieces one after another, each as a stream of its own. The bytes of each quarter of the time. */
async function pieces(): Promise<Result> {
  await askUntil(await openAsking(), 0, () => {});
  const quarters = [0, 0, 0, 0];
  const started = performance.now();
  const arrived = (chunk: Buffer): void => {
    const quarter = Math.floor((performance.now() - started) / 250 / target.seconds);
    quarters[quarter] = (quarters[quarter] ?? 0) + chunk.length;
  };
  const openPiece = target.http2 ? await piecesOverHttp2() : pieceOverHttp1;
  const visitor = async (): Promise<never> => {
    while (true) await once((await openPiece()).on('data', arrived), 'close');
  };
  await Promise.race([sleep(target.seconds * 1000), ...Array.from({ length: target.connections }, visitor)]);
  return Object.fromEntries(quarters.entries());
}

async function pieceOverHttp1(): Promise<Duplex> {
  const socket = await open();
  onResponses(socket, () => socket.destroy());
  socket.write(`GET /bulk/${pieceBytes} HTTP/1.1\r\nHost: ${target.host}\r\n\r\n`);
  return socket;
}

async function piecesOverHttp2(): Promise<() => Duplex> {
  const session = await connectBulkHttp2();
  return () => session.request({ ':path': `/bulk/${pieceBytes}`, ':authority': target.host });
}

async function neverEnds(streams: readonly Duplex[]): Promise<void> {
  const ended = streams.map((stream) => once(stream, 'close').then(() => Promise.reject(new Error('closed early'))));
  await Promise.race([sleep(target.seconds * 1000), ...ended]);
}

async function beginEach(method: string, path: string): Promise<readonly Duplex[]> {
  // The answer comes once the path has delivered what an earlier measurement left on it.
  await askUntil(await openAsking(), 0, () => {});
  if (target.http2) return beginOverHttp2(method, path);
  const sockets = await Promise.all(Array.from({ length: target.connections }, open));
  for (const socket of sockets)
    socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: ${target.host}\r\nContent-Length: ${method === 'POST' ? endless : 0}\r\n\r\n`,
    );
  return sockets;
}

async function beginOverHttp2(method: string, path: string): Promise<readonly Duplex[]> {
  const session = await connectBulkHttp2();
  const length = method === 'POST' ? { 'content-length': endless } : {};
  return Array.from({ length: target.connections }, () =>
    session.request({ ':method': method, ':path': path, ':authority': target.host, ...length }, { endStream: method === 'GET' }),
  );
}

async function connectBulkHttp2(): Promise<ClientHttp2Session> {
  const session = connectHttp2(`https://${target.host}:${target.port}`, {
    createConnection: () => openTls('h2'),
    settings: { initialWindowSize: windowBytes },
  });
  await once(session, 'connect');
  session.setLocalWindowSize(windowBytes * target.connections);
  return session;
}

const upgrade = () =>
  `GET /ws HTTP/1.1\r\nHost: ${target.host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${nextCookie()}\r\n`;

/** Opens all connections, reports it on stdout, then waits for a byte on stdin while the caller reads memory. */
async function idleWebSockets(): Promise<Result> {
  const sockets: Socket[] = [];
  for (let left = target.connections; left > 0; left -= 50)
    sockets.push(...(await Promise.all(Array.from({ length: Math.min(50, left) }, openWebSocket))));
  process.stdout.write('{"open":true}\n');
  await new Promise((resolve) => process.stdin.once('data', resolve));
  for (const socket of sockets) socket.destroy();
  return { count: sockets.length };
}

async function openWebSocket(): Promise<Socket> {
  const socket = await open();
  await new Promise<void>((resolve, reject) => {
    socket.once('close', () => reject(new Error('closed early')));
    // Refuse an error page: it would count as an open connection that holds less memory.
    socket.once('data', (answer: Buffer) =>
      answer.toString('latin1', 0, 12) === 'HTTP/1.1 101'
        ? resolve()
        : reject(new Error(`no WebSocket: ${answer.toString('latin1', 0, 60)}`)),
    );
    socket.write(upgrade());
  });
  return socket;
}

/** One visitor requests a large body and never reads it; the result is the speed of another visitor at the same time. */
async function stalledBesideFast(): Promise<Result> {
  const stalled = await open();
  stalled.write(`GET /bulk/${1024 ** 3} HTTP/1.1\r\nHost: ${target.host}\r\n${nextCookie()}\r\n`);
  stalled.pause();
  const fast = await bulk(downloadOnce);
  stalled.destroy();
  return fast;
}

const run = workloads[workload];
if (run === undefined) throw new Error(`unknown workload '${workload}': ${Object.keys(workloads).join(', ')}`);
process.stdout.write(`${JSON.stringify(await run())}\n`);
process.exit(0);
