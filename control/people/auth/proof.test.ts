// Proving again, in a signed-in session, who uses it.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createTestControl, linkIn, linkToken, type SignedUp, type TestClient, type TestControl } from '../../test-kit.ts';

let test: TestControl;
let ann: SignedUp;
let count = 0;

before(async () => {
  test = await createTestControl();
});
after(() => test.close());
beforeEach(async () => {
  ann = await test.signUp(`ann-${++count}@example.com`);
  test.time.now += 10 * 60_000;
});

async function invite(who: SignedUp): Promise<number> {
  const body = { email: `guest-${++count}@example.com`, role: 'owner' };
  return (await who.send('POST', `/api/invitations?project=${who.projectId}`, body)).status;
}

async function askProof(who: SignedUp): Promise<string> {
  await who.call('POST', '/api/proof');
  await test.control.settle();
  return linkToken(test.mails, who.email);
}

const redeem = async (who: TestClient, token: string): Promise<number> =>
  (await who.send('POST', '/api/proof/redeem', { token })).status;

/** A browser that has stolen some of another's cookies. */
function thiefOf(victim: TestClient, ...names: string[]): TestClient {
  const thief = test.client(undefined, '198.51.100.7');
  for (const name of names) thief.cookies.set(name, victim.cookies.get(name)!);
  return thief;
}

describe('a link that proves who uses a session', () => {
  it('opens calls that need a recent proof, for ten minutes', async () => {
    assert.equal(await invite(ann), 403);
    const token = await askProof(ann);
    assert.equal(linkIn(test.mails, ann.email).pathname, `/confirm/${token}`);
    assert.equal(await redeem(ann, token), 204);
    assert.equal(await invite(ann), 200);
    test.time.now += 10 * 60_000 - 1;
    assert.equal(await invite(ann), 200);
    test.time.now += 1;
    assert.equal(await invite(ann), 403);
  });

  it('works once, and for fifteen minutes', async () => {
    const token = await askProof(ann);
    assert.equal(await redeem(ann, token), 204);
    assert.equal(await redeem(ann, token), 400);
    const late = await askProof(ann);
    test.time.now += 15 * 60_000;
    assert.equal(await redeem(ann, late), 400);
    for (const odd of ['', 'x', 'x'.repeat(43), 'x'.repeat(10_000)]) assert.equal(await redeem(ann, odd), 400);
  });

  it('signs nobody in, and says nothing about itself to the sign-in page', async () => {
    const token = await askProof(ann);
    const browser = thiefOf(ann, 'underpass-browser');
    assert.equal((await browser.send('POST', '/auth/login', new URLSearchParams({ token }))).status, 401);
    assert.deepEqual(await browser.call('POST', '/auth/link', new URLSearchParams({ token })), {
      sameBrowser: false,
      usable: false,
    });
    assert.equal(await redeem(browser, token), 401);
    assert.equal(await redeem(ann, token), 204, 'the tries did not use it up');
  });

  it('renews only the session that asked for it, also against other sessions of the same person', async () => {
    const token = await askProof(ann);
    const url = new URL(await test.control.operator.createLoginLink(ann.email));
    const other: SignedUp = { ...ann, ...test.client() };
    await other.call('POST', '/auth/login', new URLSearchParams({ token: url.pathname.split('/').at(-1)! }));
    other.cookies.set('underpass-browser', ann.cookies.get('underpass-browser')!);
    assert.equal(await redeem(other, token), 400);
    const bob = await test.signUp(`bob-${count}@example.com`);
    assert.equal(await redeem(bob, token), 400);
  });

  it('renews nothing when the owner opens a link that a thief of the session cookie asked for', async () => {
    await ann.call('POST', '/api/proof');
    const thief = thiefOf(ann, 'underpass-session');
    await thief.call('POST', '/api/proof');
    await test.control.settle();
    assert.equal(await redeem(ann, linkToken(test.mails, ann.email)), 400);
    assert.equal(await invite(ann), 403);
  });

  it('is no login link, and a login link is none', async () => {
    const url = new URL(await test.control.operator.createLoginLink(ann.email));
    assert.equal(await redeem(ann, url.pathname.split('/').at(-1)!), 400);
  });

  it('is in the audit log', async () => {
    await redeem(ann, await askProof(ann));
    const rows = await test.store.db.selectFrom('audit').select('action').where('actor', '=', ann.email).execute();
    assert.deepEqual(rows.map(({ action }) => action).slice(-1), ['session.prove']);
  });

  it('may be asked for ten times in a quarter of an hour', async () => {
    const limited = await createTestControl({ limited: true });
    const bob = await limited.signUp('bob@example.com');
    const statuses: number[] = [];
    for (let i = 0; i < 11; i++) statuses.push((await bob.send('POST', '/api/proof')).status);
    assert.deepEqual(statuses, [...Array<number>(10).fill(204), 429]);
    await limited.close();
  });
});

describe('a proof', () => {
  it('of a session from before proofs were kept is none', async () => {
    await test.store.db.updateTable('sessions').set({ proven_at: 0 }).where('user_id', '=', ann.userId).execute();
    assert.equal(await invite(ann), 403);
  });

  it('from the time before the clock went back is none', async () => {
    await test.store.db
      .updateTable('sessions')
      .set({ proven_at: test.time.now + 60_000 })
      .where('user_id', '=', ann.userId)
      .execute();
    assert.equal(await invite(ann), 403);
  });
});
