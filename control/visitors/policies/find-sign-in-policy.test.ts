// Which access policy a sign-in at a host begins with, as the edges choose the tunnel of that host.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testKeyRing } from '../../edges/feed/test-kit.ts';
import { createTestControl } from '../../test-kit.ts';
import { findSignInPolicy } from './find-sign-in-policy.ts';

test('a wildcard signs visitors in at its names, but not at one that another tunnel has, whatever that has', async (t) => {
  const keyRing = testKeyRing();
  const control = await createTestControl({ keyRing });
  t.after(() => control.close());
  const ann = await control.signUp('ann@example.com');
  const project = `project=${ann.projectId}`;
  await ann.call('POST', `/api/access-policies?${project}`, { name: 'team', members: true });
  const make = (name: string, ingressDomains: string[], accessPolicy?: string) =>
    ann.call('POST', `/api/tunnels?${project}`, { name, region: 'local', type: 'http', ingressDomains, accessPolicy });
  await make('wild', ['*.apps.example.com'], 'team');
  await make('open', ['open.apps.example.com']);
  control.dns.proofs.set('example.com', 'found');
  await ann.call('POST', `/api/domains/example.com/verify?${project}`);
  const found = async (host: string) => (await findSignInPolicy(control.store.db, keyRing, host, control.time.now))?.url;
  assert.equal(await found('a.apps.example.com'), 'https://a.apps.example.com:8443');
  for (const host of [
    'open.apps.example.com',
    'a.b.apps.example.com',
    'apps.example.com',
    '*.apps.example.com',
    '.apps.example.com',
  ])
    assert.equal(await found(host), undefined, host);
});
