// spec 5: Tunnel name, Tunnel ingress domain, Generate domain, Region and type.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Region } from '@underpass/rules/entity/entity.ts';
import { initialForm, type NewTunnelForm, parseNewTunnel, setGenerate, setName, setRegion, setType } from './new-tunnel-form.ts';

const full: Region = { name: 'a', description: 'A', available: true, tlsTermination: true, wildcardIngressDomain: 't.example' };
const plain: Region = { name: 'b', description: 'B', available: true, tlsTermination: false };
const closed: Region = { name: 'c', description: 'C', available: false, tlsTermination: true };
const regions = [closed, full, plain];
const form: NewTunnelForm = { ...initialForm(regions)!, name: 'web' };

test('the first available region and type http are the defaults', () => {
  assert.equal(form.region, 'a');
  assert.equal(form.type, 'http');
  assert.equal(form.generate, false);
});

test('without an available region there is no form', () => {
  assert.equal(initialForm([closed]), undefined);
  assert.equal(initialForm([]), undefined);
});

test('the name is lowercased as it is typed', () => {
  assert.equal(setName(form, 'My-App').name, 'my-app');
});

test('a region without TLS termination forces ingress and turns the generator off', () => {
  const moved = setRegion({ ...form, generate: true }, plain);
  assert.equal(moved.type, 'ingress');
  assert.equal(moved.generate, false);
});

test('back in a region with TLS termination, the type is the one that the user chose', () => {
  assert.equal(setRegion(setRegion(form, plain), full).type, 'http');
  const ingress = setType(form, 'ingress', full);
  assert.equal(setRegion(setRegion(ingress, plain), full).type, 'ingress');
});

test('type ingress turns the generator off', () => {
  assert.equal(setType({ ...form, generate: true }, 'ingress', full).generate, false);
});

test('turning the generator on clears the domains; turning it off does not restore them', () => {
  const on = setGenerate({ ...form, domains: ['a.example.com'], pendingDomain: 'b.example.com' }, true);
  assert.deepEqual([on.domains, on.pendingDomain], [[], '']);
  assert.deepEqual(setGenerate(on, false).domains, []);
});

test('a domain is required unless one is generated', () => {
  const parsed = parseNewTunnel(form, regions);
  assert.deepEqual(parsed, { ok: false, errors: { domains: 'Provide at least one ingress domain' } });
  assert.deepEqual(parseNewTunnel({ ...form, generate: true }, regions), {
    ok: true,
    value: { name: 'web', region: 'a', ingressDomains: [], proxyProtocol: '', type: 'http' },
  });
});

test('only a tcp tunnel is private', () => {
  const ranged = { ...full, tcpPorts: '20000-20001' };
  const tcp = setType({ ...form, isPrivate: true }, 'tcp', ranged);
  const value = { name: 'web', region: 'a', ingressDomains: [], proxyProtocol: '', type: 'tcp' } as const;
  assert.deepEqual(parseNewTunnel(tcp, [ranged]), { ok: true, value: { ...value, private: true } });
  assert.deepEqual(parseNewTunnel({ ...tcp, isPrivate: false }, [ranged]), { ok: true, value });
  const http = { ...setType(tcp, 'http', ranged), generate: true };
  assert.deepEqual(parseNewTunnel(http, [ranged]), { ok: true, value: { ...value, type: 'http' } });
});

test('includes a domain that is typed and not added yet', () => {
  const parsed = parseNewTunnel({ ...form, domains: ['a.example.com'], pendingDomain: ' B.example.com ' }, regions);
  assert.deepEqual(parsed.ok && parsed.value.ingressDomains, ['a.example.com', 'b.example.com']);
});

test('refuses a name that is not a DNS label with the text of the spec', () => {
  for (const name of ['', '-a', 'a-', 'a_b', 'a.b', 'x'.repeat(253)]) {
    const parsed = parseNewTunnel({ ...form, name, generate: true }, regions);
    assert.deepEqual(parsed.ok || parsed.errors.name, 'A name that can be used as a DNS subdomain is required', name);
  }
});

test('refuses a region that is no longer available', () => {
  const parsed = parseNewTunnel({ ...form, generate: true }, [{ ...full, available: false }]);
  assert.ok(!parsed.ok && parsed.errors.region);
});

test('a tcp tunnel has no domains: choosing the type clears them, and none is required', () => {
  const withPorts: Region = { ...full, tcpPorts: '20000-20099' };
  const tcp = setType({ ...form, domains: ['a.example.com'], pendingDomain: 'b.example.com', generate: true }, 'tcp', withPorts);
  assert.deepEqual([tcp.domains, tcp.pendingDomain, tcp.generate], [[], '', false]);
  assert.deepEqual(parseNewTunnel(tcp, [withPorts]), {
    ok: true,
    value: { name: 'web', region: 'a', ingressDomains: [], proxyProtocol: '', type: 'tcp' },
  });
  assert.equal(setRegion(tcp, full).type, 'http');
});
