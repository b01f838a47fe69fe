import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { parseProxyProtocol, proxyProtocolOptions, proxyProtocolWarning } from '../tunnel/proxy-protocol.ts';
import { defaultTunnelType, parseTunnelType, type TunnelType } from '../tunnel/tunnel-type.ts';
import { decideTunnelType, defaultRegion, generatorDomain, parseRegion, tunnelTypesOf } from './region.ts';

const london = { name: 'london', available: true, tlsTermination: true, wildcardIngressDomain: 'l.example.com' };
const raw = { name: 'raw', available: true, tlsTermination: false, wildcardIngressDomain: 'r.example.com' };
const closed = { name: 'closed', available: false, tlsTermination: true };

test('http is the default type', () => assert.equal(defaultTunnelType, 'http'));

test('a region with TLS termination offers both types, one without only ingress', () => {
  assert.deepEqual(tunnelTypesOf(london), ['http', 'ingress']);
  assert.deepEqual(tunnelTypesOf(raw), ['ingress']);
});

test('the type follows the region', (t) => {
  const rows: [typeof london, TunnelType | undefined, TunnelType][] = [
    [london, undefined, 'http'],
    [london, 'http', 'http'],
    [london, 'ingress', 'ingress'],
    [raw, undefined, 'ingress'],
    [raw, 'http', 'ingress'],
    [raw, 'ingress', 'ingress'],
  ];
  eachCase(t, rows, ([region, wanted, type]) => assert.equal(decideTunnelType(region, wanted), type));
});

test('the first region that is available is the default', () => {
  assert.equal(defaultRegion([london, raw]), london);
  assert.equal(defaultRegion([closed, raw, london]), raw);
  assert.equal(defaultRegion([closed]), undefined);
  assert.equal(defaultRegion([]), undefined);
});

test('a domain is generated for http tunnels in a region with a wildcard domain only', () => {
  assert.equal(generatorDomain(london, 'http'), 'l.example.com');
  assert.equal(generatorDomain(london, 'ingress'), null);
  assert.equal(generatorDomain({}, 'http'), null);
  assert.equal(generatorDomain({ wildcardIngressDomain: '' }, 'http'), null);
});

test('a region is chosen that exists, is available and offers the type', (t) => {
  const regions = [london, raw, closed];
  const rows: [string, TunnelType, string | null][] = [
    ['london', 'http', null],
    ['london', 'ingress', null],
    ['raw', 'ingress', null],
    ['raw', 'http', "Region 'raw' offers tunnels of type ingress only"],
    ['closed', 'http', "Region 'closed' is not available"],
    ['paris', 'http', "There is no region 'paris'. Choose london or raw"],
    ['', 'http', 'Please select a region'],
    ['__proto__', 'http', "There is no region '__proto__'. Choose london or raw"],
  ];
  eachCase(t, rows, ([name, type, message]) => {
    const parsed = parseRegion(regions, name, type);
    assert.equal(parsed.ok ? null : parsed.message, message);
  });
});

test('the spec has two types, and a region with a range of ports one more', (t) => {
  const withPorts = { tlsTermination: true, tcpPorts: '20000-20099' };
  assert.deepEqual(tunnelTypesOf({ tlsTermination: true }), ['http', 'ingress']);
  assert.deepEqual(tunnelTypesOf(withPorts), ['http', 'ingress', 'tcp']);
  assert.deepEqual(tunnelTypesOf({ ...withPorts, tlsTermination: false }), ['ingress', 'tcp']);
  assert.equal(decideTunnelType({ tlsTermination: true }, 'tcp'), 'http');
  assert.equal(generatorDomain({ wildcardIngressDomain: 'tunnels.example.com' }, 'tcp'), null);
  eachCase(t, ['http', 'ingress', 'tcp'], (type) => assert.deepEqual(parseTunnelType(type), { ok: true, value: type }));
  eachCase(t, ['', 'HTTP', 'udp', 'http '], (type) => assert.equal(parseTunnelType(type).ok, false));
});

test('proxy protocol is Disabled, v1 or v2', (t) => {
  assert.deepEqual(
    proxyProtocolOptions.map((option) => option.label),
    ['Disabled', 'v1', 'v2'],
  );
  eachCase(t, ['', 'v1', 'v2'] as const, (value) => assert.deepEqual(parseProxyProtocol(value), { ok: true, value }));
  eachCase(t, ['v3', 'V1', 'Disabled', ' v1', 'v1\n'], (value) => assert.equal(parseProxyProtocol(value).ok, false));
});

test('switching proxy protocol on warns, and nothing else does', () => {
  const warning = 'Switching proxy protocol on for upstreams which do not support it will render the whole service inaccessible.';
  assert.equal(proxyProtocolWarning('', 'v1'), warning);
  assert.equal(proxyProtocolWarning('', 'v2'), warning);
  assert.equal(proxyProtocolWarning('', ''), null);
  assert.equal(proxyProtocolWarning('v1', ''), null);
  assert.equal(proxyProtocolWarning('v1', 'v2'), null);
});
