import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CarryEvent } from '../carry/api.ts';
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import type { TunnelConfig } from '../config/tunnel-config.ts';
import { upstreamsOfFlags } from '../config/upstream-flags.ts';
import { createLines, edgesOf, gatewayOf } from './running-tunnel.ts';

const carrier = (edge: string, rttMs: number | null, address = '192.0.2.1:443') => ({ edge, address, rttMs });

test('lists each edge once, with the best round-trip time of its carriers', () => {
  for (const [carriers, edges] of [
    [[carrier('a', 2), carrier('a', 1)], [{ name: 'a', rttMs: 1 }]],
    [[carrier('a', null), carrier('a', 3)], [{ name: 'a', rttMs: 3 }]],
    [[carrier('a', 0), carrier('a', null)], [{ name: 'a', rttMs: 0 }]],
    [[carrier('a', null)], [{ name: 'a', rttMs: null }]],
    [
      [carrier('a', 1), carrier('b', 2)],
      [
        { name: 'a', rttMs: 1 },
        { name: 'b', rttMs: 2 },
      ],
    ],
    // An edge without an id appears by its address.
    [[carrier('', 1), carrier('', 2)], [{ name: '192.0.2.1:443', rttMs: 1 }]],
  ] as const) {
    assert.deepEqual(edgesOf(carriers), edges);
  }
});

test('logs one connection for all carriers, the problem of one of them, and the loss and return of the last', () => {
  const connected = (edge: string): CarryEvent => ({ kind: 'connected', edge, address: '192.0.2.1', urls: [] });
  const lost = (edge: string, isBroken = false): CarryEvent => {
    return { kind: 'disconnected', edge, problem: isBroken ? { code: 'edge-timeout', detail: '' } : null };
  };
  const events = [
    ...[connected('a'), connected('b'), lost('b'), connected('b'), lost('a', true)],
    ...[lost('b', true), connected('a'), connected('b'), lost('a'), lost('b'), connected('b')],
  ];
  const lines = events.map(createLines()).map((line) => line && `${line.event} ${line.edge}`);
  assert.deepEqual(lines, [
    ...['connected a', null, null, null, 'problem a'],
    ...['disconnected b', 'connected a', null, null, 'disconnected b', 'connected b'],
  ]);
});

test('what was told to be private never starts without a gateway', () => {
  const config: TunnelConfig = {
    ...{ name: 'database', url: 'https://local.localhost', token: { kind: 'value', token: 'secret' } },
    ...{ upstreams: upstreamsOfFlags('http', ['http://127.0.0.1:1'], undefined), upstreamInsecure: false },
    private: { ticketsOnly: true },
  };
  const start = (tunnel: Partial<LoadedTunnel>) => gatewayOf({ now: () => 0 }, { config, token: 'secret', ...tunnel }, () => {});
  assert.throws(() => start({ reachKey: 'key' }), /only a tcp tunnel/);
  const tcp = { ...config, upstreams: upstreamsOfFlags('tcp', ['127.0.0.1:1'], undefined) };
  assert.throws(() => start({ config: tcp }), /only a tcp tunnel/);
  assert.ok(start({ config: tcp, reachKey: 'key' }).gateway);
});
