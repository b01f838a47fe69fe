import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Session, Stream } from '../api.ts';
import { resetCodes } from '../core/code.ts';
import { carrierKinds } from '../fixture/carriers.ts';
import { createFakeClock } from '../fixture/clock.ts';
import { collect, createSessionPair, pump, testRequest, whenOver, whenReset } from '../fixture/sessions.ts';

const happens = <Value>(assign: (resolve: (value: Value) => void, reject: (error: Error) => void) => void): Promise<Value> =>
  new Promise(assign);

for (const kind of carrierKinds) {
  describe(`a session over ${kind}`, () => {
    it('carries bytes both ways unchanged, with the window of both growing', async () => {
      await using pair = await createSessionPair(kind);
      const { near, far } = await pair.open();
      far.accept();
      const [down, up] = [randomBytes(3_000_000), randomBytes(2_000_000)];
      const got = Promise.all([collect(near), collect(far)]);
      await Promise.all([pump(far, down), pump(near, up, 200_000)]);
      const [gotDown, gotUp] = await got;
      assert.ok(gotDown.equals(down));
      assert.ok(gotUp.equals(up));
      assert.equal(near.sentBytes, up.length);
      assert.equal(near.receivedBytes, down.length);
      assert.equal(pair.edge.receivedBytes, down.length);
    });

    it('gives the acceptor the visitor and the preface', async () => {
      await using pair = await createSessionPair(kind);
      const request = { kind: 'ingress-443', host: 'a.example', preface: Buffer.from('PROXY TCP4\r\n') } as const;
      const { far } = await pair.open(request);
      assert.deepEqual({ ...far.request, preface: Buffer.from(far.request.preface) }, { ...testRequest, ...request });
    });

    it('passes on acceptance', async () => {
      await using pair = await createSessionPair(kind);
      const { near, far } = await pair.open();
      const opened = happens<void>((resolve) => (near.onOpened = resolve));
      assert.equal(near.opened, false);
      far.accept();
      await opened;
      assert.equal(near.opened, true);
    });

    for (const said of ['early', '']) {
      it(`holds back what the acceptor writes before it accepts: ${said || 'its end alone'}`, async () => {
        await using pair = await createSessionPair(kind);
        const { near, far } = await pair.open();
        if (said !== '') far.write(Buffer.from(said));
        far.end();
        const wasOpened: boolean[] = [];
        near.onOpened = () => wasOpened.push(near.opened);
        const got = collect(near);
        pair.client.offer([]);
        await happens((resolve) => (pair.edge.onOffers = resolve));
        assert.equal(near.receivedBytes, 0);
        assert.deepEqual(wasOpened, []);
        far.accept();
        assert.equal(String(await got), said);
        assert.deepEqual(wasOpened, [true]);
        near.end();
        await whenOver(far);
      });
    }

    it('keeps a half-close: the other direction goes on', async () => {
      await using pair = await createSessionPair(kind);
      const { near, far } = await pair.open();
      const over = Promise.all([whenOver(near), whenOver(far)]);
      near.write(Buffer.from('question'));
      near.end();
      assert.equal(String(await collect(far)), 'question');
      assert.equal(far.closed, false);
      far.accept();
      const answer = collect(near);
      far.write(Buffer.from('answer'));
      far.end();
      assert.equal(String(await answer), 'answer');
      await over;
      assert.equal(pair.edge.openStreams + pair.client.openStreams, 0);
    });

    for (const code of Object.keys(resetCodes) as (keyof typeof resetCodes)[]) {
      it(`passes on a reset with its code: ${code}`, async () => {
        await using pair = await createSessionPair(kind);
        const { near, far } = await pair.open();
        const got = whenReset(near);
        far.reset(code);
        assert.equal(await got, code);
        assert.equal(near.closed && far.closed, true);
      });
    }

    it('lets a stalled reader hold its own window and no other stream', async () => {
      await using pair = await createSessionPair(kind);
      const stalled = await pair.open();
      const lively = await pair.open();
      for (const { far } of [stalled, lively]) far.accept();
      let held = 0;
      stalled.near.onData = (chunk) => (held += chunk.length);
      while (stalled.far.write(Buffer.alloc(60_000)));
      const bytes = randomBytes(4_000_000);
      const got = collect(lively.near);
      await pump(lively.far, bytes);
      assert.ok((await got).equals(bytes));
      assert.ok(held <= 262_144, `${held} bytes held`);
      assert.ok(held > 200_000);
    });

    it('resets a stream whose writer does not wait, at the bound of its queue', async () => {
      await using pair = await createSessionPair(kind, { limits: { maxWindowBytes: 1_000_000 } });
      const { near, far } = await pair.open();
      far.accept();
      const got = whenReset(near);
      let written = 0;
      for (; !far.closed && written < 2_000_000; written += 50_000) far.write(Buffer.alloc(50_000));
      assert.ok(written > 1_000_000 && written < 2_000_000, `${written} bytes`);
      assert.equal(await got, 'internal');
    });

    it('continues where a stalled reader stopped', async () => {
      await using pair = await createSessionPair(kind);
      const { near, far } = await pair.open();
      far.accept();
      let got = 0;
      let owed = 0;
      const window = happens<void>((resolve) => {
        near.onData = (chunk) => {
          got += chunk.length;
          owed += chunk.length;
          if (got >= 262_144) resolve();
        };
      });
      const pumped = pump(far, Buffer.alloc(1_000_000));
      await window;
      const all = happens<void>((resolve) => (near.onEnd = resolve));
      near.onData = (chunk) => {
        got += chunk.length;
        near.consume(chunk.length);
      };
      near.consume(owed);
      await Promise.all([pumped, all]);
      assert.equal(got, 1_000_000);
    });

    it('drains: refuses new streams, finishes open ones, then closes both sides', async () => {
      await using pair = await createSessionPair(kind);
      const { near, far } = await pair.open();
      const told = happens<string>((resolve) => (pair.edge.onGoaway = resolve));
      pair.client.drain('going');
      const late = pair.edge.open(testRequest);
      const refused = whenReset(late);
      assert.equal(await told, 'drain');
      assert.equal(await refused, 'refused');
      assert.deepEqual([pair.edge.canOpen, pair.edge.takesStreams], [false, false]);
      const got = collect(near);
      far.accept();
      far.write(Buffer.from('last words'));
      far.end();
      near.end();
      assert.equal(String(await got), 'last words');
      assert.equal((await pair.edgeEnd).code, 'closed');
      assert.equal((await pair.clientEnd).code, 'closed');
    });

    it('resets every stream when the carrier is lost', async () => {
      await using pair = await createSessionPair(kind);
      const { near, far } = await pair.open();
      const resets = Promise.all([whenReset(near), whenReset(far)]);
      pair.carriers[0].destroy();
      assert.deepEqual(await resets, ['carrier-lost', 'carrier-lost']);
      assert.equal((await pair.edgeEnd).code, 'lost');
    });

    it('closes with a coded reason that the peer learns', async () => {
      await using pair = await createSessionPair(kind);
      pair.edge.close('token-refused', 'rotated');
      assert.deepEqual(await pair.clientEnd, { code: 'token-refused', by: 'peer', detail: 'rotated' });
    });

    it('answers OPEN beyond the stream limit with busy', async () => {
      await using pair = await createSessionPair(kind, { limits: { maxPendingOpens: 2 } });
      pair.client.onStream = () => {};
      const [first, second, third] = [1, 2, 3].map(() => pair.edge.open(testRequest)) as [Stream, Stream, Stream];
      assert.equal(await whenReset(third), 'busy');
      assert.equal(first.closed || second.closed, false);
    });

    it('sends OFFER and INFO from version 2 on', async () => {
      await using pair = await createSessionPair(kind);
      const offers = happens((resolve) => (pair.edge.onOffers = resolve));
      const info = happens((resolve) => (pair.client.onInfo = resolve));
      pair.client.offer([{ key: 'a.example', healthy: false }]);
      pair.edge.inform({ edge: 'edge-1', edges: 2, carriers: 8, urls: ['https://a.example'] });
      assert.deepEqual(await offers, [{ key: 'a.example', healthy: false }]);
      assert.deepEqual(await info, { edge: 'edge-1', edges: 2, carriers: 8, urls: ['https://a.example'], tcp: true });
    });

    it('tells the acceptor the times of a request until the opener ends its side; an acceptor may not tell any', async () => {
      await using pair = await createSessionPair(kind);
      const { near, far } = await pair.open();
      far.accept();
      near.tellTimes({ edgeMs: 0, totalMs: 1 });
      await happens<unknown>((resolve) => (far.onTimes = resolve));
      const told: unknown[] = [];
      far.onTimes = (times) => told.push(times);
      near.tellTimes({ edgeMs: 0.25, totalMs: 3 });
      near.tellTimes({ edgeMs: 0, totalMs: 1e9 });
      near.end();
      near.tellTimes({ edgeMs: 9, totalMs: 9 });
      await happens<void>((resolve) => (far.onEnd = resolve));
      assert.deepEqual(told, [
        { edgeMs: 0.25, totalMs: 3 },
        { edgeMs: 0, totalMs: 4_294_967.295 },
      ]);
      far.tellTimes({ edgeMs: 0, totalMs: 0 });
      assert.match((await pair.edgeEnd).detail, /TIMES from the acceptor/);
    });

    it('sends the last of a burst of changes without flooding the peer', async () => {
      await using pair = await createSessionPair(kind);
      const last = happens<void>((resolve, reject) => {
        pair.edge.onOffers = ([offer]) => offer?.key === 'h99' && resolve();
        void pair.edgeEnd.then(({ detail }) => reject(new Error(detail)));
      });
      const news = happens<void>((resolve) => (pair.edge.onInfo = ({ edges }) => edges === 99 && resolve()));
      for (let change = 0; change < 100; change++) {
        pair.client.offer([{ key: `h${change}`, healthy: true }]);
        pair.client.inform({ edges: change });
        if (change % 10 === 0) await turn();
      }
      await Promise.all([last, news]);
    });

    it('measures the data path', async () => {
      await using pair = await createSessionPair(kind);
      const rtt = await happens<number>((resolve) => (pair.edge.onProof = resolve));
      assert.ok(rtt >= 0 && rtt < 5_000);
      assert.equal(pair.edge.rttMs, rtt);
      assert.ok(pair.edge.provenAtMs !== null);
    });
  });
}

describe('versions', () => {
  for (const [ofClient, ofEdge, agreed] of [
    [1, 2, 1],
    [2, 1, 1],
    [2, 2, 2],
    [3, 2, 2],
    [2, 3, 2],
  ] as const) {
    it(`a client of version ${ofClient} and an edge of version ${ofEdge} speak version ${agreed}`, async () => {
      await using pair = await createSessionPair('pipe', { newestVersion: ofClient }, { newestVersion: ofEdge });
      assert.equal(pair.client.version, agreed);
      assert.equal(pair.edge.version, agreed);
      pair.client.offer([{ key: '*', healthy: true }]);
      const { near, far } = await pair.open();
      const bytes = randomBytes(500_000);
      const got = collect(near);
      far.accept();
      await pump(far, bytes);
      assert.ok((await got).equals(bytes));
      assert.equal(pair.edge.peerOffers === null, agreed === 1);
    });
  }
});

describe('time', () => {
  const createTimed = async () => {
    const clock = createFakeClock();
    return { clock, pair: await createSessionPair('pipe', {}, { clock }) };
  };

  it('pings every 5 s and closes after 15 s of silence', async () => {
    const { clock, pair } = await createTimed();
    await using _ = pair;
    if (pair.edge.provenAtMs === null) await happens((resolve) => (pair.edge.onProof = resolve));
    pair.carriers[0].removeAllListeners('data').pause();
    clock.advance(20_000);
    assert.deepEqual(await pair.edgeEnd, { code: 'silent', by: 'us', detail: 'nothing arrived for too long' });
  });

  it('stays open while PINGs come back', async () => {
    const { clock, pair } = await createTimed();
    await using _ = pair;
    for (let round = 0; round < 20; round++) {
      clock.advance(5_000);
      await happens((resolve) => (pair.edge.onProof = resolve));
    }
    assert.equal(pair.edge.closed, false);
    assert.equal(pair.edge.provenAtMs, 100_000);
  });

  it('leaves no timer behind', async () => {
    const { clock, pair } = await createTimed();
    for (let edges = 0; edges < 30; edges++) pair.edge.inform({ edges });
    pair.edge.close();
    await pair.clientEnd;
    for (const carrier of pair.carriers) carrier.destroy();
    await turn();
    await turn();
    assert.equal(clock.timers, 0);
  });
});

describe('credit', () => {
  const fill = (session: Session, streams: number): Stream[] => Array.from({ length: streams }, () => session.open(testRequest));

  it("gives new streams a smaller window once half of the session's budget is spent", async () => {
    await using pair = await createSessionPair('pipe', {}, { limits: { sessionWindowBytes: 1_048_576 } });
    const windows: number[] = [];
    const measure = (stream: Stream): void => {
      let sent = 0;
      stream.accept();
      while (stream.write(Buffer.alloc(16_384))) sent += 16_384;
      windows.push(sent);
    };
    pair.client.onStream = measure;
    const streams = fill(pair.edge, 3);
    await happens<void>((resolve) => (streams.at(-1)!.onOpened = resolve));
    assert.deepEqual(windows, [262_144, 262_144, 65_536]);
    for (const stream of streams) stream.reset('cancelled');
    fill(pair.edge, 1);
    await happens<void>((resolve) => {
      pair.client.onStream = (stream) => {
        measure(stream);
        resolve();
      };
    });
    assert.equal(windows[3], 262_144, 'closed streams give their windows back');
  });
});
