import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseUpstreamHost, parseUrlUpstream } from '@underpass/rules/tunnel/upstream.ts';
import { ExchangeFollower } from '@underpass/wire/http/exchange-follower.ts';
import { createHostEditor } from './host-edit.ts';

const forwarded =
  'X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example.com\r\n' +
  'Forwarded: for=192.0.2.1;host=shop.example.com;proto=https\r\nVia: 1.1 underpass\r\n\r\n';

interface Played {
  /** Field lines that the upstream got, without the forwarded ones. */
  readonly asked: readonly string[];
  /** Field lines that the visitor got. */
  readonly answered: readonly string[];
  readonly upstream: string;
}

/** One exchange through a follower, as a client has it. */
function play(
  place: string,
  host: string,
  asks: readonly string[],
  answers: readonly string[] = [],
  authority = 'shop.example.com',
  method: 'GET' | 'POST' = 'POST',
) {
  const upstream = parseUrlUpstream(place);
  assert.ok(upstream.ok);
  const sent = parseUpstreamHost(host, upstream.value);
  assert.ok(sent.ok && sent.value !== null);
  const passed = { upstream: '', visitor: '' };
  const out = {
    toUpstream(bytes: Buffer) {
      passed.upstream += bytes.toString('latin1');
    },
    toVisitor(bytes: Buffer) {
      passed.visitor += bytes.toString('latin1');
    },
  };
  const follower = new ExchangeFollower(out, createHostEditor(upstream.value, sent.value), null);
  const request = [
    `${method} /Host:a HTTP/1.1`,
    `Host: ${authority}`,
    ...asks,
    `Content-Length: ${method === 'GET' ? 0 : 4}`,
    forwarded,
  ].join('\r\n');
  assert.ok(follower.takeRequest(Buffer.from(method === 'GET' ? request : `${request}body`, 'latin1')));
  follower.takeResponse(Buffer.from(['HTTP/1.1 302 Found', ...answers, 'Content-Length: 2', '', 'hi'].join('\r\n'), 'latin1'));
  const linesOf = (text: string, length: string) =>
    text
      .slice(text.indexOf('\r\n') + 2, text.indexOf(length))
      .split('\r\n')
      .slice(0, -1);
  const played: Played = {
    asked: linesOf(passed.upstream, 'Content-Length'),
    answered: linesOf(passed.visitor, 'Content-Length'),
    upstream: passed.upstream,
  };
  return played;
}

describe('the Host of a request', () => {
  for (const [place, host, sent] of [
    ['http://127.0.0.1:3000', 'upstream', 'localhost:3000'],
    ['http://[::1]:3000', 'upstream', 'localhost:3000'],
    ['http://127.0.0.2:3000', 'upstream', '127.0.0.2:3000'],
    ['http://127.0.0.1:3000', '127.0.0.1:3000', '127.0.0.1:3000'],
    ['http://localhost:3000', 'upstream', 'localhost:3000'],
    ['http://web', 'upstream', 'web'],
    ['https://web', 'upstream', 'web'],
    ['http://web:443', 'upstream', 'web:443'],
    ['http://127.0.0.1:3000', 'app.internal', 'app.internal'],
    ['http://127.0.0.1:3000', 'App.Internal:80', 'app.internal'],
    ['http://127.0.0.1:3000', 'app.internal:8443', 'app.internal:8443'],
    ['https://10.0.0.7', '[2001:DB8::1]', '[2001:db8::1]'],
  ] as const) {
    it(`is ${sent} for ${place} with ${host}`, () => {
      assert.deepEqual(play(place, host, []).asked, [`Host: ${sent}`]);
    });
  }

  it('is the only field that changes when Origin is absent', () => {
    const { upstream } = play('http://127.0.0.1:3000', 'upstream', ['Accept: a', 'X-Host-Like: Host: shop.example.com']);
    const fields = 'Host: localhost:3000\r\nAccept: a\r\nX-Host-Like: Host: shop.example.com\r\nContent-Length: 4';
    assert.equal(upstream, `POST /Host:a HTTP/1.1\r\n${fields}\r\n${forwarded}body`);
  });
});

describe('Origin', () => {
  const navigate = 'Sec-Fetch-Mode: navigate';
  const rows: readonly (readonly [string, string, string?])[] = [
    ['https://shop.example.com', 'http://localhost:3000'],
    ['https://evil.example', 'https://evil.example', 'another site stays another site'],
    ['http://shop.example.com', 'http://shop.example.com', 'a page without TLS is another origin'],
    ['https://shop.example.com:8443', 'https://shop.example.com:8443', 'so is another port'],
    ['https://shop.example.com.evil.example', 'https://shop.example.com.evil.example'],
    ['null', 'null', 'a sandboxed page'],
  ];
  for (const [given, sent, why = 'the public address'] of rows) {
    it(`${given} of a form arrives as ${sent}: ${why}`, () => {
      const asks = [`Origin: ${given}`, navigate];
      assert.deepEqual(play('http://127.0.0.1:3000', 'upstream', asks).asked.slice(1), [`Origin: ${sent}`, navigate]);
    });
  }

  it('follows the port of the public address and the scheme of the upstream', () => {
    const asks = [navigate, 'Origin: https://shop.example.com:8443'];
    const { asked } = play('https://web', 'upstream', asks, [], 'shop.example.com:8443');
    assert.deepEqual(asked, ['Host: web', navigate, 'Origin: https://web']);
  });

  it('stays on what a script fetches, because frameworks compare it with X-Forwarded-Host there', () => {
    for (const mode of ['cors', 'same-origin', 'no-cors']) {
      const asks = ['Origin: https://shop.example.com', `Sec-Fetch-Mode: ${mode}`];
      assert.deepEqual(play('http://127.0.0.1:3000', 'upstream', asks).asked.slice(1), asks);
    }
  });

  it('of a WebSocket is the new Host', () => {
    const ask = ['Connection: Upgrade', 'Upgrade: websocket', 'Origin: https://shop.example.com'];
    const { asked } = play('http://127.0.0.1:3000', 'upstream', ask, [], 'shop.example.com', 'GET');
    assert.equal(asked.at(-1), 'Origin: http://localhost:3000');
  });

  it('in a Referer stays: services build links from it', () => {
    const asks = [navigate, 'Referer: https://shop.example.com/a'];
    assert.deepEqual(play('http://127.0.0.1:3000', 'upstream', asks).asked.slice(1), asks);
  });
});

describe('Location', () => {
  const rows: readonly (readonly [string, string, string, string?])[] = [
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3000/x?y#z', 'https://shop.example.com/x?y#z'],
    ['http://127.0.0.1:3000', 'http://localhost:3000/x', 'https://shop.example.com/x', 'loopback has several names'],
    ['http://127.0.0.1:3000', 'HTTP://LocalHost:3000', 'https://shop.example.com'],
    ['http://127.0.0.1:3000', 'http://[::1]:3000/', 'https://shop.example.com/'],
    ['http://127.0.0.1:3000', '//localhost:3000/x', 'https://shop.example.com/x'],
    ['http://127.0.0.1:3000', 'https://localhost:3000/x', 'https://shop.example.com/x'],
    ['http://127.0.0.1:80', 'http://localhost/x', 'https://shop.example.com/x', 'the port that http implies'],
    ['http://127.0.0.1:3000', '/x', '/x', 'relative'],
    ['http://127.0.0.1:3000', 'http://localhost:4000/x', 'http://localhost:4000/x', 'another service'],
    ['http://127.0.0.1:3000', 'http://localhost/x', 'http://localhost/x', 'another service'],
    [
      'http://127.0.0.1:3000',
      'https://login.example/?to=http://localhost:3000/',
      'https://login.example/?to=http://localhost:3000/',
    ],
    ['http://127.0.0.1:3000', 'http://localhost:3000@evil.example/', 'http://localhost:3000@evil.example/', 'userinfo'],
    ['http://127.0.0.1:3000', 'http://localhost:3000.evil.example/', 'http://localhost:3000.evil.example/'],
    ['http://10.0.0.7:3000', 'http://localhost:3000/x', 'http://localhost:3000/x', 'the upstream is another machine'],
    ['http://10.0.0.7:3000', 'http://10.0.0.7:3000/x', 'https://shop.example.com/x'],
  ];
  for (const [place, given, got, why = 'the upstream itself'] of rows) {
    it(`"${given}" of ${place} leads to "${got}": ${why}`, () => {
      assert.deepEqual(play(place, 'upstream', [], [`Location: ${given}`]).answered, [`Location: ${got}`]);
    });
  }

  it('of an upstream with a name leads to the public name too', () => {
    const answer = ['location: http://app.internal/x', 'X-Location: http://app.internal/x'];
    const { answered } = play('http://127.0.0.1:3000', 'app.internal', [], answer);
    assert.deepEqual(answered, ['location: https://shop.example.com/x', 'X-Location: http://app.internal/x']);
  });
});

describe('the domain of a cookie', () => {
  const rows: readonly (readonly [string, string, string?])[] = [
    ['a=b; Path=/; Domain=localhost; HttpOnly', 'a=b; Path=/; HttpOnly'],
    ['a=b; domain=.127.0.0.1', 'a=b'],
    ['a=b; Domain=shop.example.com', 'a=b; Domain=shop.example.com', 'the public name itself'],
    ['a=b; Domain=example.com', 'a=b; Domain=example.com', 'above the public name'],
    ['a=b; Domain=other.example', 'a=b; Domain=other.example', 'the browser refuses it, as it would without a tunnel'],
    ['a=Domain=localhost; Path=/', 'a=Domain=localhost; Path=/', 'a value is no attribute'],
    ['a=b', 'a=b'],
  ];
  for (const [given, got, why = 'names the upstream'] of rows) {
    it(`"${given}" becomes "${got}": ${why}`, () => {
      const answered = play('http://127.0.0.1:3000', 'upstream', [], [`Set-Cookie: ${given}`, 'set-cookie: c=d']).answered;
      assert.deepEqual(
        answered.map((line) => line.replace(/^Set-Cookie/i, 'Set-Cookie')),
        [`Set-Cookie: ${got}`, 'Set-Cookie: c=d'],
      );
    });
  }

  it('above the name that the upstream got is removed, unless the public name is below it too', () => {
    const answer = ['Set-Cookie: a=b; Domain=internal.test', 'Set-Cookie: c=d; Domain=example.com'];
    const { answered } = play('http://127.0.0.1:3000', 'app.internal.test', [], answer);
    assert.deepEqual(answered, ['Set-Cookie: a=b', 'Set-Cookie: c=d; Domain=example.com']);
  });
});
