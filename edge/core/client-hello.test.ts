import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, it } from 'node:test';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { HelloInPieces, maxHelloBytes, peekClientHello } from './client-hello.ts';

/** The first flight of Node's own TLS client, as an example of a real one. */
async function captureHello(options: { servername?: string; ALPNProtocols?: string[] }): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect({
    port: (server.address() as { port: number }).port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    ...options,
  });
  client.on('error', () => {});
  const [socket] = await once(server, 'connection');
  const [bytes] = await once(socket, 'data');
  socket.destroy();
  client.destroy();
  server.close();
  return bytes;
}

/** The same handshake message in records of `size` bytes. */
function refragment(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const fragment = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, fragment.length >> 8, fragment.length & 255]), fragment);
  }
  return Buffer.concat(records);
}

describe('the first flight of a real client', () => {
  it('gives its server name, lower-cased, and its protocols', async () => {
    const hello = await captureHello({ servername: 'A.Example.com', ALPNProtocols: ['h2', 'http/1.1'] });
    assert.deepEqual(peekClientHello(hello), {
      kind: 'hello',
      serverName: 'a.example.com',
      protocols: ['h2', 'http/1.1'],
      tls13: true,
    });
  });

  it('has the server name null without SNI', async () => {
    const hello = await captureHello({});
    assert.deepEqual(peekClientHello(hello), { kind: 'hello', serverName: null, protocols: [], tls13: true });
  });

  it('is read byte by byte and from records of any size', async () => {
    const hello = await captureHello({ servername: 'a.example.com', ALPNProtocols: ['http/1.1'] });
    const expected = peekClientHello(hello);
    for (const size of [1, 2, 3, 4, 5, 7, 100, maxHelloBytes]) {
      const bytes = refragment(hello, size);
      const pieces = new HelloInPieces();
      for (let to = 0; to < bytes.length; to++) assert.equal(pieces.peek(bytes.subarray(0, to)).kind, 'more');
      assert.deepEqual(pieces.peek(bytes), expected);
      assert.deepEqual(peekClientHello(bytes), expected);
    }
  });

  it('never throws and never gives another name with bytes changed', async () => {
    const hello = await captureHello({ servername: 'a.example.com', ALPNProtocols: ['h2'] });
    fc.assert(
      fc.property(fc.nat(hello.length - 1), fc.nat(255), fc.nat(hello.length), (at, octet, to) => {
        const bytes = Buffer.from(hello);
        bytes[at] = octet;
        const peek = peekClientHello(bytes.subarray(0, to));
        assert.ok(['more', 'hello', 'foreign', 'malformed'].includes(peek.kind));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('a first flight that is no valid hello', () => {
  it('is foreign if it is HTTP, SSH or SSLv2', () => {
    for (const text of ['GET / HTTP/1.1', 'SSH-2.0', '\x80\x2e\x01']) {
      assert.equal(peekClientHello(Buffer.from(text, 'latin1')).kind, 'foreign');
    }
  });

  it('is malformed if it is another handshake message, empty records or endless records', () => {
    assert.equal(peekClientHello(Buffer.from('160301000402000000', 'hex')).kind, 'malformed');
    assert.equal(peekClientHello(Buffer.from('1603010000', 'hex')).kind, 'malformed');
    assert.equal(peekClientHello(Buffer.from('160301ffff', 'hex')).kind, 'malformed');
    assert.equal(peekClientHello(Buffer.from('1603010004014fffff', 'hex')).kind, 'malformed');
  });

  it('is malformed beyond 16 KiB', () => {
    const filler = Buffer.concat([Buffer.from('16030140000100ffff', 'hex'), Buffer.alloc(maxHelloBytes)]);
    assert.equal(peekClientHello(filler).kind, 'malformed');
    // Records of one byte: each message byte has a header of five.
    const slow = refragment(Buffer.concat([Buffer.from('1603010000010037ff', 'hex'), Buffer.alloc(10_000)]), 1);
    assert.equal(peekClientHello(slow.subarray(0, maxHelloBytes - 1)).kind, 'more');
    assert.equal(peekClientHello(slow.subarray(0, maxHelloBytes)).kind, 'malformed');
  });

  for (const [size, most] of [
    [1, 80],
    [10_000, 12],
  ] as const) {
    it(`is parsed at most ${most} times when it arrives byte by byte in records of ${size}`, (t) => {
      const slow = refragment(Buffer.concat([Buffer.from('160301000001002710', 'hex'), Buffer.alloc(10_000)]), size);
      const gathered = t.mock.method(globalThis, 'Uint8Array');
      const hello = new HelloInPieces();
      const end = Math.min(slow.length, maxHelloBytes);
      for (let to = 1; to < end; to++) assert.equal(hello.peek(slow.subarray(0, to)).kind, 'more');
      assert.equal(hello.peek(slow.subarray(0, end)).kind, 'malformed');
      assert.ok(gathered.mock.callCount() <= most, `${gathered.mock.callCount()} times`);
    });
  }

  it('is malformed with two server names, a repeated extension, or bytes after the extensions', () => {
    const hello = (extensions: string, behind = '') => {
      const body = `0303${'00'.repeat(32)}00${'0002'}1301${'0100'}${(extensions.length / 2).toString(16).padStart(4, '0')}${extensions}${behind}`;
      const message = `01${(body.length / 2).toString(16).padStart(6, '0')}${body}`;
      return Buffer.from(`160301${(message.length / 2).toString(16).padStart(4, '0')}${message}`, 'hex');
    };
    const name = '0000000600040000' + '0161';
    assert.deepEqual(peekClientHello(hello(name)), { kind: 'hello', serverName: 'a', protocols: [], tls13: false });
    const offers = (versions: string) =>
      peekClientHello(hello(`${name}002b000${1 + versions.length / 2}0${versions.length / 2}${versions}`));
    for (const [versions, tls13] of [
      ['0304', true],
      ['03030304', true],
      ['0303', false],
      ['', false],
    ] as const) {
      const peek = offers(versions);
      assert.equal(peek.kind === 'hello' && peek.tls13, tls13, versions);
    }
    const nameOf = (hex: string) => {
      const [inner, outer] = [hex.length / 2, hex.length / 2 + 3].map((bytes) => bytes.toString(16).padStart(4, '0'));
      const peek = peekClientHello(hello(`0000${(hex.length / 2 + 5).toString(16).padStart(4, '0')}${outer}00${inner}${hex}`));
      return peek.kind === 'hello' ? peek.serverName : peek.kind;
    };
    // Clients take the name from a URL, and "https://A./" names the same host as "https://a/".
    assert.deepEqual(['412e', '61', '2e', '612e2e'].map(nameOf), ['a', 'a', '\0', 'a.']);
    assert.equal(peekClientHello(hello(name + name)).kind, 'malformed');
    for (const behind of ['00', name]) assert.equal(peekClientHello(hello('', behind)).kind, 'malformed');
    assert.equal(peekClientHello(hello('0000000a0008' + '00000161' + '00000162')).kind, 'malformed');
    assert.deepEqual(peekClientHello(hello('0000000600040000' + '0120')), {
      kind: 'hello',
      serverName: '\0',
      protocols: [],
      tls13: false,
    });
  });
});
