// Visitors of the dashboard: the PROXY header to control, bytes in both directions, and a control that is down.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { duplexPair } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { peekProxyHeader } from '../core/proxy-protocol.ts';
import { DashboardHost } from './dashboard-host.ts';

/** A pipe on this machine that accepts no bytes for this long is full. */
const stillMs = 300;

const ends = { sourceAddress: '203.0.113.9', sourcePort: 40_000, destinationAddress: '192.0.2.1', destinationPort: 443 };

describe('a visitor of the dashboard', () => {
  let folder: string;
  let path: string;
  let control: Server;
  let arrived: Promise<Socket>;
  const open: Socket[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'underpass-dashboard-test-'));
    path = join(folder, 'socket');
    control = createServer({ allowHalfOpen: true });
    control.on('connection', (socket) => open.push(socket));
    control.listen(path);
    await once(control, 'listening');
  });
  after(async () => {
    for (const socket of open) socket.destroy();
    control.close();
    await rm(folder, { recursive: true });
  });

  /** The visitor's end of the pipe; the edge holds the other. */
  const visit = (to = path) => {
    const [visitor, held] = duplexPair();
    // The parts of a TLS socket that DashboardHost uses, over a pipe.
    const socket = Object.assign(held, { setTimeout: () => held }) as unknown as TLSSocket;
    arrived = once(control, 'connection').then(([each]) => each as Socket);
    new DashboardHost({ host: 'dashboard.example.com', path: to }).receive(socket, ends);
    return visitor;
  };

  test('reaches control with its address in front of its unchanged bytes', async () => {
    const visitor = visit();
    visitor.write('GET / HTTP/1.1\r\n\r\n');
    let bytes = Buffer.alloc(0);
    for await (const chunk of (await arrived).iterator({ destroyOnReturn: false })) {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.includes('\r\n\r\nGET') || bytes.includes('GET / HTTP/1.1\r\n\r\n')) break;
    }
    const peek = peekProxyHeader(bytes);
    assert.ok(peek.kind === 'header');
    assert.deepEqual(peek.ends, ends);
    assert.equal(bytes.subarray(peek.bytes).toString(), 'GET / HTTP/1.1\r\n\r\n');
  });

  test('gets the answer of control and the end of the connection', async () => {
    const visitor = visit();
    const socket = await arrived;
    socket.end('HTTP/1.1 204 No Content\r\n\r\n');
    let text = '';
    for await (const chunk of visitor) text += chunk;
    assert.equal(text, 'HTTP/1.1 204 No Content\r\n\r\n');
  });

  test('closes the connection to control when it leaves', async () => {
    const visitor = visit();
    const socket = await arrived;
    const closed = once(socket.resume(), 'close');
    visitor.end();
    socket.end();
    await closed;
  });

  test('gets an error page when control does not answer', async () => {
    const visitor = visit(join(folder, 'absent'));
    let text = '';
    for await (const chunk of visitor) text += chunk;
    assert.match(text, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
    const [head = '', body = ''] = text.split('\r\n\r\n');
    assert.equal(Number(/content-length: (\d+)/.exec(head)?.[1]), body.length);
  });

  test('holds back control when it reads nothing, without filling the memory of the edge', async () => {
    visit();
    const socket = await arrived;
    const block = Buffer.alloc(64 * 1024);
    let sent = 0;
    const moves = () => Promise.race([once(socket, 'drain').then(() => true), delay(stillMs, false)]);
    while (sent < 64 * 1024 * 1024 && (socket.write(block) || (await moves()))) sent += block.length;
    assert.ok(sent < 8 * 1024 * 1024, `${sent} bytes were taken`);
  });
});
