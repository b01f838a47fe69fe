import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { renderCurl, renderHar } from './export.ts';
import { createTestLog, requestOf } from './fixture/exchanges.ts';

/** A shell is the oracle: a function in place of curl prints its arguments and its standard input. */
function argumentsOf(command: string): { readonly words: readonly string[]; readonly input: Buffer } {
  const script = `curl() { for word; do printf '%s\\0' "$word"; done; printf '\\0'; case "$*" in *'@-'*) cat;; esac; }\n${command}`;
  const output = execFileSync('/bin/sh', ['-c', script]);
  const end = output.indexOf('\0\0');
  return { words: output.toString('utf8', 0, end).split('\0'), input: output.subarray(end + 2) };
}

const curlOf = (request: string, secrets = false) => argumentsOf(renderCurl(createTestLog().exchange(request), secrets)!);

describe('the curl command', () => {
  const bodies: readonly (readonly [string, string])[] = [
    ['quotes', `it's "quoted" '; rm -rf / #`],
    ['expansions', '$(id) `id` $HOME \\ !! %s'],
    ['several lines', 'one\ntwo\n'],
    ['the name of a file', '@/etc/passwd'],
    ['an option', '--output x'],
  ];
  for (const [why, body] of bodies) {
    it(`passes a body with ${why} as one word that curl does not interpret`, () => {
      const { words } = curlOf(requestOf({ 'Content-Type': 'text/plain' }, body));
      assert.equal(words[words.indexOf('--data-raw') + 1], body);
    });
  }

  it('passes bytes that a terminal would obey, or that are no text, by base64', () => {
    for (const body of ['\x1b]0;title\x07', '\x00\x01\xff\xfe']) {
      const { words, input } = curlOf(requestOf({ 'Content-Type': 'x/y' }, body));
      assert.equal(words[words.indexOf('--data-binary') + 1], '@-');
      assert.equal(input.toString('latin1'), body);
    }
  });

  it('holds no character of a header that a terminal would obey', () => {
    const { words } = curlOf(requestOf({ 'X-Name': '\xc3\xa9\xc2\x9b2J' }, 'x'));
    assert.ok(words.includes('X-Name: é\ufffd2J'), words.join(' '));
  });

  it('keeps method, path and headers, and leaves out what curl and the edge make', () => {
    const { words } = curlOf(
      requestOf({ 'X-Empty': '', 'X-Quote': "a'b", 'X-Forwarded-For': '192.0.2.7' }, 'x', 'PUT /a/../b?[1]={2}'),
    );
    assert.equal(words[words.indexOf('--url') + 1], 'https://shop.example.com/a/../b?[1]={2}');
    assert.equal(words[words.indexOf('--request') + 1], 'PUT');
    assert.deepEqual(
      words.filter((_, index) => words[index - 1] === '--header'),
      ['X-Empty;', "X-Quote: a'b", 'Content-Type:'],
    );
    assert.ok(words.includes('--globoff') && words.includes('--path-as-is'));
  });

  const secretNames = ['Authorization', 'Cookie', 'Proxy-Authorization', 'X-Api-Key', 'X-Auth-Token', 'apikey', 'X-Session-Id'];
  for (const name of secretNames) {
    it(`hides ${name} until asked, and so does HAR`, async () => {
      const request = requestOf({ [name]: 'a-secret-value' });
      assert.equal(renderCurl(createTestLog().exchange(request), false)!.includes('a-secret-value'), false);
      assert.equal(renderCurl(createTestLog().exchange(request), true)!.includes('a-secret-value'), true);
      const har = async (secrets: boolean) => JSON.stringify(await renderHar([createTestLog().exchange(request)], '1', secrets));
      assert.deepEqual(
        [(await har(false)).includes('a-secret-value'), (await har(true)).includes('a-secret-value')],
        [false, true],
      );
    });
  }

  it('does not exist for a body that was cut', () => {
    assert.equal(renderCurl(createTestLog().exchange(requestOf({}, 'x'.repeat(1_100_000))), false), null);
  });
});

describe('HAR', () => {
  it('has what a reader needs, with binary bodies in base64', async () => {
    const { exchange, log, open } = createTestLog();
    exchange(
      requestOf({ 'Content-Type': 'application/json' }, '{}', 'POST /a?b=1'),
      'HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 2\r\n\r\n\x89\x00',
    );
    open().failed({ code: 'upstream-refused', detail: '' });
    const har = (await renderHar([...log.all()], '0.1.0', false)) as {
      log: { entries: Record<string, Record<string, unknown>>[] };
    };
    assert.equal(har.log.entries.length, 1);
    const { request, response } = har.log.entries[0]!;
    assert.deepEqual(
      [request!.method, request!.url, request!.queryString],
      ['POST', 'https://shop.example.com/a?b=1', [{ name: 'b', value: '1' }]],
    );
    assert.deepEqual(response!.content, { size: 2, mimeType: 'image/png', text: 'iQA=', encoding: 'base64' });
  });

  it('leaves out the oldest bodies where all of them, unpacked, would not fit into memory', async () => {
    const { exchange, log } = createTestLog();
    const packed = gzipSync(Buffer.alloc(4_000_000, 'a'));
    const answer = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`;
    for (let count = 0; count < 20; count++) exchange(requestOf({}), `${answer}${packed.toString('latin1')}`);
    const har = (await renderHar([...log.all()], '0.1.0', false)) as {
      log: { entries: { response: { content: { text?: string; comment?: string } } }[] };
    };
    const contents = har.log.entries.map(({ response }) => response.content);
    assert.deepEqual(
      contents.map(({ text = '' }) => text.length),
      [0, 0, 0, ...Array.from({ length: 17 }, () => 4_000_000)],
    );
    assert.match(contents[0]!.comment!, /^Left out/);
  });
});
