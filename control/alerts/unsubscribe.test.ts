// The link that ends alert mails: forged, ended and changed ones do nothing, and opening it does nothing either.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { alertLimits, dayMs, rateLimits } from '@underpass/rules/limits.ts';
import { unsubscribeFields } from '../platform/mail/mail.ts';
import { createKeyRing } from '../platform/secret/key-ring.ts';
import { createTestControl, type SignedUp, type TestControl } from '../test-kit.ts';
import { readSubscription, signSubscription } from './unsubscribe.ts';

const keys = [randomBytes(32), randomBytes(32)];
const ring = createKeyRing(keys);
const now = Date.UTC(2026, 10, 20);
const who = { projectId: '0'.repeat(26), userId: '1'.repeat(26) };
const token = signSubscription(ring, who, now);

describe('a signed unsubscribe text', () => {
  it('is read until it ends, also with an older key', () => {
    const last = now + alertLimits.unsubscribeDays * dayMs - 1;
    assert.deepEqual(readSubscription(ring, token, last), who);
    assert.equal(readSubscription(ring, token, last + 1), undefined);
    assert.deepEqual(readSubscription(createKeyRing([keys[1]!, keys[0]!]), token, now), who);
  });

  const [project = '', user = '', end = '', signature = ''] = token.split('.');
  for (const [why, changed] of [
    ['for another person', [project, '2'.repeat(26), end, signature]],
    ['for another project', ['2'.repeat(26), user, end, signature]],
    ['with a later end', [project, user, `${end}0`, signature]],
    ['with another signature', [project, user, end, `${signature.slice(0, -1)}${signature.endsWith('A') ? 'B' : 'A'}`]],
    ['without a signature', [project, user, end, '']],
    ['with more behind it', [project, user, end, signature, 'x']],
  ] as const) {
    it(`${why} is refused`, () => assert.equal(readSubscription(ring, changed.join('.'), now), undefined));
  }

  it('of another installation is refused', () =>
    assert.equal(readSubscription(createKeyRing([randomBytes(32)]), token, now), undefined));
});

describe('the unsubscribe page', () => {
  let test: TestControl;
  let ann: SignedUp;
  let path: string;
  before(async () => {
    test = await createTestControl({ keyRing: ring });
    ann = await test.signUp('ann@example.com');
    path = `/alerts/unsubscribe/${signSubscription(ring, ann, test.time.now)}`;
  });
  after(() => test.close());

  const getsMail = async () => (await ann.call<{ mail: boolean }>('GET', `/api/alerts?project=${ann.projectId}`)).mail;
  /** Posts like a mail provider: no cookie, no origin. */
  const post = (to: string) =>
    test.control.fetch(
      new Request(`http://localhost:8400${to}`, {
        method: 'POST',
        body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
      }),
      { remoteAddress: '192.0.2.50' },
    );

  it('only asks, because mail scanners open links', async () => {
    const page = await test.client().send('GET', path);
    assert.equal(page.status, 200);
    assert.match(await page.text(), /<form method="post">/);
    assert.equal(await getsMail(), true);
  });

  it('takes one click without a session, twice the same, and a person can switch the mails on again', async () => {
    assert.equal((await post(path)).status, 200);
    assert.equal((await post(path)).status, 200);
    assert.equal(await getsMail(), false);
    await ann.call('PATCH', `/api/alerts/mail?project=${ann.projectId}`, { mail: true });
    assert.equal(await getsMail(), true);
  });

  it('refuses what it has not signed, and changes nothing', async () => {
    for (const wrong of [`${path}x`, '/alerts/unsubscribe/x', path.replace(ann.userId, '2'.repeat(26))])
      assert.equal((await post(wrong)).status, 400, wrong);
    assert.equal(await getsMail(), true);
  });

  it('does nothing for a person who has left', async () => {
    const bob = await test.signUp('bob@example.com');
    const left = signSubscription(ring, { projectId: ann.projectId, userId: bob.userId }, test.time.now);
    assert.equal((await post(`/alerts/unsubscribe/${left}`)).status, 200);
    assert.deepEqual(await test.store.db.selectFrom('alert_mailings').select('user_id').execute(), [{ user_id: ann.userId }]);
  });
});

it('pages of other sites cannot use up what a reader of the mail may ask', async (t) => {
  const limited = await createTestControl({ keyRing: ring, limited: true });
  t.after(() => limited.close());
  const ask = async (headers: Record<string, string>): Promise<number> =>
    (await limited.client().send('GET', '/alerts/unsubscribe/x', undefined, headers)).status;
  const image = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' };
  for (let at = 0; at < rateLimits.accessPage.points; at++) await ask(image);
  assert.deepEqual([await ask(image), await ask({ 'sec-fetch-site': 'none' })], [429, 400]);
});

it('a mail has the fields of RFC 8058 only if it can be ended', () => {
  const mail = { to: 'a@example.com', subject: '', text: '' };
  assert.deepEqual(unsubscribeFields(mail), {});
  assert.deepEqual(unsubscribeFields({ ...mail, unsubscribe: 'https://a.example/x' }), {
    ...{ 'List-Unsubscribe': '<https://a.example/x>', 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
  });
});
