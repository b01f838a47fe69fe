// Which certificate a host is served with if several cover it.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { Certificates } from './certificates.ts';

const dayMs = 86_400_000;
const log = pino({ level: 'silent' });

/** Contexts without a key are enough here: comparing them by identity shows which certificate was chosen. */
function certificatesOf(lives: Readonly<Record<string, number>>) {
  const certificates = new Certificates(log);
  for (const [host, days] of Object.entries(lives)) {
    const notAfterMs = Date.now() + days * dayMs;
    certificates.put({ id: host, hosts: [host], certificatePem: '', privateKeyPem: '', notAfterMs });
  }
  return certificates;
}

function served(certificates: Certificates, host: string): string | null {
  const context = certificates.contextOf(host);
  if (context === null) return null;
  return context === certificates.contextOf('probe.example.com') ? '*.example.com' : 'own';
}

const cases: readonly (readonly [string, Readonly<Record<string, number>>, string | null])[] = [
  ['its own, although the wildcard ends later', { 'a.example.com': 1, '*.example.com': 90 }, 'own'],
  ['the wildcard, once its own has ended', { 'a.example.com': -1, '*.example.com': 90 }, '*.example.com'],
  ['its own, while the wildcard has ended', { 'a.example.com': 1, '*.example.com': -1 }, 'own'],
  ['the wildcard alone', { '*.example.com': 1 }, '*.example.com'],
  ['nothing', { '*.example.org': 1 }, null],
];
for (const [what, lives, expected] of cases) {
  test(`a name is served with ${what}`, () => assert.equal(served(certificatesOf(lives), 'a.example.com'), expected));
}

test('a name is served with the certificate of its project until that ends, then with the one that ends last', () => {
  const certificates = new Certificates(log);
  const put = (id: string, days: number, own?: true) => {
    const notAfterMs = Date.now() + days * dayMs;
    certificates.put({
      id,
      hosts: ['a.example.com', id],
      certificatePem: '',
      privateKeyPem: '',
      notAfterMs,
      ...(own && { own }),
    });
  };
  const isServed = (id: string): boolean => certificates.contextOf('a.example.com') === certificates.contextOf(id);
  put('issued', 90);
  put('given', 1, true);
  assert.ok(isServed('given'));
  put('given', -1, true);
  assert.ok(isServed('issued'));
  put('given', 30, true);
  certificates.drop('given');
  assert.ok(isServed('issued'));
});
