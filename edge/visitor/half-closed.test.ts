import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { ConnectionOptions } from 'node:tls';
import type { Session } from '@underpass/wire/api.ts';
import { createRig, type Handler, type Rig, readUntil, tunnelOf, whenClosed } from '../fixture/rig.ts';
import { defaultTimeouts } from '../limits/timeouts.ts';

const upgrade = 'GET / HTTP/1.1\r\nHost: t.tunnels.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
const plain = 'GET / HTTP/1.1\r\nHost: i.tunnels.test\r\n\r\n';

/** A connection on which bytes pass both ways and neither side has ended. */
interface Passed {
  readonly visitor: Socket;
  readonly upstream: Socket;
  readonly session: Session;
}

/** Exchanges the first request and answer, and returns the sockets of both sides. */
async function join(rig: Rig, tunnel: string, answer: string, dial: () => Promise<Socket>, request: string): Promise<Passed> {
  const { promise, resolve } = Promise.withResolvers<Socket>();
  const upstream: Handler = (socket) => {
    socket.once('data', () => {
      socket.write(`${answer}hello`);
      resolve(socket);
    });
  };
  const { session } = await rig.client(tunnel, upstream);
  const visitor = await dial();
  visitor.write(request);
  await readUntil(visitor, (text) => text.endsWith('hello'));
  return { visitor, upstream: await promise, session };
}

const kinds: readonly (readonly [string, (rig: Rig) => Promise<Passed>])[] = [
  ['passed through', (rig) => join(rig, 'i', '', () => rig.visitRaw('http'), plain)],
  [
    'upgraded',
    (rig) => join(rig, 't', switched, () => rig.visit('t.tunnels.test', { allowHalfOpen: true } as ConnectionOptions), upgrade),
  ],
];

const tunnels = [tunnelOf('t'), tunnelOf('i', { type: 'ingress' })];
const ends = ['visitor', 'upstream'] as const;

/** Writes a little at a time for longer than the bound, then one last text. */
function drip(socket: Socket, pieces: number): void {
  let left = pieces;
  const timer = setInterval(() => {
    socket.write('x');
    if (--left > 0) return;
    clearInterval(timer);
    socket.end('.');
  }, 100);
}

for (const [kind, connect] of kinds) {
  describe(`a half-closed connection that is ${kind}`, () => {
    for (const end of ends) {
      it(`ends when the other direction stays silent: the ${end} has ended`, async () => {
        await using rig = await createRig(tunnels, { timeouts: { halfClosedMs: 300 } });
        const passed = await connect(rig);
        const closed = whenClosed(passed[end]);
        passed[end].end();
        for (const side of ends) passed[side].resume();
        // The side that has ended still reads, so it gets the reset; the other side has already read the end.
        await closed;
        while (rig.edge.stats().sockets > 1 || passed.session.openStreams > 0) await pause(5);
      });

      it(`stays open while the other direction moves: the ${end} has ended`, async () => {
        await using rig = await createRig(tunnels, { timeouts: { halfClosedMs: 600 } });
        const passed = await connect(rig);
        const other = end === 'visitor' ? passed.upstream : passed.visitor;
        const received = readUntil(passed[end], (text) => text.endsWith('.'));
        passed[end].end();
        other.resume();
        drip(other, 15);
        assert.equal(await received, `${'x'.repeat(15)}.`);
      });
    }

    it('has the longer idle bound while both directions are open', async () => {
      await using rig = await createRig(tunnels, { timeouts: { halfClosedMs: 300, idleStreamMs: 60_000 } });
      const { visitor, upstream } = await connect(rig);
      await pause(1_000);
      const received = readUntil(visitor, (text) => text === 'still here');
      upstream.write('still here');
      assert.equal(await received, 'still here');
    });
  });
}

it('bytes of a visitor do not extend the wait for an upstream', async () => {
  await using rig = await createRig(tunnels, { timeouts: { responseMs: 400 } });
  const client = await rig.client('i', () => {});
  client.session.onStream = () => {};
  const visitor = await rig.visitRaw('http');
  visitor.write(plain);
  const more = setInterval(() => visitor.write('more'), 50);
  const answer = await readUntil(visitor, () => false);
  clearInterval(more);
  assert.match(answer, /underpass-error: UNDERPASS_UPSTREAM_TIMEOUT/);
});

it('a half-closed connection may be idle longer than an answer may take, and shorter than an open one', () => {
  const { halfClosedMs, responseMs, idleStreamMs } = defaultTimeouts;
  assert.ok(halfClosedMs > responseMs && halfClosedMs < idleStreamMs);
});
