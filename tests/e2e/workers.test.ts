// The server as a process with two edge workers: visitors of either worker reach a client that is connected to one of them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { type StartedServer, startClientProcess, startServerProcess } from '../helpers/process.ts';

const workers = 2;

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    // Send the length, so that the body is not chunked.
    response.setHeader('content-length', request.headers['content-length'] ?? '0');
    request.pipe(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The child processes of `parent` (proc(5), stat). */
async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const parents = await Promise.all(
    pids.map(async (pid) => Number(/\) \S (\d+)/.exec(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''))?.[1])),
  );
  return pids.filter((_, index) => parents[index] === parent);
}

/** The inodes of a process's sockets. */
async function socketsOf(pid: number): Promise<ReadonlySet<string>> {
  const names = await readdir(`/proc/${pid}/fd`);
  const links = await Promise.all(names.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
  return new Set(links.map((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? '').filter((inode) => inode !== ''));
}

/** The inodes of the server's ends of its connections, by the visitor's port (proc(5), net/tcp). */
async function inodesOf(serverPort: number): Promise<ReadonlyMap<number, string>> {
  const own = `:${serverPort.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  const ends = lines.filter(([, local = '']) => local.endsWith(own));
  return new Map(ends.map((fields) => [Number.parseInt(fields[2]?.split(':')[1] ?? '', 16), fields[9] ?? '']));
}

/** Which process holds the server's end of each connection. /proc may skip lines that change during a read, so read until all are found. */
async function ownersOf(pids: readonly number[], serverPort: number, visitorPorts: readonly number[]): Promise<number[]> {
  const owners = new Map<number, number>();
  while (owners.size < visitorPorts.length) {
    const inodes = await inodesOf(serverPort);
    for (const pid of pids) {
      const held = await socketsOf(pid);
      for (const port of visitorPorts) if (held.has(inodes.get(port) ?? '')) owners.set(port, pid);
    }
  }
  return [...owners.values()];
}

async function openVisitor(t: TestContext, { ports, tunnel, caPem }: StartedServer): Promise<TLSSocket> {
  const host = new URL(tunnel.publicUrl).hostname;
  const socket = connect({ host: '127.0.0.1', port: ports.https, ca: caPem, servername: host, ALPNProtocols: ['http/1.1'] });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** Sends one request on a connection that stays open; the upstream echoes its body. */
function exchange(socket: TLSSocket, host: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const read = (chunk: Buffer): void => {
      text += chunk;
      if (!text.includes(body)) return;
      socket.off('data', read).off('error', reject).off('close', closed);
      resolve(text);
    };
    const closed = (): void => reject(new Error(`the edge ended the connection after "${text.slice(0, 200)}"`));
    socket.on('data', read).on('error', reject).on('close', closed);
    // On a socket that is already closed, only this callback reports the error.
    const written = (error?: Error | null): void => void (error && reject(error));
    socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`, written);
  });
}

test('two workers share the port, and both pass visitors to the same client', async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux lets several processes share a port');
  const product = await startServerProcess(t, { UNDERPASS_EDGE_WORKERS: String(workers), UNDERPASS_LOG: 'info' });
  let logged = '';
  product.server.child.stdout?.on('data', (data: Buffer) => {
    logged += data;
  });
  const pids = await childrenOf(product.server.pid);
  assert.equal(pids.length, workers);
  await startClientProcess(t, product, await startUpstream(t));

  const host = new URL(product.tunnel.publicUrl).hostname;
  // The kernel distributes connections by a hash of their ports: with 40, the chance that a worker gets none is 1 in 2^39.
  const visitors = await Promise.all(Array.from({ length: 40 }, () => openVisitor(t, product)));
  const first = await Promise.all(
    visitors.map((visitor, number) => exchange(visitor, host, `visitor ${number} ${'x'.repeat(5_000)}`)),
  );
  for (const answer of first) assert.match(answer, /^HTTP\/1\.1 200 /);
  const visitorPorts = visitors.map(({ localPort }) => localPort ?? 0);
  const owners = Map.groupBy(await ownersOf(pids, product.ports.https, visitorPorts), (pid) => pid);
  const taken = new Map(pids.map((pid) => [pid, owners.get(pid)?.length ?? 0]));
  t.diagnostic(`visitors by worker: ${[...taken.values()].join(', ')}`);
  for (const [pid, count] of taken) assert.ok(count > 0, `worker ${pid} got no visitor`);

  // All connections stay open and work at the same time.
  const answers = await Promise.all(
    visitors.map((visitor, number) => exchange(visitor, host, `again ${number} ${'y'.repeat(20_000)}`)),
  );
  assert.ok(answers.every((answer) => answer.startsWith('HTTP/1.1 200 ')));

  for (const visitor of visitors) visitor.destroy();
  const started = performance.now();
  await product.server.end();
  const seconds = (performance.now() - started) / 1000;
  t.diagnostic(`stopped in ${seconds.toFixed(1)} s`);
  assert.ok(seconds < 20, 'the workers do not wait for each other');
  assert.deepEqual(await childrenOf(product.server.pid), [], 'no worker outlives the server');
  assert.match(product.server.text(), /"worker":/);
  assert.equal(logged, '', 'the log is on standard error');
});
