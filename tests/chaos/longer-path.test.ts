// A path that gets longer under a living carrier: another route, another uplink behind the same address.
// Two sessions of the wire over a path that delays, in a time of their own: a busy machine makes no round trip longer.
import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Session, Stream } from '@underpass/wire/api.ts';
import { createFakeClock, type FakeClock } from '@underpass/wire/fixture/clock.ts';
import { testRequest } from '@underpass/wire/fixture/sessions.ts';
import { createSession, defaultLimits } from '@underpass/wire/session.ts';

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
/** How finely time passes, and the turns of the event loop in which all that is due at once is done: a few, and to spare. */
const stepMs = 5;
const turns = 12;

class Path {
  readonly clock: FakeClock = createFakeClock();
  readonly ends: readonly [dialer: Duplex, acceptor: Duplex];
  /** Each way. May only rise, so that bytes keep their order. */
  delayMs = 0;
  readonly #underWay: { readonly atMs: number; readonly arrive: () => void }[] = [];

  constructor(t: TestContext) {
    const [dialer, one] = duplexPair();
    const [other, acceptor] = duplexPair();
    this.ends = [dialer, acceptor];
    this.#carry(one, other);
    this.#carry(other, one);
    t.after(() => void [dialer, one, other, acceptor].map((end) => end.destroy()));
  }

  #carry(from: Duplex, to: Duplex): void {
    from.on('data', (chunk: Buffer) => {
      this.#underWay.push({ atMs: this.clock.now() + this.delayMs, arrive: () => void to.write(chunk) });
    });
  }

  /** Lets time pass until it has come. */
  async until<T>(coming: Promise<T>): Promise<T> {
    let waiting = true;
    const over = coming.finally(() => (waiting = false));
    while (waiting) {
      for (let left = turns; left > 0; left -= 1) {
        while ((this.#underWay[0]?.atMs ?? Number.POSITIVE_INFINITY) <= this.clock.now()) this.#underWay.shift()?.arrive();
        await turn();
      }
      this.clock.advance(stepMs);
    }
    return over;
  }
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

  constructor(clock: FakeClock, stream: Stream) {
    this.#stream = stream;
    stream.onData = (chunk) => {
      this.#heldBytes += chunk.length;
    };
    clock.every(readEveryMs, () => this.#read());
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
  async waiting(path: Path, session: Session): Promise<number> {
    this.#stalled = true;
    await path.until(proofs(session, 3));
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
  const path = new Path(t);
  const { clock } = path;
  const client = createSession(path.ends[0], { side: 'dialer', peerMayOpen: true, info: {}, clock });
  const edge = createSession(path.ends[1], { side: 'acceptor', peerMayOpen: false, info: {}, clock });
  client.onStream = pour;
  await path.until(new Promise<void>((resolve) => (edge.onReady = resolve)));
  const reader = new Reader(clock, edge.open(testRequest));
  const short = await path.until(proofs(edge, 3));
  assert.ok((await reader.waiting(path, edge)) <= defaultLimits.initialWindowBytes, 'over a short path it has no need to');

  path.delayMs = longWayMs;
  // The first answer may have been under way; three that are slow make the doubt, five more are time to grow in.
  const long = await path.until(proofs(edge, 1 + 3 + 5));
  const bytes = await reader.waiting(path, edge);
  t.diagnostic(`round trips from ${Math.min(...short)} to ${Math.max(...long)} ms: ${bytes} bytes`);
  assert.ok(long.length < recentPings);
  assert.ok(bytes > defaultLimits.initialWindowBytes, `still ${bytes} bytes`);
  assert.ok(bytes <= 1_048_576, 'for it may be a queue as well');
});
