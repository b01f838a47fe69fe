import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { compileAllowList } from './allow-list.ts';

test('permits a source only by a rule of the list', (t) => {
  const rows: [string[], string, boolean, string?][] = [
    [[], '1.2.3.4', false, 'empty denies'],
    [[], '::1', false],
    [['1.2.3.4'], '1.2.3.4', true],
    [['1.2.3.4'], '1.2.3.5', false],
    [['1.2.3.4'], '::ffff:1.2.3.4', true, 'as a dual-stack socket names it'],
    [['1.2.3.4'], '::ffff:102:304', true],
    [['::ffff:1.2.3.4'], '1.2.3.4', true, 'a rule may be mapped too'],
    [['::ffff:10.0.0.0/104'], '10.9.9.9', true],
    [['10.0.0.0/8'], '10.255.255.255', true],
    [['10.0.0.0/8'], '11.0.0.0', false],
    [['10.0.0.0/8'], '9.255.255.255', false],
    [['10.1.2.3/8'], '10.200.0.1', true, 'host bits in a CIDR'],
    [['0.0.0.0/0'], '255.255.255.255', true],
    [['0.0.0.0/0'], '0.0.0.0', true],
    [['0.0.0.0/0'], '::1', false, 'families are apart'],
    [['::/0'], '2001:db8::1', true],
    [['::/0'], '1.2.3.4', false],
    [['::/0'], '::ffff:1.2.3.4', false, 'the same visitor on a dual-stack socket'],
    [['2001:db8::/33'], '2001:db8:7fff::1', true],
    [['2001:db8::/33'], '2001:db8:8000::1', false, 'a prefix inside a group'],
    [['::1'], '::1', true],
    [['::1'], '::2', false],
    [['255.255.255.255'], '255.255.255.255', true, 'the last address'],
    [['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'], 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', true],
    [['10.0.0.0/9', '10.64.0.0/10'], '10.127.255.255', true, 'a range inside a range'],
    [['10.64.0.0/10', '10.0.0.0/8'], '10.0.0.1', true, 'the inner one first'],
    [['1.1.1.1', '1.1.1.1'], '1.1.1.1', true],
    [['nonsense'], '1.2.3.4', false, 'an unreadable rule permits nothing'],
    [['nonsense', '1.2.3.4'], '1.2.3.4', true],
    [['1.2.3.4/33'], '1.2.3.4', false],
    [['1.2.3'], '1.2.0.3', false],
    [['0.0.0.0/0', '::/0'], '', false, 'a socket that is gone has no address'],
    [['0.0.0.0/0', '::/0'], 'unknown', false],
    [['0.0.0.0/0', '::/0'], '1.2.3.4%eth0', false],
    [['0.0.0.0/0', '::/0'], 'fe80::1%eth0', false, 'zone ids never come from visitors'],
    [['0.0.0.0/0', '::/0'], '1.2.3.4, 5.6.7.8', false],
  ];
  eachCase(t, rows, ([list, ip, permitted]) => assert.equal(compileAllowList(list)(ip), permitted));
});

test('ignores changes to the list after compiling it', () => {
  const list = ['10.0.0.1'];
  const permits = compileAllowList(list);
  list[0] = '0.0.0.0/0';
  assert.equal(permits('10.0.0.2'), false);
});

/** Few bits vary, so that rules and addresses meet. */
const smallIpv4 = fc.nat(0xff).map((bits) => `10.${bits >> 6}.${(bits >> 3) & 7}.${bits & 7}`);
const smallIpv6 = fc.nat(0xff).map((bits) => `2001:db8:${bits >> 6}::${(bits >> 3) & 7}:${bits & 7}`);
const ipv4 = fc.oneof(smallIpv4, fc.ipV4());
const ipv6 = fc.oneof(smallIpv6, fc.ipV6()).filter((ip) => !isMapped(ip));

/** Node's list applies `::/0` to IPv4 too, so each family has a list of its own here. */
function oracle(rules: readonly (readonly [string, number])[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList();
  for (const [ip, prefix] of rules) list.addSubnet(ip, prefix, family);
  return list;
}

function isMapped(ip: string): boolean {
  return new URL(`http://[${ip}]/`).hostname.startsWith('[::ffff:');
}

test("Node's BlockList permits the same IPv4 sources, mapped or not", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(ipv4, fc.integer({ min: 0, max: 32 })), { maxLength: 12 }), fc.array(ipv4), (rules, ips) => {
      const expected = oracle(rules, 'ipv4');
      const permits = compileAllowList(rules.map(([ip, prefix]) => `${ip}/${prefix}`));
      for (const ip of ips) {
        assert.equal(permits(ip), expected.check(ip, 'ipv4'), ip);
        assert.equal(permits(`::ffff:${ip}`), expected.check(ip, 'ipv4'), ip);
      }
    }),
    { numRuns: 1000 },
  );
});

test("Node's BlockList permits the same IPv6 sources", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(ipv6, fc.integer({ min: 0, max: 128 })), { maxLength: 12 }), fc.array(ipv6), (rules, ips) => {
      const expected = oracle(rules, 'ipv6');
      const permits = compileAllowList(rules.map(([ip, prefix]) => `${ip}/${prefix}`));
      for (const ip of ips) assert.equal(permits(ip), expected.check(ip, 'ipv6'), ip);
    }),
    { numRuns: 1000 },
  );
});

test('the order of the rules means nothing', () => {
  fc.assert(
    fc.property(
      fc.array(smallIpv4, { minLength: 1 }),
      fc.array(fc.integer({ min: 20, max: 32 }), { minLength: 1 }),
      smallIpv4,
      (ips, prefixes, ip) => {
        const list = ips.map((rule, index) => `${rule}/${prefixes[index % prefixes.length]}`);
        assert.equal(compileAllowList(list)(ip), compileAllowList(list.toReversed())(ip));
      },
    ),
  );
});

test('adding a rule never removes a permission', () => {
  fc.assert(
    fc.property(fc.array(smallIpv4), smallIpv4, fc.integer({ min: 0, max: 32 }), smallIpv4, (list, rule, prefix, ip) => {
      if (compileAllowList(list)(ip)) assert.equal(compileAllowList([...list, `${rule}/${prefix}`])(ip), true);
    }),
  );
});
