// Two gigabytes down and two up through the whole product: every byte arrives, and memory stays bounded.
import assert from 'node:assert/strict';
import { createHash, type Hash } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type TestContext, test } from 'node:test';
import { peakBytes, resetPeak, type StartedServer, startClientProcess, startServerProcess } from '../helpers/process.ts';

const totalBytes = 2 * 1024 ** 3;
const blockBytes = 1024 ** 2;
/** Room for windows, socket buffers and uncollected garbage. Buffering one fiftieth of the file would exceed it. */
const growthBytes = 160 * 1024 ** 2;

/** Numbered blocks: a lost, doubled or moved block changes the hash. */
function* blocks(): Generator<Buffer> {
  const block = Buffer.alloc(blockBytes, 'underpass');
  for (let number = 0; number * blockBytes < totalBytes; number++) {
    const numbered = Buffer.from(block);
    numbered.writeUInt32BE(number);
    yield numbered;
  }
}

function expectedHash(): string {
  const hash = createHash('sha256');
  for (const block of blocks()) hash.update(block);
  return hash.digest('hex');
}

async function hashOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const hash: Hash = createHash('sha256');
  for await (const chunk of stream) hash.update(chunk);
  return hash.digest('hex');
}

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') return void response.end(await hashOf(request));
    response.setHeader('Content-Length', totalBytes);
    await pipeline(Readable.from(blocks()), response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function visit({ tunnel, caPem }: StartedServer, method: string, body?: Readable): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const url = new URL(tunnel.publicUrl);
    const headers = { Host: url.host, ...(body === undefined ? {} : { 'Content-Length': totalBytes }) };
    const options = {
      host: '127.0.0.1',
      port: url.port,
      servername: url.hostname,
      ca: caPem,
      method,
      headers,
      agent: false as const,
    };
    const asked = request(options, resolve).on('error', reject);
    if (body === undefined) asked.end();
    else pipeline(body, asked).catch(reject);
  });
}

test('two gigabytes arrive intact in both directions, in bounded memory', async (t) => {
  const product = await startServerProcess(t);
  const client = await startClientProcess(t, product, await startUpstream(t));
  const expected = expectedHash();
  const pids = { server: product.server.pid, client: client.pid };

  const ways = {
    down: async () => hashOf(await visit(product, 'GET')),
    up: async () => Buffer.concat(await (await visit(product, 'POST', Readable.from(blocks()))).toArray()).toString(),
  };
  for (const [way, run] of Object.entries(ways)) {
    for (const pid of Object.values(pids)) await resetPeak(pid);
    const before = await Promise.all(Object.values(pids).map(peakBytes));
    const started = performance.now();
    assert.equal(await run(), expected, `${way}: bytes differ`);
    const seconds = (performance.now() - started) / 1000;
    const after = await Promise.all(Object.values(pids).map(peakBytes));
    for (const [index, name] of Object.keys(pids).entries()) {
      const grown = after[index]! - before[index]!;
      t.diagnostic(
        `${way}: ${seconds.toFixed(1)} s; ${name} peaked ${(grown / 1e6).toFixed(0)} MB above ${(before[index]! / 1e6).toFixed(0)} MB`,
      );
      assert.ok(grown < growthBytes, `${way}: ${name} grew by ${grown} bytes`);
    }
  }
});
