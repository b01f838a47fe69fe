import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import vectors from '../core/vectors.json' with { type: 'json' };
import { carrierKinds, createCarriers } from '../fixture/carriers.ts';
import type { ToEdge } from './feed.ts';
import { createControlFeed, createEdgeFeed, maxFeedMessageBytes } from './feed-stream.ts';

const ping = (id: number): ToEdge => ({ type: 'ping', id });
function framed(text: string): Buffer {
  const bytes = Buffer.alloc(4 + Buffer.byteLength(text));
  bytes.writeUInt32BE(Buffer.byteLength(text));
  bytes.write(text, 4);
  return bytes;
}

for (const kind of carrierKinds) {
  describe(`a feed over ${kind}`, () => {
    it('delivers messages of every size in order, both ways, and ends properly', async () => {
      const [one, other] = await createCarriers(kind);
      const [control, edge] = [createControlFeed(one), createEdgeFeed(other)];
      const seen: string[] = [];
      edge.onMessage = (message) => {
        seen.push(message.type);
        if (message.type === 'ping') edge.send({ type: 'pong', id: message.id });
      };
      const closed = new Promise((resolve) => (edge.onClose = resolve));
      const pong = new Promise((resolve) => {
        control.onMessage = (message) => void (message.type === 'pong' && resolve(message.id));
      });
      control.send({ type: 'welcome', version: 1, epoch: 'x'.repeat(3_000_000), region: 'ü' });
      control.send(ping(7));
      assert.equal(await pong, 7);
      control.end();
      assert.equal(await closed, null);
      assert.deepEqual(seen, ['welcome', 'ping']);
    });
  });
}

describe('a feed', () => {
  it('ends when its receiver throws, and the process goes on', async () => {
    const [one, other] = duplexPair();
    const edge = createEdgeFeed(other);
    edge.onMessage = () => {
      throw new Error('tripped');
    };
    const closed = new Promise<Error | null>((resolve) => (edge.onClose = resolve));
    createControlFeed(one).send(ping(1));
    assert.equal((await closed)?.message, 'tripped');
  });

  it('reads the vector of the protocol page, split at every byte', async () => {
    const bytes = Buffer.from(vectors.feed.hex.replaceAll(' ', ''), 'hex');
    for (let at = 0; at <= bytes.length; at++) {
      const [one, other] = duplexPair();
      const edge = createEdgeFeed(other);
      const got = new Promise((resolve) => (edge.onMessage = resolve));
      one.write(bytes.subarray(0, at));
      one.write(bytes.subarray(at));
      assert.deepEqual(await got, vectors.feed.message);
    }
  });

  for (const [what, bytes] of [
    ['a length beyond the bound, before it keeps a byte', Buffer.from([0x04, 0, 0, 1])],
    ['text that is not JSON', framed('{')],
    ['JSON that is not an object', framed('[]')],
    ['JSON null', framed('null')],
    ['an object without a type', framed('{"id":1}')],
    ['an empty message', framed('')],
  ] as const) {
    it(`is cut for ${what}`, async () => {
      const [one, other] = duplexPair();
      const edge = createEdgeFeed(other);
      const closed = new Promise<Error | null>((resolve) => (edge.onClose = resolve));
      one.write(bytes);
      assert.ok((await closed) instanceof Error);
      assert.ok(other.destroyed);
    });
  }

  it('that ends inside a message gives an error', async () => {
    const [one, other] = duplexPair();
    const edge = createEdgeFeed(other);
    const closed = new Promise<Error | null>((resolve) => (edge.onClose = resolve));
    one.end(framed('{"type":"ping","id":7}').subarray(0, 10));
    assert.match(String(await closed), /inside a message/);
  });

  it('refuses to send what the peer would refuse', () => {
    const control = createControlFeed(duplexPair()[0]);
    assert.throws(
      () => control.send({ type: 'welcome', version: 1, epoch: 'x'.repeat(maxFeedMessageBytes), region: '' }),
      RangeError,
    );
  });

  it('asks a sender to wait, and says when it may continue', async () => {
    const [one, other] = duplexPair();
    const control = createControlFeed(one);
    let sent = 0;
    while (control.send(ping(sent))) sent++;
    let ready = false;
    const waiting = control.ready().then(() => (ready = true));
    await turn();
    assert.equal(ready, false);
    createEdgeFeed(other);
    await waiting;
  });

  it('reads nothing while the promise of its receiver is open, and keeps the order', async () => {
    const [one, other] = duplexPair();
    const edge = createEdgeFeed(other);
    const control = createControlFeed(one);
    const log: number[] = [];
    let finish = (): void => {};
    const all = new Promise<void>((resolve) => {
      edge.onMessage = async (message) => {
        if (message.type !== 'ping') return;
        log.push(message.id);
        if (message.id === 0) await new Promise<void>((done) => (finish = done));
        if (message.id === 2) resolve();
      };
    });
    for (const id of [0, 1, 2]) control.send(ping(id));
    for (let turns = 0; turns < 5; turns++) await turn();
    assert.deepEqual(log, [0]);
    finish();
    await all;
    assert.deepEqual(log, [0, 1, 2]);
  });

  it('gives up on a peer that does not read', async () => {
    const [one] = duplexPair();
    const control = createControlFeed(one);
    const closed = new Promise<Error | null>((resolve) => (control.onClose = resolve));
    const big: ToEdge = { type: 'welcome', version: 1, epoch: 'x'.repeat(30_000_000), region: '' };
    for (let count = 0; count < 6; count++) control.send(big);
    assert.match(String(await closed), /does not read/);
  });
});
