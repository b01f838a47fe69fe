// Visitors that send random frames: the edge stays quick, serves others, and keeps nothing once they are gone.
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { it } from 'node:test';
import {
  assertNothingHeld,
  assertServed,
  encodeH2Frame,
  endHeaders,
  endStream,
  frameTypes as frame,
  getFrame,
  literal,
  postFrame,
  setting,
  settingIds,
  u32,
  visitByFrame,
} from '../fixture/h2-frames.ts';
import { createRig, type Rig, tunnelOf, whenClosed } from '../fixture/rig.ts';
import { plainUpstream } from '../fixture/upstreams.ts';

const host = 't.tunnels.test';
const { initialWindowSize } = settingIds;
/** None of these limits the TLS handshake, which may take long on a busy machine. */
const timeouts = { stallMs: 300, idleStreamMs: 600, responseMs: 600, keepAliveMs: 500 };
/** CPU time between two turns, to find endless loops. Not wall time: a busy machine may stop the whole process for longer. */
const maxLagMs = 2_000;
const busyMs = (): number => process.threadCpuUsage().user / 1_000;

type Random = (below: number) => number;

/** A linear congruential generator: the same seed sends the same frames. */
function createRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >>> 8) % below;
  };
}

const pick = <T>(random: Random, of: readonly T[]): T => of[random(of.length)] as T;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

type Answer = (request: IncomingMessage, response: ServerResponse, random: Random) => void;

const answers: readonly Answer[] = [
  (_, response) => response.end('ok'),
  (_, response, random) => response.end('x'.repeat(random(200_000))),
  (request, response) => request.resume().on('end', () => response.end('read')),
  (request) => request.socket.destroy(),
  (_, response) => response.write('part'),
  (_, response, random) => response.write('x'.repeat(random(200_000))),
  (request, response) => {
    response.writeHead(200, { 'content-length': 100_000 });
    response.write('half', () => request.socket.destroy());
  },
  (_, response) => {
    response.writeEarlyHints({ link: '</a>; rel=preload' });
    response.end('late');
  },
];

/** `next` opens a stream, `known` is a stream that is open or was. */
type MakeFrame = (random: Random, next: () => number, known: () => number) => Buffer;

const post: MakeFrame = (_, next) => postFrame(host, next());
const get: MakeFrame = (_, next) => getFrame(host, next());
const data: MakeFrame = (random, _, known) =>
  encodeH2Frame(frame.data, random(4) === 0 ? endStream : 0, known(), Buffer.alloc(random(2_000)));
const open: MakeFrame = (random, _, known) =>
  encodeH2Frame(frame.windowUpdate, 0, random(4) === 0 ? 0 : known(), u32(1 + random(100_000)));
const reset: MakeFrame = (random, _, known) => encodeH2Frame(frame.rstStream, 0, known(), u32(pick(random, [0, 2, 8])));
const resize: MakeFrame = (random) =>
  encodeH2Frame(frame.settings, 0, 0, setting(initialWindowSize, pick(random, [0, 1, 65_535])));
const offend: MakeFrame = (random) => (random(20) === 0 ? encodeH2Frame(frame.ping, 1, 0, Buffer.alloc(8)) : Buffer.alloc(0));
const finish: MakeFrame = (_random, _next, known) => encodeH2Frame(frame.data, endStream, known());
const trail: MakeFrame = (_random, _next, known) =>
  encodeH2Frame(frame.headers, endHeaders | endStream, known(), literal('x-t', 'y'));
const leave: MakeFrame = (random) => (random(40) === 0 ? encodeH2Frame(frame.goaway, 0, 0, Buffer.alloc(8)) : Buffer.alloc(0));
/** Sometimes more than may run at once. */
const swarm: MakeFrame = (random, next, known) =>
  Buffer.concat(Array.from({ length: random(5) === 0 ? 90 : 0 }, () => post(random, next, known)));
/** Common frames are frequent. */
const makers = [
  ...[post, post, post, get, get, get, data, data, data, open, open, open, reset, reset],
  ...[finish, finish, trail, leave, resize, offend, swarm],
];

/** One bit of one byte differs: of the length, the type, the flags, the stream or the payload. */
function damage(frame: Buffer, random: Random): Buffer {
  if (frame.length > 0) frame[random(Math.min(frame.length, 60))]! ^= 1 << random(8);
  return frame;
}

/** `damagedOneIn`: one frame in so many is damaged; none if 0. */
async function visitAtRandom(rig: Rig, random: Random, damagedOneIn: number): Promise<void> {
  const window = setting(initialWindowSize, pick(random, [0, 1, 10, 65_535, 1_000_000]));
  const { visitor, reader } = await visitByFrame(rig, host, window);
  const closed = whenClosed(visitor);
  let last = -1;
  const next = (): number => {
    last += 2;
    return last;
  };
  const known = (): number => 1 + 2 * random(Math.max(1, (last + 1) / 2));
  for (let burst = 0; burst < 30 && !reader.ended; burst++) {
    const frames = Array.from({ length: 1 + random(30) }, () => {
      const made = pick(random, makers)(random, next, known);
      return damagedOneIn > 0 && random(damagedOneIn) === 0 ? damage(made, random) : made;
    });
    visitor.write(Buffer.concat(frames));
    await pause(random(8) === 0 ? random(timeouts.stallMs) : 0);
  }
  if (random(2) === 0) visitor.end();
  else visitor.destroy();
  await Promise.race([closed, pause(2 * timeouts.idleStreamMs)]);
  visitor.destroy();
}

for (const [what, seed, visits, damagedOneIn] of [
  ['random frames', 1, 12, 0],
  ['random frames', 2, 12, 0],
  ['random frames', 3, 12, 0],
  // A damaged frame mostly ends its connection, so there are more of these.
  ['random frames, some of them damaged', 4, 40, 40],
  ['random frames, some of them damaged', 5, 40, 10],
] as const) {
  it(`${what}, seed ${seed}`, async (t) => {
    const random = createRandom(seed);
    await using rig = await createRig([tunnelOf('t'), tunnelOf('u')], { timeouts });
    const upstream = createServer((request, response) => {
      for (const end of [request, response, request.socket]) end.on('error', () => {});
      pick(random, answers)(request, response, random);
    });
    await rig.client('t', upstream);
    await rig.client('u', plainUpstream());
    let [lag, turn] = [0, busyMs()];
    const watch = setInterval(() => {
      lag = Math.max(lag, busyMs() - turn);
      turn = busyMs();
    }, 10);
    t.after(() => clearInterval(watch));
    for (let round = 0; round < visits; round++)
      await Promise.all(Array.from({ length: 5 }, () => visitAtRandom(rig, random, damagedOneIn)));
    assert.ok(lag < maxLagMs, `the edge was blocked for ${lag} ms`);
    await assertServed(rig, 'u.tunnels.test');
    await assertNothingHeld(rig, 2);
  });
}
