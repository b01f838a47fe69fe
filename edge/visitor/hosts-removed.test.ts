// A visitor's connection may carry requests for several hosts of one tunnel, and a host may be removed from the tunnel.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { createRig, type Rig, readUntil, tunnelOf, whenClosed } from '../fixture/rig.ts';

const both = tunnelOf('t', { hosts: ['a.test', 'b.test'] });
const onlyA = tunnelOf('t', { hosts: ['a.test'] });

/** Starts a response that stays open, of the kind that the request asks for, and echoes all later bytes. */
function lasting(socket: Socket): void {
  socket.on('data', (chunk: Buffer) => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const stream = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n';
    const text = chunk.toString('latin1');
    if (/^GET /.test(text)) socket.write(/\r\nUpgrade: /.test(text) ? upgrade : stream);
    else socket.write(chunk);
  });
}

const head = (host: string, fields = '') => `GET / HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`;
const websocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

async function rigWithClient(): Promise<Rig> {
  const rig = await createRig([both]);
  await rig.client('t', lasting);
  return rig;
}

describe('a host that is removed from its tunnel', () => {
  const lastingRequests = { 'an upgraded connection': websocket, 'a response': '' };
  for (const [name, fields] of Object.entries(lastingRequests)) {
    it(`cuts ${name} under it, even on a connection opened for another host`, async () => {
      await using rig = await rigWithClient();
      const visitor = await rig.visit('a.test');
      visitor.write(head('b.test', fields));
      await readUntil(visitor, (text) => /\r\n\r\n/.test(text));
      const closed = whenClosed(visitor);
      await rig.control.change({ tunnels: [onlyA] });
      await closed;
    });
  }

  it('does not cut requests for other hosts', async () => {
    await using rig = await rigWithClient();
    const visitor = await rig.visit('a.test');
    visitor.write(head('a.test', websocket));
    await readUntil(visitor, (text) => /\r\n\r\n/.test(text));
    await rig.control.change({ tunnels: [onlyA] });
    visitor.write('still here');
    assert.equal(await readUntil(visitor, (text) => text.length > 0), 'still here');
  });

  it('resets the HTTP/2 streams under it, and no others', async () => {
    await using rig = await rigWithClient();
    const session = connect('https://a.test', {
      createConnection: () => rig.connectTls('a.test', { ALPNProtocols: ['h2'] }),
    });
    try {
      const streams = ['a.test', 'b.test'].map((authority) => session.request({ ':authority': authority, ':path': '/' }));
      for (const stream of streams) stream.on('error', () => {});
      await Promise.all(streams.map((stream) => once(stream, 'data')));
      const [kept, taken] = streams as [(typeof streams)[0], (typeof streams)[0]];
      const closed = whenClosed(taken);
      await rig.control.change({ tunnels: [onlyA] });
      await closed;
      assert.equal(kept.closed, false);
      assert.equal(session.closed, false);
    } finally {
      session.destroy();
    }
  });
});
