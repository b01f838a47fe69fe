import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseApexDomain } from '@underpass/rules/names/apex-domain.ts';
import { isOwnDomain, registrableDomain } from './registrable.ts';

describe('an apex domain, by the public suffix list', () => {
  const cases: readonly [name: string, allowed: boolean, why: string][] = [
    ['example.com', true, 'under an ICANN suffix'],
    ['example.co.uk', true, 'under a suffix of two labels'],
    ['xn--bcher-kva.example', false, 'a reserved top-level domain'],
    ['xn--bcher-kva.de', true, 'punycode'],
    ['com', false, 'a suffix'],
    ['co.uk', false, 'a suffix'],
    ['github.io', false, 'a private suffix'],
    ['ann.github.io', true, 'one name under a private suffix'],
    ['www.example.com', false, 'a subdomain'],
    ['example.notatld', false, 'an unknown top-level domain'],
    ['localhost', false, 'no domain'],
    ['tunnels.localhost', false, 'not public'],
    ['10.0.0.1', false, 'an address'],
    ['_dmarc.com', false, 'an underscore'],
  ];
  for (const [name, allowed, why] of cases) {
    test(`${allowed ? 'accepts' : 'refuses'} ${name}: ${why}`, () => {
      assert.equal(parseApexDomain(name, registrableDomain).ok, allowed);
    });
  }
});

describe('isOwnDomain', () => {
  const own = ['eu.underpass.com', 'tunnels.underpass.com', 'underpass.dev'];
  test('refuses our hosts and the names above and below them', () => {
    for (const name of ['underpass.com', 'underpass.dev', 'tunnels.underpass.com', 'x.tunnels.underpass.com'])
      assert.ok(isOwnDomain(name, own));
  });
  test('accepts names that only look similar', () => {
    for (const name of ['notunderpass.com', 'underpass.com.evil.com', 'under.com', 'dev'])
      assert.equal(isOwnDomain(name, own), name === 'dev');
  });
});
