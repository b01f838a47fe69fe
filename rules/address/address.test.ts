import assert from 'node:assert/strict';
import { isIPv4, isIPv6 } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { addressKey, canonicalAddress, formatCidr, networkKey, parseCidr, parseIpv4, parseIpv6 } from './address.ts';

test('an address has one canonical text', (t) => {
  const rows: [string, string, string?][] = [
    ['0.0.0.0', '0.0.0.0'],
    ['255.255.255.255', '255.255.255.255', 'the sign bit stays out of it'],
    ['128.0.0.1', '128.0.0.1'],
    ['::', '::'],
    ['::1', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['2001:DB8::A', '2001:db8::a'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1', 'the first of two equal runs (RFC 5952 4.2.3)'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1', 'the longest run'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1', 'one zero group is not shortened (RFC 5952 4.2.2)'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['fe80::0001', 'fe80::1'],
    ['::ffff:10.1.2.3', '10.1.2.3', 'IPv4-mapped is IPv4'],
    ['::FFFF:0a01:0203', '10.1.2.3', 'the same in hexadecimal'],
    ['0:0:0:0:0:ffff:1.2.3.4', '1.2.3.4'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201', 'an IPv4 tail elsewhere is only a spelling'],
    ['::1.2.3.4', '::102:304', 'IPv4-compatible is deprecated and stays IPv6'],
  ];
  eachCase(t, rows, ([text, canonical]) => assert.equal(canonicalAddress(text), canonical));
});

const notAddresses: [string, string?][] = [
  [''],
  [' 1.2.3.4', 'the caller trims'],
  ['1.2.3', 'ipaddr.js takes it for 1.2.0.3'],
  ['127.1'],
  ['1'],
  ['1.2.3.4.5'],
  ['1.2.3.'],
  ['.1.2.3'],
  ['1..2.3'],
  ['256.1.1.1'],
  ['1.1.1.999'],
  ['01.2.3.4', 'octal to some parsers'],
  ['1.2.3.04'],
  ['00.0.0.0'],
  ['0x7f.0.0.1'],
  ['1.2.3.4a'],
  ['+1.2.3.4'],
  ['-1.2.3.4'],
  ['1e1.2.3.4'],
  ['1.2.3.4\n'],
  ['１.2.3.4', 'a full-width digit'],
  ['١.2.3.4', 'an Arabic digit'],
  ['1.2.3.4:80'],
  [':'],
  [':::'],
  ['1::2::3', 'two gaps'],
  ['1:2:3:4:5:6:7'],
  ['1:2:3:4:5:6:7:8:9'],
  ['1:2:3:4:5:6:7:8::', 'a gap of nothing'],
  ['::1:2:3:4:5:6:7:8'],
  ['1:2:3:4::5:6:7:8', 'a gap of nothing between'],
  ['12345::'],
  ['g::'],
  ['::1%eth0', 'net.isIP takes zone ids'],
  ['fe80::1%25eth0'],
  ['[::1]'],
  ['::ffff:1.2.3'],
  ['::ffff:1.2.3.256'],
  ['::1.2.3.4:5'],
  ['1.2.3.4::'],
  ['1:2:3:4:5:6:7:1.2.3.4'],
  [':1:2:3:4:5:6:7'],
  ['1:2:3:4:5:6:7:'],
  ['localhost'],
  ['example.com'],
  ['1'.repeat(100_000)],
  [':'.repeat(100_000)],
];

test('refuses everything that is not exactly an address', (t) => {
  eachCase(t, notAddresses, ([text]) => assert.equal(canonicalAddress(text), null));
});

test('a range has one canonical text, without the bits after its prefix', (t) => {
  const rows: [string, string | null, string?][] = [
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['10.1.2.3/8', '10.0.0.0/8', 'host bits'],
    ['10.1.2.3/32', '10.1.2.3/32'],
    ['255.255.255.255/1', '128.0.0.0/1'],
    ['1.2.3.4/0', '0.0.0.0/0'],
    ['2001:db8::ffff/32', '2001:db8::/32'],
    ['2001:db8:ffff::/33', '2001:db8:8000::/33', 'a prefix inside a group'],
    ['::1/128', '::1/128'],
    ['ffff::/0', '::/0'],
    ['::ffff:10.1.2.3/104', '10.0.0.0/8', 'IPv4-mapped range'],
    ['::ffff:0:0/96', '0.0.0.0/0'],
    ['::ffff:1.2.3.4/128', '1.2.3.4/32'],
    ['::ffff:1.2.3.4/64', '::/64', 'wider than the mapped range: IPv6'],
    ['10.0.0.0/33', null],
    ['::/129', null],
    ['10.0.0.0/08', null, 'leading zero'],
    ['10.0.0.0/00', null],
    ['10.0.0.0/', null],
    ['10.0.0.0', null],
    ['10.0.0.0/-1', null],
    ['10.0.0.0/+8', null],
    ['10.0.0.0/8.0', null],
    ['10.0.0.0/1e1', null],
    ['10.0.0.0/8/8', null],
    ['10.0.0.0/ 8', null],
    ['10.0.0.0 /8', null],
    ['/8', null],
    ['10/8', null],
    ['10.0.0.0/255.0.0.0', null, 'a netmask is not a prefix'],
    ['fe80::1%eth0/64', null],
    ['::/1000', null],
  ];
  eachCase(t, rows, ([text, canonical]) => {
    const cidr = parseCidr(text);
    assert.equal(cidr === null ? null : formatCidr(cidr), canonical);
  });
});

const addressLike = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.ipV4Extended(),
  fc.string({ unit: fc.constantFrom('1', '2', '5', '0', '.', ':', 'f', '::', '/', '%', 'x', '255', 'ffff') }),
);

test("agrees with Node's net.isIP, except for zone ids", () => {
  fc.assert(
    fc.property(addressLike, (text) => {
      assert.equal(parseIpv4(text) >= 0, isIPv4(text));
      assert.equal(parseIpv6(text) !== null, isIPv6(text) && !text.includes('%'));
    }),
    { numRuns: 20_000 },
  );
});

test("the canonical text of IPv6 is the URL parser's", () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      const groups = parseIpv6(text)!;
      const mapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
      if (!mapped) assert.equal(`[${canonicalAddress(text)}]`, new URL(`http://[${text}]/`).hostname);
    }),
    { numRuns: 5000 },
  );
});

test('a canonical text is its own canonical text', () => {
  fc.assert(
    fc.property(addressLike, fc.nat(140), (text, prefix) => {
      const address = canonicalAddress(text);
      if (address !== null) assert.equal(canonicalAddress(address), address);
      const cidr = parseCidr(`${text}/${prefix}`);
      if (cidr !== null) assert.deepEqual(parseCidr(formatCidr(cidr)), cidr);
    }),
    { numRuns: 5000 },
  );
});

test('an IPv4 address or an IPv6 /64 counts as one source', (t) => {
  const rows: [string, string, string?][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1', 'IPv4-mapped is IPv4'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['::1', '0:0:0:0'],
    ['', '', 'the socket is gone already'],
  ];
  eachCase(t, rows, ([text, key]) => assert.equal(addressKey(text), key));
});

test('an IPv4 /24 or an IPv6 /48 counts as one network', (t) => {
  const rows: [string, string, string?][] = [
    ['192.0.2.1', '192.0.2'],
    ['::ffff:192.0.2.1', '192.0.2', 'IPv4-mapped is IPv4'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1'],
    ['2001:db8:1::', '2001:db8:1'],
    ['', '', 'the socket is gone already'],
  ];
  eachCase(t, rows, ([text, key]) => assert.equal(networkKey(text), key));
});
