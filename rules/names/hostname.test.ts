import assert from 'node:assert/strict';
import { test } from 'node:test';
import { domainToASCII, domainToUnicode } from 'node:url';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { isCanonicalHostname, isSameOrUnder, parseHostname, servingNames } from './hostname.ts';

const label63 = 'a'.repeat(63);
const name253 = `${`${label63}.`.repeat(3)}${'b'.repeat(61)}`;

test('a name has one canonical form, or none', (t) => {
  const rows: [string, string | null, string?][] = [
    ['example.com', 'example.com'],
    ['EXAMPLE.Com', 'example.com'],
    ['example.com.', 'example.com', 'the root is left out'],
    ['example.com..', null],
    ['.', null],
    ['', null],
    ['.example.com', null],
    ['a..b', null],
    ['localhost', 'localhost'],
    ['a', 'a'],
    ['3com.com', '3com.com', 'a leading digit is fine (RFC 1123)'],
    ['ab--cd.com', 'ab--cd.com'],
    ['-a.com', null],
    ['a-.com', null],
    ['a.-com', null],
    ['_dmarc.example.com', null],
    ['a_b.example.com', null],
    ['*.example.com', null],
    ['exa mple.com', null],
    ['example.com ', null, 'the caller trims'],
    ['example.com\n', null],
    ['example.com/', null],
    ['example.com/path', null],
    ['example.com?x', null],
    ['example.com#x', null],
    ['example.com:443', null],
    ['user@example.com', null],
    ['http://example.com', null],
    ['example%2ecom', null, 'a URL parser would decode it'],
    ['münchen%2ecom', null],
    ['ä\\b.com', null],
    ['ä/b.com', null],
    ['ä@b.com', null],
    ['[::1]', null],
    ['127.0.0.1', null],
    ['1.2.3', null, 'an address to some parsers'],
    ['example.123', null],
    ['example.0x1f', null, 'a number to URL parsers'],
    ['0x7f.1', null],
    ['example.com\0', null],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['faß.example', 'xn--fa-hia.example', 'not fass: non-transitional'],
    ['例え.テスト', 'xn--r8jz45g.xn--zckzah'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah', 'an ideographic full stop is a dot'],
    ['ｅｘａｍｐｌｅ.com', 'example.com', 'full-width letters are the letters'],
    ['exa\u00admple.com', 'example.com', 'a soft hyphen is nothing'],
    ['exampl\u0435.com', 'xn--exampl-8of.com', 'a Cyrillic look-alike is another name'],
    ['１２７.０.０.１', null, 'full-width digits make an address'],
    ['ex\u202Eample.com', null, 'a bidirectional mark is not allowed'],
    ['\uD800.com', null, 'half a character'],
    [`${label63}.com`, `${label63}.com`],
    [`a${label63}.com`, null, '64 in a label'],
    [name253, name253],
    [`${name253}.`, name253, '253 and the root'],
    [`${name253}b`, null, '254'],
    ['ä'.repeat(64), null, 'longer than 63 once encoded'],
    ['a.'.repeat(200), null],
    ['ä'.repeat(100_000), null],
    ['-'.repeat(100_000), null],
  ];
  eachCase(t, rows, ([text, name]) => assert.equal(parseHostname(text), name));
});

test('two names never read as one: what an A-label decodes to encodes to that label again', () => {
  const encoded = fc.stringMatching(/^[a-z0-9-]{1,12}$/);
  fc.assert(
    fc.property(encoded, (text) => {
      const name = parseHostname(`xn--${text}.example`);
      if (name !== null) assert.equal(domainToASCII(domainToUnicode(name)), name);
    }),
    { numRuns: 20_000, examples: [['-ouqd'], ['-o1d'], ['example-'], ['example']] },
  );
});

test('a name is under another only at a dot', (t) => {
  const rows: [string, string, boolean][] = [
    ['example.com', 'example.com', true],
    ['a.example.com', 'example.com', true],
    ['a.b.example.com', 'example.com', true],
    ['badexample.com', 'example.com', false],
    ['com', 'example.com', false],
    ['example.com.evil.com', 'example.com', false],
  ];
  eachCase(t, rows, ([host, parent, under]) => assert.equal(isSameOrUnder(host, parent), under));
});

const foreign = fc.string({ unit: fc.constantFrom('a', 'ä', 'ß', '例', '.', '-', '1', 'İ', '\u200d', 'ـ', 'א', 'xn--', 'Ω') });

test("conversion is Node's domainToASCII", () => {
  fc.assert(
    fc.property(foreign, (text) => {
      const name = parseHostname(text);
      if (name !== null) assert.equal(domainToASCII(text.replace(/[.]$/, '')).replace(/\.$/, ''), name);
    }),
    { numRuns: 5000 },
  );
});

test('a host is served under its own name and the wildcard of exactly one label', () => {
  assert.deepEqual(servingNames('x.a.com'), ['x.a.com', '*.a.com']);
  assert.deepEqual(servingNames('y.x.a.com'), ['y.x.a.com', '*.x.a.com']);
  assert.deepEqual(servingNames('localhost'), ['localhost', '*.localhost']);
});

test('a canonical name is its own canonical form', () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), foreign, fc.string({ unit: 'binary' })), (text) => {
      const name = parseHostname(text);
      if (name === null) return;
      assert.equal(parseHostname(name), name);
      assert.equal(isCanonicalHostname(name), true);
      assert.match(name, /^[a-z0-9.-]{1,253}$/);
    }),
    { numRuns: 3000 },
  );
});

test('a canonical name is what a URL calls its host', () => {
  fc.assert(
    fc.property(fc.domain(), (domain) => {
      const name = parseHostname(domain);
      if (name !== null) assert.equal(new URL(`https://${domain}/`).hostname, name);
    }),
    { numRuns: 2000 },
  );
});
