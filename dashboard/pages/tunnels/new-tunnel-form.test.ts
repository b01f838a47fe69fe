// spec 5: Tunnel name, Tunnel ingress domain, Generate domain, Region and type.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Region } from '@underpass/rules/entity.ts';
import { initialForm, type NewTunnelForm, parseNewTunnel, setGenerate, setName, setRegion, setType } from './new-tunnel-form.ts';

const full: Region = { name: 'a', description: 'A', available: true, tlsTermination: true, wildcardIngressDomain: 't.example' };
const plain: Region = { name: 'b', description: 'B', available: true, tlsTermination: false };
const closed: Region = { name: 'c', description: 'C', available: false, tlsTermination: true };
const regions = [closed, full, plain];
const form: NewTunnelForm = { ...initialForm(regions)!, name: 'web' };

test('the first region that can be selected and type http are the defaults', () => {
  assert.equal(form.region, 'a');
  assert.equal(form.type, 'http');
  assert.equal(form.generate, false);
});

test('without a region that can be selected there is no form', () => {
  assert.equal(initialForm([closed]), undefined);
  assert.equal(initialForm([]), undefined);
});

test('the name is lowercased as it is typed', () => {
  assert.equal(setName(form, 'My-App').name, 'my-app');
});

test('a region without TLS termination forces ingress and takes the generator away', () => {
  const moved = setRegion({ ...form, generate: true }, plain);
  assert.equal(moved.type, 'ingress');
  assert.equal(moved.generate, false);
});

test('type ingress takes the generator away', () => {
  assert.equal(setType({ ...form, generate: true }, 'ingress', full).generate, false);
});

test('turning the generator on clears the domains, turning it off brings nothing back', () => {
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

test('what is typed and not yet added belongs to the tunnel', () => {
  const parsed = parseNewTunnel({ ...form, domains: ['a.example.com'], pendingDomain: ' B.example.com ' }, regions);
  assert.deepEqual(parsed.ok && parsed.value.ingressDomains, ['a.example.com', 'b.example.com']);
});

test('a name that is no DNS label is refused with the text of the spec', () => {
  for (const name of ['', '-a', 'a-', 'a_b', 'a.b', 'x'.repeat(253)]) {
    const parsed = parseNewTunnel({ ...form, name, generate: true }, regions);
    assert.deepEqual(parsed.ok || parsed.errors.name, 'A name that can be used as a DNS subdomain is required', name);
  }
});

test('a region that closed meanwhile is refused', () => {
  const parsed = parseNewTunnel({ ...form, generate: true }, [{ ...full, available: false }]);
  assert.ok(!parsed.ok && parsed.errors.region);
});
