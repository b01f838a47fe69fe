// What a body may be: bounded before it is buffered, of its type, not too deep, with fields of the right kind.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { bodyMaxBytes } from '@underpass/rules/limits.ts';
import { createTestControl, type SignedUp, type TestControl, testOrigin } from '../../test-kit.ts';

let test: TestControl;
let ann: SignedUp;

before(async () => {
  test = await createTestControl();
  ann = await test.signUp('ann@example.com', { operator: true });
});
after(() => test.close());

async function post(path: string, body: BodyInit, type: string): Promise<[number, string]> {
  const cookie = [...ann.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { 'content-type': type, cookie, origin: testOrigin };
  const request = new Request(testOrigin + path, { method: 'POST', body, headers, duplex: 'half' } as RequestInit);
  const response = await test.control.fetch(request, { remoteAddress: '192.0.2.1' });
  return [response.status, await response.text()];
}
const postJson = (text: string, type = 'application/json') => post('/api/projects', text, type);
type BodyInit = NonNullable<RequestInit['body']>;

describe('a JSON body', () => {
  it('is read with or without a charset', async () => {
    assert.equal((await postJson('{"name":"a"}'))[0], 200);
    assert.equal((await postJson('{"name":"a"}', 'Application/JSON; charset=utf-8'))[0], 200);
  });

  for (const [text, status, answer] of [
    ['', 400, 'The body must be JSON.'],
    ['{', 400, 'The body must be JSON.'],
    ['[]', 400, 'The body must be a JSON object.'],
    ['null', 400, 'The body must be a JSON object.'],
    ['"x"', 400, 'The body must be a JSON object.'],
    ['{}', 400, "Field 'name' is missing."],
    ['{"name":null}', 400, "Field 'name' must be a string."],
    ['{"name":["a"]}', 400, "Field 'name' must be a string."],
    ['{"__proto__":{"name":"a"}}', 400, "Field 'name' is missing."],
    [`{"name":${'['.repeat(20)}${']'.repeat(20)}}`, 400, 'The body nests too deeply.'],
    [`{"name":"${'x'.repeat(bodyMaxBytes.json)}"}`, 413, `The body must be at most ${bodyMaxBytes.json} bytes.`],
  ] as const) {
    it(`${text.slice(0, 30)} gets ${status}`, async () => {
      assert.deepEqual(await postJson(text), [status, answer]);
    });
  }

  it('of another type gets 415', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', '']) {
      assert.equal((await postJson('{"name":"a"}', type))[0], 415, type);
    }
  });

  it('that is not UTF-8 gets 400', async () => {
    const bytes = new Uint8Array([...Buffer.from('{"name":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
    assert.deepEqual(await post('/api/projects', bytes, 'application/json'), [400, 'The body must be UTF-8.']);
  });

  it('without an end is refused at the bound, and not read beyond it', async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536).fill(32));
      },
    });
    assert.equal((await post('/api/projects', endless, 'application/json'))[0], 413);
    assert.ok(sent <= bodyMaxBytes.json + 5 * 65_536, `${sent} bytes were taken`);
  });

  it('that its sender breaks off is not logged as an error', async () => {
    const broken = (): ReadableStream<Uint8Array> =>
      new ReadableStream({ pull: (controller) => controller.error(new Error('aborted')) });
    assert.equal((await post('/api/projects', broken(), 'application/json'))[0], 400);
    assert.equal((await post('/auth/magiclink', broken(), 'multipart/form-data; boundary=x'))[0], 400);
  });
});

describe('a form body', () => {
  it('gets 413 over its bound, and 400 if it is unfinished or broken', async () => {
    const form = new FormData();
    form.set('email', 'x'.repeat(bodyMaxBytes.form));
    const type = 'multipart/form-data; boundary=x';
    assert.equal((await post('/auth/magiclink', form, (await new Response(form).blob()).type))[0], 413);
    for (const text of ['', '--x\r\n', '--x\r\nContent-Disposition: form-data; name="email"\r\n\r\nann', 'garbage']) {
      assert.equal((await post('/auth/magiclink', text, type))[0], 400, text);
    }
    assert.equal((await post('/auth/magiclink', 'x', 'multipart/form-data'))[0], 400, 'no boundary');
  });

  it('with a file in a text field gets 400', async () => {
    const form = new FormData();
    form.set('email', new File(['ann@example.com'], 'email.txt'));
    form.set('bot-check', 'a-right-answer');
    const blob = await new Response(form).blob();
    assert.equal((await post('/auth/magiclink', await blob.arrayBuffer(), blob.type))[0], 400);
  });

  it('that is urlencoded and repeats a field gets 400', async () => {
    assert.equal((await post('/auth/login', 'token=a&token=b', 'application/x-www-form-urlencoded'))[0], 400);
  });
});

describe('a CSV body', () => {
  it('has a bound of its own', async () => {
    const path = '/api/operator/subscriptions/import';
    assert.equal((await post(path, 'a@example.com', 'text/csv'))[0], 200);
    assert.equal((await post(path, 'x'.repeat(bodyMaxBytes.csv + 1), 'text/csv'))[0], 413);
  });
});
