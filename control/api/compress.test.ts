// Answers that are long and hold no secret travel compressed; their bytes, once decoded, are those of the plain answer.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { createFixedJson } from '../request/http/compress.ts';
import { createTestControl, type SignedUp, type TestControl } from '../test-kit.ts';

const decoders = { br: brotliDecompressSync, gzip: gunzipSync };

let test: TestControl;
let ann: SignedUp;

before(async () => {
  test = await createTestControl();
  ann = await test.signUp('ann@example.com');
  for (let made = 0; made < 12; made++) {
    await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: `t${made}`, region: 'local', ingressDomains: [] });
  }
});
after(() => test.close());

const get = (path: string, accepted: string, method = 'GET') =>
  ann.send(method, `${path}?project=${ann.projectId}`, undefined, { 'accept-encoding': accepted });

const bytesOf = async (answer: Response) => Buffer.from(await answer.arrayBuffer());

describe('a long answer without secrets', () => {
  for (const [accepted, coding] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip, br;q=0', 'gzip'],
  ] as const) {
    for (const path of ['/api/audit', '/openapi.json']) {
      it(`${path} is ${coding} for "${accepted}", and the same once decoded`, async () => {
        const plain = await bytesOf(await get(path, 'identity'));
        const answer = await get(path, accepted);
        assert.equal(answer.headers.get('content-encoding'), coding);
        assert.equal(answer.headers.get('vary'), 'accept-encoding');
        assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
        const bytes = await bytesOf(answer);
        assert.ok(bytes.length < plain.length / 4, `${bytes.length} of ${plain.length}`);
        assert.deepEqual(decoders[coding](bytes), plain);
      });
    }
  }

  it('is plain for a program that accepts no coding, and a cache knows that others differ', async () => {
    const answer = await get('/api/audit', '');
    assert.equal(answer.headers.get('content-encoding'), null);
    assert.equal(answer.headers.get('vary'), 'accept-encoding');
  });

  it('has the same head for HEAD', async () => {
    const [whole, head] = [await get('/api/audit', 'br'), await get('/api/audit', 'br', 'HEAD')];
    assert.equal((await bytesOf(head)).length, 0);
    const facts = ({ status, headers }: Response) => [status, ...[...headers].filter(([name]) => name !== 'x-request-id')];
    assert.deepEqual(facts(head), facts(whole));
  });
});

it('what is the same for everybody is rendered and compressed once, however often somebody asks', async (t) => {
  const render = t.mock.fn(() => ({ text: 'a'.repeat(2_000) }));
  const answer = createFixedJson({ toJSON: render });
  const ask = async (accepted: string) => answer(new Request('http://localhost/', { headers: { 'accept-encoding': accepted } }));
  for (const accepted of ['br', 'br', 'gzip', '']) {
    const bytes = await bytesOf(await ask(accepted));
    const plain = accepted === '' ? bytes : decoders[accepted as 'br'](bytes);
    assert.deepEqual(JSON.parse(plain.toString()), render());
  }
  assert.equal(render.mock.callCount(), 5, 'four of them are of this test');
});

it('a short answer is plain, and keeps the headers of its page', async () => {
  const answer = await get('/api/security-groups', 'br');
  assert.equal(answer.headers.get('content-encoding'), null);
  assert.match(answer.headers.get('underpass-counts') ?? '', /^total=1\b/);
  assert.equal((JSON.parse(await answer.text()) as object[]).length, 1);
});

it('tunnels travel plain, because they hold their tokens', async () => {
  const answer = await get('/api/tunnels', 'br, gzip');
  assert.equal(answer.headers.get('content-encoding'), null);
  assert.ok((await bytesOf(answer)).length > 5000);
});

it('an event stream travels plain', async () => {
  const answer = await get('/api/events', 'br, gzip');
  assert.equal(answer.headers.get('content-encoding'), null);
  await answer.body?.cancel();
});
