import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExchangeFollower, type ExchangeObserver, type HeadEditor } from './exchange-follower.ts';

const bytesOf = (text: string) => Buffer.from(text, 'latin1');
const identity = 'X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\nVia: 1.1 underpass\r\n\r\n';
const get = `GET /a HTTP/1.1\r\nHost: a.example\r\n${identity}`;
const head = `HEAD /a HTTP/1.1\r\nHost: a.example\r\n${identity}`;
const post = `POST /a HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n${identity}hello`;
const chunked = `PUT /a HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n${identity}5\r\nhello\r\n1;x=y\r\n!\r\n0\r\nSum: 6\r\n\r\n`;
const upgrade = `GET /ws HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: websocket\r\n${identity}`;
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi';
const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

type Step = readonly ['edge' | 'upstream', string] | readonly ['end', ''];

/** Plays a dialogue in pieces of `size` bytes, and notes what passes and what the observer sees. */
function play(steps: readonly Step[], size = Number.POSITIVE_INFINITY, editor: HeadEditor | null = null) {
  const passed = { upstream: '', visitor: '' };
  const seen: string[] = [];
  const out = {
    toUpstream(bytes: Buffer) {
      passed.upstream += bytes.toString('latin1');
    },
    toVisitor(bytes: Buffer) {
      passed.visitor += bytes.toString('latin1');
    },
  };
  const follower = new ExchangeFollower(out, editor, noteIn(seen));
  let refused = false;
  for (const [from, text] of steps) {
    if (from === 'end') follower.endResponse();
    for (let at = 0; at < text.length; at += size) {
      // A lent buffer changes after the call.
      const piece = bytesOf(text.slice(at, at + size));
      if (from === 'edge') refused ||= !follower.takeRequest(piece);
      else follower.takeResponse(piece);
      piece.fill(0);
      if (refused) return { ...passed, seen, refused };
    }
  }
  return { ...passed, seen, refused };
}

function noteIn(seen: string[]): ExchangeObserver {
  const add = (key: string, text: string): void => {
    const last = seen.at(-1);
    if (last?.startsWith(`${key} `)) seen[seen.length - 1] = last + text;
    else seen.push(`${key} ${text}`);
  };
  return {
    onRequest: (request, bytes, from, end) => seen.push(`${request.method}/${firstLine(bytes, from, end)}`),
    onResponse: (response, bytes, from, end) => seen.push(`${response.status}/${firstLine(bytes, from, end)}`),
    onBody: (side, bytes, from, to) => add(`${side}-body`, Buffer.from(bytes.subarray(from, to)).toString('latin1')),
    onTrailer: (side, name, value) => seen.push(`${side}-trailer ${name}=${value}`),
    onDone: (side) => seen.push(`${side}-done`),
    onUpgraded: (side, bytes) => add(`${side}-upgraded`, bytes.toString('latin1')),
    onLost: () => seen.push('lost'),
  };
}

const firstLine = (bytes: Buffer, from: number, end: number): string =>
  bytes.toString('latin1', from, end).split('\r\n', 1)[0] ?? '';

const followed: readonly (readonly [string, readonly Step[], readonly string[]])[] = [
  [
    'requests one after the other',
    [
      ['edge', get],
      ['upstream', ok],
      ['edge', post],
      ['upstream', 'HTTP/1.1 204 No Content\r\n\r\n'],
      ['edge', get],
      ['upstream', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n'],
    ],
    [
      ...['GET/GET /a HTTP/1.1', 'request-done', '200/HTTP/1.1 200 OK', 'response-body hi', 'response-done'],
      ...['other/POST /a HTTP/1.1', 'request-body hello', 'request-done', '204/HTTP/1.1 204 No Content', 'response-done'],
      ...['GET/GET /a HTTP/1.1', 'request-done', '304/HTTP/1.1 304 Not Modified', 'response-done'],
    ],
  ],
  [
    'the length in the answer to HEAD, which has no body',
    [
      ['edge', head],
      ['upstream', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n'],
      ['edge', get],
      ['upstream', ok],
    ],
    [
      ...['HEAD/HEAD /a HTTP/1.1', 'request-done', '200/HTTP/1.1 200 OK', 'response-done'],
      ...['GET/GET /a HTTP/1.1', 'request-done', '200/HTTP/1.1 200 OK', 'response-body hi', 'response-done'],
    ],
  ],
  [
    'chunks and trailers both ways',
    [
      ['edge', chunked],
      ['upstream', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nEtag: x\r\n\r\n'],
    ],
    [
      ...['other/PUT /a HTTP/1.1', 'request-body hello!', 'request-trailer sum=6', 'request-done'],
      ...['200/HTTP/1.1 200 OK', 'response-body hi', 'response-trailer etag=x', 'response-done'],
    ],
  ],
  [
    'interim responses before the final one',
    [
      ['edge', get],
      ['upstream', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok}`],
    ],
    [
      ...['GET/GET /a HTTP/1.1', 'request-done', '100/HTTP/1.1 100 Continue', '103/HTTP/1.1 103 Early Hints'],
      ...['200/HTTP/1.1 200 OK', 'response-body hi', 'response-done'],
    ],
  ],
  [
    'an answer that comes before the whole request',
    [
      ['edge', post.slice(0, -3)],
      ['upstream', ok],
      ['edge', 'llo'],
      ['edge', get],
      ['upstream', ok],
    ],
    [
      ...['other/POST /a HTTP/1.1', 'request-body he', '200/HTTP/1.1 200 OK', 'response-body hi', 'response-done'],
      ...['request-body llo', 'request-done'],
      ...['GET/GET /a HTTP/1.1', 'request-done', '200/HTTP/1.1 200 OK', 'response-body hi', 'response-done'],
    ],
  ],
  [
    'a body that ends with the connection',
    [
      ['edge', get],
      ['upstream', 'HTTP/1.1 200 OK\r\n\r\nhi'],
      ['upstream', ' there'],
      ['end', ''],
    ],
    ['GET/GET /a HTTP/1.1', 'request-done', '200/HTTP/1.1 200 OK', 'response-body hi there', 'response-done'],
  ],
  [
    'an upgrade, after which every byte is opaque',
    [
      ['edge', upgrade],
      ['upstream', `${switching}\x81\x00`],
      ['edge', get],
      ['upstream', ok],
    ],
    [
      ...['GET/GET /ws HTTP/1.1', 'request-done', '101/HTTP/1.1 101 Switching Protocols', 'response-upgraded \x81\x00'],
      ...[`request-upgraded ${get}`, `response-upgraded ${ok}`],
    ],
  ],
  [
    'an upgrade that the upstream declines',
    [
      ['edge', upgrade],
      ['upstream', ok],
      ['edge', get],
    ],
    [
      ...['GET/GET /ws HTTP/1.1', 'request-done', '200/HTTP/1.1 200 OK', 'response-body hi', 'response-done'],
      ...['GET/GET /a HTTP/1.1', 'request-done'],
    ],
  ],
];

describe('follows, in pieces of every size, without a change of the bytes:', () => {
  const textOf = (steps: readonly Step[], from: Step[0]): string => steps.map(([by, text]) => (by === from ? text : '')).join('');
  for (const [what, steps, seen] of followed) {
    it(what, () => {
      for (const size of [Number.POSITIVE_INFINITY, 1, 2, 3, 7, 16, 61]) {
        const played = play(steps, size);
        assert.equal(played.refused, false, `pieces of ${size}`);
        assert.deepEqual(played.seen, seen, `pieces of ${size}`);
        assert.equal(played.upstream, textOf(steps, 'edge'));
        assert.equal(played.visitor, textOf(steps, 'upstream'));
      }
    });
  }
});

describe('refuses requests whose boundaries it cannot be sure of:', () => {
  const refusals: readonly (readonly [string, readonly Step[]])[] = [
    ['a second request before the answer', [['edge', get + get]]],
    [
      'a second request before the answer is complete',
      [
        ['edge', get],
        ['upstream', ok.slice(0, -1)],
        ['edge', get],
      ],
    ],
    ['bytes after the body', [['edge', `${post}GET /x HTTP/1.1\r\n`]]],
    ['bytes after an offer to upgrade, before the answer', [['edge', `${upgrade}x`]]],
    ['a length beside chunks', [['edge', chunked.replace('Host', 'Content-Length: 3\r\nHost')]]],
    ['two hosts', [['edge', get.replace('Host', 'Host: b.example\r\nHost')]]],
    ['a folded field', [['edge', get.replace('Via', ' Via')]]],
    ['a broken chunk', [['edge', chunked.replace('5\r\nhello', 'x\r\nhello')]]],
    ['a head without an end', [['edge', get.replace('Via: ', `Via: ${'x'.repeat(70_000)}`)]]],
    [
      'a request after an answer that it could not follow',
      [
        ['edge', get],
        ['upstream', `${ok}!`],
        ['edge', get],
      ],
    ],
    [
      'a first request after bytes that nothing asked for',
      [
        ['upstream', '220 ready\r\n'],
        ['edge', get],
      ],
    ],
  ];
  for (const [what, steps] of refusals) {
    it(what, () => {
      assert.ok(play(steps).refused);
      assert.ok(play(steps, 1).refused, 'a byte at a time');
      assert.ok(!play(steps, 1).upstream.includes('GET /x'), 'a request that no parser saw reached the upstream');
    });
  }
});

describe('passes answers that it cannot follow as they came, for the edge to judge:', () => {
  const lost: readonly (readonly [string, string, string?])[] = [
    ['another protocol', 'SSH-2.0-OpenSSH\r\n'],
    ['a status line out of range', 'HTTP/1.1 700 X\r\n\r\n'],
    ['bytes beyond the length', `${ok}HTTP/1.1 200 OK\r\n\r\n`],
    ['an upgrade that was not asked for', switching],
    ['an upgrade to nothing', switching.replace('Upgrade: websocket\r\n', ''), upgrade],
    ['a broken chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhi'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi'],
    ['a head that breaks off', 'HTTP/1.1 200 OK\r\nContent-Le'],
  ];
  for (const [what, answer, request = get] of lost) {
    it(what, () => {
      for (const size of [Number.POSITIVE_INFINITY, 1, 5]) {
        const played = play(
          [
            ['edge', request],
            ['upstream', answer],
            ['end', ''],
          ],
          size,
        );
        assert.equal(played.visitor, answer);
        assert.equal(played.seen.filter((event) => event === 'lost').length, 1);
      }
    });
  }
});

describe('a head that went through an edge', () => {
  it('may have the fields and the length of its limits, and what the edge adds', () => {
    const fields = `${'X: y\r\n'.repeat(127)}`;
    assert.equal(play([['edge', get.replace('X-Forwarded-For', `${fields}X-Forwarded-For`)]]).refused, false);
    const long = `Cookie: ${'c'.repeat(32_600)}\r\n`;
    assert.equal(play([['edge', get.replace('X-Forwarded-For', `${long}X-Forwarded-For`)]]).refused, false);
  });

  it('may have passed as many edges as one lets through', () => {
    assert.equal(play([['edge', get.replace('Via: ', `Via: ${'1.1 underpass, '.repeat(3)}`)]]).refused, false);
  });
});

describe('an editor', () => {
  const editor: HeadEditor = {
    editRequest: (_head, bytes, from, end) => bytesOf(bytes.toString('latin1', from, end).replace('a.example', 'localhost:3000')),
    editResponse: (_head, bytes, from, end) => bytesOf(bytes.toString('latin1', from, end).replace('OK', 'Fine')),
  };

  it('changes heads only: the same words in a body, a trailer or an upgraded connection pass unchanged', () => {
    const request = post.replace('hello', 'OK OK');
    for (const size of [Number.POSITIVE_INFINITY, 1, 9]) {
      const played = play(
        [
          ['edge', request],
          ['upstream', ok.replace('hi', 'OK')],
          ['edge', upgrade],
          ['upstream', `${switching}OK a.example`],
          ['edge', 'Host: a.example'],
        ],
        size,
        editor,
      );
      const edited = (text: string) => text.replace('a.example', 'localhost:3000');
      assert.equal(played.upstream, `${edited(request)}${edited(upgrade)}Host: a.example`);
      assert.equal(played.visitor, `${ok.replace('OK', 'Fine').replace('hi', 'OK')}${switching}OK a.example`);
    }
  });
});
