import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { createRig, type Rig, tunnelOf, whenClosed } from '../fixture/rig.ts';

/** A stalled handshake ends by itself after 10 s, so the edge must release the socket before that. */
const patienceMs = 9_000;

/** Resolves when the edge holds no socket. */
async function untilEmpty({ edge }: Rig): Promise<void> {
  const end = performance.now() + patienceMs;
  while (edge.stats().sockets > 0) {
    assert.ok(performance.now() < end, `${edge.stats().sockets} sockets are still held`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('the edge releases the socket of a visitor that left', () => {
  for (const protocol of ['h2', 'http/1.1']) {
    it(`by ending its side after ${protocol}`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      for (let visits = 0; visits < 5; visits++) {
        const visitor = await rig.visit('t.tunnels.test', { ALPNProtocols: [protocol] });
        assert.equal(visitor.alpnProtocol, protocol);
        visitor.resume();
        visitor.end();
        await whenClosed(visitor);
      }
      await untilEmpty(rig);
    });
  }

  it('in the middle of the handshake', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const visitor = connectTls({ host: '127.0.0.1', port: rig.edge.ports.https, servername: 't.tunnels.test', ca: [] });
    await once(visitor, 'error');
    await untilEmpty(rig);
  });

  it('before its first byte', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const visitor = connect({ host: '127.0.0.1', port: rig.edge.ports.https });
    visitor.on('error', () => {});
    await once(visitor, 'connect');
    visitor.end();
    await untilEmpty(rig);
  });
});

/** proc(5), net/tcp: the timer of the established connection to the local `port`; 2 is keep-alive. */
async function timerOf(port: number): Promise<number | undefined> {
  const rows = (await readFile('/proc/self/net/tcp', 'utf8')).split('\n').map((row) => row.trim().split(/\s+/));
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const row = rows.find(([, local = '', , state]) => local.endsWith(`:${hex}`) && state === '01');
  return row === undefined ? undefined : Number(row[5]?.split(':')[0]);
}

describe('a visitor whose machine is gone', { skip: process.platform !== 'linux' }, () => {
  for (const door of ['https', 'http'] as const) {
    it(`is detected by TCP keep-alive on the ${door} port, even on an idle connection`, async () => {
      await using rig = await createRig([tunnelOf('t')]);
      await rig.visitRaw(door);
      // The connection exists in the kernel before the door accepts it.
      const end = performance.now() + patienceMs;
      while ((await timerOf(rig.edge.ports[door])) !== 2) {
        assert.ok(performance.now() < end, 'keep-alive is not set');
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    });
  }
});
