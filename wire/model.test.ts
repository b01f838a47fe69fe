// Two sessions against a model: after any actions on their streams, what arrived is what was sent, in order, and no stream is left.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { Session, Stream } from './api.ts';
import { type CarrierKind, carrierKinds } from './fixture/carriers.ts';
import { createSessionPair, testRequest } from './fixture/sessions.ts';

/** A time and not a number of turns: a kernel under load needs a fifth of a second to send something again. */
const settleMs = 30_000;

/** The model of one direction of one stream. */
interface Direction {
  readonly writer: Stream;
  readonly reader: Stream;
  readonly seed: number;
  /** True of the opener from the start, of the acceptor once it has accepted. */
  maySend: boolean;
  sent: number;
  received: number;
  owed: number;
  stalled: boolean;
  full: boolean;
  ended: boolean;
  sawEnd: boolean;
}

/** Byte number `at` of a direction: cheap to compute, and different from its neighbours. */
const byteAt = (seed: number, at: number): number => (seed * 31 + at * 7 + (at >>> 8)) & 0xff;

function fill(direction: Direction, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let index = 0; index < size; index++) bytes[index] = byteAt(direction.seed, direction.sent + index);
  return bytes;
}

function watch(direction: Direction): void {
  direction.writer.onDrain = () => {
    direction.full = false;
  };
  direction.reader.onData = (chunk) => {
    assert.ok(direction.maySend, 'no bytes come before acceptance');
    for (const [index, byte] of chunk.entries()) {
      if (byte !== byteAt(direction.seed, direction.received + index))
        throw new Error(`byte ${direction.received + index} is wrong`);
    }
    direction.received += chunk.length;
    if (direction.stalled) direction.owed += chunk.length;
    else direction.reader.consume(chunk.length);
  };
  direction.reader.onEnd = () => {
    assert.ok(direction.maySend, 'no end comes before acceptance');
    assert.equal(direction.received, direction.sent, 'the end comes after all bytes');
    direction.sawEnd = true;
  };
}

const createDirection = (writer: Stream, reader: Stream, seed: number, maySend: boolean): Direction => ({
  writer,
  reader,
  seed,
  maySend,
  sent: 0,
  received: 0,
  owed: 0,
  stalled: false,
  full: false,
  ended: false,
  sawEnd: false,
});

function release(direction: Direction): void {
  direction.stalled = false;
  direction.reader.consume(direction.owed);
  direction.owed = 0;
}

function accept(direction: Direction): void {
  direction.maySend = true;
  direction.writer.accept();
}

type Action = readonly [
  name: 'open' | 'accept' | 'write' | 'end' | 'reset' | 'stall' | 'release' | 'turn',
  which: number,
  size: number,
];

const action: fc.Arbitrary<Action> = fc.tuple(
  fc.oneof(
    { weight: 6, arbitrary: fc.constant('write' as const) },
    { weight: 2, arbitrary: fc.constantFrom('open' as const, 'accept' as const, 'turn' as const) },
    { weight: 1, arbitrary: fc.constantFrom('end' as const, 'reset' as const, 'stall' as const, 'release' as const) },
  ),
  fc.nat(1_000),
  fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 150_000 })),
);

async function run(kind: CarrierKind, actions: readonly Action[]): Promise<void> {
  await using pair = await createSessionPair(kind);
  const directions: Direction[] = [];
  for (const each of actions) await perform(pair, directions, each);
  for (const direction of directions) {
    release(direction);
    accept(direction);
    direction.writer.end();
  }
  await settle(pair.edge, pair.client);
  for (const direction of directions) {
    assert.ok(direction.writer.closed && direction.reader.closed);
    if (direction.sawEnd) assert.equal(direction.received, direction.sent);
  }
  assert.equal(pair.edge.closed || pair.client.closed, false);
}

async function perform(
  pair: Awaited<ReturnType<typeof createSessionPair>>,
  directions: Direction[],
  [name, which, size]: Action,
): Promise<void> {
  if (name === 'turn') return void (await turn());
  if (name === 'open' || directions.length === 0) return void (await openBoth(pair, directions));
  const direction = directions[which % directions.length]!;
  if (name === 'accept') accept(direction);
  if (name === 'write') write(direction, size);
  if (name === 'end') direction.writer.end();
  if (name === 'end') direction.ended = true;
  if (name === 'reset') direction.writer.reset('cancelled');
  if (name === 'stall') direction.stalled = true;
  if (name === 'release') release(direction);
}

function write(direction: Direction, size: number): void {
  if (direction.ended || direction.writer.closed) return;
  // A writer that was asked to wait may still write a little.
  if (direction.full && size > 200) return;
  const bytes = fill(direction, size);
  direction.sent += size;
  direction.full = !direction.writer.write(bytes);
}

async function openBoth({ client, edge }: Awaited<ReturnType<typeof createSessionPair>>, directions: Direction[]): Promise<void> {
  const near = edge.open(testRequest);
  const far = await new Promise<Stream>((resolve) => (client.onStream = resolve));
  const pair = [createDirection(near, far, directions.length, true), createDirection(far, near, directions.length + 1, false)];
  for (const direction of pair) watch(direction);
  directions.push(...pair);
}

async function settle(...sessions: Session[]): Promise<void> {
  const endsAtMs = performance.now() + settleMs;
  while (sessions.some((session) => session.openStreams > 0)) {
    assert.ok(performance.now() < endsAtMs, 'streams are left over');
    await turn();
  }
}

for (const kind of carrierKinds) {
  describe(`two sessions over ${kind}`, () => {
    it('deliver what the model expects after any actions', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(action, { maxLength: 40 }), (actions) => run(kind, actions)),
        { numRuns: kind === 'pipe' ? 150 : 40, seed: 8 },
      );
    });
  });
}
