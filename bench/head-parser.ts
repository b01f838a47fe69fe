// Measures reading and rebuilding a request head, against Node's parser alone and Node's server on the same in-memory pair.
// CPU of this process per head, medians of interleaved rounds; quote the ratios. Run: node bench/head-parser.ts

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { type Duplex, duplexPair } from 'node:stream';
import { buildRequest, renderIdentity } from '@underpass/edge/core/forwarded-head.ts';
import { RequestHead } from '@underpass/wire/http/request-head.ts';
import { median } from './core/table.ts';

interface NodeParser {
  initialize(type: number, resource: object): void;
  execute(bytes: Buffer): number;
  [callback: number]: unknown;
}

// Read only to be measured: this module is not public.
const { HTTPParser } = createRequire(import.meta.url)('_http_common') as {
  HTTPParser: { new (): NodeParser; readonly REQUEST: number; readonly kOnHeadersComplete: number };
};

const rounds = 7;
const identity = Buffer.from(
  renderIdentity({ address: '203.0.113.9', proto: 'https', authority: 'app.example.com', version: '1.1' }),
);
const answer = Buffer.from(
  'HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 00:00:00 GMT\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n',
);

const heads: Readonly<Record<string, string>> = {
  small: 'GET /small HTTP/1.1\r\nHost: app.example.com\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n',
  browser:
    'GET /articles/2026/11/some-page?utm=abc&x=1 HTTP/1.1\r\nHost: app.example.com\r\n' +
    'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36\r\n' +
    'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n' +
    'Accept-Language: en-GB,en;q=0.9\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\n' +
    'Referer: https://app.example.com/\r\nCookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=1\r\n' +
    'Upgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n' +
    'Sec-Fetch-Site: same-origin\r\nCache-Control: max-age=0\r\n\r\n',
};

function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function repeat(count: number, task: () => void): number {
  const before = cpuMicroseconds();
  for (let i = 0; i < count; i++) task();
  return (cpuMicroseconds() - before) / count;
}

const head = new RequestHead();

function scan(bytes: Buffer): number {
  head.reset();
  return head.scan(bytes, 0, bytes.length);
}

/** Sends the next request as soon as an answer arrives. */
async function askInTurn(near: Duplex, bytes: Buffer, count: number): Promise<number> {
  const before = cpuMicroseconds();
  let answered = 0;
  await new Promise<void>((resolve) => {
    near.on('data', () => {
      if (++answered === count) resolve();
      else near.write(bytes);
    });
    near.write(bytes);
  });
  near.destroy();
  return (cpuMicroseconds() - before) / count;
}

function askOurs(bytes: Buffer, count: number): Promise<number> {
  const [near, far] = duplexPair();
  far.on('data', (chunk: Buffer) => {
    buildRequest(head, chunk, scan(chunk), identity, false);
    far.write(answer);
  });
  return askInTurn(near, bytes, count);
}

function askNode(bytes: Buffer, count: number): Promise<number> {
  const [near, far] = duplexPair();
  createServer((_, response) => response.end()).emit('connection', far);
  return askInTurn(near, bytes, count);
}

function createNodeParser(): NodeParser {
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {});
  // Without this callback the parser never delivers names and values.
  parser[HTTPParser.kOnHeadersComplete] = () => 0;
  return parser;
}

for (const [name, text] of Object.entries(heads)) {
  const bytes = Buffer.from(text);
  const parser = createNodeParser();
  const columns: Record<string, () => number | Promise<number>> = {
    'our scan': () => repeat(100_000, () => void scan(bytes)),
    'our scan and rebuild': () => repeat(100_000, () => void buildRequest(head, bytes, scan(bytes), identity, false)),
    "Node's parser": () => repeat(100_000, () => void parser.execute(bytes)),
    'ours on a pair': () => askOurs(bytes, 20_000),
    "Node's server on a pair": () => askNode(bytes, 20_000),
  };
  const times = new Map<string, number[]>(Object.keys(columns).map((column) => [column, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [column, measure] of Object.entries(columns)) times.get(column)?.push(await measure());
  }
  console.log(`${name}, ${bytes.length} bytes:`);
  for (const [column, values] of times) console.log(`  ${column.padEnd(24)} ${median(values).toFixed(2)} µs`);
}
