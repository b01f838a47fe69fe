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

/** A connection on which bytes pass both ways, before either side has ended. */
interface Passed {
  readonly visitor: Socket;
  readonly upstream: Socket;
  readonly session: Session;
}

/** Everything the visitor and the upstream say first; the upstream's handler gives the socket on once it has answered. */
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

/** Writes a little at a time for longer than the bound, then says that it was all. */
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
  describe(`a connection that is ${kind}, one direction of which has ended`, () => {
    for (const end of ends) {
      it(`is over when the other one stays silent: the ${end} has ended`, async () => {
        await using rig = await createRig(tunnels, { timeouts: { halfClosedMs: 300 } });
        const passed = await connect(rig);
        const closed = whenClosed(passed[end]);
        passed[end].end();
        for (const side of ends) passed[side].resume();
        // The side that has ended still reads, so it hears of the reset; the other one has read its last.
        await closed;
        while (rig.edge.stats().sockets > 1 || passed.session.openStreams > 0) await pause(5);
      });

      it(`goes on while the other one moves: the ${end} has ended`, async () => {
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

    it('with both directions open, silence has the longer bound', async () => {
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

it('half an open connection has minutes, not an hour, and not less than an answer may take', () => {
  const { halfClosedMs, responseMs, idleStreamMs } = defaultTimeouts;
  assert.ok(halfClosedMs > responseMs && halfClosedMs < idleStreamMs);
});
