// Peers that break the rules of docs/protocol.md, against one session.

import assert from 'node:assert/strict';
import { type Duplex, duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { collectHeap } from '@underpass/runtime/heap.ts';
import fc from 'fast-check';
import type { Session, SessionEnd, Stream } from './api.ts';
import { resetCodes } from './core/code.ts';
import { encodeHello } from './core/hello.ts';
import { encodeOpen } from './core/open.ts';
import { createTcpPair } from './fixture/carriers.ts';
import { createFakeClock } from './fixture/clock.ts';
import { decodeNaive, encodeNaive, type NaiveFrame } from './fixture/naive-codec.ts';
import { relayStreams } from './fixture/relay-streams.ts';
import { testRequest } from './fixture/sessions.ts';
import { createSession, type SessionOptions } from './session/session.ts';
import { SocketWriter } from './socket/socket-writer.ts';

const [hello, open, opened, data, credit, reset, ping, pong, goaway, offer, , times] = [
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
] as const;

const frame = (type: number, stream: number, payload: Uint8Array | string = '', fin = false): Buffer =>
  encodeNaive({ type, stream, fin, payload: Buffer.from(payload) });

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const helloFrame = frame(hello, 0, encodeHello({ oldest: 1, newest: 2, maxStreams: 1_000, windowBytes: 65_536, info: {} }));
const openFrame = (id: number): Buffer => frame(open, id, encodeOpen(testRequest, 262_144));

interface Victim {
  readonly session: Session;
  readonly attacker: Duplex;
  readonly end: Promise<SessionEnd>;
  readonly streams: Stream[];
  /** The frames that the victim has sent so far. */
  sent(): NaiveFrame[];
  attack(...frames: Buffer[]): void;
}

function createVictim(role: 'edge' | 'client', options: Partial<SessionOptions> = {}): Victim {
  const [near, attacker] = duplexPair();
  const bytes: Buffer[] = [];
  attacker.on('data', (chunk: Buffer) => bytes.push(chunk));
  const side = role === 'edge' ? 'acceptor' : 'dialer';
  const session = createSession(near, { side, peerMayOpen: role === 'client', info: {}, ...options });
  const streams: Stream[] = [];
  session.onStream = (stream) => streams.push(stream);
  return {
    session,
    attacker,
    streams,
    end: new Promise((resolve) => (session.onClose = resolve)),
    sent: () => decodeNaive(Buffer.concat(bytes)),
    attack: (...frames) => void attacker.write(Buffer.concat([helloFrame, ...frames])),
  };
}

/** An edge that has opened stream 2 towards the attacker. */
async function createEdgeWithStream(): Promise<Victim & { stream: Stream }> {
  const victim = createVictim('edge');
  victim.attack();
  await new Promise<void>((resolve) => (victim.session.onReady = resolve));
  return {
    ...victim,
    stream: victim.session.open(testRequest),
    attack: (...frames) => void victim.attacker.write(Buffer.concat(frames)),
  };
}

describe('a session ends with a coded GOAWAY when its peer', () => {
  const cases: readonly (readonly [what: string, code: string, role: 'edge' | 'client', frames: Buffer[]])[] = [
    ['opens a stream that it may not', 'protocol', 'edge', [openFrame(1)]],
    ['sends HELLO twice', 'protocol', 'edge', [helloFrame]],
    ['sends a frame of an unknown type', 'protocol', 'edge', [Buffer.from('0f00000000000000', 'hex')]],
    ['sends a wrong length', 'protocol', 'edge', [Buffer.from('0700000900000000', 'hex')]],
    ['sends DATA on a stream that was never opened', 'protocol', 'edge', [frame(data, 2, 'x')]],
    ['sends CREDIT for a stream that was never opened', 'protocol', 'edge', [frame(credit, 2, u32(1))]],
    ['resets a stream that was never opened', 'protocol', 'edge', [frame(reset, 4, '\0\0')]],
    ['sends TIMES for a stream that was never opened', 'protocol', 'client', [frame(times, 2, Buffer.alloc(8))]],
    ['answers a PING that was not sent', 'protocol', 'edge', [frame(pong, 0, Buffer.alloc(8, 9))]],
    ['reuses a stream id', 'protocol', 'client', [openFrame(2), frame(reset, 2, '\0\0'), openFrame(2)]],
    ['opens with a lower stream id', 'protocol', 'client', [openFrame(8), openFrame(6)]],
    ['opens with an id of our parity', 'protocol', 'client', [openFrame(3)]],
    ['accepts a stream of its own', 'protocol', 'client', [openFrame(2), frame(opened, 2, u32(0))]],
    ['sends DATA after the end', 'protocol', 'client', [openFrame(2), frame(data, 2, 'x', true), frame(data, 2, 'y')]],
    ['ends twice', 'protocol', 'client', [openFrame(2), frame(data, 2, '', true), frame(data, 2, '', true)]],
    ['sends DATA after its own RESET', 'protocol', 'client', [openFrame(2), frame(reset, 2, '\0\0'), frame(data, 2, 'y')]],
    [
      'sends more than the first window',
      'flow-control',
      'client',
      [openFrame(2), frame(data, 2, Buffer.alloc(65_536)), frame(data, 2, 'x')],
    ],
    ['grants a credit of 0', 'flow-control', 'client', [openFrame(2), frame(credit, 2, u32(0))]],
    ['grants beyond 31 bits', 'flow-control', 'client', [openFrame(2), frame(credit, 2, u32(0x7fff_ffff))]],
    ['grants beyond 31 bits in one number', 'flow-control', 'client', [openFrame(2), frame(credit, 2, u32(0xffff_ffff))]],
    ['floods with pings', 'flood', 'edge', Array.from({ length: 50 }, () => frame(ping, 0, Buffer.alloc(8)))],
    ['floods with offers', 'flood', 'edge', Array.from({ length: 50 }, () => frame(offer, 0))],
    ['sends GOAWAY twice', 'protocol', 'client', [openFrame(2), frame(goaway, 0, '\0\0'), frame(goaway, 0, '\0\0')]],
  ];
  for (const [what, code, role, frames] of cases) {
    it(what, async () => {
      const victim = createVictim(role);
      victim.attack(...frames);
      const end = await victim.end;
      assert.equal(end.code, code, end.detail);
      assert.equal(end.by, 'us');
      await turn();
      const last = victim.sent().at(-1)!;
      assert.equal(last.type, goaway);
    });
  }

  it('sends anything before HELLO', async () => {
    const victim = createVictim('edge');
    victim.attacker.write(frame(ping, 0, Buffer.alloc(8)));
    assert.equal((await victim.end).code, 'protocol');
  });

  it('speaks no version in common', async () => {
    const victim = createVictim('edge');
    victim.attacker.write(frame(hello, 0, encodeHello({ oldest: 9, newest: 9, maxStreams: 1, windowBytes: 1, info: {} })));
    assert.equal((await victim.end).code, 'version');
  });

  it('stays silent', async () => {
    const clock = createFakeClock();
    const victim = createVictim('edge', { clock });
    clock.advance(10_000);
    assert.equal((await victim.end).code, 'silent');
    await turn();
  });

  it('sends its HELLO byte by byte for more than 10 s', async () => {
    const clock = createFakeClock();
    const victim = createVictim('edge', { clock });
    for (let at = 0; at < 5 && !victim.session.closed; at++) {
      victim.attacker.write(helloFrame.subarray(at, at + 1));
      await turn();
      clock.advance(2_500);
    }
    assert.equal(victim.session.closed, true);
    assert.equal((await victim.end).code, 'silent');
  });

  it('accepts a stream twice', async () => {
    const victim = await createEdgeWithStream();
    victim.attack(frame(opened, 2, u32(0)), frame(opened, 2, u32(0)));
    assert.equal((await victim.end).code, 'protocol');
  });

  for (const [what, early] of [
    ['sends DATA on a stream that it has not accepted', frame(data, 2, 'x')],
    ['ends a stream that it has not accepted', frame(data, 2, '', true)],
  ] as const) {
    it(what, async () => {
      const victim = await createEdgeWithStream();
      let heard = '';
      victim.stream.onData = (chunk) => (heard += chunk);
      victim.stream.onEnd = () => (heard += 'end');
      victim.attack(early);
      assert.equal((await victim.end).code, 'protocol');
      assert.equal(heard, '');
    });
  }
});

describe('after its own reset a session', () => {
  it('drops what the peer had credit for, and one byte more ends the session', async () => {
    const victim = await createEdgeWithStream();
    victim.stream.reset('denied');
    const chunk = Buffer.alloc(65_536);
    victim.attack(...Array.from({ length: 4 }, () => frame(data, 2, chunk)));
    await turn();
    await turn();
    assert.equal(victim.session.closed, false);
    victim.attack(frame(data, 2, 'x'));
    assert.equal((await victim.end).code, 'protocol');
  });

  it('accepts an end and a reset of the peer that cross it', async () => {
    const victim = await createEdgeWithStream();
    victim.stream.reset('denied');
    victim.attack(frame(data, 2, 'abc'), frame(data, 2, '', true), frame(reset, 2, '\0\0'), frame(credit, 2, u32(5)));
    await turn();
    await turn();
    assert.equal(victim.session.closed, false);
    victim.attack(frame(data, 2, '', true));
    assert.equal((await victim.end).code, 'protocol');
  });

  it('drops the rest of a frame that is half read', async () => {
    const victim = await createEdgeWithStream();
    const whole = frame(data, 2, 'abcdef');
    let got = '';
    victim.stream.onData = (chunk) => {
      got += chunk;
      victim.stream.reset('cancelled');
    };
    victim.attack(frame(opened, 2, u32(0)), whole.subarray(0, 10));
    await turn();
    await turn();
    victim.attack(whole.subarray(10), frame(ping, 0, Buffer.alloc(8)));
    await turn();
    await turn();
    assert.equal(got, 'ab');
    assert.equal(victim.session.closed, false);
  });
});

const opensFrom = (first: number, payload: Uint8Array): Buffer =>
  Buffer.concat(Array.from({ length: 1_000 }, (_, index) => frame(open, first + 2 * index, payload)));

function heapAfterCollection(): number {
  // The second collection waits until the first has freed its buffers.
  collectHeap();
  collectHeap();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
}

describe('a carrier that is full', () => {
  it('gives each waiting stream one frame in turn', async () => {
    const victim = await createEdgeWithStream();
    victim.attacker.pause();
    const streams = [victim.stream, victim.session.open(testRequest), victim.session.open(testRequest)];
    victim.attack(...streams.map(({ id }) => frame(credit, id, u32(10_000_000))));
    await turn();
    await turn();
    for (const stream of streams) stream.write(Buffer.alloc(1_500_000));
    victim.attacker.resume();
    while (victim.sent().reduce((sum, { payload }) => sum + payload.length, 0) < 4_500_000) await turn();
    const order = victim
      .sent()
      .filter(({ type }) => type === data)
      .map(({ stream }) => stream);
    const crowded = order.slice(order.indexOf(streams[2]!.id), order.lastIndexOf(streams[0]!.id));
    assert.ok(crowded.length > 15);
    for (const [index, stream] of crowded.slice(3).entries()) assert.equal(stream, crowded[index]);
  });

  it('gets no more streams, and keeps room for PONGs', async () => {
    const victim = createVictim('edge');
    victim.attacker.pause();
    const greeted = new Promise<void>((resolve) => (victim.session.onReady = resolve));
    const limits = { oldest: 1, newest: 2, maxStreams: 1_000_000, windowBytes: 65_536, info: {} };
    victim.attacker.write(frame(hello, 0, encodeHello(limits)));
    await greeted;
    const { session } = victim;
    while (session.canOpen && session.openStreams < 100_000) session.open(testRequest);
    assert.ok(session.openStreams > 10_000 && session.openStreams < 50_000, `${session.openStreams} streams`);
    assert.equal(session.takesStreams, true, 'it is busy, not leaving');
    victim.attacker.write(frame(ping, 0, Buffer.alloc(8)));
    await turn();
    await turn();
    assert.equal(session.closed, false);
    victim.attacker.resume();
    while (!session.canOpen) await turn();
  });

  it('does not keep the buffers that small waiting pieces were cut from', async () => {
    const victim = await createEdgeWithStream();
    victim.stream.write(Buffer.alloc(65_536));
    const before = heapAfterCollection();
    for (let count = 0; count < 500; count++) victim.stream.write(Buffer.alloc(65_536).subarray(0, 10));
    await turn();
    assert.ok(heapAfterCollection() - before < 5_000_000);
    assert.equal(victim.stream.sentBytes, 65_536);
  });
});

describe('memory stays flat and is freed', () => {
  it('under a million opens: those beyond the limit are refused, and a peer that reads no answers is cut', async () => {
    const victim = createVictim('client', { limits: { maxStreams: 100, maxPendingOpens: 100 } });
    victim.attacker.pause();
    victim.attack();
    const payload = encodeOpen(testRequest, 1);
    let id = 2;
    let over = false;
    void victim.end.then(() => (over = true));
    for (let batch = 0; batch < 1_000 && !over; batch++) {
      victim.attacker.write(opensFrom(id, payload));
      id += 2_000;
      await turn();
    }
    assert.equal((await victim.end).code, 'flood');
    assert.ok(victim.streams.length <= 100);
    assert.ok(id / 2 < 400_000, `${id / 2} opens`);
    assert.equal(victim.session.openStreams, 0);
  });

  it('under a million opens that are each refused by the client, if the peer reads no answer', async () => {
    const victim = createVictim('client');
    victim.session.onStream = (stream) => stream.reset('no-upstream');
    victim.attacker.pause();
    victim.attack();
    let over = false;
    void victim.end.then(() => (over = true));
    const payload = encodeOpen(testRequest, 1);
    for (let id = 2; id < 2_000_000 && !over; id += 2_000) {
      victim.attacker.write(opensFrom(id, payload));
      await turn();
    }
    assert.equal((await victim.end).code, 'flood');
  });

  it('under a million opens whose answers are read', async () => {
    const victim = createVictim('client', { limits: { maxStreams: 100, maxPendingOpens: 100 } });
    let answers = 0;
    victim.attacker.removeAllListeners('data').on('data', (chunk: Buffer) => (answers += chunk.length));
    victim.attack();
    const payload = encodeOpen(testRequest, 1);
    const before = heapAfterCollection();
    let id = 2;
    for (let batch = 0; batch < 1_000; batch++) {
      victim.attacker.write(opensFrom(id, payload));
      id += 2_000;
      await turn();
    }
    assert.equal(victim.session.closed, false);
    assert.equal(victim.session.openStreams, 100);
    assert.ok(answers > 9_000_000);
    assert.ok(heapAfterCollection() - before < 30_000_000);
    victim.session.close();
    assert.equal(victim.session.openStreams, 0);
  });

  it('under data from a peer that does not read its credit', async () => {
    const victim = createVictim('client', { limits: { initialWindowBytes: 64, maxWindowBytes: 64 } });
    victim.attacker.pause();
    victim.session.onStream = (stream) => {
      stream.onData = (chunk) => stream.consume(chunk.length);
    };
    victim.attack(openFrame(2));
    const frames = Buffer.concat(Array.from({ length: 1_000 }, () => frame(data, 2, Buffer.alloc(32))));
    for (let batch = 0; batch < 400 && !victim.session.closed; batch++) {
      victim.attacker.write(frames);
      await turn();
    }
    assert.ok(victim.session.closed);
    assert.equal((await victim.end).code, 'flood');
  });

  it('under a hundred thousand opens that are reset at once', async () => {
    const victim = createVictim('client');
    victim.attack();
    const payload = encodeOpen(testRequest, 1);
    for (let batch = 0; batch < 100; batch++) {
      const frames = Array.from({ length: 1_000 }, (_, index) => {
        const id = 2 * (batch * 1_000 + index + 1);
        return Buffer.concat([frame(open, id, payload), frame(reset, id, '\0\0')]);
      });
      victim.attacker.write(Buffer.concat(frames));
      await turn();
      assert.ok(victim.streams.every((stream) => stream.closed));
      victim.streams.length = 0;
    }
    assert.equal(victim.session.openStreams, 0);
    assert.equal(victim.session.closed, false);
  });

  it('under one-byte frames for a reader that stalls', async () => {
    const [visitor, stalled] = await createTcpPair();
    stalled.pause();
    const victim = await createEdgeWithStream();
    const { stream } = victim;
    victim.attack(frame(opened, 2, u32(0)));
    const writer = new SocketWriter(visitor, (bytes) => stream.consume(bytes));
    stream.onData = (chunk) => writer.write(chunk);
    // Fill the kernel's buffers first, so that the rest must wait in this process.
    while (visitor.write(Buffer.alloc(1_000_000)) || visitor.writableLength < 1_000_000);
    const before = heapAfterCollection();
    const tiny = Buffer.concat(Array.from({ length: 4_096 }, () => frame(data, 2, 'x')));
    for (let batch = 0; batch < 64; batch++) {
      victim.attack(Buffer.from(tiny));
      await turn();
    }
    assert.equal(stream.receivedBytes, 262_144);
    assert.ok(writer.waitingBytes >= 262_144 - 4_096);
    assert.ok(heapAfterCollection() - before < 3_000_000, `${heapAfterCollection() - before} bytes`);
    visitor.destroy();
    stalled.destroy();
  });

  it('under one-byte frames that are relayed to a stream without credit', async () => {
    const [near, far] = [await createEdgeWithStream(), await createEdgeWithStream()];
    relayStreams(near.stream, far.stream);
    near.attack(frame(opened, 2, u32(0)));
    const before = heapAfterCollection();
    const tiny = Buffer.concat(Array.from({ length: 4_096 }, () => frame(data, 2, 'x')));
    for (let batch = 0; batch < 64; batch++) {
      near.attack(Buffer.from(tiny));
      await turn();
    }
    assert.equal(near.stream.receivedBytes, 262_144);
    assert.equal(far.stream.sentBytes, 65_536);
    assert.ok(heapAfterCollection() - before < 3_000_000, `${heapAfterCollection() - before} bytes`);
  });

  it('over a thousand half-open sessions', async () => {
    const clock = createFakeClock();
    const ends: Promise<SessionEnd>[] = [];
    for (let count = 0; count < 1_000; count++) ends.push(createVictim('edge', { clock }).end);
    assert.equal(clock.timers, 1_000);
    clock.advance(10_000);
    assert.ok((await Promise.all(ends)).every(({ code }) => code === 'silent'));
    clock.advance(2_000);
    await turn();
    await turn();
    assert.equal(clock.timers, 0);
  });
});

describe('a session', () => {
  it('never throws on random bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (noise, greeted) => {
        const victim = createVictim('client');
        victim.attacker.write(Buffer.concat([greeted ? helloFrame : Buffer.alloc(0), noise]));
        await turn();
        victim.attacker.end();
        await victim.end;
      }),
      { numRuns: 500, seed: 8 },
    );
  });

  it('never throws on frames with changed bits, and frees every stream', async () => {
    const types = fc.integer({ min: 1, max: 12 });
    const payload = fc.uint8Array({ maxLength: 40 });
    const one = fc
      .tuple(types, fc.integer({ min: 0, max: 6 }), payload, fc.boolean(), fc.boolean())
      .map(([type, stream, bytes, fin, opens]) => (opens ? openFrame(2 * stream + 2) : frame(type, stream, bytes, fin)));
    const flips = fc.array(fc.tuple(fc.nat(), fc.nat(7)), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 30 }), flips, async (frames, changed) => {
        const bytes = Buffer.concat(frames);
        if (bytes.length > 0) for (const [at, bit] of changed) bytes[at % bytes.length]! ^= 1 << bit;
        const victim = createVictim('client', { limits: { maxStreams: 4 } });
        victim.session.onStream = (stream) => {
          victim.streams.push(stream);
          stream.accept();
        };
        victim.attack(bytes);
        await turn();
        victim.attacker.end();
        await victim.end;
        assert.equal(victim.session.openStreams, 0);
        assert.ok(victim.streams.every((stream) => stream.closed));
      }),
      { numRuns: 2_000, seed: 8 },
    );
  });

  it('never throws on valid frames in any order, keeps its limits and frees every stream', async () => {
    const id = fc.integer({ min: 0, max: 6 });
    const any = fc.oneof(
      id.map((stream) => openFrame(stream === 0 ? 2 : stream)),
      fc
        .tuple(id, fc.integer({ min: 1, max: 70_000 }), fc.boolean())
        .map(([stream, size, fin]) => frame(data, stream || 2, Buffer.alloc(Math.min(size, 65_536)), fin)),
      fc.tuple(id, fc.nat(200_000)).map(([stream, bytes]) => frame(credit, stream || 2, u32(bytes))),
      id.map((stream) => frame(reset, stream || 2, Buffer.from([0, resetCodes.refused]))),
      id.map((stream) => frame(opened, stream || 1, u32(0))),
      fc.constant(frame(ping, 0, Buffer.alloc(8))),
      fc.constant(frame(goaway, 0, '\0\0')),
    );
    const local = fc.array(fc.constantFrom('accept', 'end', 'reset', 'write', 'consume', 'open', 'none'), { maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.array(any, { maxLength: 20 }), local, async (frames, actions) => {
        const victim = createVictim('client', { limits: { maxStreams: 4 } });
        victim.session.onStream = (stream) => {
          victim.streams.push(stream);
          stream.onData = () => act(victim, actions.pop());
          stream.onEnd = () => act(victim, actions.pop());
        };
        victim.attack();
        for (const each of frames) {
          victim.attacker.write(each);
          act(victim, actions.pop());
          await turn();
          assert.ok(victim.session.openStreams <= 4 + actionsOpened(victim));
        }
        victim.attacker.end();
        await victim.end;
        assert.equal(victim.session.openStreams, 0);
        assert.ok(victim.streams.every((stream) => stream.closed));
      }),
      { numRuns: 500, seed: 8 },
    );
  });
});

const actionsOpened = ({ streams }: Victim): number => streams.filter((stream) => stream.id % 2 === 1 && !stream.closed).length;

function act({ session, streams }: Victim, action: string | undefined): void {
  const stream = streams.at(-1);
  if (action === 'open' && session.canOpen) streams.push(session.open(testRequest));
  if (action === 'accept') stream?.accept();
  if (action === 'end') stream?.end();
  if (action === 'reset') stream?.reset('cancelled');
  if (action === 'write') stream?.write(Buffer.alloc(30_000));
  if (action === 'consume') stream?.consume(10_000);
}
