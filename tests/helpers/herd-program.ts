// A program: thousands of light clients with one carrier each. TLS, the upgrade, the protocol and the back-off are those of
// the real client. The parent process sends its part of the herd, then asks for its status.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ConnectionOptions, connect, createSecureContext } from 'node:tls';
import type { Carrier } from '@underpass/client/carry/carrier.ts';
import { CarryError } from '@underpass/client/carry/problem.ts';
import { ReconnectingCarrier } from '@underpass/client/carry/reconnecting-carrier.ts';
import type { Stream } from '@underpass/wire/api.ts';
import { realClock } from '@underpass/wire/clock.ts';
import { carrierPath, carrierProtocol, clientIdHeader, edgeHeader, softwareHeader } from '@underpass/wire/core/upgrade.ts';
import { requestUpgrade } from '@underpass/wire/handshake.ts';
import { createSession } from '@underpass/wire/session/session.ts';
import type { HerdPart, HerdStatus } from './herd.ts';

const stepTimeoutMs = 10_000;

let held = 0;
let dials = 0;
let waitsMs: number[] = [];

/** An edge limits connections by address, so the clients use many addresses. */
const addressOf = (index: number): string => `127.1.${index % 250}.${1 + (Math.floor(index / 250) % 250)}`;

async function dial(part: HerdPart, context: ReturnType<typeof createSecureContext>, index: number): Promise<Carrier> {
  const { port, host } = part;
  dials++;
  const from = { localAddress: addressOf(index) } as ConnectionOptions;
  const socket = connect({ ...from, host: '127.0.0.1', port, servername: host, secureContext: context });
  socket.on('error', () => {});
  const timer = setTimeout(() => socket.destroy(new Error('late')), stepTimeoutMs);
  try {
    await once(socket, 'secureConnect');
    const headers = {
      [clientIdHeader]: createHash('md5').update(`client ${index}`).digest('hex'),
      [softwareHeader]: 'underpass/0.0.0',
    };
    const token = part.tokens[index % part.tokens.length] ?? '';
    const upgrade = { host, path: carrierPath, protocol: carrierProtocol, token, headers, timeoutMs: stepTimeoutMs };
    const answered = await requestUpgrade(socket, upgrade);
    const session = createSession(socket, { side: 'dialer', peerMayOpen: true, info: {} });
    const edge = answered.get(edgeHeader) ?? '';
    if (part.answers === true) session.onStream = answer;
    const carrier: Carrier = { session, edge, address: '127.0.0.1', sinceMs: 0, onEnd: () => {} };
    return await new Promise((resolve, reject) => {
      session.onProof = () => resolve(carrier);
      session.onClose = (end) => {
        reject(new CarryError('connection-lost', end.code));
        carrier.onEnd(end);
      };
    });
  } catch (error) {
    socket.destroy();
    throw new CarryError('edge-unreachable', String(error));
  } finally {
    clearTimeout(timer);
  }
}

const switching = Buffer.from(
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n',
);

/** The first bytes are the head of a visitor's request, in one piece. */
function answer(stream: Stream): void {
  stream.accept();
  stream.onData = (head) => {
    stream.consume(head.length);
    stream.write(switching);
    stream.onData = (bytes) => {
      stream.write(bytes);
      stream.consume(bytes.length);
    };
  };
  stream.onEnd = () => stream.end();
}

function start(part: HerdPart): void {
  const context = createSecureContext({ ca: part.caPem });
  for (let index = part.from; index < part.to; index++) {
    const slot = new ReconnectingCarrier({
      clock: realClock,
      random: Math.random,
      dial: () => dial(part, context, index),
      isDuplicate: () => false,
      onConnected: () => void held++,
      onDisconnected: () => void held--,
      onFailed: (_, retryMs) => void waitsMs.push(retryMs),
    });
    // The test is about reconnecting: spread the first connections, 500 a second for each process.
    setTimeout(() => slot.start(), (index - part.from) * 2);
  }
}

process.on('message', (message: HerdPart | 'status') => {
  if (message !== 'status') return start(message);
  const status: HerdStatus = { held, dials, waitsMs };
  process.send?.(status);
  waitsMs = [];
});
process.on('disconnect', () => process.exit(0));
