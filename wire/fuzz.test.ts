// A peer that sends frames at random, most of them legal and some damaged, over many sessions of both sides. It runs in memory and
// on a fake clock. UNDERPASS_FUZZ_FRAMES sets how many frames, UNDERPASS_FUZZ_SEED which ones.

import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Session, SessionEnd, Stream } from './api.ts';
import { resetCodes } from './core/code.ts';
import { encodeHello } from './core/hello.ts';
import { encodeOpen } from './core/open.ts';
import { createFakeClock } from './fixture/clock.ts';
import { encodeNaive } from './fixture/naive-codec.ts';
import { testRequest } from './fixture/sessions.ts';
import { createSession, defaultLimits } from './session/session.ts';

const framesWanted = Number(process.env.UNDERPASS_FUZZ_FRAMES ?? 200_000);
const firstSeed = Number(process.env.UNDERPASS_FUZZ_SEED ?? 1);

const [hello, open, opened, data, credit, reset, ping, , goaway, offer, info] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] as const;
const windowBytes = 65_536;
const maxStreams = 8;

type Random = (below: number) => number;

/** A linear congruential generator: the same seed sends the same frames. */
function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % below;
  };
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
const frame = (type: number, stream: number, payload: Uint8Array = new Uint8Array(0), fin = false): Buffer =>
  encodeNaive({ type, stream, fin, payload: Buffer.from(payload) });
const hellos = encodeHello({ oldest: 1, newest: 2, maxStreams: 1_000, windowBytes, info: {} });
const openPayload = encodeOpen(testRequest, windowBytes);

/** What the victim's user saw of one stream. */
interface Seen {
  readonly stream: Stream;
  received: number;
  consumed: number;
  closes: number;
}

/** One session under attack, and a peer that keeps the rules until a frame is damaged. */
class Duel {
  readonly end: Promise<SessionEnd>;
  over = false;
  readonly #random: Random;
  readonly #session: Session;
  readonly #clock = createFakeClock();
  readonly #carrier;
  readonly #seen: Seen[] = [];
  /** Streams on which the peer may still send, and how many bytes of DATA. */
  readonly #sendable = new Map<number, number>();
  #nextId = 2;
  readonly #isClient: boolean;

  constructor(random: Random, isClient: boolean) {
    this.#random = random;
    this.#isClient = isClient;
    const [near, far] = duplexPair();
    this.#carrier = far;
    far.resume().on('error', () => {});
    this.#session = createSession(near, {
      side: isClient ? 'dialer' : 'acceptor',
      peerMayOpen: isClient,
      info: {},
      clock: this.#clock,
      limits: { maxStreams },
    });
    this.#session.onStream = (stream) => this.#watch(stream);
    this.end = new Promise((resolve) => {
      this.#session.onClose = (ended) => {
        this.over = true;
        resolve(ended);
      };
    });
    far.write(frame(hello, 0, hellos));
  }

  #watch(stream: Stream): void {
    const seen: Seen = { stream, received: 0, consumed: 0, closes: 0 };
    const isLive = (): void => assert.equal(seen.closes, 0, 'nothing follows the last callback');
    this.#seen.push(seen);
    stream.onData = (chunk) => {
      isLive();
      seen.received += chunk.length;
      assert.ok(seen.received - seen.consumed <= defaultLimits.initialWindowBytes, 'no more than the window is delivered');
      this.#act(seen, chunk.length);
    };
    stream.onEnd = isLive;
    stream.onReset = isLive;
    stream.onDrain = isLive;
    stream.onOpened = isLive;
    stream.onClose = () => {
      seen.closes++;
    };
    this.#act(seen, 0);
  }

  /** What the user of a stream may do at any time. */
  #act(seen: Seen, bytes: number): void {
    const { stream } = seen;
    const choice = this.#random(12);
    if (choice === 0) stream.reset('cancelled');
    else if (choice === 1) stream.end();
    else if (choice < 5) stream.write(Buffer.alloc(this.#random(3_000)));
    else if (choice < 7 && this.#isClient) stream.accept();
    if (bytes > 0 && choice < 10) {
      seen.consumed += bytes;
      stream.consume(bytes);
    }
  }

  /** The next frame of the peer; legal, but for what crosses a reset of the victim. */
  next(): Buffer {
    const random = this.#random;
    const ids = [...this.#sendable.keys()];
    const id = ids[random(Math.max(1, ids.length))];
    const choice = random(40);
    if (id === undefined || (choice < 5 && ids.length < 2 * maxStreams)) return this.#begin();
    if (choice < 22) return this.#data(id, 1 + random(choice === 21 ? 2_000 : 120));
    if (choice < 28) return frame(credit, id, u32(1 + random(1_000)));
    if (choice < 31) return this.#leave(id, frame(reset, id, Buffer.from([0, random(2) === 0 ? resetCodes.refused : 0])));
    if (choice < 34) return this.#leave(id, frame(data, id, Buffer.alloc(random(50)), true));
    if (choice < 36 && id % 2 === 1) return frame(opened, id, u32(windowBytes));
    if (choice === 36) return frame(ping, 0, Buffer.alloc(8, random(256)));
    if (choice === 37) return frame(offer, 0);
    if (choice === 38) return frame(info, 0, Buffer.from('{}'));
    return random(200) === 0 ? frame(goaway, 0, Buffer.alloc(2)) : frame(credit, id, u32(1));
  }

  #begin(): Buffer {
    if (!this.#isClient) {
      if (!this.#session.canOpen) return frame(ping, 0, Buffer.alloc(8));
      const stream = this.#session.open(testRequest);
      this.#watch(stream);
      this.#sendable.set(stream.id, windowBytes / 2);
      return frame(opened, stream.id, u32(windowBytes));
    }
    const id = this.#nextId;
    this.#nextId += 2;
    this.#sendable.set(id, windowBytes / 2);
    return frame(open, id, openPayload);
  }

  #data(id: number, size: number): Buffer {
    const left = this.#sendable.get(id)! - size;
    if (left < 0) return this.#leave(id, frame(data, id, new Uint8Array(0), true));
    this.#sendable.set(id, left);
    return frame(data, id, Buffer.alloc(size, id));
  }

  #leave(id: number, last: Buffer): Buffer {
    this.#sendable.delete(id);
    return last;
  }

  /** Sends in pieces that cut frames anywhere. */
  async send(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const size = 1 + this.#random(this.#random(4) === 0 ? 20 : 4_000);
      this.#carrier.write(bytes.subarray(at, at + size));
      at += size;
    }
    // Refills what the limits of PING and OFFER allow.
    this.#clock.advance(250);
    await turn();
    for (const seen of this.#seen.slice(-maxStreams)) if (seen.closes === 0) this.#act(seen, 0);
  }

  /** Ends the session, and checks that it keeps nothing. */
  async finish(): Promise<void> {
    this.#carrier.end();
    await turn();
    this.#clock.advance(60_000);
    await this.end;
    this.#clock.advance(60_000);
    assert.equal(this.#session.openStreams, 0);
    for (const { closes } of this.#seen) assert.equal(closes, 1);
    assert.equal(this.#clock.timers, 0);
    this.#carrier.destroy();
  }
}

/** One bit differs, bytes are missing, or bytes come twice. */
function damage(bytes: Buffer, random: Random): Buffer {
  const at = random(bytes.length);
  const choice = random(4);
  if (choice === 0) return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random(4))]);
  if (choice === 1) return Buffer.concat([bytes.subarray(0, at), bytes]);
  bytes[random(choice === 2 ? Math.min(bytes.length, 8) : bytes.length)]! ^= 1 << random(8);
  return bytes;
}

for (const isClient of [true, false]) {
  it(`${isClient ? 'a client' : 'an edge'} survives ${framesWanted / 2} frames at random, and keeps nothing`, async (t) => {
    const random = createRandom(firstSeed + (isClient ? 0 : 1));
    const ends = new Map<string, number>();
    let frames = 0;
    let longest = 0;
    while (frames < framesWanted / 2) {
      const duel = new Duel(random, isClient);
      // Half of the sessions see no damage for long, so that deep states are reached too.
      const damagedOneIn = random(2) === 0 ? 3_000 : 60;
      let own = 0;
      await duel.send(Buffer.alloc(0));
      while (!duel.over && own < 20_000) {
        const burst = Array.from({ length: 1 + random(60) }, () => {
          const made = duel.next();
          return random(damagedOneIn) === 0 ? damage(made, random) : made;
        });
        own += burst.length;
        await duel.send(Buffer.concat(burst));
      }
      await duel.finish();
      const { code, by } = await duel.end;
      ends.set(`${code} by ${by}`, (ends.get(`${code} by ${by}`) ?? 0) + 1);
      frames += own;
      longest = Math.max(longest, own);
    }
    t.diagnostic(JSON.stringify({ frames, longest, ends: Object.fromEntries(ends) }));
    assert.ok(longest > 1_000, `the longest session took ${longest} frames`);
    assert.ok((ends.get('protocol by us') ?? 0) > 0, 'damage is noticed');
  });
}
