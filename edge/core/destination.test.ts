// Where a first flight goes, case by case.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Destination, type Door, decideDestination } from './destination.ts';

type Tunnel = { readonly type: 'http' | 'ingress'; readonly name: string };
const http: Tunnel = { type: 'http', name: 'shop' };
const ingress: Tunnel = { type: 'ingress', name: 'raw' };

/** A feed that also gives the dashboard's host to a tunnel: the dashboard keeps its host. */
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
  ['eu.example.com', [], { kind: 'terminate', tunnel: null, host: 'eu.example.com' }, 'the region, or a name without a tunnel'],
  ['bare.example.com', ['h2'], { kind: 'nowhere' }, 'no certificate yet'],
  ['other.example.org', ['h2'], { kind: 'nowhere' }, 'not ours'],
  [null, ['h2'], { kind: 'nowhere' }, 'no name'],
  ['shop.example.com', ['acme-tls/1'], { kind: 'challenge' }, 'the authority checks its challenge'],
  ['shop.example.com', ['acme-tls/1', 'h2'], { kind: 'nowhere' }, 'RFC 8737: acme-tls/1 must be the only protocol'],
  [
    'raw.example.com',
    ['acme-tls/1'],
    { kind: 'passthrough', tunnel: ingress, host: 'raw.example.com' },
    "its owner's client answers the challenge",
  ],
  ['dashboard.example.com', ['h2', 'http/1.1'], { kind: 'dashboard' }, 'the dashboard, even if a tunnel has its host'],
  ['dashboard.example.com', ['acme-tls/1'], { kind: 'challenge' }, 'the edge answers its challenge'],
];
for (const [host, protocols, expected, why] of cases) {
  test(`${host} with ${protocols.join(', ') || 'nothing'}: ${why}`, () => {
    assert.deepEqual(decideDestination(host, protocols, door), expected);
  });
}
