import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createTestLog, requestOf } from './fixture/exchanges.ts';
import { parseWords, searchExchanges } from './search.ts';

const answerOf = (headers: string, body: string | Buffer) =>
  Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n${headers}\r\n`), Buffer.from(body)]);

const { log, exchange, open } = createTestLog();
const json = { 'Content-Type': 'application/json' };
exchange(requestOf({ 'X-Event': 'Invoice.Failed' }));
exchange(requestOf(json, '{"type":"invoice.failed","url":"https:\\/\\/pay.example\\/1","name":"caf\\u00e9"}'));
exchange(requestOf({ 'Content-Type': 'application/x-www-form-urlencoded' }, 'note=two%20words&kind=a%2Eb'));
exchange(requestOf({}), answerOf('Content-Encoding: gzip\r\nContent-Type: text/plain\r\n', gzipSync('packed invoice.failed')));
const secrets = { Authorization: 'Bearer top-secret', Cookie: 'sid=cookie-secret', 'X-Api-Key': 'key-secret' };
exchange(requestOf(secrets), answerOf('Set-Cookie: sid=set-secret\r\n', ''));
exchange(requestOf({}), answerOf('Content-Type: image/png\r\n', 'needle in an image'));
exchange(requestOf({}), answerOf('Content-Encoding: gzip\r\n', 'needle that is not gzip'));
exchange(requestOf({}), answerOf('Content-Type: text/plain\r\n', `${'é'.repeat(300_000)}across the slices`));
const events = open();
events.connected();
events.rx(Buffer.from(requestOf({})));
events.tx(Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: tick\ndata: in an event\n\n'));

async function search(text: string, signal = new AbortController().signal, now = () => 0) {
  const [found, isWhole] = await searchExchanges(log.all(), { words: parseWords(text)!, now, signal });
  return { ids: found.map(({ ids }) => ids), isWhole };
}

describe('a search finds', () => {
  const cases: readonly [what: string, text: string, ids: readonly number[]][] = [
    ['header values, bodies and packed bodies, in any case', 'INVOICE.failed', [1, 2, 4]],
    ['names of headers, also of hidden ones', 'x-api-key', [5]],
    ['JSON as its tree shows it', 'https://pay.example/1', [2]],
    ['JSON with escaped letters', 'café', [2]],
    ['JSON as it was sent', '\\u00e9', [2]],
    ['values of a form', 'a.b', [3]],
    ['events', 'tick', [9]],
  ];
  for (const [what, text, ids] of cases)
    it(what, async () => assert.deepEqual(await search(text), { ids: [ids], isWhole: true }));

  it('each word by itself', async () => assert.deepEqual((await search('invoice.failed x-event')).ids, [[1, 2, 4], [1]]));

  it('a word that lies across two slices', async () => {
    // The word begins on each of the places around the first cut.
    for (const padding of [255, 256, 257].map((kilo) => kilo * 1024 - 5)) {
      const made = createTestLog();
      made.exchange(requestOf({}), answerOf('Content-Type: text/plain\r\n', `${'a'.repeat(padding)}needle`));
      const [found] = await searchExchanges(made.log.all(), {
        words: ['needle'],
        now: () => 0,
        signal: new AbortController().signal,
      });
      assert.deepEqual(found[0]!.ids, [1], String(padding));
    }
  });
});

describe('a search does not find', () => {
  for (const secret of ['top-secret', 'Bearer', 'cookie-secret', 'key-secret', 'set-secret', 'sid='])
    it(`'${secret}' in a hidden header`, async () => assert.deepEqual((await search(secret)).ids, [[]]));

  it('what the page does not show as text: an image, a body whose coding is damaged', async () =>
    assert.deepEqual((await search('needle')).ids, [[]]));
});

describe('a search ends', () => {
  it('when nobody waits for it', async () =>
    assert.deepEqual(await search('tick', AbortSignal.abort()), { ids: [[]], isWhole: false }));

  it('after five seconds, and says so', async () => {
    let at = 0;
    const now = () => (at += 2_000);
    assert.deepEqual(await search('invoice.failed', undefined, now), { ids: [[1, 2]], isWhole: false });
  });

  it('before it begins with too many or too long words', () => {
    assert.equal(parseWords('a b c d e f g h i'), null);
    assert.equal(parseWords('x'.repeat(101)), null);
    assert.deepEqual(parseWords(' B  a b '), ['b', 'a']);
  });

  it('without keeping others from their turn: one for each 256 KiB of text', async () => {
    const made = createTestLog();
    const answer = answerOf('Content-Type: text/plain\r\n', 'a'.repeat(1024 * 1024));
    for (let count = 0; count < 10; count++) made.exchange(requestOf({}), answer);
    let turns = 0;
    const count = () => {
      turns++;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    await searchExchanges(made.log.all(), { words: ['b'], now: () => 0, signal: new AbortController().signal });
    clearImmediate(next);
    assert.ok(turns >= 40, `${turns} turns`);
  });
});
