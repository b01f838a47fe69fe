import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ResponseHead } from '@underpass/wire/http/response-head.ts';
import { renderHttp1Head, responseFields } from './http2-fields.ts';

const pseudo = [':method', 'GET', ':scheme', 'https', ':path', '/a', ':authority', 'a.example'];

describe('a request of HTTP/2 as text', () => {
  it('has its line, host and fields, with split cookies joined', () => {
    const text = renderHttp1Head([...pseudo, 'cookie', 'a=1', 'x-a', 'b', 'cookie', 'b=2'], false);
    assert.equal(text, 'GET /a HTTP/1.1\r\nhost: a.example\r\nx-a: b\r\ncookie: a=1; b=2\r\n\r\n');
  });

  it('is chunked if its body has no length', () => {
    assert.match(renderHttp1Head(pseudo, true) ?? '', /\r\ntransfer-encoding: chunked\r\n/);
    assert.doesNotMatch(renderHttp1Head([...pseudo, 'content-length', '2'], true) ?? '', /chunked/);
  });

  // Node refuses most of these first; if it accepts one some day, it must still not reach an upstream.
  const malformed: readonly (readonly [string, readonly string[]])[] = [
    ['no method', pseudo.slice(2)],
    ['no path', [':method', 'GET', ':authority', 'a.example']],
    ['neither authority nor host', [':method', 'GET', ':path', '/']],
    ['a method twice', [...pseudo, ':method', 'POST']],
    ['an authority twice', [...pseudo, ':authority', 'b.example']],
    ['hosts that differ', [...pseudo, 'host', 'b.example']],
    ['a host twice', [...pseudo, 'host', 'a.example', 'host', 'a.example']],
    ['a protocol (RFC 8441)', [...pseudo, ':protocol', 'websocket']],
    ['a connection field', [...pseudo, 'connection', 'close']],
    ['a transfer coding', [...pseudo, 'transfer-encoding', 'chunked']],
    ['an upgrade', [...pseudo, 'upgrade', 'websocket']],
    ['a line break in a value', [...pseudo, 'x-a', 'b\r\nx-real-ip: 1.1.1.1']],
    ['a NUL in a value', [...pseudo, 'x-a', '\0']],
    ['a line break in a path', [':method', 'GET', ':path', '/ HTTP/1.1\r\nx: y', ':authority', 'a.example']],
    ['a colon in a name', [...pseudo, 'x:a', 'b']],
    ['a name in upper case', [...pseudo, 'X-A', 'b']],
  ];
  for (const [why, fields] of malformed) it(`is refused with ${why}`, () => assert.equal(renderHttp1Head(fields, false), null));
});

describe('a response of HTTP/1.1 as fields', () => {
  // RFC 9110 8.6: a 1xx response has no Content-Length. An HTTP/2 visitor resets the stream if it has one.
  for (const status of [100, 103, 200]) {
    it(`${status < 200 ? 'drops' : 'keeps'} a content-length of 0 with status ${status}`, () => {
      const bytes = Buffer.from(`HTTP/1.1 ${status} x\r\nX-A: b\r\nContent-Length: 0\r\n\r\n`);
      const head = new ResponseHead();
      const fields = responseFields(head, bytes, head.scan(bytes, 0, bytes.length));
      assert.deepEqual(fields, [':status', `${status}`, 'x-a', 'b', ...(status < 200 ? [] : ['content-length', '0'])]);
    });
  }
});
