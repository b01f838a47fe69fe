// One connection to a fake upstream, whose bytes are cut anywhere.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Link, LinkOwner } from './link.ts';
import { type ResponseOwner, UpstreamHttp } from './upstream-http.ts';

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const request = Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n');

/** A fake upstream: `heard` records the calls to the owner, `link` those to the stream. */
function createScene() {
  const heard: string[] = [];
  const link = {
    over: false,
    remoteEnded: false,
    ended: false,
    resetWith: '',
    sent: 0,
    consumed: 0,
    asksTimes: false,
    isQuiet: false,
  };
  const fake = Object.assign(link, {
    write: (chunk: Buffer) => {
      link.sent += chunk.length;
      return true;
    },
    end: () => {
      link.ended = true;
    },
    tellTimes: () => void heard.push(link.ended ? 'times too late' : 'times'),
    consume: (bytes: number) => {
      link.consumed += bytes;
    },
    reset: (code: string) => {
      link.resetWith = code;
      link.over = true;
    },
  });
  const owner: ResponseOwner = {
    onResponse: (head, bytes, _from, headEnd, bodyEnd) =>
      void heard.push(`${head.status} ${bytes.toString('latin1', headEnd, bodyEnd)}`.trim()),
    onResponseBody: (bytes, from, to) => void heard.push(`body ${bytes.toString('latin1', from, to)}`),
    onResponseDone: () => void heard.push('done'),
    onOpaque: (chunk) => void heard.push(`opaque ${chunk.toString()}`),
    onOpaqueEnd: () => void heard.push('opaque end'),
    onUpstreamFail: (failure) => void heard.push(`fail ${failure}`),
    onUpstreamDrain: () => void heard.push('drain'),
  };
  const clock = { nowMs: 0 };
  let linkOwner!: LinkOwner;
  const upstream = new UpstreamHttp(
    (its) => {
      linkOwner = its;
      return fake as unknown as Link;
    },
    owner,
    clock,
    20_000,
  );
  const say = (text: string) => linkOwner.onLinkData(Buffer.from(text, 'latin1'));
  const end = () => {
    link.remoteEnded = true;
    linkOwner.onLinkEnd();
  };
  const ask = ({ upgrade = false, again = true } = {}) => upstream.send(request, 'GET', upgrade ? 'WebSocket' : null, again);
  const quiet = () => linkOwner.onLinkQuiet?.(false);
  return { upstream, clock, heard, link, say, end, ask, quiet, fail: (code: 'upstream-reset') => linkOwner.onLinkFail(code) };
}

describe('a connection to an upstream', () => {
  it('serves one request after the other, its heads cut anywhere', () => {
    for (let cut = 1; cut < ok.length; cut++) {
      const { upstream, clock, heard, say, ask } = createScene();
      for (let round = 0; round < 2; round++) {
        ask();
        say(ok.slice(0, cut));
        say(ok.slice(cut));
      }
      const text = heard.join(' ').replaceAll(' body', '').replaceAll(/o k/g, 'ok');
      assert.equal(text, '200 ok done 200 ok done', `cut at ${cut}`);
      clock.nowMs = 19_999;
      assert.ok(upstream.reusable(true));
      clock.nowMs = 20_000;
      assert.ok(!upstream.reusable(true));
    }
  });

  it('whose client is silent takes no further request', () => {
    const { upstream, link, say, ask } = createScene();
    ask();
    say(ok);
    link.isQuiet = true;
    assert.equal(upstream.reusable(true), false);
    link.isQuiet = false;
    assert.equal(upstream.reusable(true), true);
  });

  for (const [what, again, said, given] of [
    ['gives back a request that does no harm twice, to be sent on another', true, '', true],
    ['keeps one that may have effects', false, '', false],
    ['keeps one of which an interim answer has arrived', true, 'HTTP/1.1 103 Early Hints\r\n\r\n', false],
    ['keeps one of which a part of the head has arrived', true, 'HTTP/1.1 2', false],
    ['keeps one of which a part of the body has arrived', true, ok.slice(0, -1), false],
    ['has nothing to give back after the answer', true, ok, false],
  ] as const)
    it(`whose client is silent ${what}`, () => {
      const { upstream, heard, say, ask, quiet } = createScene();
      ask({ again });
      if (said !== '') say(said);
      const { retryable } = upstream;
      const before = heard.length;
      quiet();
      assert.deepEqual(heard.slice(before), given ? ['fail broke'] : []);
      assert.equal(retryable, null);
    });

  const announcements: readonly (readonly [string, string, number])[] = [
    ['a second after the response, where the upstream announces nothing', '', 1_000],
    ['until a second before the announced end', 'Keep-Alive: timeout=5, max=100\r\n', 4_000],
    ['as announced in any order and case', 'KEEP-ALIVE: max=9, Timeout=3\r\n', 2_000],
    ['not at all where the announced end is too near', 'Keep-Alive: timeout=1\r\n', 0],
    ['a second where the announcement is no number', 'Keep-Alive: timeout=\r\n', 1_000],
  ];
  for (const [when, field, usableMs] of announcements) {
    it(`takes a request that must not be repeated: ${when}`, () => {
      const { upstream, clock, say, ask } = createScene();
      ask();
      clock.nowMs = 500;
      say(ok.replace('\r\n', `\r\n${field}`));
      clock.nowMs = 500 + Math.max(0, usableMs - 1);
      assert.equal(upstream.reusable(false), usableMs > 0);
      clock.nowMs = 500 + usableMs;
      assert.deepEqual([upstream.reusable(false), upstream.reusable(true)], [false, true]);
    });
  }

  it('takes interim responses before the final one, in one read or in pieces', () => {
    const text = `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${ok}`;
    for (let cut = 1; cut < text.length - 1; cut++) {
      const { heard, say, ask } = createScene();
      ask();
      say(text.slice(0, cut));
      say(text.slice(cut));
      assert.deepEqual(heard.slice(0, 2), ['103', '100'], `cut at ${cut}`);
      assert.match(heard.slice(2).join(' '), /^200 (ok|o body k|body ok) done$|^200 done$/, `cut at ${cut}`);
    }
  });

  it('fails at the 33rd interim response', () => {
    const { heard, link, say, ask } = createScene();
    ask();
    for (let i = 0; i < 33; i++) say('HTTP/1.1 100 Continue\r\n\r\n');
    assert.deepEqual([heard.length, heard.at(-1), link.resetWith], [33, 'fail bad-response', 'protocol']);
  });

  const last: readonly (readonly [string, string])[] = [
    ['close', 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok'],
  ];
  for (const [why, text] of last) {
    it(`serves no other request after ${why}, and is ended properly`, () => {
      const { upstream, heard, link, say, ask } = createScene();
      ask();
      say(text);
      assert.deepEqual([heard, upstream.reusable(true), link.ended, link.resetWith], [['200 ok', 'done'], false, true, '']);
    });
  }

  it('tells the times of every answer, before its own end, to a client that asks', () => {
    const { heard, link, say, ask, end } = createScene();
    link.asksTimes = true;
    ask();
    say(ok);
    ask();
    say('HTTP/1.1 200 OK\r\n\r\nuntil the end');
    end();
    assert.deepEqual(heard, ['200 ok', 'times', 'done', '200 until the end', 'times', 'done']);
    const upgraded = createScene();
    upgraded.link.asksTimes = true;
    upgraded.ask({ upgrade: true });
    upgraded.say('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n');
    assert.deepEqual(upgraded.heard, ['times', '101']);
  });

  it('serves no other request if unrequested bytes follow a response, at once or later', () => {
    for (const later of [false, true]) {
      const { upstream, heard, link, say, ask } = createScene();
      ask();
      say(later ? ok : `${ok}HTTP/1.1 200 OK`);
      if (later) say('HTTP/1.1 200 OK');
      assert.deepEqual([heard, upstream.reusable(true), link.resetWith], [['200 ok', 'done'], false, 'protocol']);
      assert.equal(link.consumed, 15, 'their credit is given back');
    }
  });

  it('that its upstream ends between requests is ended on this side too', () => {
    const { upstream, heard, link, say, end, ask } = createScene();
    ask();
    say(ok);
    end();
    assert.deepEqual([link.ended, link.resetWith, upstream.reusable(true), heard.at(-1)], [true, '', false, 'done']);
  });

  it('released by its visitor is ended between requests, and reset during a response', () => {
    const [idle, busy] = [createScene(), createScene()];
    idle.ask();
    idle.say(ok);
    idle.upstream.release();
    assert.deepEqual([idle.link.ended, idle.link.resetWith], [true, '']);
    busy.ask();
    busy.say(ok.slice(0, -1));
    busy.upstream.release();
    assert.deepEqual([busy.link.ended, busy.link.resetWith], [false, 'cancelled']);
  });
});

describe('a response that ends too early', () => {
  it('is an error with a length or chunks; without either the end completes it (RFC 9112 6.3)', () => {
    const heads = ['Content-Length: 9\r\n', 'Transfer-Encoding: chunked\r\n', ''];
    const ends = heads.map((fields) => {
      const { heard, say, end, ask } = createScene();
      ask();
      say(`HTTP/1.1 200 OK\r\n${fields}\r\n4\r\nhalf`);
      end();
      return heard.at(-1);
    });
    assert.deepEqual(ends, ['fail broke', 'fail broke', 'done']);
  });

  it('before its first byte may be retried, if the connection had served before and the request is safe', () => {
    const outcomes = [
      { served: true, again: true, said: '' },
      { served: false, again: true, said: '' },
      { served: true, again: false, said: '' },
      { served: true, again: true, said: 'HTTP/1.1 2' },
      { served: true, again: true, said: 'HTTP/1.1 100 Continue\r\n\r\n' },
      { served: true, again: true, said: 'HTTP/1.1 200 OK\r\n\r\n' },
    ].map(({ served, again, said }) => {
      const { upstream, say, fail, ask } = createScene();
      if (served) {
        ask();
        say(ok);
      }
      ask({ again });
      if (said !== '') say(said);
      let retryable: Buffer | null = null;
      upstream.owner = { ...upstream.owner, onUpstreamFail: () => (retryable = upstream.retryable) };
      fail('upstream-reset');
      return retryable !== null;
    });
    assert.deepEqual(outcomes, [true, false, false, false, false, false]);
  });
});

describe('an upgrade', () => {
  const switched = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

  it('that was requested makes all later bytes opaque, those of the same read too', () => {
    const { heard, say, end, ask } = createScene();
    ask({ upgrade: true });
    say(`${switched}first`);
    say('second');
    end();
    assert.deepEqual(heard, ['101', 'opaque first', 'opaque second', 'opaque end']);
  });

  const refused: readonly (readonly [string, boolean, string])[] = [
    ['nobody asked for', false, switched],
    ['names no protocol', true, 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n'],
    ['names another protocol than the request', true, switched.replace('websocket', 'h2c')],
    ['names two protocols', true, switched.replace('websocket', 'websocket, h2c')],
    ['is not of this connection', true, 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n'],
  ];
  for (const [why, upgrade, text] of refused) {
    it(`that ${why} is a bad response`, () => {
      const { heard, link, say, ask } = createScene();
      ask({ upgrade });
      say(text);
      assert.deepEqual([heard, link.resetWith], [['fail bad-response'], 'protocol']);
    });
  }
});
