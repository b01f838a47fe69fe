// A visitor's stream among fake clients that refuse, fail and vanish.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Session, Stream } from '@underpass/wire/api.ts';
import type { ResetCode } from '@underpass/wire/core/code.ts';
import type { OpenRequest } from '@underpass/wire/core/open.ts';
import type { Times } from '@underpass/wire/core/times.ts';
import { TunnelState } from '../routes/tunnel-state.ts';
import type { Dialer, DialTarget } from './dialer.ts';
import { Link, type LinkOwner } from './link.ts';

function nothing(): void {}
const request = {
  kind: 'http',
  host: 't.example',
  visitorAddress: '192.0.2.7',
  visitorPort: 1,
  preface: new Uint8Array(0),
  tunnelId: '',
  clientId: '',
} as const;

/** A stream that records its calls; write() returns `room`. */
class FakeStream {
  readonly written: string[] = [];
  readonly told: Times[] = [];
  ended = false;
  resetWith: ResetCode | null = null;
  consumed = 0;
  room = true;
  request: OpenRequest | undefined;
  /** The client on which it was opened. */
  from = -1;
  onOpened = nothing;
  onData: (chunk: Buffer) => void = nothing;
  onEnd = nothing;
  onReset: (code: ResetCode) => void = nothing;
  onDrain = nothing;
  onQuiet = nothing;
  onClose = nothing;

  write(chunk: Uint8Array): boolean {
    this.written.push(Buffer.from(chunk).toString());
    return this.room;
  }

  end(): void {
    this.ended = true;
  }

  consume(bytes: number): void {
    this.consumed += bytes;
  }

  tellTimes(times: Times): void {
    this.told.push(times);
  }

  reset(code: ResetCode): void {
    this.resetWith = code;
    this.onClose();
  }
}

/** `count` clients that are tried in order, and all streams that were opened. */
function createScene({ count = 3, hop = false, later = false, asks = '' } = {}) {
  const streams: FakeStream[] = [];
  const sessions = Array.from({ length: count }, (_, index) => ({
    canOpen: true,
    isQuiet: false,
    peerOffers: asks === '' ? null : [{ key: asks, healthy: true, times: true }],
    open(asked: OpenRequest): Stream {
      const stream = new FakeStream();
      stream.request = asked;
      stream.from = index;
      streams.push(stream);
      return stream as unknown as Stream;
    },
  }));
  const targets: DialTarget[] = sessions.map((session) => ({ session: session as unknown as Session, hop }));
  let change = Promise.withResolvers<void>();
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  const dialer = {
    next(_tunnel: unknown, _request: unknown, tried: ReadonlySet<Session>) {
      const target = targets.find(({ session }) => !tried.has(session)) ?? null;
      return later ? opened.then(() => target) : target;
    },
    working: (_tunnel: unknown, _request: unknown, tried: ReadonlySet<Session>) =>
      targets.find(({ session }) => !tried.has(session) && !session.isQuiet) ?? null,
    changed: () => change.promise,
  } as unknown as Dialer;
  const tunnel = new TunnelState({ id: 'tunnel-1', allowList: [], hosts: [], tokens: [] } as never);
  const heard: string[] = [];
  const owner: LinkOwner = {
    onLinkOpened: () => void heard.push('opened'),
    onLinkData: (chunk) => void heard.push(`data ${chunk.toString()}`),
    onLinkEnd: () => void heard.push('end'),
    onLinkDrain: () => void heard.push('drain'),
    onLinkQuiet: (isLost) => void heard.push(isLost ? 'lost' : 'quiet'),
    onLinkFail: (code) => void heard.push(`fail ${code}`),
  };
  const link = new Link(dialer, tunnel, request, owner);
  /** A client came, went or changed, or the wait for one is over. */
  const changed = async (): Promise<void> => {
    const before = change;
    change = Promise.withResolvers<void>();
    before.resolve();
    await settled();
  };
  return { link, streams, sessions, tunnel, heard, open, changed };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const repeatable: readonly ResetCode[] = [
  'refused',
  'busy',
  'no-client',
  'no-upstream',
  'upstream-refused',
  'upstream-timeout',
  'upstream-unresolved',
  'upstream-tls',
  'upstream-unreachable',
];
const final: readonly ResetCode[] = ['cancelled', 'upstream-reset', 'upstream-speaks-tls', 'idle', 'internal', 'protocol'];

describe('a stream that a client does not take', () => {
  for (const code of repeatable) {
    it(`because of ${code} goes to the next client, with everything written and the end`, () => {
      const { link, streams, heard } = createScene();
      const bytes = Buffer.from('one');
      link.write(bytes);
      bytes.fill('x');
      link.write(Buffer.from('two'));
      link.end();
      streams[0]?.onReset(code);
      assert.deepEqual(streams[1]?.written, ['one', 'two']);
      assert.equal(streams[1]?.ended, true);
      assert.deepEqual(heard, []);
    });
  }

  for (const code of final) {
    it(`because of ${code} is not retried: bytes may have reached an upstream`, () => {
      const { link, streams, heard } = createScene();
      link.write(Buffer.from('one'));
      streams[0]?.onReset(code);
      assert.deepEqual([streams.length, heard], [1, [`fail ${code}`]]);
      assert.equal(link.over, true);
    });
  }

  it('because a client says that the visitor is denied fails as a broken upstream: only an edge may say so', () => {
    const { streams, heard } = createScene();
    streams[0]?.onReset('denied');
    assert.deepEqual([streams.length, heard], [1, ['fail upstream-reset']]);
    const hop = createScene({ hop: true });
    hop.streams[0]?.onReset('denied');
    assert.deepEqual(hop.heard, ['fail denied']);
  });

  it('because its carrier was lost goes to the next client only if nothing was sent, or what may be repeated', () => {
    const safe = createScene();
    safe.link.write(Buffer.from('GET / HTTP/1.1\r\nhost: t\r\n\r\n'));
    safe.streams[0]?.onReset('carrier-lost');
    assert.deepEqual([safe.streams.length, safe.heard], [2, []]);
    const unsent = createScene();
    unsent.streams[0]?.onReset('carrier-lost');
    assert.equal(unsent.streams.length, 2);
    const sent = createScene();
    sent.link.write(Buffer.from('one'));
    sent.streams[0]?.onReset('carrier-lost');
    assert.deepEqual([sent.streams.length, sent.heard], [1, ['fail carrier-lost']]);
  });

  for (const [how, reach] of [
    ['was accepted', (stream: FakeStream) => stream.onOpened()],
    ['answers', (stream: FakeStream) => stream.onData(Buffer.from('x'))],
  ] as const) {
    it(`is not retried once it ${how}`, () => {
      const { streams, heard } = createScene();
      reach(streams[0] as FakeStream);
      streams[0]?.onReset('refused');
      assert.deepEqual([streams.length, heard.at(-1)], [1, 'fail refused']);
    });
  }

  it('is not retried once more was written than is kept', () => {
    const { link, streams, heard } = createScene();
    for (let i = 0; i < 97; i++) link.write(Buffer.alloc(1024));
    streams[0]?.onReset('refused');
    assert.deepEqual([streams.length, heard], [1, ['fail refused']]);
  });

  it('keeps what was written byte by byte in few pieces', () => {
    const { link, streams } = createScene();
    for (let i = 0; i < 40_000; i++) link.write(Buffer.of(97 + (i % 26)));
    streams[0]?.onReset('refused');
    const { written } = streams[1] as FakeStream;
    assert.equal(written.join('').length, 40_000);
    assert.equal(written.join('').slice(26, 52), 'abcdefghijklmnopqrstuvwxyz');
    assert.ok(written.length < 40, `${written.length} pieces`);
  });

  it('is tried on four clients at most, and reports the failure of the first', async () => {
    const { streams, heard } = createScene({ count: 9 });
    for (let i = 0; i < 4; i++) streams[i]?.onReset(i === 0 ? 'upstream-refused' : 'busy');
    await settled();
    assert.deepEqual([streams.length, heard], [4, ['fail upstream-refused']]);
  });

  it('is tried at every neighbour, and a client’s failure counts more than their "no-client"', async () => {
    const { streams, heard } = createScene({ count: 6, hop: true });
    for (let i = 0; i < 6; i++) streams[i]?.onReset(i === 3 ? 'upstream-refused' : 'no-client');
    await settled();
    assert.deepEqual([streams.length, heard], [6, ['fail upstream-refused']]);
  });

  it('because of a timeout is tried on one other client, and on no other carrier of the same: each takes ten seconds', async () => {
    const { streams, sessions, tunnel, heard } = createScene({ count: 4 });
    for (const [index, session] of sessions.entries()) tunnel.clients.push({ session, clientId: `${index >> 1}` } as never);
    streams[0]?.onReset('upstream-timeout');
    streams[1]?.onReset('upstream-timeout');
    await settled();
    assert.deepEqual([streams.map(({ from }) => from), heard], [[0, 2], ['fail upstream-timeout']]);
  });

  it('because of its upstream goes to no other carrier of the same client, which would use up the tries', async () => {
    const { streams, sessions, tunnel, heard } = createScene({ count: 8 });
    for (const [index, session] of sessions.entries()) tunnel.clients.push({ session, clientId: `${index >> 2}` } as never);
    streams[0]?.onReset('upstream-tls');
    await settled();
    assert.deepEqual([streams.map(({ from }) => from), heard], [[0, 4], []]);
  });

  it('skips a client that has stopped taking streams', async () => {
    const { streams, sessions, open } = createScene({ later: true });
    for (const session of sessions.slice(0, 2)) session.canOpen = false;
    open();
    await settled();
    assert.deepEqual([streams.length, streams[0]?.from], [1, 2]);
  });
});

describe('a stream whose client is silent', () => {
  const get = 'GET / HTTP/1.1\r\nHost: t.example\r\n\r\n';

  it('asks a client that works instead, with a request that does no harm twice, and the first answer does not count', () => {
    const { link, streams, heard } = createScene();
    let closed = 0;
    link.onClosed = () => closed++;
    link.write(Buffer.from(get));
    streams[0]?.onQuiet();
    assert.deepEqual([streams[0]?.resetWith, streams[1]?.written, closed], ['cancelled', [get], 0]);
    streams[1]?.onOpened();
    streams[1]?.onData(Buffer.from('answer'));
    assert.deepEqual(heard, ['opened', 'data answer']);
  });

  for (const [why, text] of [
    ['may have effects', get.replace('GET', 'POST')],
    ['has a body', get.replace('\r\n\r\n', '\r\nContent-Length: 2\r\n\r\n')],
  ] as const)
    it(`stays there with a request that ${why}`, () => {
      const { link, streams, heard } = createScene();
      link.write(Buffer.from(text));
      streams[0]?.onQuiet();
      assert.deepEqual([streams.length, streams[0]?.resetWith, heard], [1, null, []]);
    });

  it('stays there if no other client works, until one does', async () => {
    const { link, streams, sessions, heard, changed } = createScene({ count: 2 });
    sessions[1]!.isQuiet = true;
    link.write(Buffer.from(get));
    streams[0]?.onQuiet();
    await changed();
    assert.deepEqual([streams.length, streams[0]?.resetWith, heard], [1, null, []]);
    sessions[1]!.isQuiet = false;
    await changed();
    assert.deepEqual([streams[0]?.resetWith, streams[1]?.written], ['cancelled', [get]]);
  });

  for (const [what, isHop, text, wanted] of [
    ['fails a request that may be repeated', true, get, ['fail hop-silent']],
    ['keeps a request that may have effects', true, get.replace('GET', 'POST'), []],
    ['keeps a request for a client: it may be on a slow network', false, get, []],
  ] as const)
    it(`behind an edge that stays silent ${what}`, async (t) => {
      const { link, streams, sessions, heard, changed } = createScene({ count: 1, hop: isHop });
      sessions[0]!.isQuiet = true;
      link.write(Buffer.from(text));
      streams[0]?.onQuiet();
      const nowMs = performance.now();
      t.mock.method(performance, 'now', () => nowMs + 1_000);
      await changed();
      assert.deepEqual(heard, wanted);
    });

  it('is left to the owner, who hears that no other way is known, once its upstream was reached', async (t) => {
    const { link, streams, sessions, heard, changed } = createScene({ count: 1, hop: true });
    sessions[0]!.isQuiet = true;
    link.write(Buffer.from(get));
    streams[0]?.onOpened();
    streams[0]?.onQuiet();
    const nowMs = performance.now();
    t.mock.method(performance, 'now', () => nowMs + 1_000);
    await changed();
    assert.deepEqual(heard, ['opened', 'lost']);
  });

  it('asks each client once, and four at most', () => {
    for (const count of [2, 9]) {
      const { link, streams } = createScene({ count });
      link.write(Buffer.from(get));
      for (let asked = 0; asked < 9; asked++) streams[asked]?.onQuiet();
      assert.equal(streams.length, Math.min(count, 4));
    }
  });

  it('that has reached its upstream is left to the owner, who knows what was answered', () => {
    const { link, streams, heard } = createScene();
    link.write(Buffer.from(get));
    streams[0]?.onOpened();
    streams[0]?.onQuiet();
    assert.deepEqual([streams.length, streams[0]?.resetWith, heard], [1, null, ['opened', 'quiet']]);
  });
});

describe('while no client is found', () => {
  it('written bytes wait up to a bound, and are sent in order once one is found', async () => {
    const { link, streams, heard, open } = createScene({ later: true });
    const piece = Buffer.alloc(32 * 1024, 'a');
    assert.deepEqual([link.write(piece), link.write(piece), link.write(piece)], [true, true, false]);
    open();
    await settled();
    assert.equal(streams[0]?.written.join('').length, 96 * 1024);
    assert.deepEqual(heard, ['drain']);
  });

  it('the time until then is told once, to a client that asks or before a hop to one', async () => {
    const { link, streams, open } = createScene({ later: true, asks: '*' });
    const times = { edgeMs: 0, totalMs: 7 };
    open();
    await settled();
    link.tellTimes(times);
    link.tellTimes(times);
    const [first, second] = streams[0]!.told;
    assert.ok(first!.edgeMs > 0);
    assert.deepEqual(second, times);
    const hop = createScene({ hop: true, asks: 'tunnel-1' });
    hop.link.tellTimes(times);
    assert.equal(hop.streams[0]!.told.length, 1);
    for (const silent of [createScene(), createScene({ hop: true, asks: 'tunnel-2' })]) {
      silent.link.tellTimes(times);
      assert.equal(silent.streams[0]!.told.length, 0);
    }
  });

  it('no stream is opened for a visitor that has left', async () => {
    const { link, streams, heard, open } = createScene({ later: true });
    link.reset();
    open();
    await settled();
    assert.deepEqual([streams.length, heard], [0, []]);
  });

  it('the link fails in a later turn if there is no client', async () => {
    const { heard } = createScene({ count: 0 });
    assert.deepEqual(heard, []);
    await settled();
    assert.deepEqual(heard, ['fail no-client']);
  });

  it('the link fails as busy if a client here takes no streams for now, whatever the neighbours answer', async () => {
    const { streams, tunnel, heard } = createScene({ count: 1, hop: true });
    tunnel.clients.push({ session: { takesStreams: true, canOpen: false } } as never);
    streams[0]?.onReset('no-client');
    await settled();
    assert.deepEqual(heard, ['fail busy']);
  });
});

describe('a stream that is taken', () => {
  it('counts what the tunnel carries, passes credit on, and reports each event once', () => {
    const { link, streams, tunnel, heard } = createScene();
    const [stream] = streams as [FakeStream];
    link.write(Buffer.from('ask'));
    stream.onOpened();
    stream.onData(Buffer.from('answer'));
    link.consume(6);
    stream.onEnd();
    assert.deepEqual(heard, ['opened', 'data answer', 'end']);
    assert.deepEqual([tunnel.rxBytes, tunnel.txBytes, stream.consumed], [3, 6, 6]);
    assert.deepEqual([link.opened, link.remoteEnded], [true, true]);
  });

  it('asks the owner to wait, and tells when to continue', () => {
    const { link, streams, heard } = createScene();
    (streams[0] as FakeStream).room = false;
    assert.equal(link.write(Buffer.from('a')), false);
    streams[0]?.onDrain();
    assert.deepEqual(heard, ['drain']);
  });

  it('passes a reset on once, and nothing after it', () => {
    const { link, streams, heard } = createScene();
    link.reset('idle');
    link.reset('denied');
    assert.equal(streams[0]?.resetWith, 'idle');
    streams[0]?.onReset('refused');
    assert.deepEqual([streams.length, heard], [1, []]);
  });

  it('names the tunnel on a hop, and not to a client', () => {
    const named = [true, false].map((hop) => createScene({ hop }).streams[0]?.request?.tunnelId);
    assert.deepEqual(named, ['tunnel-1', '']);
  });
});
