import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { limits } from '../limits.ts';
import { eachAccepted, eachCase, eachRefused } from '../test-kit.ts';
import { addSourceAddress, openRules, ownAddressRule, parseAllowList, parseSourceAddress } from './source-address.ts';

const invalid = 'Please enter a valid IP/CIDR.';
const source = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

test('an address or range is accepted in canonical text', (t) => {
  eachAccepted(t, parseSourceAddress, [
    ['192.0.2.1', '192.0.2.1'],
    [' 192.0.2.1\t', '192.0.2.1', 'pasted with blanks'],
    ['192.0.2.0/24', '192.0.2.0/24'],
    ['192.0.2.77/24', '192.0.2.0/24', 'one range, one text'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::/0', '::/0'],
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:db8::1/64', '2001:db8::/64'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['10.0.0.1/32', '10.0.0.1', 'one address'],
    ['::1/128', '::1'],
    ['::ffff:192.0.2.1/128', '192.0.2.1'],
    ['255.255.255.255/32', '255.255.255.255'],
  ]);
});

test('anything else is refused with the text of the spec', (t) => {
  eachRefused(t, parseSourceAddress, invalid, [
    [''],
    ['   '],
    ['1.2.3'],
    ['127.1'],
    ['1.2.3.4/33'],
    ['1.2.3.4/032', 'leading zero'],
    ['1.2.3.4/'],
    ['1.2.3.4/24/24'],
    ['::1/0.2', 'zod takes it'],
    ['::1/1e1'],
    ['::1/129'],
    ['fe80::1%eth0'],
    ['fe80::1%eth0/64'],
    ['1.2.3.4-1.2.3.9'],
    ['1.2.3.*'],
    ['1.2.3.4,5.6.7.8', 'two rules in one'],
    ['1.2.3.4 5.6.7.8'],
    ['*'],
    ['any'],
    ['example.com'],
    ['http://1.2.3.4'],
    ['1.2.3.4:443'],
    ["1.2.3.4' OR '1'='1"],
    ['１.２.３.４'],
    ['1.2.3.4\u0000'],
    ['9'.repeat(100_000)],
  ]);
});

test('a duplicate is ignored, however it is written', (t) => {
  const rows: [string[], string, string[]][] = [
    [[], '10.0.0.1', ['10.0.0.1']],
    [['10.0.0.1'], '10.0.0.1', ['10.0.0.1']],
    [['10.0.0.1'], ' 10.0.0.1 ', ['10.0.0.1']],
    [['10.0.0.1'], '::ffff:10.0.0.1', ['10.0.0.1']],
    [['10.0.0.0/8'], '10.9.9.9/8', ['10.0.0.0/8']],
    [['2001:db8::/32'], '2001:0DB8:0:0::/32', ['2001:db8::/32']],
    [['10.0.0.1'], '10.0.0.1/32', ['10.0.0.1']],
    [['b', 'a'], '10.0.0.1', ['b', 'a', '10.0.0.1']],
  ];
  eachCase(t, rows, ([list, text, result]) => assert.deepEqual(addSourceAddress(list, text), { ok: true, value: result }));
});

test("a visitor's own rule is their IPv4 address or the /64 of their IPv6 network", (t) => {
  eachAccepted(t, ownAddressRule, [
    ['192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::7', '2001:db8::/64'],
    ['::1', '::/64'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
  ]);
  assert.equal(ownAddressRule('unknown').ok, false);
});

test('only a range of every address is open', () => {
  assert.deepEqual(openRules(['0.0.0.0/0', '10.0.0.0/8', '::/0']), ['0.0.0.0/0', '::/0']);
});

test('a refused rule says why and adds nothing', () => {
  assert.deepEqual(addSourceAddress(['10.0.0.1'], 'nonsense'), { ok: false, message: invalid });
});

test('a list is submitted with the rule that was typed and not yet added', (t) => {
  const many = Array.from({ length: limits.rulesPerGroup }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  const rows: [string[], string, string[] | string][] = [
    [[], '', 'Provide at least one rule.'],
    [[], '  ', 'Provide at least one rule.'],
    [[], '10.0.0.1', ['10.0.0.1']],
    [['10.0.0.1'], '', ['10.0.0.1']],
    [['10.0.0.1'], '10.0.0.2', ['10.0.0.1', '10.0.0.2']],
    [['10.0.0.1'], '10.0.0.1', ['10.0.0.1']],
    [['10.0.0.1'], '10.0.0.2, 10.0.0.3', ['10.0.0.1', '10.0.0.2', '10.0.0.3']],
    [['10.0.0.1', '10.0.0.1'], '', ['10.0.0.1']],
    [['10.0.0.1'], 'typo', invalid],
    [['typo'], '10.0.0.1', invalid],
    [[''], '', invalid],
    [many, '', many],
    [many, '10.9.9.9', `Provide at most 1000 rules; this list has 1001.`],
  ];
  eachCase(t, rows, ([list, pending, result]) =>
    assert.deepEqual(
      parseAllowList(list, pending),
      typeof result === 'string' ? { ok: false, message: result } : { ok: true, value: result },
    ),
  );
});

const typed = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.tuple(fc.ipV4(), fc.nat(40)).map(([ip, prefix]) => `${ip}/${prefix}`),
  fc.tuple(fc.ipV6(), fc.nat(140)).map(([ip, prefix]) => `${ip}/${prefix}`),
  fc.string({ unit: fc.constantFrom('1', '0', '.', ':', '/', 'f', '2', '8') }),
);

/** zod reads the prefix of an IPv6 range with `Number`, so that `::1/0.2` passes there. */
const hasOddPrefix = (text: string) => /\/.*[^0-9]/.test(text);

test('zod judges the same, prefixes that are no integers apart', () => {
  fc.assert(
    fc.property(typed, (text) => {
      fc.pre(!hasOddPrefix(text));
      assert.equal(parseSourceAddress(text).ok, source.safeParse(text).success);
    }),
    { numRuns: 10_000 },
  );
});

test('adding twice is adding once', () => {
  fc.assert(
    fc.property(fc.array(typed), typed, (list, text) => {
      const once = addSourceAddress(list, text);
      if (once.ok) assert.deepEqual(addSourceAddress(once.value, text), once);
    }),
  );
});

test('an accepted list has no duplicates and is accepted again unchanged', () => {
  fc.assert(
    fc.property(fc.array(typed, { maxLength: 20 }), typed, (list, pending) => {
      const parsed = parseAllowList(list, pending);
      if (!parsed.ok) return;
      assert.equal(new Set(parsed.value).size, parsed.value.length);
      assert.deepEqual(parseAllowList(parsed.value), parsed);
    }),
  );
});
