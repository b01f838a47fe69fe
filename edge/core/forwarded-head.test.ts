import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAuthority } from '@underpass/wire/http/authority.ts';
import { headLimits } from '@underpass/wire/http/head-scan.ts';
import { RequestHead } from '@underpass/wire/http/request-head.ts';
import { refusedHeads } from '../fixture/smuggling.ts';
import { buildRequest, decideUpgrade, renderIdentity } from './forwarded-head.ts';

const bytesOf = (text: string) => Buffer.from(text, 'latin1');

function scan(text: string): { head: RequestHead; end: number; bytes: Buffer } {
  const bytes = bytesOf(text);
  const head = new RequestHead();
  return { head, end: head.scan(bytes, 0, bytes.length), bytes };
}

function forward(text: string, address = '203.0.113.9'): string {
  const { head, end, bytes } = scan(text);
  assert.ok(end > 0, head.refusedWhy);
  const authority = parseAuthority(bytes, head.hostStart, head.hostEnd) ?? '';
  const identity = bytesOf(renderIdentity({ address, proto: 'https', authority, version: '1.1' }));
  return buildRequest(head, bytes, end, identity, decideUpgrade(head, bytes) !== null).toString('latin1');
}

const identityLines =
  'X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: a.example\r\n' +
  'Forwarded: for=203.0.113.9;host=a.example;proto=https\r\nX-Real-IP: 203.0.113.9\r\nVia: 1.1 underpass\r\n\r\n';

describe('refuses a head that two parsers could read in two ways', () => {
  for (const { why, bytes, status } of refusedHeads) {
    it(`${status}: ${why}`, () => {
      const { head, end } = scan(bytes);
      assert.equal(end, -1);
      assert.equal(head.refusedStatus, status, head.refusedWhy);
      assert.notEqual(head.refusedWhy, '');
    });
  }
});

describe('refuses the same head when it arrives a byte at a time', () => {
  for (const { why, bytes, status } of refusedHeads) {
    it(why, () => {
      const all = bytesOf(bytes);
      const head = new RequestHead();
      let end = 0;
      for (let to = 1; to <= all.length && end === 0; to++) end = head.scan(all, 0, to);
      assert.equal(end, -1);
      assert.equal(head.refusedStatus, status);
    });
  }
});

describe('limits', () => {
  const start = 'GET / HTTP/1.1\r\nHost: a.example\r\n';

  it('accepts 128 fields and refuses 129', () => {
    const fields = (count: number) => `${start}${'X-A: b\r\n'.repeat(count - 1)}\r\n`;
    assert.ok(scan(fields(headLimits.fieldLines)).end > 0);
    assert.equal(scan(fields(headLimits.fieldLines + 1)).head.refusedStatus, 431);
  });

  it('refuses a head that is incomplete after 32 KiB, before it stores more', () => {
    const { head, end } = scan(`${start}X-A: ${'b'.repeat(headLimits.headBytes)}`);
    assert.equal(end, -1);
    assert.equal(head.refusedStatus, 431);
  });

  it('refuses a request line beyond 16 KiB as too long a target', () => {
    const { head } = scan(`GET /${'a'.repeat(headLimits.startLineBytes)}`);
    assert.equal(head.refusedStatus, 414);
  });

  it('refuses such a line also when it comes whole, and accepts one of 16 KiB', () => {
    const target = headLimits.startLineBytes - 'GET / HTTP/1.1\r\n'.length;
    const line = (bytes: number): string => `GET /${'a'.repeat(bytes)} HTTP/1.1\r\nHost: a.example\r\n\r\n`;
    assert.ok(scan(line(target)).end > 0);
    assert.equal(scan(line(target + 1)).head.refusedStatus, 414);
  });

  it('accepts a head that fills the limit exactly', () => {
    const filler = headLimits.headBytes - start.length - 'X-A: \r\n\r\n'.length;
    assert.ok(scan(`${start}X-A: ${'b'.repeat(filler)}\r\n\r\n`).end > 0);
  });
});

describe('the forwarded head', () => {
  it('is the received head followed by the identity fields', () => {
    assert.equal(
      forward('GET /a?b=c HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n\r\n'),
      `GET /a?b=c HTTP/1.1\r\nHost: a.example\r\nAccept: */*\r\n${identityLines}`,
    );
  });

  it('drops one empty line in front', () => {
    assert.ok(forward('\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n').startsWith('GET / HTTP/1.1\r\nHost'));
  });

  it('drops it in any split of the bytes', () => {
    const bytes = bytesOf('\r\nGET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
    const head = new RequestHead();
    assert.equal(head.scan(bytes, 0, 1), 0);
    assert.equal(head.scan(bytes, 0, bytes.length), bytes.length);
  });

  it('sends nothing behind the blank line, also of a head that gets shorter', () => {
    for (const target of ['/', 'http://a.example', 'https://a.example/x'])
      assert.ok(forward(`GET ${target} HTTP/1.1\r\nHost: a.example\r\n\r\n`).endsWith(identityLines), target);
  });

  it('turns absolute-form into origin-form', () => {
    assert.ok(forward('GET http://A.example./x?y HTTP/1.1\r\nHost: a.example\r\n\r\n').startsWith('GET /x?y HTTP/1.1\r\nHost'));
    assert.ok(forward('GET https://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n').startsWith('GET / HTTP/1.1\r\nHost'));
    assert.ok(forward('OPTIONS http://a.example HTTP/1.1\r\nHost: a.example\r\n\r\n').startsWith('OPTIONS * HTTP/1.1\r\nHost'));
  });

  it('counts Max-Forwards down for OPTIONS, and leaves it alone for other methods (RFC 9110 7.6.2)', () => {
    const asked = (method: string, value: string) =>
      `${method} / HTTP/1.1\r\nHost: a.example\r\nMax-Forwards: ${value}\r\nTE: trailers\r\n\r\n`;
    const lines = (text: string) => text.match(/^max-forwards: .*/gim);
    assert.deepEqual(lines(forward(asked('OPTIONS', '10'))), ['Max-Forwards: 9']);
    assert.deepEqual(lines(forward(asked('OPTIONS', '1'))), ['Max-Forwards: 0']);
    assert.deepEqual(lines(forward(asked('GET', '0'))), ['Max-Forwards: 0']);
    assert.equal(scan(asked('OPTIONS', '0')).head.maxForwards, 0);
    for (const value of ['', '-1', '1, 2', '1x', '99999', '1\r\nMax-Forwards: 1']) {
      assert.equal(scan(asked('OPTIONS', value)).head.refusedStatus, 400, value);
    }
  });

  const spoofs = [
    'X-Forwarded-For: 1.1.1.1',
    'x_forwarded_for: 1.1.1.1',
    'X-Forwarded_For: 1.1.1.1',
    'X.Forwarded.For: 1.1.1.1',
    'X-FORWARDED-PROTO: http',
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Port: 1',
    'Forwarded: for=1.1.1.1',
    'X-Real-IP: 1.1.1.1',
    'X_REAL_IP: 1.1.1.1',
    'True-Client-IP: 1.1.1.1',
    'CF-Connecting-IP: 1.1.1.1',
    'X-Client-IP: 1.1.1.1',
    'X-Cluster-Client-IP: 1.1.1.1',
    'X-Forwarded-Client-Cert: By=spiffe://cluster.local/ns/a',
    'X_Forwarded_Email: root@a.example',
    'X-Forwarded-Preferred-Username: root',
    'X-Forwarded-Uri: /public',
    'X-Forwarded-: 1',
    'X-Original-URL: /admin',
    'X_Rewrite_URL: /admin',
    'X-Original-URI: /admin',
    'X-Envoy-Original-Path: /admin',
    'X-Envoy-External-Address: 1.1.1.1',
    'WL-Proxy-Client-IP: 1.1.1.1',
    'HTTP_X_FORWARDED_FOR: 1.1.1.1',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: keep-alive',
    'Proxy: http://evil.example',
    'Proxy-Authorization: Basic eA==',
    'HTTP2-Settings: AAMAAABkAAQAAP__',
    'Upgrade: h2c',
    'TE: gzip',
    'Connection: keep-alive',
  ];
  for (const spoof of spoofs) {
    it(`never holds ${spoof}`, () => {
      const forwarded = forward(`GET / HTTP/1.1\r\n${spoof}\r\nHost: a.example\r\nX-Kept: 1\r\n\r\n`);
      assert.equal(forwarded, `GET / HTTP/1.1\r\nHost: a.example\r\nX-Kept: 1\r\n${identityLines}`);
    });
  }

  it('keeps fields whose names only begin like ours', () => {
    const kept = 'X-Forward: 1\r\nX-Forwardedness: 2\r\nMy-X-Forwarded-For: 3\r\n';
    const forwarded = forward(`GET / HTTP/1.1\r\nHost: a.example\r\n${kept}\r\n`);
    assert.equal(forwarded, `GET / HTTP/1.1\r\nHost: a.example\r\n${kept}${identityLines}`);
  });

  it('keeps our identity fields if Connection names them, and drops the other fields that it names', () => {
    const forwarded = forward(
      'GET / HTTP/1.1\r\nX-Secret: 1\r\nHost: a.example\r\nConnection: close, X-Secret, x-forwarded-for , X-Later\r\nX-Kept: 2\r\nx-later: 3\r\n\r\n',
    );
    assert.equal(forwarded, `GET / HTTP/1.1\r\nHost: a.example\r\nX-Kept: 2\r\n${identityLines}`);
  });

  it('has an upgrade only if the visitor asks for one', () => {
    const upgrade = 'GET /ws HTTP/1.1\r\nHost: a.example\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n';
    assert.equal(
      forward(upgrade),
      `GET /ws HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${identityLines}`,
    );
    for (const protocol of ['h2c', 'HTTP/2.0', 'TLS/1.2', 'h2c, websocket', 'websocket, h2c']) {
      assert.ok(!/upgrade/i.test(forward(upgrade.replace('websocket', protocol))), protocol);
    }
  });

  it('does not upgrade a request that has a body', () => {
    const head = 'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\n';
    assert.ok(!/upgrade/i.test(forward(head)));
  });

  it('does not upgrade HTTP/1.0, which has no upgrade (RFC 9110 7.8)', () => {
    const head = 'GET / HTTP/1.0\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n';
    assert.ok(!/upgrade/i.test(forward(head)));
  });

  it('keeps TE: trailers of the visitor', () => {
    const forwarded = forward('GET / HTTP/1.1\r\nTE: gzip;q=0.5, trailers\r\nConnection: te\r\nHost: a.example\r\n\r\n');
    assert.equal(forwarded, `GET / HTTP/1.1\r\nHost: a.example\r\nConnection: TE\r\nTE: trailers\r\n${identityLines}`);
  });

  it('quotes addresses and ports as RFC 7239 asks', () => {
    const forwarded = forward('GET / HTTP/1.1\r\nHost: A.example:8443\r\n\r\n', '2001:db8::1');
    assert.match(forwarded, /\r\nForwarded: for="\[2001:db8::1\]";host="a\.example:8443";proto=https\r\n/);
    assert.match(forwarded, /\r\nX-Forwarded-Host: a\.example:8443\r\n/);
  });
});

describe('a scanned head', () => {
  it('gives the framing', () => {
    const post = scan('POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 999999999999999\r\n\r\n').head;
    assert.equal(post.contentLength, 999_999_999_999_999);
    assert.equal(scan('POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: Chunked \r\n\r\n').head.chunked, true);
    assert.equal(scan('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n').head.hasBody, false);
  });

  it('gives the offset after the head, not after the body', () => {
    const text = 'POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\n';
    assert.equal(scan(`${text}ab`).end, text.length);
  });

  it('gives the host of this request, not a similar one of the request before', () => {
    const head = new RequestHead();
    const authorities = ['a.example', 'b.example', 'a.examplf', 'a.example', 'a.exampl', 'A.example:8443'].map((host) => {
      const bytes = bytesOf(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      head.reset();
      assert.ok(head.scan(bytes, 0, bytes.length) > 0);
      return head.authority;
    });
    assert.deepEqual(authorities, ['a.example', 'b.example', 'a.examplf', 'a.example', 'a.exampl', 'a.example:8443']);
  });

  it('refuses a malformed host again in the next request', () => {
    const head = new RequestHead();
    const bytes = bytesOf('GET / HTTP/1.1\r\nHost: a b\r\n\r\n');
    for (let round = 0; round < 2; round++) {
      head.reset();
      assert.equal(head.scan(bytes, 0, bytes.length), -1);
    }
  });

  it('keeps nothing after reset', () => {
    const { head } = scan(
      'POST / HTTP/1.0\r\nHost: a.example\r\nConnection: close, upgrade\r\nUpgrade: a\r\nExpect: 100-continue\r\nTE: trailers\r\nVia: 1.1 underpass\r\nContent-Length: 2\r\n\r\n',
    );
    head.reset();
    const plain = bytesOf('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
    const fresh = new RequestHead();
    head.scan(plain, 0, plain.length);
    fresh.scan(plain, 0, plain.length);
    const { drops: _, ...used } = { ...head };
    const { drops: __, ...unused } = { ...fresh };
    assert.deepEqual(used, unused);
  });
});
