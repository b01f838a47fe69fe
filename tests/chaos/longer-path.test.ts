// The round trips of an open carrier get longer, as after a change of route or uplink that keeps the address.
// Two wire sessions over a delayed path with a fake clock, so that a busy machine does not lengthen round trips.
import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Session, Stream } from '@underpass/wire/api.ts';
import { createFakeClock, type FakeClock } from '@underpass/wire/fixture/clock.ts';
import { testRequest } from '@underpass/wire/fixture/sessions.ts';
import { createSession, defaultLimits } from '@underpass/wire/session/session.ts';

/** A session remembers this many pings. Once all of them were slow, a window would grow anyway (docs/protocol.md 5, Credit). */
const recentPings = 12;
/** One way; the round trip takes 400 ms. */
const longWayMs = 200;
/**
 * The reader takes 1.3 MB/s. It needs 100 ms for half of the first window, so over the short path the window need not grow.
 * Over the long path the first window would limit the reader to half that speed.
 */
const readBytes = 65_536;
const readEveryMs = 50;
/** Step of the fake clock, and the event loop turns per step: more than enough to process everything that is due. */
const stepMs = 5;
const turns = 12;

class Path {
  readonly clock: FakeClock = createFakeClock();
  readonly ends: readonly [dialer: Duplex, acceptor: Duplex];
  /** The delay of each direction. It may only rise, so that bytes keep their order. */
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

  /** Advances the clock until the promise settles. */
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

/** The client's side of an endless download. */
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
   * Pauses the reader and counts the bytes that arrive: between half of the window, because credit is given in halves, and the
   * whole window. The answer to a ping arrives after all bytes that were sent before it.
   */
  async waiting(path: Path, session: Session): Promise<number> {
    this.#stalled = true;
    await path.until(proofs(session, 3));
    this.#stalled = false;
    return this.#heldBytes;
  }
}

/** Resolves with the round trips of the next `count` pings. */
function proofs(session: Session, count: number): Promise<number[]> {
  const tookMs: number[] = [];
  return new Promise((resolve, reject) => {
    session.onClose = (end) => reject(new Error(`the session closed: ${end.detail}`));
    session.onProof = (rttMs) => {
      tookMs.push(rttMs);
      if (tookMs.length === count) resolve(tookMs);
    };
  });
}

test('windows grow on a carrier whose round trips get longer, before it forgets the short ones', async (t) => {
  const path = new Path(t);
  const { clock } = path;
  const client = createSession(path.ends[0], { side: 'dialer', peerMayOpen: true, info: {}, clock });
  const edge = createSession(path.ends[1], { side: 'acceptor', peerMayOpen: false, info: {}, clock });
  client.onStream = pour;
  await path.until(new Promise<void>((resolve) => (edge.onReady = resolve)));
  const reader = new Reader(clock, edge.open(testRequest));
  const short = await path.until(proofs(edge, 3));
  assert.ok((await reader.waiting(path, edge)) <= defaultLimits.initialWindowBytes, 'over a short path the window does not grow');

  path.delayMs = longWayMs;
  // One answer may have been under way, three slow ones raise the estimate, and five more leave time to grow.
  const long = await path.until(proofs(edge, 1 + 3 + 5));
  const bytes = await reader.waiting(path, edge);
  t.diagnostic(`round trips from ${Math.min(...short)} to ${Math.max(...long)} ms: ${bytes} bytes`);
  assert.ok(long.length < recentPings);
  assert.ok(bytes > defaultLimits.initialWindowBytes, `still ${bytes} bytes`);
  assert.ok(bytes <= 1_048_576, 'growth is bounded: slow pings may also mean a queue');
});
