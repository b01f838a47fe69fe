// A page with a WebSocket and server-sent events in a real Chromium, through an http tunnel.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { expect, launchChromium } from '../helpers/browser.ts';
import { connectClient } from '../helpers/dashboard.ts';
import { startProduct, tunnelCreated } from '../helpers/product.ts';

const page = `<!doctype html><title>tunnelled</title><p id="socket">waiting</p><p id="events">waiting</p><script>
const show = (id, text) => { document.getElementById(id).textContent = text; };
const socket = new WebSocket('wss://' + location.host + '/socket');
socket.onopen = () => socket.send('over the tunnel');
socket.onmessage = (message) => show('socket', message.data);
const events = new EventSource('/events');
events.onmessage = (event) => show('events', event.data);
</script>`;

/** RFC 6455 1.3 */
const accept = (key: string): string => createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/** Answers each short text frame with its text in capitals; the frame is masked, as a browser's must be. */
function answerFrames(socket: Duplex): void {
  socket.on('data', (frame: Buffer) => {
    if ((frame[0]! & 0x0f) !== 1) return void socket.end();
    const length = frame[1]! & 0x7f;
    const text = Buffer.from(frame.subarray(6, 6 + length).map((byte, index) => byte ^ frame[2 + (index % 4)]!));
    const answer = Buffer.from(text.toString().toUpperCase());
    socket.write(Buffer.concat([Buffer.from([0x81, answer.length]), answer]));
  });
}

async function startUpstream(t: TestContext): Promise<string> {
  const open = new Set<Duplex>();
  const server = createServer((request, response) => {
    if (request.url !== '/events') return void response.setHeader('Content-Type', 'text/html').end(page);
    response.setHeader('Content-Type', 'text/event-stream').write('data: the first event\n\n');
    open.add(request.socket);
  });
  server.on('upgrade', (request, socket) => {
    const key = accept(request.headers['sec-websocket-key'] ?? '');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
    );
    open.add(socket);
    // A closing browser resets its connection, and the edge passes the reset on.
    socket.on('error', () => {});
    answerFrames(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('an http tunnel carries WebSockets and delivers server-sent events at once', async (t) => {
  const product = await startProduct(t);
  const account = await product.signIn();
  const tunnel = await tunnelCreated(account, 'first');
  await connectClient(t, tunnel, await startUpstream(t));
  const browser = await launchChromium();
  t.after(() => browser.close());
  const visitor = await browser.newPage({ ignoreHTTPSErrors: true });
  await visitor.goto(tunnel.ingressDomains[0]!.url);
  await expect(visitor).toHaveTitle('tunnelled');
  await expect(visitor.locator('#socket')).toHaveText('OVER THE TUNNEL');
  await expect(visitor.locator('#events')).toHaveText('the first event');
  // The page and its events use HTTP/2. The edge does not offer RFC 8441, so the browser opens a second connection for the socket.
  const protocol = await visitor.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol");
  assert.equal(protocol, 'h2');
});
