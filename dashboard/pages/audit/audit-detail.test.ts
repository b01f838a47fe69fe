// How the detail of an audit entry reads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDetail } from './audit-detail.ts';

test('names and values stand on one line, lists with commas', () => {
  assert.equal(
    describeDetail({ role: 'admin', ingressDomains: ['a.example.com', 'b.example.com'] }),
    'role: admin; ingress domains: a.example.com, b.example.com',
  );
});

test('what is empty reads as none', () => {
  assert.equal(describeDetail({ proxyProtocol: '', allow: [], before: null }), 'proxy protocol: none; allow: none; before: none');
});

test('a nested object is shown as JSON', () => {
  assert.equal(describeDetail({ limits: { tunnels: 5 } }), 'limits: {"tunnels":5}');
});

test('no detail is no text', () => {
  assert.equal(describeDetail({}), '');
});

test('a long list is cut, so that one entry does not fill the screen', () => {
  const line = describeDetail({ allow: Array.from({ length: 500 }, (_, index) => `192.0.2.${index}`) });
  assert.equal(line.length, 200);
  assert.ok(line.endsWith('…'));
});
