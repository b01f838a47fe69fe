import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { encodeProxyHeader } from '../core/proxy-protocol.ts';
import { helloFor } from '../fixture/hello.ts';
import { createRig, tunnelOf } from '../fixture/rig.ts';
import { VisitorHandshakes } from './visitor-handshakes.ts';

const host = 't.tunnels.test';

describe('an address that arrives after three hundred handshakes of another waits for few of them', () => {
  /** How many of the three hundred are answered before the last to arrive. */
  async function answeredBefore(balancers: readonly string[]): Promise<number> {
    await using rig = await createRig([tunnelOf('t')], { balancers });
    const hello = await helloFor(host);
    const sockets = Array.from({ length: 301 }, (_, at) => {
      const localAddress = balancers.length > 0 ? '127.0.0.1' : at < 300 ? '127.0.0.2' : '127.0.0.3';
      return connect({ host: '127.0.0.1', port: rig.edge.ports.https, localAddress });
    });
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    let answered = 0;
    const answers = sockets.map((socket, at) => {
      const ends = {
        sourceAddress: at < 300 ? '192.0.2.2' : '192.0.2.3',
        sourcePort: 1,
        destinationAddress: '192.0.2.1',
        destinationPort: 443,
      };
      socket.write(balancers.length > 0 ? Buffer.concat([encodeProxyHeader('v2', ends), hello]) : hello);
      return once(socket, 'data').then(() => answered++);
    });
    const before = (await answers[300]) as number;
    await Promise.all(answers);
    for (const socket of sockets) socket.destroy();
    return before;
  }

  it('by itself', async () => {
    const before = await answeredBefore([]);
    assert.ok(before < 100, `${before}`);
  });

  it('behind a balancer', async () => {
    const before = await answeredBefore(['127.0.0.1']);
    assert.ok(before < 100, `${before}`);
  });
});

describe('handshakes of visitors', () => {
  /** The turns of the event loop, and the names of the handshakes that have begun. */
  function createScene(t: TestContext) {
    const turns = new VisitorHandshakes();
    const time = { nowMs: 0 };
    t.mock.method(performance, 'now', () => time.nowMs);
    const begun: string[] = [];
    const add = (source: string): Socket => {
      const socket = new Socket().on('error', () => {});
      turns.add(socket, source, () => void begun.push(source));
      return socket;
    };
    return { time, begun, add };
  }

  it('begin eight in each turn, one address after the other', async (t) => {
    const { begun, add } = createScene(t);
    for (const source of 'aaaaaaaaaabbc') add(source);
    await nextTurn();
    assert.equal(begun.join(''), 'abcabaaa');
    await nextTurn();
    assert.equal(begun.join(''), 'abcabaaaaaaaa');
  });

  it('wait while connections arrive, four for each handshake that began', async (t) => {
    const { begun, add } = createScene(t);
    const counts: number[] = [];
    for (let turn = 0; turn < 12; turn++) {
      add('a');
      await nextTurn();
      counts.push(begun.length);
    }
    assert.deepEqual(counts, [1, 1, 1, 1, 1, 6, 6, 6, 6, 6, 6, 6]);
    await nextTurn();
    assert.equal(begun.length, 12, 'no more connections arrive');
  });

  it('do not begin for a visitor that has gone, and reset one that waited too long', async (t) => {
    const { time, begun, add } = createScene(t);
    add('gone').destroy();
    const late = add('late');
    time.nowMs = 10_001;
    add('here');
    await nextTurn();
    assert.deepEqual(begun, ['here']);
    assert.ok(late.destroyed);
  });
});
