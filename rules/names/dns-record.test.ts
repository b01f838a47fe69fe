import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { eachCase } from '../test-kit.ts';
import { decideDnsCheck, ingressRecord, provesOwnership, recordName, verificationRecord } from './dns-record.ts';

const dataPlane = { host: 'london.example.net', ips: ['192.0.2.1', '192.0.2.2'] };

test('ownership is proven by a TXT record at the apex', () => {
  assert.deepEqual(verificationRecord('abc123'), { type: 'TXT', name: '@', value: 'underpass-domain-verify=abc123' });
});

test('an apex points at the first address of the data plane, a subdomain at its host', (t) => {
  const rows: [string, string[], unknown, string?][] = [
    ['example.com', ['192.0.2.1', '192.0.2.2'], { type: 'A', name: '@', value: '192.0.2.1' }],
    ['example.com', ['2001:db8::1', '192.0.2.2'], { type: 'A', name: '@', value: '192.0.2.2' }, 'an A record holds IPv4'],
    ['example.com', ['2001:db8::1'], { type: 'AAAA', name: '@', value: '2001:db8::1' }, 'a data plane without IPv4'],
    ['example.com', [], null, 'not looked up yet'],
    ['app.example.com', ['192.0.2.1'], { type: 'CNAME', name: 'app', value: 'london.example.net' }],
    ['a.b.example.com', [], { type: 'CNAME', name: 'a.b', value: 'london.example.net' }],
  ];
  eachCase(t, rows, ([name, ips, record]) =>
    assert.deepEqual(ingressRecord({ name, apexName: 'example.com' }, { ...dataPlane, ips }), record),
  );
});

test('a record name is relative to the apex', (t) => {
  const rows: [string, string, string][] = [
    ['example.com', 'example.com', '@'],
    ['app.example.com', 'example.com', 'app'],
    ['badexample.com', 'example.com', 'badexample.com'],
    ['app.example.com', 'app.example.com', '@'],
  ];
  eachCase(t, rows, ([host, apex, name]) => assert.equal(recordName(host, apex), name));
});

test('DNS is ok when one address is shared', (t) => {
  const rows: [string[], string[], 'dns_ok' | 'no_dns', string?][] = [
    [['192.0.2.1'], ['192.0.2.1'], 'dns_ok'],
    [['198.51.100.9', '192.0.2.2'], ['192.0.2.1', '192.0.2.2'], 'dns_ok'],
    [['192.0.2.3'], ['192.0.2.1'], 'no_dns'],
    [[], ['192.0.2.1'], 'no_dns'],
    [['192.0.2.1'], [], 'no_dns'],
    [[], [], 'no_dns', 'nothing shared'],
    [['2001:DB8:0::1'], ['2001:db8::1'], 'dns_ok', 'one address, two texts'],
    [['::ffff:192.0.2.1'], ['192.0.2.1'], 'dns_ok'],
    [['garbage'], ['garbage'], 'no_dns', 'what is no address is not shared'],
    [[''], [''], 'no_dns'],
  ];
  eachCase(t, rows, ([resolved, ours, check]) => assert.equal(decideDnsCheck(resolved, ours), check));
});

test('only the exact TXT value proves ownership', (t) => {
  const value = 'underpass-domain-verify=abc123';
  const rows: [string[][], string, boolean, string?][] = [
    [[[value]], 'abc123', true],
    [[['v=spf1 -all'], [value], ['other=1']], 'abc123', true, 'among many'],
    [[['underpass-domain-', 'verify=abc', '123']], 'abc123', true, 'strings of one record are joined'],
    [[['underpass-domain-verify='], ['abc123']], 'abc123', false, 'strings of two records are not'],
    [[[`${value}4`]], 'abc123', false, 'a prefix of another value'],
    [[[`x${value}`]], 'abc123', false, 'a suffix of another value'],
    [[[` ${value}`]], 'abc123', false],
    [[[`"${value}"`]], 'abc123', false, 'quotes are part of a value'],
    [[[value.toUpperCase()]], 'abc123', false],
    [[['abc123']], 'abc123', false, 'the bare challenge'],
    [[['underpass-domain-verify=']], '', false, 'no challenge is never proven'],
    [[], 'abc123', false],
    [[[]], 'abc123', false],
  ];
  eachCase(t, rows, ([records, challenge, proven]) => assert.equal(provesOwnership(records, challenge), proven));
});

test('accepts its own record, however DNS splits it into strings', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-zA-Z0-9_-]{1,60}$/), fc.array(fc.nat(80)), (challenge, cuts) => {
      const { value } = verificationRecord(challenge);
      const places = [0, ...cuts.map((cut) => cut % value.length), value.length].toSorted((a, b) => a - b);
      const strings = places.slice(1).map((place, index) => value.slice(places[index], place));
      assert.equal(provesOwnership([['noise'], strings], challenge), true);
    }),
  );
});

test('sharing an address is symmetric', () => {
  const ips = fc.array(
    fc.oneof(
      fc.nat(7).map((n) => `192.0.2.${n}`),
      fc.ipV6(),
    ),
    { maxLength: 5 },
  );
  fc.assert(fc.property(ips, ips, (a, b) => assert.equal(decideDnsCheck(a, b), decideDnsCheck(b, a))));
});
