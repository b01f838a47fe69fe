import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachAccepted, eachCase, eachRefused } from '../test-kit.ts';
import { parseApexDomain } from './apex-domain.ts';

const message = "Domain must be a valid apex domain, e.g. 'example.com'";
const label63 = 'a'.repeat(63);

test('an apex is accepted in canonical form', (t) => {
  eachAccepted(t, (text) => parseApexDomain(text), [
    ['example.com', 'example.com'],
    [' Example.COM ', 'example.com'],
    ['example.com.', 'example.com', 'as zone files write it'],
    ['example.co.uk', 'example.co.uk'],
    ['bücher.example', 'xn--bcher-kva.example'],
    [`${label63}.com`, `${label63}.com`],
    ['a.io', 'a.io'],
    ['1.io', '1.io'],
    ['example.xn--p1ai', 'example.xn--p1ai'],
  ]);
});

test('refuses everything but an apex, with the text of the spec', (t) => {
  eachRefused(t, (text) => parseApexDomain(text), message, [
    [''],
    [' '],
    ['example', 'no TLD'],
    ['localhost'],
    ['app.localhost', 'never leaves the machine'],
    ['printer.local'],
    ['hidden.onion'],
    ['db.internal'],
    ['1.168.192.in-addr.arpa'],
    ['example.c', 'no TLD has one letter'],
    ['exam_ple.com', 'underscore'],
    ['-example.com'],
    ['example-.com'],
    ['example.-com'],
    ['example..com'],
    ['.com'],
    ['example.com..'],
    [`a${label63}.com`, '64 in a label'],
    [`${'a.'.repeat(126)}com`, '255 in all'],
    ['192.168.0.1'],
    ['[::1]'],
    ['*.example.com'],
    ['https://example.com'],
    ['example.com/path'],
    ['example.com:443'],
    ['example%2ecom'],
    ['example.com\nevil.com'],
    ["'; drop table domains; --"],
    ['../../etc/passwd'],
  ]);
});

/** A suffix list of three lines. */
function registrable(host: string): string | null {
  const suffixes = ['co.uk', 'com', 'uk'];
  const suffix = suffixes.find((candidate) => host.endsWith(`.${candidate}`));
  if (suffix === undefined || suffixes.includes(host)) return null;
  return `${host
    .slice(0, -suffix.length - 1)
    .split('.')
    .at(-1)}.${suffix}`;
}

test('with the public suffix list only a registrable domain is an apex', (t) => {
  const rows: [string, string | null, string?][] = [
    ['example.com', 'example.com'],
    ['EXAMPLE.co.uk.', 'example.co.uk'],
    ['a.example.com', null, "a subdomain of somebody's apex"],
    ['co.uk', null, 'a public suffix'],
    ['www.example.co.uk', null],
    ['example.unknown', null, 'an unknown TLD'],
  ];
  eachCase(t, rows, ([text, name]) => {
    const parsed = parseApexDomain(text, registrable);
    assert.equal(parsed.ok ? parsed.value : null, name);
  });
});

test('asks the suffix list only about canonical names, and lets it only refuse', () => {
  fc.assert(
    fc.property(fc.oneof(fc.domain(), fc.string({ unit: 'binary' })), fc.boolean(), (text, agrees) => {
      const plain = parseApexDomain(text);
      const listed = parseApexDomain(text, (host) => {
        assert.match(host, /^[a-z0-9.-]+$/);
        return agrees ? host : null;
      });
      assert.deepEqual(listed, agrees ? plain : { ok: false, message });
    }),
  );
});
