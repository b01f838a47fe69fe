// The visitor side of a benchmark: one process, one workload, one line of JSON as its result.
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { median } from './core/table.ts';
import { onResponses, open, type Result, target, visit } from './visitor.ts';

const workloads: Record<string, () => Promise<Result>> = {
  small: () => keepAlive(target.connections),
  turns,
  latency: () => keepAlive(1),
  connect: newConnections,
  down: () => bulk(downloadOnce),
  up: () => bulk(uploadOnce),
  idle: idleWebSockets,
  stalled: stalledBesideFast,
};

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

await visit(workloads);
