// Signed texts: where they count, and what is read from them.

import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import type { VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { type SignedVisit, signVisit, verifyVisit } from './signed-visit.ts';

const key = randomBytes(32);
const host = 'app.tunnels.test';
const email: VisitorClaims = {
  method: 'email',
  subject: 'ada@firm.test',
  email: 'ada@firm.test',
  groups: [],
  source: '',
  signedInAtMs: 1_000,
  expiresAtMs: 5_000,
};
const provider: VisitorClaims = { ...email, method: 'oidc', subject: 'sub-1', groups: ['staff', 'Ä,"'], source: 'provider-1' };
const link: VisitorClaims = { ...email, method: 'link', subject: 'link-1', email: '', source: 'link-1' };

describe('a signed session', () => {
  for (const claims of [email, provider, link]) {
    it(`says the same as before: ${claims.method}`, () => {
      const visit: SignedVisit = { claims, untilMs: 4_000 };
      assert.deepEqual(verifyVisit(key, 'session', host, signVisit(key, 'session', host, visit), 3_999), visit);
    });
  }

  it('ends', () => {
    const text = signVisit(key, 'session', host, { claims: email, untilMs: 4_000 });
    assert.equal(verifyVisit(key, 'session', host, text, 4_000), null);
  });

  it('is no longer than 170 characters for a visitor by e-mail', () => {
    const claims = { ...email, signedInAtMs: 1_764_000_000_000, expiresAtMs: 1_764_086_400_000 };
    assert.ok(signVisit(key, 'session', host, { claims, untilMs: claims.expiresAtMs }).length <= 170);
  });

  it('counts if the previous version signed it', () => {
    const visit: SignedVisit = { claims: provider, untilMs: 4_000 };
    const body = Buffer.from(JSON.stringify(visit)).toString('base64url');
    const mac = createHmac('sha256', key).update(`session\0${host}\0${body}`).digest('base64url');
    assert.deepEqual(verifyVisit(key, 'session', host, `${body}.${mac}`, 3_000), visit);
  });

  it('counts for no other use, host or key, and not if a character changed', () => {
    const text = signVisit(key, 'session', host, { claims: email, untilMs: 4_000 });
    assert.equal(verifyVisit(key, 'agent', host, text, 3_000), null);
    assert.equal(verifyVisit(key, 'session', 'b.tunnels.test', text, 3_000), null);
    assert.equal(verifyVisit(randomBytes(32), 'session', host, text, 3_000), null);
    assert.equal(verifyVisit(key, 'session', host, `x${text.slice(1)}`, 3_000), null);
  });
});
