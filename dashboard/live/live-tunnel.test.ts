import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { applyLive, parseLiveTunnel } from './live-tunnel.ts';

const tunnel: Tunnel = {
  name: 'web',
  type: 'http',
  region: 'local',
  regionDescription: 'This machine',
  status: 'Created',
  ingressDomains: [],
  connectedClients: 0,
  dataPlaneHost: 'local.localhost',
  proxyProtocol: '',
  securityGroup: 'default',
  updatedAt: '2026-11-20T10:00:00.000Z',
  url: 'https://local.localhost',
  underpassVersion: '0.1.0',
};
const metrics = { rx: 1, tx: 2, tcpConnectionRate: 3 };

test('an event changes only status, clients and metrics', () => {
  const changed = applyLive(tunnel, { name: 'web', status: 'Pending', connectedClients: 2, metrics });
  assert.deepEqual(changed, { ...tunnel, status: 'Pending', connectedClients: 2, metrics });
});

test('an event without a change returns the same object', () => {
  assert.equal(applyLive(tunnel, { name: 'web', status: 'Created', connectedClients: 0 }), tunnel);
  const measured = { ...tunnel, metrics };
  assert.equal(applyLive(measured, { name: 'web', status: 'Created', connectedClients: 0, metrics: { ...metrics } }), measured);
  assert.equal(applyLive(tunnel, undefined), tunnel);
});

test('fields that an event leaves out stay', () => {
  const changed = applyLive({ ...tunnel, connectedClients: 4, metrics }, { name: 'web', status: 'Progressing' });
  assert.deepEqual([changed.connectedClients, changed.metrics, changed.status], [4, metrics, 'Progressing']);
});

test('ignores data that is not a tunnel', () => {
  for (const text of ['', '{', 'null', '[]', '"x"', '{"name":1,"status":"Created"}', '{"name":"web"}']) {
    assert.equal(parseLiveTunnel(text), undefined, text);
  }
  assert.deepEqual(parseLiveTunnel('{"name":"web","status":"Created"}'), { name: 'web', status: 'Created' });
});

test('a condition that an event does not tell stays only while status and clients stay', () => {
  const since = '2026-11-20T09:00:00.000Z';
  const down: Tunnel = { ...tunnel, condition: 'down', conditionSince: since };
  const event = { name: 'web', status: 'Created', connectedClients: 0 } as const;
  assert.equal(applyLive(down, event), down);
  assert.equal(applyLive(down, { ...event, connectedClients: 1 }).condition, undefined);
  assert.equal(applyLive(down, { ...event, condition: 'down' }), down, 'the group event tells no times');
  const stopped = applyLive(down, { ...event, condition: 'stopped' });
  assert.deepEqual([stopped.condition, stopped.conditionSince], ['stopped', undefined]);
});
