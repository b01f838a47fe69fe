import assert from 'node:assert/strict';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { describe, it } from 'node:test';
import { collectHeap } from '@underpass/runtime/heap.ts';
import fc from 'fast-check';
import { type RefusalCode, refusals } from './core/code.ts';
import { parseClientFacts, parseUpgradeRequest } from './core/upgrade.ts';
import { carrierKinds, createCarriers } from './fixture/carriers.ts';
import { acceptUpgrade, HandshakeError, readUpgrade, refuseUpgrade, requestUpgrade } from './handshake.ts';
import { createSession } from './session/session.ts';

const options = { host: 'edge.example', path: '/underpass', protocol: 'underpass', token: 'secret', timeoutMs: 60_000 };
const codeOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'none',
    (error) => (error instanceof HandshakeError ? error.code : String(error)),
  );

for (const kind of carrierKinds) {
  describe(`an upgrade over ${kind}`, () => {
    it('leaves both sides a byte stream without a lost byte', async () => {
      const [client, edge] = await createCarriers(kind);
      const answered = requestUpgrade(client, { ...options, headers: { 'underpass-client-id': '0'.repeat(32) } });
      const request = await readUpgrade(edge, { timeoutMs: 60_000 });
      assert.equal(request.token, 'secret');
      assert.equal(request.headers.get('underpass-client-id'), '0'.repeat(32));
      acceptUpgrade(edge, request, { 'underpass-edge': 'e1' });
      // The edge sends its first frames at once, so they arrive with the 101.
      const near = createSession(edge, { side: 'acceptor', peerMayOpen: false, info: { edge: 'e1' } });
      assert.equal((await answered).get('underpass-edge'), 'e1');
      const far = createSession(client, { side: 'dialer', peerMayOpen: true, info: {} });
      await Promise.all([near, far].map((session) => new Promise<void>((resolve) => (session.onReady = resolve))));
      assert.equal(far.peerInfo.edge, 'e1');
      client.destroy();
      edge.destroy();
    });
  });
}

describe('a refusal', () => {
  for (const code of Object.keys(refusals) as RefusalCode[]) {
    it(`${code} reaches the client as its code`, async () => {
      const [client, edge] = duplexPair();
      const answered = codeOf(requestUpgrade(client, options));
      await readUpgrade(edge, { timeoutMs: 60_000 });
      refuseUpgrade(edge, code);
      assert.equal(await answered, code);
    });
  }

  it('says how long to wait', async () => {
    const [client, edge] = duplexPair();
    const answered = requestUpgrade(client, options).catch((error: HandshakeError) => error.retryAfterSeconds);
    await readUpgrade(edge, { timeoutMs: 60_000 });
    refuseUpgrade(edge, 'too-many-clients', 30);
    assert.equal(await answered, 30);
  });

  for (const [what, answer] of [
    ['a web page', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
    ['a redirect of a captive portal', 'HTTP/1.1 302 Found\r\nLocation: http://login.example\r\n\r\n'],
    ['a 101 to something else', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['a 101 without Connection', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: underpass\r\n\r\n'],
    ['an unknown refusal', 'HTTP/1.1 403 Forbidden\r\nunderpass-refusal: constructor\r\n\r\n'],
    ['HTTP/1.0', 'HTTP/1.0 101 x\r\nConnection: Upgrade\r\nUpgrade: underpass\r\n\r\n'],
    ['something other than HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ] as const) {
    it(`is read as not-underpass from ${what}`, async () => {
      const [client, edge] = duplexPair();
      const answered = codeOf(requestUpgrade(client, options));
      edge.write(answer);
      assert.equal(await answered, 'not-underpass');
    });
  }
});

describe('a request', () => {
  const good =
    'GET /underpass HTTP/1.1\r\nHost: e\r\nConnection: keep-alive, Upgrade\r\nUpgrade: underpass\r\nAuthorization: Bearer t';

  it('is read when well-formed', () => {
    assert.equal(parseUpgradeRequest(good)?.token, 't');
  });

  for (const [why, text] of [
    ['another method', good.replace('GET', 'POST')],
    ['HTTP/1.0', good.replace('1.1', '1.0')],
    ['no Host', good.replace('Host: e\r\n', '')],
    ['no Connection', good.replace('Connection: keep-alive, Upgrade\r\n', '')],
    ['Connection without upgrade', good.replace('keep-alive, Upgrade', 'keep-alive')],
    ['no Upgrade', good.replace('Upgrade: underpass\r\n', '')],
    ['no token', good.replace(/\r\nAuth.*/, '')],
    ['an empty token', good.replace('Bearer t', 'Bearer ')],
    ['a token with a space', `${good} x`],
    ['a token of 513 bytes', `${good}${'x'.repeat(512)}`],
    ['a token in Basic', good.replace('Bearer', 'Basic')],
    ['two tokens', `${good}\r\nauthorization: Bearer u`],
    ['two hosts', `${good}\r\nHost: f`],
    ['a body', `${good}\r\nContent-Length: 5`],
    ['an empty body', `${good}\r\nContent-Length: 0`],
    ['a chunked body', `${good}\r\nTransfer-Encoding: chunked`],
    ['a folded header', `${good}\r\nX: a\r\n b`],
    ['a space before the colon', `${good}\r\nX : a`],
    ['a bare LF', good.replace('\r\nUpgrade', '\nUpgrade')],
    ['a bare CR', `${good}\r\nX: a\rb`],
    ['a NUL', `${good}\r\nX: a\0b`],
    ['an empty name', `${good}\r\n: a`],
    ['65 headers', good + Array.from({ length: 61 }, (_, index) => `\r\nX${index}: a`).join('')],
    ['a start line with one part', good.replace('GET /underpass HTTP/1.1', 'GET')],
    ['nothing', ''],
  ] as const) {
    it(`is refused for ${why}`, () => assert.equal(parseUpgradeRequest(text), null));
  }

  it('of spaces alone is refused quickly', () => {
    // An expression that tried each space as the start of the value took 300 ms for 8 KiB.
    const startedMs = performance.now();
    for (let i = 0; i < 50; i++) assert.equal(parseUpgradeRequest(`GET / HTTP/1.1\r\nHost:${' '.repeat(8_100)}\u0001`), null);
    assert.ok(performance.now() - startedMs < 2_000);
  });

  it('never throws on noise', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.nat(good.length), (noise, at) => {
        parseUpgradeRequest(good.slice(0, at) + noise + good.slice(at));
      }),
      { numRuns: 1_000, seed: 8 },
    );
  });

  it('names its client, or is refused', () => {
    const facts = (headers: string) => parseClientFacts(parseUpgradeRequest(`${good}\r\n${headers}`)!);
    const id = '0123456789abcdef'.repeat(2);
    assert.deepEqual(facts(`Underpass-Client-Id: ${id}\r\nUnderpass-Software: u/1`), { clientId: id, software: 'u/1' });
    assert.equal(facts(`Underpass-Client-Id: ${id}`), null);
    assert.equal(facts('Underpass-Client-Id: x\r\nUnderpass-Software: u/1'), null);
    assert.equal(facts(`Underpass-Client-Id: ${id}\r\nUnderpass-Software: ${'x'.repeat(65)}`), null);
  });

  it('does not stay in memory, with its token, for as long as the client that it names', () => {
    const count = 2_000;
    const filler = 'x'.repeat(6_000);
    const heldBytes = (): number => {
      collectHeap();
      return process.memoryUsage().heapUsed;
    };
    const before = heldBytes();
    const clients = Array.from({ length: count }, (_, at) => {
      const id = at.toString(16).padStart(32, '0');
      const fields = `Underpass-Client-Id: ${id}\r\nUnderpass-Software: underpass/0.1.0\r\nX: ${filler}${at}`;
      return parseClientFacts(parseUpgradeRequest(`${good}\r\n${fields}`)!);
    });
    const each = (heldBytes() - before) / count;
    assert.ok(each < 1_000, `${each} bytes for each of ${clients.length}`);
  });

  it('is read byte by byte', async () => {
    const [client, edge] = duplexPair();
    const reading = readUpgrade(edge, { timeoutMs: 60_000 });
    for (const byte of `${good}\r\n\r\n`) client.write(byte);
    assert.equal((await reading).token, 't');
  });

  it('that never ends times out, and one of more than 8 KiB is refused', async () => {
    const [, slow] = duplexPair();
    assert.equal(await codeOf(readUpgrade(slow, { timeoutMs: 1 })), 'timeout');
    const [client, edge] = duplexPair();
    const reading = codeOf(readUpgrade(edge, { timeoutMs: 60_000 }));
    client.write(`${good}\r\nX: ${'x'.repeat(8_200)}`);
    assert.equal(await reading, 'bad-request');
  });

  it('that is cut off gives lost', async () => {
    const [client, edge] = duplexPair();
    const reading = codeOf(readUpgrade(edge, { timeoutMs: 60_000 }));
    client.end(good);
    assert.equal(await reading, 'lost');
    edge.destroy();
    await once(edge, 'close');
  });
});
