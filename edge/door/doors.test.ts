import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { eventually } from '@underpass/rules/test-kit.ts';
import { createTestAuthority } from '@underpass/wire/fixture/certificate.ts';
import { RequestHead } from '@underpass/wire/http/request-head.ts';
import { encodeProxyHeader } from '../core/proxy-protocol.ts';
import { helloFor } from '../fixture/hello.ts';
import { createRig, type Handler, type Rig, readAll, readUntil, regionHost, tunnelOf, whenClosed } from '../fixture/rig.ts';
import { plainUpstream } from '../fixture/upstreams.ts';

const ingress = (changes = {}) => tunnelOf('i', { type: 'ingress', hosts: ['i.tunnels.test'], ...changes });
const alertOf = (text: string) => Buffer.from(text, 'latin1').toString('hex');
const unrecognizedName = '1503010002' + '0270';
const unexpectedMessage = '1503010002' + '020a';
const accessDenied = '1503010002' + '0231';
const noClient = '1503010002' + '0250';

const echo: Handler = (socket) => void socket.pipe(socket);

describe('passthrough on 443', () => {
  it('leaves TLS to the upstream, with its own certificate', async () => {
    await using rig = await createRig([ingress()]);
    const authority = await createTestAuthority();
    const { keyPem, chainPem } = await authority.issue(['i.tunnels.test']);
    const upstream = createTlsServer({ key: keyPem, cert: chainPem }, (socket) => void socket.end('from the upstream'));
    await rig.client('i', upstream);
    const visitor = await rig.visit('i.tunnels.test', { ca: authority.certificatePem });
    assert.equal(await readAll(visitor), 'from the upstream');
  });

  it('bytes are identical both ways, and half-close is kept', async () => {
    await using rig = await createRig([ingress()]);
    await rig.client('i', echo);
    const visitor = await rig.visitRaw('https');
    const sent = Buffer.concat([await helloFor('i.tunnels.test'), randomBytes(3_000_000)]);
    const received = readAll(visitor);
    visitor.end(sent);
    assert.ok(Buffer.from(await received, 'latin1').equals(sent));
  });

  it('understands a hello that arrives byte by byte', async () => {
    await using rig = await createRig([ingress()]);
    await rig.client('i', echo);
    const hello = await helloFor('i.tunnels.test');
    const visitor = await rig.visitRaw('https');
    visitor.setNoDelay(true);
    const received = readUntil(visitor, (text) => text.length === hello.length);
    for (const octet of hello) {
      visitor.write(Buffer.of(octet));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(Buffer.from(await received, 'latin1').equals(hello));
  });

  it('passes a reset on, in both directions', async () => {
    await using rig = await createRig([ingress()]);
    const upstreams: Socket[] = [];
    await rig.client('i', (socket) => void upstreams.push(socket));
    const hello = await helloFor('i.tunnels.test');
    const visitor = await rig.visitRaw('https');
    visitor.write(hello);
    await eventually(() => upstreams.length > 0);
    const broken = new Promise((resolve) => upstreams[0]?.once('close', resolve));
    visitor.resetAndDestroy();
    await broken;
    const other = await rig.visitRaw('https');
    other.write(hello);
    await eventually(() => upstreams.length !== 1);
    const error = new Promise<NodeJS.ErrnoException>((resolve) => other.once('error', resolve));
    other.resume();
    upstreams[1]?.resetAndDestroy();
    assert.equal((await error).code, 'ECONNRESET');
  });

  it('carries what an upstream sends first, whether its visitor sends more or not', async () => {
    await using rig = await createRig([ingress()]);
    await rig.client('i', (socket) => {
      socket.write('first');
      void socket.pipe(socket);
    });
    const hello = await helloFor('i.tunnels.test');
    const visitor = await rig.visitRaw('https');
    visitor.write(hello);
    const text = `first${hello.toString('latin1')}`;
    assert.equal(await readUntil(visitor, (all) => all.length === text.length), text);
  });

  const notAllowed = {
    'the list leaves its visitor out': { allowList: ['192.0.2.0/24'] },
    'the list is empty': { allowList: [] },
    'the tunnel is suspended': { suspended: true },
    'its host is taken from the tunnel': { hosts: ['other.test'] },
  };
  for (const [why, change] of Object.entries(notAllowed)) {
    it(`what is open on 443 and 80 is cut at once, the upstream too, when ${why}`, async () => {
      await using rig = await createRig([ingress()]);
      const upstreams: Promise<void>[] = [];
      await rig.client('i', (socket) => {
        upstreams.push(whenClosed(socket));
        void socket.pipe(socket);
      });
      const first = { https: await helloFor('i.tunnels.test'), http: 'GET / HTTP/1.1\r\nHost: i.tunnels.test\r\n\r\n' };
      const visitors = await Promise.all((['https', 'http'] as const).map((port) => rig.visitRaw(port)));
      for (const [index, bytes] of Object.values(first).entries()) {
        visitors[index]?.write(bytes);
        await readUntil(visitors[index] as Socket, (all) => all.length === bytes.length);
      }
      const closed = visitors.map(whenClosed);
      await rig.control.change({ tunnels: [ingress(change)] });
      await Promise.all([...closed, ...upstreams]);
      assert.equal(upstreams.length, 2);
    });
  }

  it('does not accept a PROXY header from a visitor', async () => {
    await using rig = await createRig([ingress()]);
    const client = await rig.client('i', echo);
    const visitor = await rig.visitRaw('https');
    const ends = { sourceAddress: '1.1.1.1', sourcePort: 1, destinationAddress: '1.1.1.2', destinationPort: 2 };
    visitor.write(Buffer.concat([encodeProxyHeader('v1', ends), await helloFor('i.tunnels.test')]));
    await readAll(visitor);
    assert.equal(client.opened, 0);
  });
});

describe('what port 443 refuses, and how', () => {
  const cases: readonly (readonly [string, () => Promise<Buffer> | Buffer, string])[] = [
    ['a name that nothing has', () => helloFor('nobody.example'), unrecognizedName],
    ['no name', () => helloFor(undefined), unrecognizedName],
    ['an http tunnel without a certificate', () => helloFor('bare.example'), unrecognizedName],
    ['an ACME validation that nobody awaits', () => helloFor('t.tunnels.test', ['acme-tls/1']), unrecognizedName],
    ['a hello that is no hello', () => Buffer.from('16030100040200000000', 'hex'), unexpectedMessage],
    [
      'a hello without end',
      () => Buffer.concat([Buffer.from('16030140000100ffff', 'hex'), Buffer.alloc(20_000)]),
      unexpectedMessage,
    ],
    ['an ingress tunnel without a client', () => helloFor('i.tunnels.test'), noClient],
    ['an ingress tunnel that denies', () => helloFor('denied.tunnels.test'), accessDenied],
    ['an ingress tunnel that is suspended', () => helloFor('suspended.tunnels.test'), accessDenied],
    ['another protocol', () => Buffer.from('SSH-2.0-OpenSSH_9.2\r\n'), ''],
  ];
  for (const [why, bytes, alert] of cases) {
    it(`${why}: ${alert === '' ? 'closed' : `alert ${Number.parseInt(alert.slice(-2), 16)}`}`, async () => {
      await using rig = await createRig([
        tunnelOf('t'),
        tunnelOf('bare', { hosts: ['bare.example'] }),
        ingress(),
        tunnelOf('denied', { type: 'ingress', allowList: ['10.0.0.0/8'] }),
        tunnelOf('suspended', { type: 'ingress', suspended: true }),
      ]);
      const client = await rig.client('denied', echo);
      const visitor = await rig.visitRaw('https');
      visitor.write(await bytes());
      assert.equal(alertOf(await readAll(visitor)), alert);
      assert.equal(client.opened, 0);
    });
  }

  it('tells plain HTTP to use https', async () => {
    await using rig = await createRig([]);
    const visitor = await rig.visitRaw('https');
    visitor.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.match(await readAll(visitor), /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*UNDERPASS_PLAIN_HTTP/);
  });

  it('ends a silent connection, and a hello that stops, in bounded time', async () => {
    await using rig = await createRig([ingress()], { timeouts: { headMs: 300 } });
    const [silent, half] = [await rig.visitRaw('https'), await rig.visitRaw('https')];
    half.write((await helloFor('i.tunnels.test')).subarray(0, 50));
    silent.resume();
    half.resume();
    await Promise.all([whenClosed(silent), whenClosed(half)]);
  });

  it('keeps nothing of a thousand half-open visitors', async () => {
    await using rig = await createRig([ingress(), tunnelOf('t')]);
    const { sockets, deadlines } = rig.edge.stats();
    const hello = await helloFor('t.tunnels.test');
    for (let round = 0; round < 10; round++) {
      const visitors = await Promise.all(Array.from({ length: 100 }, () => rig.visitRaw('https')));
      for (const visitor of visitors) visitor.write(hello.subarray(0, 20 + round * 20));
      await new Promise((resolve) => setImmediate(resolve));
      for (const visitor of visitors) visitor.destroy();
    }
    await eventually(() => rig.edge.stats().sockets <= sockets);
    assert.equal(rig.edge.stats().deadlines, deadlines);
  });
});

describe('TLS that ends here', () => {
  it('resumes sessions of TLS 1.3, which skips the certificate, and none of TLS 1.2', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
      const first = await rig.visit('t.tunnels.test', { maxVersion });
      // TLS 1.2 sends the ticket within the handshake, 1.3 after it.
      let ticket = first.getSession();
      first.on('session', (session) => {
        ticket = session;
      });
      first.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\nConnection: close\r\n\r\n');
      await readAll(first);
      const second = await rig.visit('t.tunnels.test', { maxVersion, session: ticket as Buffer });
      assert.equal(second.isSessionReused(), maxVersion === 'TLSv1.3');
      second.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\nConnection: close\r\n\r\n');
      assert.match(await readAll(second), /^HTTP\/1\.1 503 /);
    }
  });

  it('speaks 1.2 and 1.3, nothing older', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const visitor = await rig.visit('t.tunnels.test', { minVersion: version, maxVersion: version });
      assert.equal(visitor.getProtocol(), version);
    }
    const old = rig.connectTls('t.tunnels.test', { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
    await whenClosed(old);
    assert.equal(old.getProtocol() === 'TLSv1.1', false);
  });

  it('knows a name however it is spelled', async () => {
    await using rig = await createRig([tunnelOf('a', { hosts: ['a.test'] })]);
    await rig.client('a', plainUpstream());
    for (const name of ['A.Test', 'a.test.', 'A.TEST.']) {
      const visitor = await rig.visit(name);
      assert.equal(visitor.authorized, true, name);
      visitor.write(`GET / HTTP/1.1\r\nHost: ${name}\r\n\r\n`);
      assert.match(await readUntil(visitor, (text) => text.endsWith('ok')), /^HTTP\/1\.1 200 /, name);
    }
  });

  it('offers no cipher without authenticated encryption, on any of its names', async () => {
    const ciphers =
      'ECDHE-RSA-AES128-SHA256:ECDHE-ECDSA-AES128-SHA256:ECDHE-RSA-AES256-SHA:ECDHE-ECDSA-AES256-SHA:AES128-GCM-SHA256';
    await using rig = await createRig([tunnelOf('t')], { dashboard: { host: 'b.test', path: '/dev/null' } });
    for (const name of ['t.tunnels.test', 'b.test', regionHost]) {
      const visitor = rig.connectTls(name, { maxVersion: 'TLSv1.2', ciphers });
      const error = await new Promise<Error | null>((resolve) => {
        visitor.once('error', resolve).once('secureConnect', () => resolve(null));
      });
      assert.match(String(error), /handshake.failure/i, `${name}: ${visitor.getCipher()?.name}`);
    }
  });

  it('refuses a second handshake on a connection', async () => {
    await using rig = await createRig([tunnelOf('a', { hosts: ['a.test'] })]);
    for (const host of ['a.test', regionHost]) {
      const visitor = await rig.visit(host, { maxVersion: 'TLSv1.2' });
      const refused = await new Promise<Error | null>((resolve) => {
        visitor.once('error', resolve);
        visitor.renegotiate({}, resolve);
      });
      assert.match(String(refused), /no.renegotiation/i, host);
    }
  });

  it('prefers AES-128, and ChaCha20 for clients that list it first', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const [chacha, aes] = ['TLS_CHACHA20_POLY1305_SHA256', 'TLS_AES_128_GCM_SHA256'];
    const offers: readonly (readonly [string | undefined, string])[] = [
      [undefined, aes],
      [`TLS_AES_256_GCM_SHA384:${aes}:${chacha}`, aes],
      [`${chacha}:${aes}`, chacha],
      ['TLS_AES_256_GCM_SHA384', 'TLS_AES_256_GCM_SHA384'],
    ];
    for (const [ciphers, chosen] of offers) {
      const visitor = await rig.visit('t.tunnels.test', ciphers === undefined ? {} : { ciphers });
      assert.equal(visitor.getCipher().standardName, chosen, `offered ${ciphers}`);
    }
  });

  it('a new certificate serves the next connection; a dropped one serves none', async () => {
    await using rig = await createRig([tunnelOf('n', { hosts: ['new.example'] })]);
    const authority = await createTestAuthority();
    const { keyPem, chainPem } = await authority.issue(['new.example']);
    const certificate = { id: 'n', hosts: ['new.example'], certificatePem: chainPem, privateKeyPem: keyPem, notAfterMs: 2 };
    await rig.control.change({ certificates: [certificate] });
    const visitor = await rig.visit('new.example', { ca: authority.certificatePem });
    assert.equal(visitor.authorized, true);
    await rig.control.change({}, { certificates: ['n'] });
    const raw = await rig.visitRaw('https');
    raw.write(await helloFor('new.example'));
    assert.equal(alertOf(await readAll(raw)), unrecognizedName);
  });

  it('answers tls-alpn-01 with the challenge certificate, to validators only', async () => {
    await using rig = await createRig([tunnelOf('t')]);
    const authority = await createTestAuthority('Challenge');
    const { keyPem, chainPem } = await authority.issue(['t.tunnels.test']);
    const challenge = {
      id: 'x',
      kind: 'tls-alpn-01',
      host: 't.tunnels.test',
      certificatePem: chainPem,
      privateKeyPem: keyPem,
    } as const;
    await rig.control.change({ challenges: [challenge] });
    // The validator keeps its own side open.
    const below = (await rig.visitRaw('https')).pause();
    const validator = await rig.visit('t.tunnels.test', {
      socket: below,
      ALPNProtocols: ['acme-tls/1'],
      ca: authority.certificatePem,
      allowHalfOpen: true,
    } as object);
    assert.equal(validator.alpnProtocol, 'acme-tls/1');
    await eventually(() => rig.edge.stats().sockets === 0);
    const visitor = await rig.visit('t.tunnels.test');
    assert.equal(visitor.alpnProtocol, 'http/1.1', 'a visitor still sees the certificate of the host');
  });
});

describe('port 80', () => {
  const ask = async (rig: Rig, text: string): Promise<string> => {
    const visitor = await rig.visitRaw('http');
    visitor.write(text);
    return readAll(visitor);
  };

  it('http tunnels and the region are redirected to https, with the public port and the same target', async () => {
    await using rig = await createRig([tunnelOf('t')], { publicHttpsPort: 8443 });
    const get = await ask(rig, 'GET /a?b=c HTTP/1.1\r\nHost: T.tunnels.test:8480\r\n\r\n');
    assert.match(get, /^HTTP\/1\.1 301 Moved Permanently\r\nlocation: https:\/\/t\.tunnels\.test:8443\/a\?b=c\r\n/);
    const post = await ask(rig, 'POST / HTTP/1.1\r\nHost: t.tunnels.test\r\nContent-Length: 0\r\n\r\n');
    assert.match(post, /^HTTP\/1\.1 308 Permanent Redirect\r\n/);
    assert.match(await ask(rig, `GET / HTTP/1.1\r\nHost: ${regionHost}\r\n\r\n`), /^HTTP\/1\.1 301 /);
  });

  it('answers no such host, denied, suspended and no client with different errors', async () => {
    await using rig = await createRig([
      tunnelOf('denied', { allowList: [] }),
      tunnelOf('suspended', { suspended: true }),
      ingress(),
      tunnelOf('shut', { type: 'ingress', allowList: ['10.0.0.0/8'] }),
    ]);
    const codes = ['nobody', 'denied', 'suspended', 'i', 'shut'].map(async (name) => {
      const answer = await ask(rig, `GET / HTTP/1.1\r\nHost: ${name}.tunnels.test\r\n\r\n`);
      return /underpass-error: UNDERPASS_(\w+)/.exec(answer)?.[1];
    });
    assert.deepEqual(await Promise.all(codes), ['NO_SUCH_HOST', 'SOURCE_DENIED', 'SUSPENDED', 'NO_CLIENT', 'SOURCE_DENIED']);
  });

  it('answers http-01 for the host and the token alone', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('u')]);
    const challenge = { id: 'x', kind: 'http-01', host: 't.tunnels.test', token: 'tok', keyAuthorization: 'tok.print' } as const;
    await rig.control.change({ challenges: [challenge] });
    const path = '/.well-known/acme-challenge/';
    assert.match(
      await ask(rig, `GET ${path}tok HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n`),
      /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\ntok\.print$/,
    );
    assert.match(await ask(rig, `GET ${path}tik HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n`), /^HTTP\/1\.1 301 /);
    assert.match(await ask(rig, `GET ${path}tok HTTP/1.1\r\nHost: u.tunnels.test\r\n\r\n`), /^HTTP\/1\.1 301 /);
  });

  it('ingress tunnels get the bytes untouched, their own ACME included', async () => {
    await using rig = await createRig([ingress()]);
    await rig.client('i', echo);
    const request = 'GET /.well-known/acme-challenge/x HTTP/1.1\r\nhost:  i.tunnels.test\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n';
    const visitor = await rig.visitRaw('http');
    const received = readAll(visitor);
    visitor.end(`${request}and more`);
    assert.equal(await received, `${request}and more`);
  });

  it('scans a head in pieces once, not once for each piece', async (t) => {
    await using rig = await createRig([ingress()]);
    await rig.client('i', echo);
    const request = 'GET / HTTP/1.1\r\nHost: i.tunnels.test\r\n\r\n';
    const scans = new Set<RequestHead>();
    const scan = RequestHead.prototype.scan;
    let heard = Promise.withResolvers<void>();
    t.mock.method(RequestHead.prototype, 'scan', function (this: RequestHead, ...args: Parameters<typeof scan>) {
      scans.add(this);
      heard.resolve();
      return scan.apply(this, args);
    });
    const visitor = await rig.visitRaw('http');
    const received = readUntil(visitor, (text) => text.length === request.length);
    for (const piece of [request.slice(0, 3), request.slice(3, 30), request.slice(30)]) {
      heard = Promise.withResolvers<void>();
      visitor.write(piece);
      await heard.promise;
    }
    assert.equal(await received, request);
    assert.equal(scans.size, 1);
  });

  it('a client that offers only one port of an ingress tunnel serves only that one', async () => {
    await using rig = await createRig([ingress()]);
    const plain = await rig.client('i', echo, { offers: [{ key: ':80', healthy: true }] });
    const secure = await rig.client('i', echo, { offers: [{ key: ':443', healthy: true }] });
    for (let i = 0; i < 3; i++) {
      const visitor = await rig.visitRaw('http');
      visitor.write('GET / HTTP/1.1\r\nHost: i.tunnels.test\r\n\r\n');
      await readUntil(visitor, (text) => text.endsWith('\r\n\r\n'));
    }
    assert.deepEqual([plain.opened, secure.opened], [3, 0]);
  });

  it('answers TLS with an alert, and an ambiguous head with 400', async () => {
    await using rig = await createRig([ingress()]);
    const tls = await rig.visitRaw('http');
    tls.write(await helloFor('i.tunnels.test'));
    assert.equal(alertOf(await readAll(tls)), unexpectedMessage);
    assert.match(await ask(rig, 'GET / HTTP/1.1\r\nHost: i.tunnels.test\r\nHost: b\r\n\r\n'), /^HTTP\/1\.1 400 /);
  });
});

describe('the visitor’s address', () => {
  it('goes to the upstream in a PROXY header before all other bytes, if the tunnel wants one', async () => {
    await using rig = await createRig([ingress({ proxyProtocol: 'v1' }), tunnelOf('t', { proxyProtocol: 'v2' })]);
    await rig.client('i', echo);
    const visitor = await rig.visitRaw('https');
    visitor.write(await helloFor('i.tunnels.test'));
    const text = await readUntil(visitor, (all) => all.includes('\r\n'));
    assert.equal(
      text.slice(0, text.indexOf('\r\n')),
      `PROXY TCP4 127.0.0.1 127.0.0.1 ${visitor.localPort} ${rig.edge.ports.https}`,
    );
    const heads: string[] = [];
    await rig.client('t', (socket) =>
      socket.on('data', (chunk: Buffer) => {
        heads.push(chunk.toString('latin1'));
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
      }),
    );
    for (let i = 0; i < 2; i++) {
      const browser = await rig.visit('t.tunnels.test');
      browser.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n');
      await readUntil(browser, (all) => all.endsWith('ok'));
    }
    assert.equal(
      heads.filter((head) => head.startsWith('\r\n\r\n\0\r\nQUIT\n')).length,
      2,
      'each visitor has a connection of its own',
    );
  });

  it('comes from the PROXY header of a configured balancer, also for the allow-list', async () => {
    await using rig = await createRig([tunnelOf('t', { allowList: ['203.0.113.9'] })], { balancers: ['127.0.0.0/8'] });
    // In production clients bypass the balancer's listener; here they send a header too.
    const ask = async (address: string): Promise<string> => {
      const raw = await rig.visitRaw('https');
      const ends = { sourceAddress: address, sourcePort: 1000, destinationAddress: '203.0.113.1', destinationPort: 443 };
      raw.write(encodeProxyHeader('v2', ends));
      const tls: TLSSocket = connectTls({ socket: raw, servername: 't.tunnels.test', ca: rig.caPem });
      tls.on('error', () => {});
      tls.write('GET / HTTP/1.1\r\nHost: t.tunnels.test\r\nConnection: close\r\n\r\n');
      return readAll(tls);
    };
    assert.match(await ask('203.0.113.9'), /UNDERPASS_NO_CLIENT/);
    assert.match(await ask('203.0.113.10'), /UNDERPASS_SOURCE_DENIED/);
    const bare = await rig.visitRaw('https');
    bare.write(await helloFor('t.tunnels.test'));
    assert.equal(await readAll(bare), '', 'a balancer that sends no header gets no answer');
  });
});
