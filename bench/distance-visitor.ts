// The visitors of a long path: one process, one workload, one line of JSON as its result. Times begin before the first connection.
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './core/table.ts';
import { onResponses, open, openHttp2, openTls, type Result, target, visit } from './visitor.ts';

const headOf = (method: string, path: string, length = 0): string =>
  `${method} ${path} HTTP/1.1\r\nHost: ${target.host}\r\nUser-Agent: bench\r\nContent-Length: ${length}\r\n\r\n`;

/** A page as browsers load it: 40 files, over six connections or as streams of one. */
const files = 40;
const fileBytes = 30_000;
const browserConnections = 6;

async function page(): Promise<Result> {
  const started = performance.now();
  await (target.http2 ? pageOverHttp2() : pageOverHttp1());
  return { ms: performance.now() - started };
}

async function pageOverHttp1(): Promise<void> {
  let left = files;
  const connection = async (): Promise<void> => {
    const socket = await open();
    while (left-- > 0) await ask(socket, headOf('GET', `/bulk/${fileBytes}`));
    socket.destroy();
  };
  await Promise.all(Array.from({ length: browserConnections }, connection));
}

/** One request, and its whole answer. */
function ask(socket: Socket, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const closed = (): void => reject(new Error('closed early'));
    socket.once('close', closed);
    const stop = onResponses(socket, () => {
      stop();
      socket.off('close', closed);
      resolve();
    });
    socket.write(request);
  });
}

async function pageOverHttp2(): Promise<void> {
  const session = await openHttp2();
  await Promise.all(Array.from({ length: files }, () => receive(askHttp2(session, 'GET', `/bulk/${fileBytes}`), fileBytes)));
  session.destroy();
}

const askHttp2 = (session: ClientHttp2Session, method: string, path: string, length = 0): Duplex =>
  session.request(
    { ':method': method, ':path': path, ':authority': target.host, ...(length > 0 ? { 'content-length': length } : {}) },
    { endStream: length === 0 },
  );

/** Resolves after this number of bytes. */
function receive(stream: Duplex, bytes: number, arrived: (bytes: number) => void = () => {}): Promise<void> {
  return new Promise((resolve, reject) => {
    let got = 0;
    stream.once('error', reject);
    stream.once('close', () => (got < bytes ? reject(new Error(`closed after ${got} of ${bytes} bytes`)) : resolve()));
    stream.on('data', (chunk: Buffer) => {
      got += chunk.length;
      arrived(chunk.length);
      if (got >= bytes) resolve();
    });
  });
}

/** Downloads until everything has arrived or the time is over: slow start counts, as it does for a visitor. */
async function down(): Promise<Result> {
  const started = performance.now();
  let bytes = 0;
  const count = (more: number): void => {
    bytes += more;
  };
  const streams = await begin('GET', `/bulk/${target.bytes}`, 0);
  await withinTime(streams.map((stream) => receive(stream, target.bytes, count)));
  return { bytes, seconds: (performance.now() - started) / 1000 };
}

const uploadBlock = Buffer.alloc(64 * 1024, 'u');

/** The origin knows how many bytes have arrived. */
async function up(): Promise<Result> {
  const started = performance.now();
  const streams = await begin('POST', '/sink', target.bytes);
  await withinTime(streams.map(upload));
  return { seconds: (performance.now() - started) / 1000 };
}

async function upload(stream: Duplex): Promise<void> {
  const answered = receive(stream, 1);
  answered.catch(() => {});
  for (let left = target.bytes; left > 0; left -= uploadBlock.length) {
    if (!stream.write(left >= uploadBlock.length ? uploadBlock : uploadBlock.subarray(0, left))) await once(stream, 'drain');
  }
  await answered;
}

async function withinTime(all: readonly Promise<void>[]): Promise<void> {
  await Promise.race([sleep(target.seconds * 1000), Promise.all(all)]);
}

async function begin(method: string, path: string, length: number): Promise<readonly Duplex[]> {
  if (target.http2) {
    const session = await openHttp2();
    return Array.from({ length: target.connections }, () => askHttp2(session, method, path, length));
  }
  const sockets = await Promise.all(Array.from({ length: target.connections }, open));
  for (const socket of sockets) socket.write(headOf(method, path, length));
  return sockets;
}

/** A call begins every 40 ms, whether the earlier ones have been answered or not, on a connection that waits for nothing. */
const callEveryMs = 40;
/** The download has filled the path by then. */
const filledAfterMs = 1_000;
/** The time of a call that is never answered. */
const callAtMostMs = 10_000;

async function api(): Promise<Result> {
  const idle: Socket[] = await Promise.all(Array.from({ length: 4 }, open));
  for (const socket of idle) await ask(socket, headOf('GET', '/small'));
  const rest = await calls(idle, target.seconds);
  const download = await open();
  download.write(headOf('GET', `/bulk/${1024 ** 4}`));
  download.resume();
  await sleep(filledAfterMs);
  const beside = await calls(idle, target.seconds);
  return { restP50: median(rest), restP99: last(rest), besideP50: median(beside), besideP99: last(beside) };
}

async function calls(idle: Socket[], seconds: number): Promise<readonly number[]> {
  const all: Promise<number>[] = [];
  for (const until = performance.now() + seconds * 1000; performance.now() < until; await sleep(callEveryMs)) {
    const started = performance.now();
    const call = async (): Promise<number> => {
      const socket = idle.pop() ?? (await open());
      await ask(socket, headOf('GET', '/small'));
      idle.push(socket);
      return performance.now() - started;
    };
    all.push(Promise.race([call(), sleep(callAtMostMs, callAtMostMs)]));
  }
  return (await Promise.all(all)).sort((a, b) => a - b);
}

const last = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;

/** Visits in turn by someone who was never here, and by someone who brings the ticket of an earlier visit. */
const visits = 10;

async function firstByte(): Promise<Result> {
  const times: Record<'fresh' | 'back', number[]> = { fresh: [], back: [] };
  let { ticket } = await firstByteOf(undefined);
  let resumed = 0;
  for (let at = 0; at < visits; at++) {
    times.fresh.push((await firstByteOf(undefined)).ms);
    const back = await firstByteOf(ticket);
    times.back.push(back.ms);
    ticket = back.ticket ?? ticket;
    resumed += Number(back.resumed);
  }
  return { fresh: median(times.fresh), back: median(times.back), resumed: resumed / visits };
}

async function firstByteOf(session: Buffer | undefined): Promise<{ ms: number; ticket: Buffer | undefined; resumed: boolean }> {
  const started = performance.now();
  const socket = openTls('http/1.1', session === undefined ? {} : { session });
  let ticket: Buffer | undefined;
  socket.on('session', (given: Buffer) => (ticket = given));
  await once(socket, 'secureConnect');
  await ask(socket, headOf('GET', '/small'));
  const ms = performance.now() - started;
  const resumed = socket.isSessionReused();
  socket.destroy();
  return { ms, ticket, resumed };
}

await visit({ page, down, up, api, 'first-byte': firstByte });
