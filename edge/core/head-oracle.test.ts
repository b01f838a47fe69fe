// Node's own parser is the oracle: it must accept every message that we accept, and read it in the same way.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import { parseAuthority } from '@underpass/wire/http/authority.ts';
import { BodyScan } from '@underpass/wire/http/body-scan.ts';
import { RequestHead } from '@underpass/wire/http/request-head.ts';
import { ResponseHead } from '@underpass/wire/http/response-head.ts';
import fc from 'fast-check';
import { refusedHeads } from '../fixture/smuggling.ts';
import { buildRequest, decideUpgrade, renderIdentity } from './forwarded-head.ts';

/** Bounded in time, because CI runs this on every change. */
const fuzz = { numRuns: 6_000, interruptAfterTimeLimit: 20_000, seed: 20_261_120 } as const;

interface Read {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly fields: readonly string[];
  readonly body: string;
  readonly bytes: number;
  readonly complete: boolean;
}

interface NodeParser {
  initialize(type: number, resource: object): void;
  execute(bytes: Buffer): number | Error;
  finish(): undefined | Error;
  [callback: number]: unknown;
}

// Node's parser is not a public module; only this test uses it.
const { HTTPParser, methods } = createRequire(import.meta.url)('_http_common') as {
  HTTPParser: {
    new (): NodeParser;
    REQUEST: number;
    RESPONSE: number;
    kOnHeadersComplete: number;
    kOnBody: number;
    kOnMessageComplete: number;
  };
  methods: readonly string[];
};

/** Reads one message with Node's parser; null if it refuses the message. */
function nodeRead(text: string, type: number): Read | null {
  const parser = new HTTPParser();
  const read = { method: '', url: '', status: 0, fields: [] as string[], body: '', bytes: 0, complete: false };
  parser.initialize(type, {});
  parser[HTTPParser.kOnHeadersComplete] = (
    _major: number,
    _minor: number,
    fields: string[],
    method: number,
    url: string,
    status: number,
  ) => {
    Object.assign(read, { fields: fields ?? [], method: methods[method] ?? '', url, status });
    return 0;
  };
  parser[HTTPParser.kOnBody] = (piece: Buffer) => {
    read.body += piece.toString('latin1');
  };
  parser[HTTPParser.kOnMessageComplete] = () => {
    read.complete = true;
  };
  const outcome = parser.execute(Buffer.from(text, 'latin1'));
  return typeof outcome === 'number' ? { ...read, bytes: outcome } : null;
}

function ourRequest(text: string): { head: RequestHead; bytes: Buffer; end: number; bodyEnd: number; complete: boolean } | null {
  const bytes = Buffer.from(text, 'latin1');
  const head = new RequestHead();
  const end = head.scan(bytes, 0, bytes.length);
  if (end <= 0) return null;
  const body = new BodyScan();
  body.start(head.chunked ? 'chunked' : 'length', Math.max(0, head.contentLength));
  const bodyEnd = body.take(bytes, end, bytes.length);
  return bodyEnd < 0 ? null : { head, bytes, end, bodyEnd, complete: body.done };
}

function forwardedOf({ head, bytes, end }: { head: RequestHead; bytes: Buffer; end: number }): string {
  const authority = parseAuthority(bytes, head.hostStart, head.hostEnd) ?? '';
  const identity = Buffer.from(renderIdentity({ address: '192.0.2.1', proto: 'https', authority, version: '1.1' }), 'latin1');
  return buildRequest(head, bytes, end, identity, decideUpgrade(head, bytes) !== null).toString('latin1');
}

const valuesOf = (fields: readonly string[], name: string): string[] =>
  fields.flatMap((field, i) => (i % 2 === 0 && field.toLowerCase() === name ? [fields[i + 1] ?? ''] : []));

/** Asserts that Node's parser accepts what ours does: same target, host, framing and body, before and after forwarding. */
function assertAgreement(text: string): boolean {
  const ours = ourRequest(text);
  if (ours === null) return false;
  const node = nodeRead(ours.bytes.toString('latin1', 0, ours.bodyEnd), HTTPParser.REQUEST);
  // Node knows a fixed list of methods; we accept any upper-case word.
  if (node === null)
    return assert.ok(!methods.includes(/^(?:\r\n)?([A-Z-]+)/.exec(text)?.[1] ?? ''), JSON.stringify(text)) ?? false;
  assert.deepEqual(valuesOf(node.fields, 'host'), [ours.bytes.toString('latin1', ours.head.hostStart, ours.head.hostEnd)]);
  assert.deepEqual(
    valuesOf(node.fields, 'content-length').map(Number),
    ours.head.contentLength < 0 ? [] : [ours.head.contentLength],
  );
  assert.equal(node.complete, ours.complete, JSON.stringify(text));
  assertForwarded(text, ours, node);
  return true;
}

function assertForwarded(text: string, ours: NonNullable<ReturnType<typeof ourRequest>>, node: Read): void {
  const body = ours.bytes.toString('latin1', ours.end, ours.bodyEnd);
  const again = nodeRead(forwardedOf(ours) + body, HTTPParser.REQUEST);
  assert.ok(again, JSON.stringify(text));
  assert.equal(again.body, node.body, JSON.stringify(text));
  assert.equal(again.method, node.method);
  if (node.url.startsWith('/')) assert.equal(again.url, node.url);
  for (const name of ['x-forwarded-for', 'x-real-ip']) assert.deepEqual(valuesOf(again.fields, name), ['192.0.2.1']);
}

const odd = fc.constantFrom(...'\0\t\n\v\r !"#+,-.:;=@[]_{}\x7f\x80\xa0\xff0159aA');
const lineEnd = fc.oneof(
  { weight: 30, arbitrary: fc.constant('\r\n') },
  fc.constantFrom('\n', '\r', '\r\r\n', ' \r\n', '\r\n ', '\r\n\t', '\n\r\n'),
);
const requestLine = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('GET / HTTP/1.1', 'POST /a HTTP/1.1', 'PUT /a?b HTTP/1.1', 'OPTIONS * HTTP/1.1') },
  fc.constantFrom(
    'GET http://a.example/ HTTP/1.1',
    'GET / HTTP/1.0',
    'HEAD / HTTP/1.1',
    'GET //b.example/ HTTP/1.1',
    'CONNECT a:1 HTTP/1.1',
    'GET /\\ HTTP/1.1',
  ),
);
const goodField = fc.constantFrom(
  'Content-Length: 5',
  'content-length:5',
  'Transfer-Encoding: chunked',
  'TRANSFER-ENCODING:chunked ',
  'Connection: close',
  'Connection: X-A, keep-alive',
  'X-A: b',
  'Cookie: a=b; c=d',
  'X-Forwarded-For: 1.2.3.4',
  'X-Empty:',
  'Connection: upgrade',
  'Upgrade: websocket',
  'Expect: 100-continue',
  'TE: trailers',
  'Trailer: X-T',
  'Accept: text/html\t;q=1',
);
const badField = fc.constantFrom(
  ...refusedHeads.map(({ bytes }) => bytes.split('\r\n').slice(2, 3).join('') || 'Host: b.example'),
);
const field = fc.oneof({ weight: 8, arbitrary: goodField }, badField, mutated(goodField));
const body = fc.constantFrom(
  '',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  '0\r\n\r\n',
  '5;a=b\r\nhello\r\n0\r\nX-T: 1\r\n\r\n',
  '5\nhello\r\n0\r\n\r\n',
  'G\r\n',
  '5\r\nhello0\r\n\r\n',
  '05\r\nhello\r\n00\r\n\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
);

function mutated(source: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(source, odd, fc.nat(), fc.boolean()).map(([text, octet, at, replace]) => {
    const i = at % (text.length + 1);
    return text.slice(0, i) + octet + text.slice(replace ? i + 1 : i);
  });
}

const request = fc
  .tuple(
    fc.oneof({ weight: 8, arbitrary: requestLine }, mutated(requestLine)),
    lineEnd,
    fc.array(fc.tuple(field, lineEnd), { maxLength: 5 }),
    fc.boolean(),
    lineEnd,
    body,
  )
  .map(
    ([start, first, fields, host, last, rest]) =>
      `${start}${first}${host ? 'Host: a.example\r\n' : ''}${fields.flat().join('')}${last}${rest}`,
  );

describe("requests, against Node's parser", () => {
  it('agree on every generated message that we accept, and many are accepted', () => {
    let accepted = 0;
    fc.assert(
      fc.property(request, (text) => {
        if (assertAgreement(text)) accepted++;
      }),
      fuzz,
    );
    assert.ok(accepted > 300, `${accepted} accepted`);
  });

  it('agree on good messages with one byte changed anywhere', () => {
    const good =
      'POST /a?b=c HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\nConnection: X-A\r\nX-A: b\r\n\r\n5\r\nhello\r\n0\r\n\r\n';
    for (let at = 0; at < good.length; at++) {
      for (let octet = 0; octet < 256; octet++)
        assertAgreement(good.slice(0, at) + String.fromCharCode(octet) + good.slice(at + 1));
    }
  });

  it('refuse the whole smuggling corpus', () => {
    for (const { bytes, why } of refusedHeads) assert.equal(ourRequest(bytes), null, why);
  });

  it('give the same answer however the bytes are cut', () => {
    fc.assert(
      fc.property(request, pieceLengths, (text, lengths) => {
        const bytes = Buffer.from(text, 'latin1');
        const [whole, head] = [new RequestHead(), new RequestHead()];
        const end = whole.scan(bytes, 0, bytes.length);
        assert.equal(scanInPieces(head, bytes, lengths), end);
        assert.equal(head.refusedWhy, whole.refusedWhy);
        if (end > 0) assert.equal(forwardedOf({ head, bytes, end }), forwardedOf({ head: whole, bytes, end }));
      }),
      { ...fuzz, numRuns: 1_500 },
    );
  });
});

/** Mostly single bytes, so that pieces end at every place of a line. */
const pieceLengths = fc.oneof(fc.constant([1]), fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 10 }));

function scanInPieces(head: RequestHead | ResponseHead, bytes: Buffer, lengths: readonly number[]): number {
  let end = 0;
  let to = 0;
  for (let i = 0; to < bytes.length && end === 0; i++) {
    to = Math.min(bytes.length, to + (lengths[i % lengths.length] as number));
    end = head.scan(bytes, 0, to);
  }
  return end;
}

const statusLine = fc.constantFrom(
  'HTTP/1.1 200 OK',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 404 Not\tFound',
  'HTTP/1.1 500 ',
);
const response = fc
  .tuple(
    fc.oneof({ weight: 5, arbitrary: statusLine }, mutated(statusLine)),
    lineEnd,
    fc.array(fc.tuple(field, lineEnd), { maxLength: 4 }),
    lineEnd,
    body,
  )
  .map(([start, first, fields, last, rest]) => `${start}${first}${fields.flat().join('')}${last}${rest}`);

describe("responses, against Node's parser", () => {
  it('agree on status, framing and body of every response that we accept', () => {
    let accepted = 0;
    fc.assert(
      fc.property(response, (text) => {
        if (responseAgrees(text)) accepted++;
      }),
      fuzz,
    );
    assert.ok(accepted > 300, `${accepted} accepted`);
  });

  it('give the same answer however the bytes are cut', () => {
    fc.assert(
      fc.property(response, pieceLengths, (text, lengths) => {
        const bytes = Buffer.from(text, 'latin1');
        const [whole, head] = [new ResponseHead(), new ResponseHead()];
        const end = whole.scan(bytes, 0, bytes.length);
        assert.equal(scanInPieces(head, bytes, lengths), end);
        const facts = ({ refusedWhy, status, contentLength, chunked, close, drops }: ResponseHead) => [
          refusedWhy,
          status,
          contentLength,
          chunked,
          close,
          [...drops],
        ];
        assert.deepEqual(facts(head), facts(whole));
      }),
      { ...fuzz, numRuns: 1_500 },
    );
  });
});

function responseAgrees(text: string): boolean {
  const bytes = Buffer.from(text, 'latin1');
  const head = new ResponseHead();
  const end = head.scan(bytes, 0, bytes.length);
  if (end <= 0 || head.status === 101 || head.interim) return false;
  const body = new BodyScan();
  const kind = head.bodiless('GET') ? 'none' : head.chunked ? 'chunked' : head.contentLength >= 0 ? 'length' : 'until-close';
  body.start(kind, head.contentLength);
  const bodyEnd = body.take(bytes, end, bytes.length);
  if (bodyEnd < 0) return false;
  const node = nodeRead(bytes.toString('latin1', 0, bodyEnd), HTTPParser.RESPONSE);
  assert.ok(node, JSON.stringify(text));
  assert.equal(node.status, head.status);
  assert.equal(node.complete, body.done, JSON.stringify(text));
  if (kind !== 'chunked') assert.equal(node.body, bytes.toString('latin1', end, bodyEnd), JSON.stringify(text));
  return true;
}
