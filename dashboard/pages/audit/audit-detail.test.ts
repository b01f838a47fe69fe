// The text of an audit entry's detail.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDetail } from './audit-detail.ts';

test('names and values are on one line, lists with commas', () => {
  assert.equal(
    describeDetail({ role: 'admin', ingressDomains: ['a.example.com', 'b.example.com'] }),
    'role: admin; ingress domains: a.example.com, b.example.com',
  );
});

test('empty values read as none', () => {
  assert.equal(describeDetail({ proxyProtocol: '', allow: [], before: null }), 'proxy protocol: none; allow: none; before: none');
});

test('a nested object is shown as JSON', () => {
  assert.equal(describeDetail({ limits: { tunnels: 5 } }), 'limits: {"tunnels":5}');
});

test('no detail gives no text', () => {
  assert.equal(describeDetail({}), '');
});

test('cuts a long list, so that one entry does not fill the screen', () => {
  const line = describeDetail({ allow: Array.from({ length: 500 }, (_, index) => `192.0.2.${index}`) });
  assert.equal(line.length, 200);
  assert.ok(line.endsWith('…'));
});
