// The mixed traffic of a long run: an upstream, and one function for each kind of visit. A function throws unless its visitor
// gets exactly what the upstream sends.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type Door, getRequest, openVisitor, say, visit } from '@underpass/tests/helpers/visitor.ts';

const uploadBytes = 1_000_000;
const events = 5;
const eventPauseMs = 200;
const framesPerSocket = 5;
const framePauseMs = 200;
const streamsPerConnection = 20;
const streamPauseMs = 50;
const answerTimeoutMs = 30_000;

const sleep = (forMs: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, forMs));

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'POST') {
    let bytes = 0;
    for await (const chunk of request) bytes += chunk.length;
    response.end(`${bytes} bytes`);
  } else if (request.url === '/events') {
    response.setHeader('Content-Type', 'text/event-stream');
    for (let event = 1; event <= events && !response.destroyed; event++) {
      response.write(`data: ${event}\n\n`);
      await sleep(eventPauseMs);
    }
    response.end();
  } else response.end('served');
}

/** The key of RFC 6455 1.3 and its answer. */
const upgradeHead = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const upgradeKey = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';
const switching = `HTTP/1.1 101 Switching Protocols\r\n${upgradeHead}Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n`;
/** A text frame of four characters, masked with zeroes; the upstream sends it back without the mask. */
const frameOf = (text: string): string => `\x81\x84\0\0\0\0${text}`;
const frameBytes = 10;
const switchedLine = 'HTTP/1.1 101 ';

export async function startMixedUpstream(t: TestContext): Promise<string> {
  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.on('upgrade', (_, socket) => {
    socket.on('error', () => {});
    // Node leaves an upgraded socket half open; a client that stops would wait for it.
    socket.on('end', () => socket.end());
    socket.on('data', (frame: Buffer) => {
      if (frame.length === frameBytes) socket.write(Buffer.concat([Buffer.from([0x81, 4]), frame.subarray(6)]));
      else socket.destroy();
    });
    socket.write(switching);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export interface Kind {
  readonly name: string;
  readonly pauseMs: number;
  readonly run: (door: Door) => Promise<void>;
}

/** Each visit opens a connection of its own. */
export const kinds: readonly Kind[] = [
  { name: 'small HTTP/1.1', pauseMs: 40, run: visitOnce },
  { name: 'small HTTP/2', pauseMs: 100, run: visitStreams },
  { name: 'WebSocket', pauseMs: 100, run: talk },
  { name: 'upload of 1 MB', pauseMs: 1_000, run: upload },
  { name: 'server-sent events', pauseMs: 100, run: listen },
];

function expectText(got: string, wanted: string): void {
  if (got !== wanted) throw new Error(`${JSON.stringify(got.slice(0, 300))} instead of ${JSON.stringify(wanted)}`);
}

/** Expects status 200 and exactly this body, whole or in chunks (RFC 9112 7.1). */
function expectAnswer(text: string, body: string): void {
  const bodyAt = text.indexOf('\r\n\r\n') + 4;
  const head = text.slice(0, bodyAt);
  if (!head.startsWith('HTTP/1.1 200 ')) throw new Error(`no status 200 in ${JSON.stringify(text.slice(0, 300))}`);
  const rest = text.slice(bodyAt);
  expectText(/^transfer-encoding: chunked\r$/im.test(head) ? joinChunks(rest) : rest, body);
}

function joinChunks(text: string): string {
  let body = '';
  for (let at = 0; ; ) {
    const lineEnd = text.indexOf('\r\n', at);
    const chars = Number.parseInt(text.slice(at, lineEnd), 16);
    if (lineEnd < 0 || !(chars >= 0)) throw new Error(`the body ends early, after ${JSON.stringify(body.slice(-100))}`);
    if (chars === 0) return body;
    body += text.slice(lineEnd + 2, lineEnd + 2 + chars);
    at = lineEnd + 2 + chars + 2;
  }
}

async function visitOnce(door: Door): Promise<void> {
  expectAnswer((await visit(door)).text, 'served');
}

async function upload(door: Door): Promise<void> {
  const head = `POST / HTTP/1.1\r\nHost: ${door.host}:${door.port}\r\nConnection: close\r\nContent-Length: ${uploadBytes}\r\n\r\n`;
  expectAnswer(await say(door, head + 'u'.repeat(uploadBytes)), `${uploadBytes} bytes`);
}

async function listen(door: Door): Promise<void> {
  const text = await say(door, getRequest(door, '/events'));
  expectAnswer(text, Array.from({ length: events }, (_, index) => `data: ${index + 1}\n\n`).join(''));
}

export interface WebSocketTalk {
  /** Sends four characters and resolves once they come back. */
  echo(text: string): Promise<void>;
  close(): void;
}

/** Opens a WebSocket through the tunnel; rejects unless the upstream accepts it. */
export async function openWebSocket(door: Door): Promise<WebSocketTalk> {
  const socket = await openVisitor(door);
  let heard = '';
  const ended = once(socket, 'close').then(() => Promise.reject(new Error('the connection ended early')));
  ended.catch(() => {});
  const hear = async (until: (text: string) => boolean): Promise<string> => {
    while (!until(heard)) {
      const [chunk] = await Promise.race([once(socket, 'data'), ended]);
      heard += chunk.toString('latin1');
    }
    const all = heard;
    heard = '';
    return all;
  };
  const close = (): void => void socket.destroy();
  socket.write(`GET /socket HTTP/1.1\r\nHost: ${door.host}:${door.port}\r\n${upgradeHead}${upgradeKey}\r\n`);
  await hear((text) => text.includes('\r\n\r\n'))
    .then((head) => expectText(head.slice(0, switchedLine.length), switchedLine))
    .catch((error) => {
      close();
      throw error;
    });
  return {
    echo: async (text) => {
      const wanted = `\x81\x04${text}`;
      socket.write(frameOf(text), 'latin1');
      expectText(await hear((all) => all.length >= wanted.length), wanted);
    },
    close,
  };
}

async function talk(door: Door): Promise<void> {
  const socket = await openWebSocket(door);
  try {
    for (let frame = 0; frame < framesPerSocket; frame++) {
      await socket.echo(String(1_000 + frame));
      await sleep(framePauseMs);
    }
  } finally {
    socket.close();
  }
}

/** Stops early if the edge asks for it, as a browser does. */
async function visitStreams({ port, host, caPem }: Door): Promise<void> {
  const connection = connect(`https://127.0.0.1:${port}`, { ca: caPem, servername: host });
  let failure: Error | undefined;
  connection.on('error', (error) => {
    failure = error;
  });
  connection.setTimeout(answerTimeoutMs, () => connection.destroy(new Error('the edge was silent')));
  try {
    for (let stream = 0; stream < streamsPerConnection && !(connection.closed || connection.destroyed); stream++) {
      const request = connection.request({ ':path': '/', ':authority': `${host}:${port}` });
      let status = 0;
      request.once('response', (head) => {
        status = head[':status'] ?? 0;
      });
      let text = '';
      for await (const chunk of request.setEncoding('utf8')) text += chunk;
      expectText(`${status} ${text}`, '200 served');
      await sleep(streamPauseMs);
    }
    if (failure !== undefined) throw failure;
  } finally {
    connection.destroy();
  }
}
