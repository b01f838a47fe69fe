import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { encodeFrame } from '../fixture/frames.ts';
import { decodeNaive, encodeNaive, type NaiveFrame } from '../fixture/naive-codec.ts';
import { goawayCodeOf, goawayCodes, resetCodeOf, resetCodes } from './code.ts';
import { FrameDecoder, type FrameSink } from './decoder.ts';
import { finFlag, frameType, readU16, readU32, WireError, writeU16, writeU32 } from './frame.ts';
import { encodeHello, encodeInfo, type Hello, parseHello, parseInfo } from './hello.ts';
import { encodeOffers, parseOffers } from './offer.ts';
import { encodeOpen, parseOpen } from './open.ts';
import { encodeTimes, parseTimes } from './times.ts';
import vectors from './vectors.json' with { type: 'json' };

const bytesOf = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const typeNames = Object.keys(frameType) as (keyof typeof frameType)[];

/** Collects what the decoder reports, and joins the pieces of DATA. */
function createCollector(): { sink: FrameSink; frames: NaiveFrame[] } {
  const frames: NaiveFrame[] = [];
  let data: { length: number; stream: number; pieces: Buffer[] } | null = null;
  const finish = (fin: boolean): void => {
    frames.push({ type: frameType.data, fin, stream: data!.stream, payload: Buffer.concat(data!.pieces) });
    data = null;
  };
  const filled = (): boolean => data !== null && data.pieces.reduce((sum, piece) => sum + piece.length, 0) === data.length;
  const flush = (): void => {
    if (filled()) finish(false);
  };
  const sink: FrameSink = {
    dataHeader(stream, length) {
      flush();
      data = { stream, length, pieces: [] };
    },
    dataPiece(_stream, piece) {
      data!.pieces.push(Buffer.from(piece));
    },
    dataEnd: () => finish(true),
    control(type, stream, payload) {
      flush();
      frames.push({ type, fin: false, stream, payload: Buffer.from(payload) });
    },
  };
  return { sink, frames };
}

/** Decodes in the given portions. A last PING flushes a pending DATA frame, and is removed from the result. */
function decodeIn(portions: readonly Buffer[]): NaiveFrame[] {
  const { sink, frames } = createCollector();
  const decoder = new FrameDecoder(sink);
  for (const portion of portions) decoder.push(portion);
  decoder.push(encodeFrame(frameType.ping, 0, new Uint8Array(8)));
  return frames.slice(0, -1);
}

function readPayload(type: string, fin: boolean, payload: Uint8Array): unknown {
  const hex = Buffer.from(payload).toString('hex');
  if (type === 'hello') return parseHello(payload);
  if (type === 'open') return readOpen(payload);
  if (type === 'data') return { fin, payloadHex: hex };
  if (type === 'opened' || type === 'credit') return { credit: readU32(payload, 0) };
  if (type === 'reset') return { code: resetCodeOf(readU16(payload, 0)) };
  if (type === 'goaway') return { code: goawayCodeOf(readU16(payload, 0)), detail: Buffer.from(payload).subarray(2).toString() };
  if (type === 'offer') return { offers: parseOffers(payload) };
  if (type === 'times') return parseTimes(payload);
  return type === 'info' ? { info: parseInfo(payload) } : { payloadHex: hex };
}

function readOpen(payload: Uint8Array): unknown {
  const { windowBytes, request } = parseOpen(payload);
  const { preface, ...rest } = request;
  return { windowBytes, request: { ...rest, prefaceHex: Buffer.from(preface).toString('hex') } };
}

// biome-ignore lint/suspicious/noExplicitAny: the shape of each vector's value follows from its type
function writePayload(type: string, value: any): Uint8Array {
  if (type === 'hello') return encodeHello(value as Hello);
  if (type === 'open') {
    return encodeOpen({ ...value.request, preface: bytesOf(value.request.prefaceHex) }, value.windowBytes);
  }
  if (type === 'opened' || type === 'credit') return u32(value.credit);
  if (type === 'reset') return u16(resetCodes[value.code as keyof typeof resetCodes]);
  if (type === 'goaway') {
    return Buffer.concat([u16(goawayCodes[value.code as keyof typeof goawayCodes]), Buffer.from(value.detail)]);
  }
  if (type === 'offer') return encodeOffers(value.offers);
  if (type === 'times') return encodeTimes(value);
  return type === 'info' ? encodeInfo(value.info) : bytesOf(value.payloadHex);
}

function u32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  writeU32(bytes, 0, value);
  return bytes;
}

function u16(value: number): Uint8Array {
  const bytes = new Uint8Array(2);
  writeU16(bytes, 0, value);
  return bytes;
}

describe('the vectors of the protocol page', () => {
  for (const vector of vectors.frames) {
    const bytes = bytesOf(vector.hex);
    const type = frameType[vector.type as keyof typeof frameType];

    it(`${vector.name}: reads as its value, split at every byte`, () => {
      for (let at = 0; at <= bytes.length; at++) {
        const [frame, ...more] = decodeIn([bytes.subarray(0, at), bytes.subarray(at)]);
        assert.equal(more.length, 0);
        assert.equal(frame!.type, type);
        assert.equal(frame!.stream, vector.stream);
        assert.deepEqual(readPayload(vector.type, frame!.fin, frame!.payload), vector.value);
      }
    });

    it(`${vector.name}: reads one byte at a time`, () => {
      const frames = decodeIn([...bytes].map((byte) => Buffer.from([byte])));
      assert.deepEqual(frames, decodeNaive(bytes));
    });

    if (!('decodeOnly' in vector)) {
      it(`${vector.name}: is what the encoder writes`, () => {
        const fin = 'fin' in vector.value && vector.value.fin ? finFlag : 0;
        assert.equal(
          Buffer.from(encodeFrame(type | fin, vector.stream, writePayload(vector.type, vector.value))).toString('hex'),
          bytes.toString('hex'),
        );
      });
    }
  }

  it('hold a frame of every type', () => {
    assert.deepEqual(new Set(vectors.frames.map((vector) => vector.type)), new Set(typeNames));
  });

  it('are decoded in order from one read', () => {
    const all = Buffer.concat(vectors.frames.map((vector) => bytesOf(vector.hex)));
    assert.deepEqual(decodeIn([all]), decodeNaive(all));
  });

  for (const { why, hex } of vectors.refused) {
    it(`are refused from the header alone: ${why}`, () => {
      const decoder = new FrameDecoder(createCollector().sink);
      assert.throws(() => decoder.push(bytesOf(hex)), WireError);
      assert.throws(() => decodeNaive(bytesOf(hex)));
    });
  }

  for (const { why, hex } of vectors.refusedPayloads) {
    it(`are refused for their payload: ${why}`, () => {
      const [frame] = decodeNaive(bytesOf(hex));
      assert.throws(() => readPayload(typeNames[frame!.type - 1]!, frame!.fin, frame!.payload), WireError);
    });
  }
});

// Every valid frame: lengths within the table of the page, any payload (its meaning is checked elsewhere).
const limits = [
  [12, 300],
  [13, 300],
  [4, 4],
  [0, 70_000],
  [4, 4],
  [2, 2],
  [8, 8],
  [8, 8],
  [2, 512],
  [0, 300],
  [2, 300],
  [8, 8],
] as const;
const frameArbitrary: fc.Arbitrary<NaiveFrame> = fc
  .tuple(
    fc.integer({ min: 1, max: 12 }),
    fc.boolean(),
    fc.integer({ min: 1, max: 0xffff_ffff }),
    fc.integer({ min: 0, max: 100_000 }),
  )
  .map(([type, fin, stream, size]) => {
    const [least, most] = limits[type - 1]!;
    const isData = type === frameType.data;
    const length = Math.max(isData && !fin ? 1 : least, Math.min(size % (most + 1), 65_536));
    const onStream = (type >= 2 && type <= 6) || type === frameType.times;
    return { type, fin: isData && fin, stream: onStream ? stream : 0, payload: Buffer.alloc(length, size & 0xff) };
  });

describe('random frames', () => {
  it('are decoded as the naive codec encoded them, however they are cut', () => {
    fc.assert(
      fc.property(fc.array(frameArbitrary, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 8 }), (frames, cuts) => {
        const bytes = Buffer.concat(frames.map(encodeNaive));
        const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((one, other) => one - other);
        const portions = edges.slice(1).map((edge, index) => bytes.subarray(edges[index]!, edge));
        assert.deepEqual(decodeIn(portions), frames);
      }),
      { numRuns: 300, seed: 8 },
    );
  });

  it('are encoded as the naive codec encodes them', () => {
    fc.assert(
      fc.property(frameArbitrary, (frame) => {
        const fast = encodeFrame(frame.type | (frame.fin ? finFlag : 0), frame.stream, frame.payload);
        assert.ok(Buffer.from(fast).equals(encodeNaive(frame)));
      }),
      { numRuns: 300, seed: 8 },
    );
  });

  it('of noise end in a WireError where the naive codec fails, and only there', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (noise) => {
        const bytes = Buffer.from(noise);
        let naive = true;
        let fast = true;
        try {
          decodeNaive(bytes);
        } catch {
          naive = false;
        }
        try {
          new FrameDecoder(createCollector().sink).push(bytes);
        } catch (error) {
          assert.ok(error instanceof WireError);
          fast = false;
        }
        assert.equal(fast, naive);
      }),
      { numRuns: 2_000, seed: 8 },
    );
  });

  it('with flipped bits in their payload give a value or a WireError', () => {
    const flipped = fc.tuple(fc.constantFrom(...vectors.frames), fc.nat(), fc.integer({ min: 1, max: 255 }));
    fc.assert(
      fc.property(flipped, ([vector, place, mask]) => {
        const payload = bytesOf(vector.hex).subarray(8);
        if (payload.length > 0) payload[place % payload.length]! ^= mask;
        try {
          readPayload(vector.type, false, payload);
        } catch (error) {
          assert.ok(error instanceof WireError, String(error));
        }
      }),
      { numRuns: 2_000, seed: 8 },
    );
  });
});
