import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckedDomain, TunnelDomains } from '../entity/resource.ts';
import { eachCase } from '../test-kit.ts';
import { describeDomain, failingFirst, listAddresses } from './domain-state.ts';

const domain = { name: 'app.example.com', apexName: 'example.com', verified: true, url: 'https://app.example.com' };
const day = (iso: string) => iso.slice(0, 10);
const answer = (checked: Omit<CheckedDomain, 'name'>, dataPlaneIps: string[] | undefined = ['192.0.2.1']): TunnelDomains => ({
  dataPlaneHost: 'eu.example.net',
  ...(dataPlaneIps && { dataPlaneIps }),
  domains: [{ name: domain.name, ...checked }],
});
const ok = ['192.0.2.1'];
const until = '2027-01-02T00:00:00Z';

test('a domain is without DNS only if name servers said so', (t) => {
  const rows: [TunnelDomains | undefined, string | undefined, string, string, string?][] = [
    [undefined, undefined, 'loading', ''],
    [undefined, 'You are offline.', 'unknown', 'You are offline.'],
    [answer({ ips: ok }), undefined, 'dns_ok', 'Found: 192.0.2.1.'],
    [answer({ ips: ok }), 'You are offline.', 'dns_ok', 'Found: 192.0.2.1.', 'the older answer stays'],
    [answer({ ips: [] }), undefined, 'no_dns', 'No address found. Expected: 192.0.2.1.'],
    [answer({ ips: ['198.51.100.7'] }), undefined, 'no_dns', 'Found: 198.51.100.7. Expected: 192.0.2.1.'],
    [answer({ unchecked: 'unanswered' }), undefined, 'unknown', 'The name servers did not answer.'],
    [answer({ unchecked: 'limited' }), undefined, 'unknown', 'Too many DNS lookups. Please try again in a minute.'],
    [{ ...answer({ ips: ok }), dataPlaneIps: [] }, undefined, 'unknown', "The region's addresses are not known."],
    [
      { dataPlaneHost: 'x', domains: [{ name: domain.name, ips: ok }] },
      undefined,
      'unknown',
      "The region's addresses are not known.",
    ],
  ];
  eachCase(t, rows, ([domains, failure, badge, detail]) => {
    const state = describeDomain(domain, domains, failure, day);
    assert.deepEqual([state.badge, state.detail], [badge, detail]);
  });
});

test('an unverified domain says what to prove, whatever its DNS; a generated one has our DNS', () => {
  const unverified = { ...domain, verified: false };
  for (const checked of [answer({ unchecked: 'unverified' }), answer({ ips: ok })])
    assert.deepEqual(describeDomain(unverified, checked, undefined, day), {
      badge: 'unverified',
      detail: 'Prove that you own example.com.',
      isFine: false,
    });
  assert.equal(describeDomain(unverified, undefined, 'x', day).badge, 'unverified');
  assert.equal(describeDomain({ ...domain, apexName: '' }, answer({}), undefined, day).badge, 'dns_ok');
});

test('a certificate shows its end, or what became of its order', (t) => {
  const rows: [CheckedDomain['certificate'], RegExp, boolean][] = [
    [{ until, lastOrderFailed: false }, /^Certificate until 2027-01-02\.$/, true],
    [{ until, lastOrderFailed: true }, /^Certificate until 2027-01-02\. Its renewal failed and is tried again\./, true],
    [{ lastOrderFailed: true }, /^The certificate order failed and is tried again\. If the zone has CAA records/, false],
    [{ lastOrderFailed: false }, /^No certificate yet\.$/, false],
  ];
  eachCase(t, rows, ([certificate, text, isFine]) => {
    const state = describeDomain(domain, answer({ ips: ok, ...(certificate && { certificate }) }), undefined, day);
    assert.match(state.detail, text);
    assert.equal(state.isFine, isFine);
  });
});

test('domains that need work come first, the others in their order', () => {
  const row = (badge: 'no_dns' | 'unverified' | 'unknown' | 'loading' | 'dns_ok', isFine = badge === 'dns_ok') => ({
    state: { badge, detail: '', isFine },
  });
  const rows = [row('dns_ok'), row('loading'), row('unknown'), row('unverified'), row('dns_ok', false), row('no_dns')];
  assert.deepEqual(
    failingFirst(rows).map(({ state }) => state.badge),
    ['no_dns', 'unverified', 'dns_ok', 'unknown', 'loading', 'dns_ok'],
  );
});

test('a long list of addresses is cut', () => {
  assert.equal(listAddresses(['a', 'b', 'c']), 'a, b, c');
  assert.equal(listAddresses(['a', 'b', 'c', 'd', 'e']), 'a, b, c and 2 more');
});
