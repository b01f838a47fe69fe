// A page with a WebSocket and server-sent events in a real Chromium, through an http tunnel to a server that listens nowhere.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { test } from 'node:test';
import { listen } from '@underpass/client/library/library.ts';
import { expect, launchChromium } from '../helpers/browser.ts';
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

function createPage(): Server {
  const server = createServer((request, response) => {
    if (request.url !== '/events') return void response.setHeader('Content-Type', 'text/html').end(page);
    response.setHeader('Content-Type', 'text/event-stream').write('data: the first event\n\n');
  });
  server.on('upgrade', (request, socket) => {
    const key = accept(request.headers['sec-websocket-key'] ?? '');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
    );
    // A closing browser resets its connection, and the edge passes the reset on.
    socket.on('error', () => {});
    answerFrames(socket);
  });
  return server;
}

test('an http tunnel carries WebSockets and delivers server-sent events at once', async (t) => {
  const product = await startProduct(t);
  const account = await product.signIn();
  const { url, token = '' } = await tunnelCreated(account, 'first');
  const browser = await launchChromium();
  t.after(() => browser.close());
  const tunnel = await listen(createPage(), { url, token });
  t.after(() => tunnel.close());
  const visitor = await browser.newPage({ ignoreHTTPSErrors: true });
  await visitor.goto(tunnel.url);
  await expect(visitor).toHaveTitle('tunnelled');
  await expect(visitor.locator('#socket')).toHaveText('OVER THE TUNNEL');
  await expect(visitor.locator('#events')).toHaveText('the first event');
  // The page and its events use HTTP/2. The edge does not offer RFC 8441, so the browser opens a second connection for the socket.
  const protocol = await visitor.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol");
  assert.equal(protocol, 'h2');
});
