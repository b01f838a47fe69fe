// Where a first flight leads, case by case.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Destination, type Door, decideDestination } from './destination.ts';

type Tunnel = { readonly type: 'http' | 'ingress'; readonly name: string };
const http: Tunnel = { type: 'http', name: 'shop' };
const ingress: Tunnel = { type: 'ingress', name: 'raw' };

/** A feed that gives tunnels the dashboard's host too: it must not matter. */
const tunnels: Readonly<Record<string, Tunnel>> = {
  'shop.example.com': http,
  'raw.example.com': ingress,
  'bare.example.com': http,
  'dashboard.example.com': ingress,
};
const door: Door<Tunnel> = {
  isDashboard: (host) => host === 'dashboard.example.com',
  tunnelOf: (host) => tunnels[host] ?? null,
  hasCertificate: (host) => host !== 'bare.example.com' && host.endsWith('.example.com'),
  hasTlsChallenge: (host) => ['shop.example.com', 'dashboard.example.com'].includes(host),
};

const cases: readonly (readonly [string | null, readonly string[], Destination<Tunnel>, string])[] = [
  ['shop.example.com', ['h2'], { kind: 'terminate', tunnel: http, host: 'shop.example.com' }, 'an http tunnel'],
  ['raw.example.com', ['h2'], { kind: 'passthrough', tunnel: ingress, host: 'raw.example.com' }, 'an ingress tunnel'],
  ['eu.example.com', [], { kind: 'terminate', tunnel: null, host: 'eu.example.com' }, 'the region, or a name that nothing has'],
  ['bare.example.com', ['h2'], { kind: 'nowhere' }, 'no certificate yet'],
  ['other.example.org', ['h2'], { kind: 'nowhere' }, 'not ours'],
  [null, ['h2'], { kind: 'nowhere' }, 'no name'],
  ['shop.example.com', ['acme-tls/1'], { kind: 'challenge' }, 'the authority looks'],
  ['shop.example.com', ['acme-tls/1', 'h2'], { kind: 'nowhere' }, 'RFC 8737: that protocol and nothing else'],
  ['raw.example.com', ['acme-tls/1'], { kind: 'passthrough', tunnel: ingress, host: 'raw.example.com' }, 'its owner proves it'],
  ['dashboard.example.com', ['h2', 'http/1.1'], { kind: 'dashboard' }, 'the dashboard, whatever a tunnel says'],
  ['dashboard.example.com', ['acme-tls/1'], { kind: 'challenge' }, 'its certificate is proven here'],
];
for (const [host, protocols, expected, why] of cases) {
  test(`${host} with ${protocols.join(', ') || 'nothing'}: ${why}`, () => {
    assert.deepEqual(decideDestination(host, protocols, door), expected);
  });
}
