import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import { type TunnelCondition, tunnelConditions } from '../tunnel/tunnel-condition.ts';
import type { DomainBadge } from './domain-badge.ts';
import { countClients, decidePath, describePath, isThrough, type Lane } from './tunnel-path.ts';

const domain = (badge: DomainBadge, isFine = badge === 'dns_ok') => ({ badge, isFine });

test('the lane of visitors is open only if a domain leads here', (t) => {
  const rows: [ReturnType<typeof domain>[], Lane, string?][] = [
    [[domain('dns_ok')], 'open'],
    [[domain('no_dns'), domain('dns_ok')], 'open', 'one is enough'],
    [[domain('no_dns')], 'broken'],
    [[domain('dns_ok', false)], 'broken', 'without a certificate'],
    [[domain('blocked')], 'broken'],
    [[domain('loading')], 'unknown'],
    [[domain('no_dns'), domain('unknown')], 'unknown', 'the other one may work'],
    [[domain('unverified')], 'off'],
    [[], 'off'],
  ];
  eachCase(t, rows, ([domains, lane]) => assert.equal(decidePath('working', domains).visitors, lane));
});

test('nothing is through while visitors get an error', () => {
  const fine = [domain('dns_ok')];
  const through = (Object.keys(tunnelConditions) as TunnelCondition[]).filter((each) => isThrough(decidePath(each, fine)));
  assert.deepEqual(through, ['working']);
  assert.equal(isThrough(decidePath('working', [domain('no_dns')])), false);
});

test('the picture has words, and does not count clients that are not known', () => {
  assert.equal(
    describePath(decidePath('failing', [domain('no_dns')])),
    'Visitors do not reach the region; it does not reach an upstream.',
  );
  assert.deepEqual([countClients(undefined), countClients(0), countClients(1)], ['Clients', '0 clients', '1 client']);
});
