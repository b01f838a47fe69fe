import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reachHost, type StreamKind } from '@underpass/wire/core/open.ts';
import { isRepeatable } from './repeatable.ts';

const host = 'Host: t.example\r\n';

/** A TLS record of this type. */
const recordOf = (type: number, bytes: number): string =>
  `${Buffer.of(type, 3, 1, bytes >> 8, bytes & 255).toString('latin1')}${'x'.repeat(bytes)}`;

const cases: readonly (readonly [string, boolean, string, StreamKind?, string?])[] = [
  ['a GET', true, `GET /?a=POST HTTP/1.1\r\n${host}\r\n`],
  ['a HEAD', true, `HEAD / HTTP/1.1\r\n${host}\r\n`],
  ['an OPTIONS', true, `OPTIONS * HTTP/1.1\r\n${host}\r\n`],
  [
    'a GET for a WebSocket: no frame is sent before the upstream agrees',
    true,
    `GET / HTTP/1.1\r\n${host}Upgrade: websocket\r\n\r\n`,
  ],
  ['a POST, which may have effects', false, `POST / HTTP/1.1\r\n${host}Content-Length: 0\r\n\r\n`],
  ['a DELETE, although twice is like once', false, `DELETE / HTTP/1.1\r\n${host}\r\n`],
  ['an unknown method that begins like a safe one', false, `GETALL / HTTP/1.1\r\n${host}\r\n`],
  ['a GET with a body that follows', false, `GET / HTTP/1.1\r\n${host}content-length: 2\r\n\r\n`],
  ['a GET with a chunked body', false, `GET / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n`],
  ['a head that is not complete', false, `GET / HTTP/1.1\r\n${host}`],
  ['a head and a byte more', false, `GET / HTTP/1.1\r\n${host}\r\nx`],
  ['nothing', false, ''],
  ['three bytes', false, 'GET'],
  ['a passed-through request: its bytes are not ours', false, `GET / HTTP/1.1\r\n${host}\r\n`, 'ingress-80'],
  ['a passed-through ClientHello', true, recordOf(22, 300), 'ingress-443'],
  ['a ClientHello in two records', true, recordOf(22, 3) + recordOf(22, 297), 'ingress-443'],
  ['a ClientHello before early data, which may hold a POST', false, recordOf(22, 300) + recordOf(23, 40), 'ingress-443'],
  ['a ClientHello before a record that only prepares early data', false, recordOf(22, 300) + recordOf(20, 1), 'ingress-443'],
  ['a ClientHello and the first byte of a record', false, `${recordOf(22, 300)}\x17`, 'ingress-443'],
  ['a record that is not complete', false, recordOf(22, 300).slice(0, -1), 'ingress-443'],
  ['a request where a ClientHello belongs', false, `GET / HTTP/1.1\r\n${host}\r\n`, 'ingress-443'],
  ['no byte of a ClientHello', false, '', 'ingress-443'],
  ['a ClientHello to a private tunnel', true, recordOf(22, 300), 'tcp', reachHost],
  ['a ClientHello and a request to a private tunnel', false, recordOf(22, 300) + recordOf(23, 40), 'tcp', reachHost],
  ['a ClientHello at a public port: the service may do anything with it', false, recordOf(22, 300), 'tcp', ':20000'],
];

for (const [what, repeatable, text, kind = 'http', visited = 't.example'] of cases)
  test(`${repeatable ? 'may repeat' : 'does not repeat'} ${what}`, () => {
    const bytes = Buffer.from(text, 'latin1');
    for (const cut of [0, 3, bytes.length])
      assert.equal(isRepeatable({ kind, host: visited }, [bytes.subarray(0, cut), bytes.subarray(cut)]), repeatable);
  });
