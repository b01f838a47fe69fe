// A path that gets longer under a living carrier: another route, another uplink behind the same address.
// Two sessions of the wire over a relay that delays. What counts is counted in pings and in bytes, never in seconds.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import type { Session, Stream } from '@underpass/wire/api.ts';
import { testRequest } from '@underpass/wire/fixture/sessions.ts';
import { createSession, defaultLimits, realClock, type SessionClock } from '@underpass/wire/session.ts';

/** Round trips are true; between two pings is a tenth of the time, so that a minute of them is six seconds. */
const hastyClock: SessionClock = { now: realClock.now, every: (ms, task) => realClock.every(ms / 10, task) };
/** Pings that are remembered: once so many were slow, a window would grow by itself (docs/protocol.md 5, Credit). */
const recentPings = 12;
/** 400 ms of round trip. */
const longWayMs = 200;
/**
 * A reader of 1.3 MB/s. Half of a first window takes it 100 ms: no growth over a short path, however the bytes come. Over the
 * long one the window holds it back to half of that.
 */
const readBytes = 65_536;
const readEveryMs = 50;

interface Path {
  readonly ends: readonly [dialer: Socket, acceptor: Socket];
  /** Each way. May only rise, so that bytes keep their order. */
  delayMs: number;
}

async function listen(t: TestContext): Promise<{ port: number; accepted: Promise<Socket> }> {
  const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection').then(([socket]) => {
    server.close();
    t.after(() => void socket.destroy());
    return socket as Socket;
  });
  return { port: (server.address() as AddressInfo).port, accepted };
}

function dial(t: TestContext, port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  t.after(() => void socket.destroy());
  return socket;
}

async function openPath(t: TestContext): Promise<Path> {
  const [front, back] = await Promise.all([listen(t), listen(t)]);
  const dialer = dial(t, front.port);
  const [one, other, acceptor] = [await front.accepted, dial(t, back.port), await back.accepted];
  const path: Path = { ends: [dialer, acceptor], delayMs: 0 };
  const carry = (from: Socket, to: Socket): void => {
    from
      .on('error', () => {})
      .on('data', (chunk: Buffer) => {
        if (path.delayMs === 0) to.write(chunk);
        else setTimeout(() => to.destroyed || to.write(chunk), path.delayMs);
      });
  };
  carry(one, other);
  carry(other, one);
  return path;
}

/** The client's end of a download that does not end. */
function pour(stream: Stream): void {
  const chunk = Buffer.alloc(readBytes);
  stream.onDrain = () => {
    while (stream.write(chunk));
  };
  stream.accept();
  stream.onDrain();
}

class Reader {
  readonly #stream: Stream;
  #heldBytes = 0;
  #stalled = false;

  constructor(t: TestContext, stream: Stream) {
    this.#stream = stream;
    stream.onData = (chunk) => {
      this.#heldBytes += chunk.length;
    };
    t.after(realClock.every(readEveryMs, () => this.#read()));
  }

  #read(): void {
    if (this.#stalled) return;
    const bytes = Math.min(readBytes, this.#heldBytes);
    this.#heldBytes -= bytes;
    this.#stream.consume(bytes);
  }

  /**
   * What arrives for a reader that has stopped: more than half of the window, for credit is given in halves, and never more
   * than all of it. An answer to a ping comes behind all that was sent before it.
   */
  async waiting(session: Session): Promise<number> {
    this.#stalled = true;
    await proofs(session, 3);
    this.#stalled = false;
    return this.#heldBytes;
  }
}

/** So many more answers to pings. */
function proofs(session: Session, count: number): Promise<number[]> {
  const tookMs: number[] = [];
  return new Promise((resolve, reject) => {
    session.onClose = (end) => reject(new Error(`the carrier was given up: ${end.detail}`));
    session.onProof = (rttMs) => {
      tookMs.push(rttMs);
      if (tookMs.length === count) resolve(tookMs);
    };
  });
}

test('windows grow on a carrier whose path gets longer, long before its short round trips are forgotten', async (t) => {
  const path = await openPath(t);
  const client = createSession(path.ends[0], { side: 'dialer', peerMayOpen: true, info: {}, clock: hastyClock });
  const edge = createSession(path.ends[1], { side: 'acceptor', peerMayOpen: false, info: {}, clock: hastyClock });
  client.onStream = pour;
  await new Promise<void>((resolve) => (edge.onReady = resolve));
  const reader = new Reader(t, edge.open(testRequest));
  const short = await proofs(edge, 3);
  assert.ok((await reader.waiting(edge)) <= defaultLimits.initialWindowBytes, 'over a short path it has no need to');

  path.delayMs = longWayMs;
  // The first answer may have been under way; three that are slow make the doubt, five more are time to grow in.
  const long = await proofs(edge, 1 + 3 + 5);
  const bytes = await reader.waiting(edge);
  t.diagnostic(`round trips from ${Math.min(...short).toFixed(1)} to ${Math.max(...long).toFixed(0)} ms: ${bytes} bytes`);
  assert.ok(long.length < recentPings);
  assert.ok(bytes > defaultLimits.initialWindowBytes, `still ${bytes} bytes`);
  assert.ok(bytes <= 1_048_576, 'for it may be a queue as well');
});
