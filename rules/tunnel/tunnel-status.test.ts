import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decideDomainBadge, domainBadgeLabels, showsConfigureDns } from '../screen/domain-badge.ts';
import { type ChecklistDomain, isSetupComplete, renderChecklist } from '../screen/setup-checklist.ts';
import { eachCase } from '../test-kit.ts';
import {
  decideDisplayStatus,
  decideTunnelStatus,
  isWaitingForVerification,
  showsConnect,
  statusTones,
  withPendingDefaults,
} from './tunnel-status.ts';

test('each status is displayed as the spec says', (t) => {
  const rows: [string, number | undefined, string, string?][] = [
    ['Created', 1, 'Connected'],
    ['Created', 20, 'Connected'],
    ['Created', 0, 'Disconnected'],
    ['Created', undefined, 'Unknown', 'no count'],
    ['Pending', undefined, 'Pending'],
    ['Pending', 3, 'Pending'],
    ['Progressing', 0, 'Unknown', 'any other status'],
    ['', 1, 'Unknown'],
    ['created', 1, 'Unknown'],
    ['constructor', 1, 'Unknown'],
  ];
  eachCase(t, rows, ([status, connectedClients, shown]) => {
    assert.equal(decideDisplayStatus({ status, connectedClients }), shown);
    assert.ok(shown in statusTones);
  });
});

test('Pending and Progressing wait for verification', (t) => {
  eachCase(t, ['Pending', 'Progressing'], (status) => assert.equal(isWaitingForVerification(status), true));
  eachCase(t, ['Created', 'Unknown', ''], (status) => assert.equal(isWaitingForVerification(status), false));
});

test('a Pending tunnel without a count gets 0 clients; other tunnels keep their count', () => {
  assert.deepEqual(withPendingDefaults({ status: 'Pending' }), { status: 'Pending', connectedClients: 0 });
  assert.deepEqual(withPendingDefaults({ status: 'Pending', connectedClients: 2 }), { status: 'Pending', connectedClients: 2 });
  assert.deepEqual(withPendingDefaults({ status: 'Created' }), { status: 'Created' });
});

test('the connect section needs a token and a status past Pending', () => {
  assert.equal(showsConnect({ status: 'Created', token: 't' }), true);
  assert.equal(showsConnect({ status: 'Progressing', token: 't' }), true);
  assert.equal(showsConnect({ status: 'Pending', token: 't' }), false);
  assert.equal(showsConnect({ status: 'Created' }), false);
  assert.equal(showsConnect({ status: 'Created', token: '' }), false);
});

test('a tunnel is Pending until verified, Progressing until an edge acknowledges', () => {
  assert.equal(decideTunnelStatus({ allDomainsVerified: false, isAcknowledged: false }), 'Pending');
  assert.equal(decideTunnelStatus({ allDomainsVerified: false, isAcknowledged: true }), 'Pending');
  assert.equal(decideTunnelStatus({ allDomainsVerified: true, isAcknowledged: false }), 'Progressing');
  assert.equal(decideTunnelStatus({ allDomainsVerified: true, isAcknowledged: true }), 'Created');
});

test('a badge shows loading before unverified, and unverified before the DNS result', (t) => {
  const rows: [string, boolean, 'dns_ok' | 'no_dns' | 'unknown' | undefined, string, string | null][] = [
    ['example.com', false, undefined, 'loading', 'Loading'],
    ['example.com', true, undefined, 'loading', 'Loading'],
    ['example.com', false, 'dns_ok', 'unverified', 'Unverified'],
    ['example.com', false, 'no_dns', 'unverified', 'Unverified'],
    ['example.com', true, 'no_dns', 'no_dns', 'No DNS'],
    ['example.com', true, 'dns_ok', 'dns_ok', null],
    ['example.com', true, 'unknown', 'unknown', 'Not checked'],
    ['example.com', false, 'unknown', 'unverified', 'Unverified'],
    ['', true, undefined, 'dns_ok', null],
    ['', true, 'no_dns', 'dns_ok', null],
  ];
  eachCase(t, rows, ([apexName, verified, check, badge, label]) => {
    assert.equal(decideDomainBadge({ apexName, verified }, check), badge);
    assert.equal(domainBadgeLabels[badge as keyof typeof domainBadgeLabels], label);
  });
});

test('DNS is configured for a domain of the user, not for a generated name', () => {
  assert.equal(showsConfigureDns({ apexName: 'example.com' }), true);
  assert.equal(showsConfigureDns({ apexName: '' }), false);
});

const ok: ChecklistDomain = { verified: true, badge: 'dns_ok' };
const noDns: ChecklistDomain = { verified: true, badge: 'no_dns' };
const unverified: ChecklistDomain = { verified: false, badge: 'unverified' };
const loading: ChecklistDomain = { verified: true, badge: 'loading' };
const unknown: ChecklistDomain = { verified: true, badge: 'unknown' };

test('the checklist counts the domains that still need work', (t) => {
  const rows: [ChecklistDomain[], number, [string, string, string], string?][] = [
    [[ok], 2, ['All domains are verified.', 'DNS has been configured.', 'Connected clients: 2']],
    [[ok], 0, ['All domains are verified.', 'DNS has been configured.', 'Connect a tunnel client.']],
    [
      [unverified, ok],
      0,
      ['Configure DNS to verify ownership of 1/2 domains.', 'DNS has been configured.', 'Connect a tunnel client.'],
    ],
    [[noDns, noDns, ok], 1, ['All domains are verified.', 'Configure DNS for 2/3 tunnel domains.', 'Connected clients: 1']],
    [
      [unverified, noDns],
      0,
      ['Configure DNS to verify ownership of 1/2 domains.', 'Configure DNS for 1/2 tunnel domains.', 'Connect a tunnel client.'],
    ],
    [[loading, ok], 1, ['All domains are verified.', 'Checking DNS.', 'Connected clients: 1'], 'neither done nor to do'],
    [
      [unknown, ok],
      1,
      ['All domains are verified.', 'DNS of 1/2 tunnel domains was not checked.', 'Connected clients: 1'],
      'not done before it is known',
    ],
    [[unknown, noDns], 1, ['All domains are verified.', 'Configure DNS for 1/2 tunnel domains.', 'Connected clients: 1']],
    [[], 1, ['All domains are verified.', 'DNS has been configured.', 'Connected clients: 1']],
  ];
  eachCase(t, rows, ([domains, clients, texts]) =>
    assert.deepEqual(
      renderChecklist(domains, clients).map((item) => item.text),
      texts,
    ),
  );
});

test('the checklist is complete exactly when its three items are done, or the check of DNS still runs', () => {
  const domain = fc.constantFrom(ok, noDns, unverified, loading, unknown);
  fc.assert(
    fc.property(fc.array(domain), fc.nat(3), (domains, clients) => {
      const has = (badge: string) => domains.some((one) => one.badge === badge);
      const items = renderChecklist(domains, clients);
      const dnsLeft = has('no_dns') || (has('unknown') && !has('loading'));
      assert.equal(isSetupComplete(items), !domains.some((one) => !one.verified) && clients > 0 && !dnsLeft);
      assert.equal(items[1]!.done, !has('no_dns') && !has('unknown') && !has('loading'), 'never done before all is known');
    }),
  );
});
