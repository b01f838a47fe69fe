import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import type { Stream } from './api.ts';
import { createTcpPair } from './fixture/carriers.ts';
import { relayStreams } from './fixture/relay-streams.ts';
import { collect, createSessionPair, pump, whenReset } from './fixture/sessions.ts';
import { relaySocket } from './relay.ts';
import type { SessionOptions } from './session/session.ts';

interface Relayed extends AsyncDisposable {
  /** The edge's end of the stream. */
  readonly near: Stream;
  /** The far end of the socket that the client's end of the stream is joined to. */
  readonly upstream: Socket;
}

async function createRelayed(): Promise<Relayed> {
  const pair = await createSessionPair('tls');
  const { near, far } = await pair.open();
  const [socket, upstream] = await createTcpPair();
  far.accept();
  relaySocket(far, socket);
  return {
    near,
    upstream,
    async [Symbol.asyncDispose]() {
      upstream.destroy();
      socket.destroy();
      await pair[Symbol.asyncDispose]();
    },
  };
}

/** toArray() would destroy the socket together with what it still has to write. */
function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => socket.on('end', () => resolve(Buffer.concat(chunks))));
}

describe('a stream joined to a socket', () => {
  it('carries megabytes both ways at once, unchanged', async () => {
    await using relayed = await createRelayed();
    const { near, upstream } = relayed;
    const [down, up] = [randomBytes(8_000_000), randomBytes(8_000_000)];
    const got = Promise.all([collect(near), readAll(upstream)]);
    const sent = pump(near, up, 65_536);
    upstream.end(down);
    await sent;
    const [gotDown, gotUp] = await got;
    assert.ok(gotDown.equals(down));
    assert.ok(gotUp.equals(up));
  });

  it('carries many small pieces in order', async () => {
    await using relayed = await createRelayed();
    const pieces = Array.from({ length: 5_000 }, (_, index) => Buffer.from(`${index},`));
    const got = readAll(relayed.upstream);
    for (const piece of pieces) relayed.near.write(piece);
    relayed.near.write(Buffer.alloc(10_000, 'x'));
    relayed.near.write(Buffer.from('tail'));
    relayed.near.end();
    assert.ok((await got).equals(Buffer.concat([...pieces, Buffer.alloc(10_000, 'x'), Buffer.from('tail')])));
  });

  it('keeps the half-close of the socket', async () => {
    await using relayed = await createRelayed();
    const got = collect(relayed.near);
    relayed.upstream.end('early');
    assert.equal(String(await got), 'early');
    relayed.near.write(Buffer.from('late'));
    relayed.near.end();
    assert.equal(String(await readAll(relayed.upstream)), 'late');
  });

  it('delivers what waits for credit after the socket has closed', async () => {
    await using relayed = await createRelayed();
    const { near, upstream } = relayed;
    const bytes = randomBytes(400_000);
    const held: Buffer[] = [];
    near.onData = (chunk) => held.push(Buffer.from(chunk));
    near.end();
    upstream.resume().end(bytes);
    await once(upstream, 'close');
    const rest = collect(near);
    near.consume(262_144);
    assert.ok(Buffer.concat([...held, await rest]).equals(bytes));
  });

  it('passes on a reset of the socket', async () => {
    await using relayed = await createRelayed();
    const got = whenReset(relayed.near);
    relayed.upstream.resetAndDestroy();
    assert.equal(await got, 'upstream-reset');
  });

  it('passes on a reset of the stream as a TCP reset', async () => {
    await using relayed = await createRelayed();
    const failed = once(relayed.upstream, 'error');
    relayed.upstream.resume();
    relayed.near.reset('denied');
    const [error] = await failed;
    assert.equal(error.code, 'ECONNRESET');
  });

  it('resets, and does not end, when the upstream ends within its TLS handshake', async () => {
    await using pair = await createSessionPair('tls');
    const { near, far } = await pair.open();
    const [tcp, upstream] = await createTcpPair();
    const socket = connectTls({ socket: tcp });
    socket.allowHalfOpen = true;
    relaySocket(far, socket);
    let ended = false;
    near.onEnd = () => (ended = true);
    const got = whenReset(near);
    upstream.end();
    assert.equal(await got, 'upstream-reset');
    assert.equal(ended, false);
    upstream.destroy();
  });

  for (const [what, act, expected] of [
    ['ends without a byte', (upstream) => upstream.end(), null],
    ['sends its first bytes', (upstream) => upstream.write('alert'), 'alert'],
  ] as [string, (upstream: Socket) => void, string | null][]) {
    it(`drops a socket that ${what} if the stream is taken over`, async () => {
      await using pair = await createSessionPair('tls');
      const { far } = await pair.open();
      const [socket, upstream] = await createTcpPair();
      let first: string | null | undefined;
      relaySocket(far, socket, (bytes) => {
        first = bytes?.toString() ?? null;
        return true;
      });
      const closed = [socket, upstream].map((each) => new Promise((resolve) => each.on('close', resolve)));
      upstream.on('error', () => {}).resume();
      act(upstream);
      await Promise.all(closed);
      assert.equal(first, expected);
    });
  }

  it('stops reading from a socket whose stream is stalled', async () => {
    await using relayed = await createRelayed();
    const { near, upstream } = relayed;
    let held = 0;
    near.onData = (chunk) => (held += chunk.length);
    const chunk = Buffer.alloc(1_000_000);
    let written = 0;
    while (upstream.writableLength < 4_000_000) {
      upstream.write(chunk);
      written += chunk.length;
      await new Promise(setImmediate);
    }
    assert.ok(held <= 262_144);
    assert.ok(written < 40_000_000, `${written} bytes went somewhere`);
  });
});

describe('two streams joined to each other', () => {
  const createHop = async (ofEdge: Partial<SessionOptions> = {}) => {
    const hop = await createSessionPair('tcp', { peerMayOpen: true });
    const carrier = await createSessionPair('tls', {}, ofEdge);
    const first = await hop.open({ tunnelId: 't1', clientId: 'c1' });
    const second = await carrier.open();
    relayStreams(first.far, second.near);
    return { hop, carrier, visitor: first.near, client: second.far };
  };

  it('pass on bytes, half-close and acceptance across both sessions', async () => {
    const { hop, carrier, visitor, client } = await createHop();
    await using _one = hop;
    await using _two = carrier;
    assert.equal(visitor.request.tunnelId, 't1');
    const opened = new Promise<void>((resolve) => (visitor.onOpened = resolve));
    client.accept();
    await opened;
    const [down, up] = [randomBytes(3_000_000), randomBytes(3_000_000)];
    const got = Promise.all([collect(visitor), collect(client)]);
    await Promise.all([pump(visitor, up), pump(client, down)]);
    const [gotDown, gotUp] = await got;
    assert.ok(gotDown.equals(down) && gotUp.equals(up));
  });

  it('hold a whole window of one stream while the reader of the other stalls, and lose nothing', async () => {
    const windowBytes = 8_388_608;
    const { hop, carrier, visitor, client } = await createHop({ limits: { initialWindowBytes: windowBytes } });
    await using _one = hop;
    await using _two = carrier;
    client.accept();
    let got = 0;
    let owed = 0;
    visitor.onData = (chunk) => {
      got += chunk.length;
      owed += chunk.length;
    };
    const reset = whenReset(visitor);
    const arrived = new Promise<void>((resolve) => {
      const look = (): void => void (carrier.edge.receivedBytes >= windowBytes ? resolve() : setImmediate(look));
      look();
    });
    const pumped = pump(client, Buffer.alloc(windowBytes + 1_000_000));
    assert.equal(await Promise.race([reset, arrived]), undefined);
    const ended = new Promise<void>((resolve) => (visitor.onEnd = resolve));
    visitor.onData = (chunk) => {
      got += chunk.length;
      visitor.consume(chunk.length);
    };
    visitor.consume(owed);
    await Promise.all([pumped, ended]);
    assert.equal(got, windowBytes + 1_000_000);
  });

  it('pass on the code of a reset', async () => {
    const { hop, carrier, visitor, client } = await createHop();
    await using _one = hop;
    await using _two = carrier;
    const got = whenReset(visitor);
    client.reset('upstream-refused');
    assert.equal(await got, 'upstream-refused');
  });

  it('end when the carrier behind the hop is lost', async () => {
    const { hop, carrier, visitor } = await createHop();
    await using _one = hop;
    const got = whenReset(visitor);
    await carrier[Symbol.asyncDispose]();
    assert.equal(await got, 'cancelled');
  });
});
