import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AccessEntry, createAccessRenderer, renderLogTime } from './access-line.ts';

const entry: AccessEntry = {
  atMs: Date.UTC(2026, 10, 7, 3, 5, 9),
  address: '203.0.113.9',
  host: 'shop.example.com',
  method: 'GET',
  target: '/cart?item=1',
  version: '2.0',
  status: 200,
  bytes: 512,
  referer: 'https://example.com/',
  agent: 'Mozilla/5.0',
};
const lineOf = (changes: Partial<AccessEntry>, format: 'combined' | 'vhost_combined' = 'combined'): string =>
  createAccessRenderer(format, 443)({ ...entry, ...changes });

/** The grammar that readers of the format share: seven fields, three of them quoted, without a quote inside. */
const grammar = /^(\S+) - - \[([^\]]+)\] "([^"]*)" (\d{3}) (\d+) "([^"]*)" "([^"]*)"\n$/;

describe('a line of the access log', () => {
  it('has the fields of the combined format', () => {
    const line =
      '203.0.113.9 - - [07/Nov/2026:03:05:09 +0000] "GET /cart?item=1 HTTP/2.0" 200 512 "https://example.com/" "Mozilla/5.0"\n';
    assert.equal(lineOf({}), line);
    assert.equal(lineOf({}, 'vhost_combined'), `shop.example.com:443 ${line}`);
  });

  it('has hyphens for what is not there', () => {
    assert.match(lineOf({ method: '', target: '', referer: '', agent: '', status: 400 }), / "-" 400 512 "-" "-"\n$/);
  });

  const hostile = [
    ['a line feed', 'x\n198.51.100.1 - - [07/Nov/2026:03:05:09 +0000] "GET /admin HTTP/1.1" 401 0 "-" "-"', '\\x0A'],
    ['a quote that would end the field', 'a" 401 0 "b', '\\x22'],
    ['a backslash that would escape the quote behind it', 'a\\', '\\x5C'],
    ['an escape sequence of a terminal', '\x1b]0;title\x07\x1b[2J', '\\x1B'],
    ['a C1 control that some terminals obey', '\x9b31m', '\\x9B'],
    ['bytes that are no UTF-8', '\xff\xfe', '\\xFF\\xFE'],
    ['a delete', 'a\x7f', '\\x7F'],
  ] as const;
  for (const [what, text, escaped] of hostile)
    it(`stays one line of printable ASCII with ${what}`, () => {
      for (const field of ['target', 'referer', 'agent', 'host'] as const) {
        const line = lineOf({ [field]: text }, field === 'host' ? 'vhost_combined' : 'combined');
        assert.match(line, /^[ -~]+\n$/);
        assert.ok(line.includes(escaped));
        if (field !== 'host') assert.match(line, grammar);
      }
    });

  it('keeps a request line of three words when the target has spaces', () => {
    assert.equal(lineOf({ target: '/a b  c' }).split('"')[1], 'GET /a\\x20b\\x20\\x20c HTTP/2.0');
  });

  it('is shorter than a pipe takes whole, and never ends within an escape', () => {
    const long = '"'.repeat(16_384);
    const line = lineOf({ target: `/${long}`, referer: long, agent: long, host: long, method: 'U'.repeat(24) }, 'vhost_combined');
    assert.ok(line.length < 4_096, `${line.length}`);
    for (const field of line.match(/\S*\.\.\./g) ?? []) assert.match(field, /(\\x22|\/)\.\.\.$/);
  });

  it('has the time of its own second', () => {
    const render = createAccessRenderer('combined', 443);
    const times = [999, 1_000, 999].map((atMs) => /:(\d\d) \+0000/.exec(render({ ...entry, atMs }))?.[1]);
    assert.deepEqual(times, ['00', '01', '00']);
    assert.equal(renderLogTime(Date.UTC(2024, 1, 29, 23, 59, 59)), '29/Feb/2024:23:59:59 +0000');
  });
});
