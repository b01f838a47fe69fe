// Attacks on passkeys, recovery codes and the rule that requires a passkey. The list came before the code:
// - answers: replayed, twenty at once, to another's challenge, to one for another purpose, expired, made up; of another site,
//   port, frame or relying party; by somebody else's passkey; by a copy of a passkey; without the person's consent
// - adding: attestation with a certificate that names an address to fetch; an id that is another's; nests of CBOR; one too many
// - looking: whose passkeys exist; who is suspended or deleted
// - power: the mailbox's thief adds, removes, makes codes, tokens and owners, ends other sign-ins; an API token does; a session of before
// - recovery codes: twice, at once, another's, earlier ones, by trying
// - the rule: by e-mail session, API token, terminal, open live view, deletion of the account; two removals at once; made by a
//   person who has no passkey

import assert from 'node:assert/strict';
import { sign, X509Certificate } from 'node:crypto';
import { after, afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import type { NewApiToken, Passkey, Passkeys, RecoveryCodes } from '@underpass/rules/entity/resource.ts';
import { limits } from '@underpass/rules/limits.ts';
import { lastPasskeyMessage, passkeyFailedMessage } from '@underpass/rules/people/passkey.ts';
import { createRoot } from '../../edges/certificate/x509.ts';
import {
  createTestControl,
  linkToken,
  loginForm,
  type SignedUp,
  type TestClient,
  type TestControl,
  testOrigin,
} from '../../test-kit.ts';
import {
  addPasskey,
  askOptions,
  createAuthenticator,
  expectStatus,
  flagsOf,
  proveWith,
  signInByLink,
  signInWith,
  type Twist,
} from './test-kit.ts';

let test: TestControl;
let ann: SignedUp;
const opened: TestControl[] = [];

beforeEach(async () => {
  test = await createTestControl({ mailbox: { list: async () => [] } });
  ann = await test.signUp('ann@example.com');
});
afterEach(() => test.close());
after(async () => {
  for (const each of opened) await each.close();
});

const minutes = (count: number): number => count * 60_000;
const byLink = async (email: string): Promise<TestClient> =>
  signInByLink(test.client(), await test.control.operator.createLoginLink(email));
const list = (browser: TestClient) => browser.call<Passkeys>('GET', '/api/passkeys');
const actions = async (): Promise<string[]> =>
  (await test.store.db.selectFrom('audit').select('action').orderBy('id').execute()).map(({ action }) => action);
const mailsTo = (email: string) => test.mails.filter(({ to }) => to === email).map(({ text }) => text);

/** Runs `work` between the checks of the next call and its change. */
function atTheWrite(t: TestContext, work: () => Promise<unknown>): void {
  const { write } = test.store;
  const mocked = t.mock.method(test.store, 'write', async (body: never) => {
    mocked.mock.restore();
    await work();
    return write(body);
  });
}

describe('a passkey', () => {
  it('signs in without an e-mail address, in any browser', async () => {
    const { key } = await addPasskey(ann);
    const browser = test.client();
    assert.equal((await signInWith(browser, key)).status, 204);
    assert.equal((await browser.call<{ email: string }>('GET', '/api/user')).email, 'ann@example.com');
    const [passkey] = (await list(browser)).passkeys;
    assert.deepEqual([passkey?.name, passkey?.usedAt], ['Laptop', new Date(test.time.now).toISOString()]);
  });

  it('works without a counter too', async () => {
    const { key } = await addPasskey(ann, 'Phone', createAuthenticator({ counts: false }));
    for (let i = 0; i < 3; i++) assert.equal((await signInWith(test.client(), key)).status, 204);
  });

  it('is renamed and removed by its owner only, and mails tell that it was added and removed', async () => {
    const { id, key } = await addPasskey(ann);
    await ann.call('PATCH', `/api/passkeys/${id}`, { name: 'Work laptop' });
    const bob = await test.signUp('bob@example.com');
    await addPasskey(bob);
    for (const [method, body] of [
      ['PATCH', { name: 'Mine' }],
      ['DELETE', undefined],
    ] as const) {
      assert.equal((await bob.send(method, `/api/passkeys/${id}`, body)).status, 404);
    }
    await ann.call('DELETE', `/api/passkeys/${id}`);
    assert.deepEqual((await list(ann)).passkeys, []);
    assert.equal((await signInWith(test.client(), key)).status, 401);
    await test.control.settle();
    const [added, removed] = mailsTo('ann@example.com');
    assert.match(added!, /The passkey "Laptop" was added/);
    assert.match(removed!, /The passkey "Work laptop" was removed/);
  });

  it('takes the sessions that it signed in with it when it is removed', async () => {
    const { id, key } = await addPasskey(ann);
    const [thief, own] = [test.client(), await byLink('ann@example.com')];
    await signInWith(thief, key);
    await ann.call('DELETE', `/api/passkeys/${id}`);
    assert.deepEqual([(await thief.send('GET', '/api/user')).status, (await own.send('GET', '/api/user')).status], [401, 200]);
  });

  it('takes its confirmations with it too: other sessions confirm again with a passkey that is left', async () => {
    const [{ id, key }, kept] = [await addPasskey(ann), await addPasskey(ann)];
    const thief = await byLink('ann@example.com');
    await expectStatus(proveWith(thief, key), 204);
    await ann.call('DELETE', `/api/passkeys/${id}`);
    await expectStatus(thief.send('POST', '/api/recovery-codes'), 403);
    await expectStatus(ann.send('POST', '/api/recovery-codes'), 200);
    await expectStatus(proveWith(thief, kept.key), 204);
  });

  it('ends the session that the browser had before', async () => {
    const { key } = await addPasskey(ann);
    const browser = await byLink('ann@example.com');
    const before = browser.cookies.get('underpass-session');
    await signInWith(browser, key);
    const old = test.client();
    old.cookies.set('underpass-session', before!);
    assert.equal((await old.send('GET', '/api/user')).status, 401);
  });
});

describe('an answer', () => {
  it('signs in once, if twenty send it at the same moment', async () => {
    const { key } = await addPasskey(ann, 'Phone', createAuthenticator({ counts: false }));
    const browser = test.client();
    const credential = key.get(await askOptions(browser, '/auth/passkey/options'));
    const send = async () => (await browser.send('POST', '/auth/passkey', { credential })).status;
    const statuses = await Promise.all(Array.from({ length: 20 }, send));
    assert.deepEqual(statuses.sort(), [204, ...Array(19).fill(401)]);
  });

  it('counts for the browser, the session and the purpose that asked, within five minutes', async () => {
    const { key } = await addPasskey(ann);
    const [browser, other] = [test.client(), test.client()];
    const options = await askOptions(browser, '/auth/passkey/options');
    await askOptions(other, '/auth/passkey/options');
    const answerTo = (who: TestClient, twist?: Twist) =>
      who.send('POST', '/auth/passkey', { credential: key.get(options, twist) });
    const bytes = Buffer.from(options.challenge, 'base64url');
    bytes[0]! ^= 1;
    await expectStatus(answerTo(other), 401, 'another browser');
    await expectStatus(answerTo(test.client()), 401, 'no cookie');
    await expectStatus(answerTo(browser, { challenge: bytes.toString('base64url') }), 401, 'a changed challenge');
    await expectStatus(answerTo(browser, { challenge: '' }), 401, 'no challenge');
    const proof = (await askOptions(ann, '/api/proof/options')).challenge;
    await expectStatus(answerTo(browser, { challenge: proof }), 401, 'a challenge of a session');
    const second = await byLink('ann@example.com');
    const credential = key.get(await askOptions(ann, '/api/proof/options'));
    await expectStatus(second.send('POST', '/api/proof/passkey', { credential }), 400, 'another session');
    const toAdd = key.get(await askOptions(ann, '/api/proof/options'), await askOptions(ann, '/api/passkeys/options'));
    await expectStatus(ann.send('POST', '/api/proof/passkey', { credential: toAdd }), 400, 'another purpose');
    test.time.now += minutes(5);
    await expectStatus(answerTo(browser), 401, 'too late');
    test.time.now -= minutes(15);
    await expectStatus(answerTo(browser), 401, 'from the future');
    test.time.now += minutes(15) - 1;
    await expectStatus(answerTo(browser), 204, 'in time');
  });

  it('stores nothing for challenges that nobody answers', async () => {
    const rows = async () => (await test.store.db.selectFrom('spent_answers').selectAll().execute()).length;
    for (let i = 0; i < 50; i++) await askOptions(test.client(), '/auth/passkey/options');
    assert.equal(await rows(), 0);
  });

  const wrong: readonly (readonly [string, Twist])[] = [
    ['another site', { origin: 'https://evil.example' }],
    ['a host below ours', { origin: testOrigin.replace('localhost', 'evil.localhost') }],
    ['another port', { origin: testOrigin.replace('8400', '8401') }],
    ['https instead of http', { origin: testOrigin.replace('http', 'https') }],
    ['a frame on another site', { crossOrigin: true }],
    ['another relying party', { rpId: 'evil.example' }],
    ['the other ceremony', { type: 'webauthn.create' }],
    ['no PIN or fingerprint', { flags: flagsOf.unverified }],
    ['nobody present', { flags: flagsOf.absent }],
    ['the user handle of another', { userHandle: Buffer.from('somebody').toString('base64url') }],
    ['an unknown passkey', { id: 'AAAA' }],
  ];
  for (const [what, twist] of wrong) {
    it(`is refused with ${what}`, async () => {
      const { key } = await addPasskey(ann);
      const response = await signInWith(test.client(), key, twist);
      assert.deepEqual([response.status, await response.text()], [401, passkeyFailedMessage]);
      await expectStatus(proveWith(ann, key, twist), 400);
    });
  }

  it('of another person proves nothing in this session', async () => {
    await addPasskey(ann);
    const bob = await test.signUp('bob@example.com');
    const { key } = await addPasskey(bob);
    await expectStatus(proveWith(ann, key), 400);
    const [annsKey, bobsKey] = [(await addPasskey(ann)).key, key];
    // Ann's signature under the id of Bob's passkey, and the other way round.
    await expectStatus(signInWith(test.client(), annsKey, { id: bobsKey.id }), 401);
    await expectStatus(signInWith(test.client(), bobsKey, { id: annsKey.id }), 401);
  });

  it('of a copied passkey is refused, and the audit log has it', async () => {
    const { key } = await addPasskey(ann);
    await signInWith(test.client(), key, { signCount: 7 });
    for (const signCount of [7, 3, 0]) await expectStatus(signInWith(test.client(), key, { signCount }), 401);
    await expectStatus(signInWith(test.client(), key, { signCount: 8 }), 204);
    assert.equal((await actions()).filter((action) => action === 'passkey.refuse').length, 3);
  });

  it('of two with the same count, taken at once, signs in one', async () => {
    const { key } = await addPasskey(ann);
    const browsers = Array.from({ length: 8 }, () => test.client());
    const statuses = await Promise.all(browsers.map(async (each) => (await signInWith(each, key, { signCount: 4 })).status));
    assert.deepEqual(statuses.sort(), [204, ...Array(7).fill(401)]);
  });

  it('that is right signs nobody in whose passkey goes, or who is suspended, at that moment', async (t) => {
    const { key } = await addPasskey(ann);
    const { db } = test.store;
    const suspend = (suspended_at: number | null) =>
      db.updateTable('users').set({ suspended_at }).where('id', '=', ann.userId).execute();
    atTheWrite(t, () => suspend(1));
    await expectStatus(signInWith(test.client(), key), 401, 'suspended');
    await suspend(null);
    atTheWrite(t, () => db.deleteFrom('passkeys').execute());
    await expectStatus(signInWith(test.client(), key), 401, 'removed');
  });

  it('from a page of another site is refused before it is read', async () => {
    const { key } = await addPasskey(ann);
    const browser = test.client();
    const credential = key.get(await askOptions(browser, '/auth/passkey/options'));
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' };
    assert.equal((await browser.send('POST', '/auth/passkey', { credential }, headers)).status, 403);
  });
});

describe('adding a passkey', () => {
  const add = async (twist: Twist, key = createAuthenticator()): Promise<Response> => {
    const options = await askOptions(ann, '/api/passkeys/options');
    return ann.send('POST', '/api/passkeys', { name: 'Laptop', credential: key.create(options, twist) });
  };

  const certificate = new Map<string, never>([['x5c', [Buffer.from('certificate')] as never]]);
  const wrong: readonly (readonly [string, Twist])[] = [
    ['another site', { origin: 'https://evil.example' }],
    ['a frame on another site', { crossOrigin: true }],
    ['another relying party', { rpId: 'evil.example' }],
    ['the other ceremony', { type: 'webauthn.get' }],
    ['no PIN or fingerprint', { flags: flagsOf.unverified }],
    ['another id than the authenticator signs', { id: 'AAAA' }],
    // With a certificate, the library may fetch the revocation list from an address in it.
    ['a certificate', { format: 'packed', statement: certificate }],
    ['an attestation of Android', { format: 'android-key', statement: certificate }],
    ['an attestation of Apple', { format: 'apple', statement: certificate }],
    ['an attestation of a TPM', { format: 'tpm', statement: certificate }],
  ];
  for (const [what, twist] of wrong) {
    it(`is refused with ${what}, without a request to anywhere`, async (t) => {
      const fetched = t.mock.method(globalThis, 'fetch', async () => assert.fail('a request left the server'));
      await expectStatus(add(twist), 400);
      assert.equal(fetched.mock.callCount(), 0);
      assert.deepEqual((await list(ann)).passkeys, []);
    });
  }

  it('is refused with a certificate that proves all that it says', async () => {
    const { certificatePem, privateKeyPem } = await createRoot('A security key', {
      notBefore: new Date(0),
      notAfter: new Date(4e12),
    });
    const { raw } = new X509Certificate(certificatePem);
    const statement = (signed: Buffer) =>
      new Map<string, Buffer | Buffer[]>([
        ['x5c', [raw]],
        ['sig', sign('sha256', signed, privateKeyPem)],
      ]);
    await expectStatus(add({ format: 'fido-u2f', statement }), 400);
  });

  it('survives nests of CBOR, and bytes of the wrong kind and size', async () => {
    const options = await askOptions(ann, '/api/passkeys/options');
    const whole = createAuthenticator().create(options) as { response: object };
    const nests = ['gYGB'.repeat(2000), '', '_____w', 'm_____8A', 'x'.repeat(8193), 'a b', null, 7];
    for (const attestationObject of nests) {
      const credential = { ...whole, response: { ...whole.response, attestationObject } };
      assert.equal((await ann.send('POST', '/api/passkeys', { name: 'Laptop', credential })).status, 400);
    }
    for (const credential of [null, 'x', [], {}, { ...whole, type: 'password' }, { ...whole, response: [] }]) {
      assert.equal((await ann.send('POST', '/api/passkeys', { name: 'Laptop', credential })).status, 400);
    }
  });

  it('takes a challenge once, of its own session', async () => {
    const key = createAuthenticator();
    const options = await askOptions(ann, '/api/passkeys/options');
    const send = (who: TestClient, made: object) => who.send('POST', '/api/passkeys', { name: 'Laptop', credential: made });
    await expectStatus(send(await byLink('ann@example.com'), key.create(options)), 400);
    await expectStatus(send(ann, key.create(options)), 200);
    await expectStatus(send(ann, createAuthenticator().create(options)), 400);
  });

  it('refuses an id that is registered, to its owner and to another', async () => {
    const { key } = await addPasskey(ann);
    const { excludeCredentials } = (await askOptions(ann, '/api/passkeys/options')) as unknown as {
      excludeCredentials: object[];
    };
    assert.deepEqual(excludeCredentials, [{ id: key.id, transports: ['internal'], type: 'public-key' }]);
    assert.equal((await add({}, key)).status, 409);
    const bob = await test.signUp('bob@example.com');
    const options = await askOptions(bob, '/api/passkeys/options');
    assert.equal((await bob.send('POST', '/api/passkeys', { name: 'Mine', credential: key.create(options) })).status, 409);
  });

  it(`stops at ${limits.passkeysPerUser}, if more are added at once`, async () => {
    await addPasskey(ann);
    const options = await Promise.all(Array.from({ length: 25 }, () => askOptions(ann, '/api/passkeys/options')));
    const statuses = await Promise.all(
      options.map(async (each) => {
        const credential = createAuthenticator().create(each);
        return (await ann.send('POST', '/api/passkeys', { name: 'Key', credential })).status;
      }),
    );
    assert.equal(statuses.filter((status) => status === 200).length, limits.passkeysPerUser - 1);
    assert.equal((await ann.send('POST', '/api/passkeys/options')).status, 409);
  });

  it('needs a sign-in of the last ten minutes for the first', async () => {
    test.time.now += minutes(10);
    const response = await ann.send('POST', '/api/passkeys/options');
    assert.deepEqual([response.status, response.headers.get('underpass-error')], [403, 'UNDERPASS_PROOF_NEEDED']);
  });
});

describe('a stranger who looks for accounts', () => {
  it('gets the same options for everybody, without a list of passkeys', async () => {
    const before = Object.keys(await askOptions(test.client(), '/auth/passkey/options'));
    await addPasskey(ann);
    const after = await askOptions(test.client(), '/auth/passkey/options');
    assert.deepEqual(Object.keys(after), before);
    assert.deepEqual((after as { allowCredentials?: unknown[] }).allowCredentials ?? [], []);
  });

  it('gets one answer for passkeys that are unknown, removed, of a suspended and of a deleted person', async () => {
    const texts = new Set<string>();
    const tryKey = async (key: ReturnType<typeof createAuthenticator>) => {
      const response = await signInWith(test.client(), key);
      texts.add(`${response.status} ${await response.text()}`);
    };
    await test.control.operator.ensureOperator();
    const people = await Promise.all(['b', 'c', 'd'].map((name) => test.signUp(`${name}@example.com`)));
    const [removed, suspended, deleted] = await Promise.all(people.map((person) => addPasskey(person)));
    await people[0]!.call('DELETE', `/api/passkeys/${removed!.id}`);
    await test.control.operator.changeUser(people[1]!.userId, { suspended: true });
    await people[2]!.call('DELETE', '/api/account', { email: 'd@example.com' });
    for (const { key } of [removed!, suspended!, deleted!]) await tryKey(key);
    await tryKey(createAuthenticator());
    assert.deepEqual([...texts], [`401 ${passkeyFailedMessage}`]);
    const left = await test.store.db.selectFrom('passkeys').select('user_id').execute();
    assert.deepEqual(
      left.map((row) => row.user_id),
      [people[1]!.userId],
    );
    await test.control.operator.changeUser(people[1]!.userId, { suspended: false });
    assert.equal((await signInWith(test.client(), suspended!.key)).status, 204);
  });
});

describe('a sign-in by an emailed link, which a thief of the mailbox can make', () => {
  it('changes no passkeys and no codes of an account that has some', async () => {
    const { id, key } = await addPasskey(ann);
    const thief = await byLink('ann@example.com');
    await expectStatus(thief.send('POST', '/api/passkeys/options'), 403);
    await expectStatus(thief.send('DELETE', `/api/passkeys/${id}`), 403);
    await expectStatus(thief.send('POST', '/api/recovery-codes'), 403);
    const options = await askOptions(ann, '/api/passkeys/options');
    const credential = createAuthenticator().create(options);
    await expectStatus(thief.send('POST', '/api/passkeys', { name: 'Mine', credential }), 403);
    await expectStatus(proveWith(thief, key), 204, 'the owner proves it');
    await expectStatus(thief.send('POST', '/api/recovery-codes'), 200);
    await test.control.settle();
    assert.match(mailsTo('ann@example.com').join(), /New recovery codes were created/);
    test.time.now += minutes(10);
    await expectStatus(thief.send('POST', '/api/recovery-codes'), 403, 'a proof of ten minutes ago');
  });

  it('makes no token, invites and promotes nobody, signs in no terminal and ends no other session', async () => {
    const before = await byLink('ann@example.com');
    await addPasskey(ann);
    const bob = await test.signUp('bob@example.com');
    await test.addMember(ann.projectId, bob.userId, 'member');
    const { userCode } = await test.client().call<{ userCode: string }>('POST', '/auth/device', { name: 'laptop' });
    const [own] = await ann.call<{ id: string }[]>('GET', '/api/sessions');
    const inProject = `?project=${ann.projectId}`;
    const thief = await byLink('ann@example.com');
    // A session from before the passkey is no better than a new one.
    for (const browser of [thief, before]) {
      for (const [method, path, body] of [
        ['POST', `/api/tokens${inProject}`, { name: 'ci', role: 'owner', expiresInDays: 365 }],
        ['POST', `/api/invitations${inProject}`, { email: 'eve@example.com', role: 'owner' }],
        ['PATCH', `/api/members/${bob.userId}${inProject}`, { role: 'owner' }],
        ['DELETE', `/api/members/${bob.userId}${inProject}`, undefined],
        ['POST', `/api/device/${userCode}/approve${inProject}`, { role: 'owner' }],
        ['POST', '/api/account/end-other-sign-ins', undefined],
        ['DELETE', `/api/sessions/${own!.id}`, undefined],
        ['DELETE', '/api/account', { email: 'ann@example.com' }],
        ['PATCH', `/api/projects/${ann.projectId}/passkeys`, { required: true }],
      ] as const) {
        await expectStatus(browser.send(method, path, body), 403, `${method} ${path}`);
      }
    }
    assert.equal((await actions()).filter((action) => action === 'call.refuse').length, 18, 'the audit log has each try');
  });

  it('gets no further by proving with another mailed link', async () => {
    await addPasskey(ann);
    const thief = await byLink('ann@example.com');
    await thief.call('POST', '/api/proof');
    await test.control.settle();
    await thief.call('POST', '/api/proof/redeem', { token: linkToken(test.mails, 'ann@example.com') });
    const body = { name: 'ci', role: 'owner' };
    await expectStatus(thief.send('POST', `/api/tokens?project=${ann.projectId}`, body), 403);
  });

  it('does everything after a recovery code, for the person who lost the passkey', async () => {
    await addPasskey(ann);
    const { codes } = await ann.call<RecoveryCodes>('POST', '/api/recovery-codes');
    const browser = await byLink('ann@example.com');
    await expectStatus(browser.send('POST', '/api/proof/recovery', { recoveryCode: codes[0] }), 204);
    await expectStatus(browser.send('POST', '/api/account/end-other-sign-ins'), 204);
    assert.equal((await ann.send('GET', '/api/user')).status, 401);
  });

  it('is enough again once the operator has removed the passkeys', async () => {
    await addPasskey(ann);
    const operator = await test.signUp('operator@example.com', { operator: true });
    await operator.call('DELETE', `/api/operator/users/${ann.userId}/passkeys`);
    const browser = await byLink('ann@example.com');
    await expectStatus(browser.send('POST', `/api/tokens?project=${ann.projectId}`, { name: 'ci', role: 'owner' }), 200);
  });

  it('is told in the mail what it does not do, and only where the account has a passkey', async () => {
    const ask = async (): Promise<string> => {
      await test.control.settle();
      await test.client().call('POST', '/auth/magiclink', loginForm('ann@example.com'));
      await test.control.settle();
      return mailsTo('ann@example.com').at(-1)!;
    };
    assert.doesNotMatch(await ask(), /passkey/);
    await addPasskey(ann);
    assert.match(await ask(), /Your account has a passkey\. After signing in by this link, you confirm with the passkey/);
  });

  it('cannot finish what was begun before the first passkey was added', async () => {
    const thief = await byLink('ann@example.com');
    const options = await askOptions(thief, '/api/passkeys/options');
    await addPasskey(ann);
    const credential = createAuthenticator().create(options);
    await expectStatus(thief.send('POST', '/api/passkeys', { name: 'Mine', credential }), 403);
  });
});

describe('an API token', () => {
  it('calls nothing about passkeys', async () => {
    const made = await ann.call<NewApiToken>('POST', `/api/tokens?project=${ann.projectId}`, { name: 'ci', role: 'owner' });
    const token = test.client(made.token);
    const calls = [
      ['GET', '/api/passkeys'],
      ['POST', '/api/passkeys/options'],
      ['POST', '/api/proof/options'],
      ['POST', '/api/recovery-codes'],
    ] as const;
    for (const [method, path] of calls) assert.equal((await token.send(method, path)).status, 403, path);
    assert.equal((await token.send('POST', '/api/proof/recovery', { recoveryCode: 'x' })).status, 403);
  });
});

describe('a recovery code', () => {
  const use = async (browser: TestClient, recoveryCode: string): Promise<number> =>
    (await browser.send('POST', '/api/proof/recovery', { recoveryCode })).status;
  const make = async (who: TestClient = ann): Promise<readonly string[]> => {
    await addPasskey(who);
    return (await who.call<RecoveryCodes>('POST', '/api/recovery-codes')).codes;
  };

  it('stands in for a passkey once, also if ten send it at once', async () => {
    const [code] = await make();
    const browser = await byLink('ann@example.com');
    await expectStatus(browser.send('POST', '/api/passkeys/options'), 403);
    const statuses = await Promise.all(Array.from({ length: 10 }, () => use(browser, code!.toLowerCase())));
    assert.deepEqual(statuses.sort(), [204, ...Array(9).fill(400)]);
    assert.equal((await list(browser)).recoveryCodes, limits.recoveryCodes - 1);
    await expectStatus(browser.send('POST', '/api/passkeys/options'), 200);
    await test.control.settle();
    assert.match(mailsTo('ann@example.com').at(-1)!, /A recovery code of your account was used. Codes left: 9\./);
  });

  it('is for its own person, and signs nobody in', async () => {
    const [code] = await make();
    const bob = await test.signUp('bob@example.com');
    assert.equal(await use(bob, code!), 400);
    assert.equal(await use(test.client(), code!), 401);
    assert.equal(await use(ann, code!), 204);
  });

  it('stops working when new codes are made, and when the last passkey is removed', async () => {
    const [first] = await make();
    const [second] = (await ann.call<RecoveryCodes>('POST', '/api/recovery-codes')).codes;
    assert.equal(await use(ann, first!), 400);
    for (const { id } of (await list(ann)).passkeys) await ann.call('DELETE', `/api/passkeys/${id}`);
    assert.equal(await use(ann, second!), 400);
    assert.equal((await ann.send('POST', '/api/recovery-codes')).status, 409);
  });

  it('is stored as a hash, and neither logged nor mailed', async () => {
    const codes = await make();
    await use(await byLink('ann@example.com'), codes[0]!);
    await test.control.settle();
    const tables = ['recovery_codes', 'jobs', 'audit', 'sessions', 'passkeys'] as const;
    const rows = await Promise.all(tables.map((table) => test.store.db.selectFrom(table).selectAll().execute()));
    const kept = JSON.stringify([rows, test.mails]) + test.logged.join('\n');
    for (const code of codes) assert.ok(!kept.includes(code) && !kept.includes(code.replaceAll('-', '')));
  });

  it('is not found by trying: ten tries in a quarter of an hour, for all sessions of the person together', async () => {
    const limited = await createTestControl({ limited: true });
    opened.push(limited);
    const eve = await limited.signUp('eve@example.com');
    await addPasskey(eve);
    const guess = 'BBBBB-BBBBB-BBBBB-BBBBB';
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) statuses.push(await use(eve, guess));
    assert.deepEqual(statuses, [...Array(10).fill(400), 429, 429]);
    // Another person is not concerned.
    assert.equal(await use(await limited.signUp('fay@example.com'), guess), 400);
  });
});

describe('a project that requires a passkey', () => {
  const tunnels = () => `/api/tunnels?project=${ann.projectId}`;
  const require = (who: TestClient = ann, required = true) =>
    who.send('PATCH', `/api/projects/${ann.projectId}/passkeys`, { required });

  /** Opens a live view; the answer waits until it ends. */
  const watchUntilEnd = async (who: TestClient) => {
    const live = await who.send('GET', `/api/events?project=${ann.projectId}`);
    const reader = live.body!.getReader();
    await reader.read();
    return async () => {
      for (let done = false; !done; ) done = (await reader.read()).done;
    };
  };

  it('is closed to sessions by e-mail, of before and after, until a passkey confirms them', async () => {
    const before = await byLink('ann@example.com');
    const { key } = await addPasskey(ann);
    await expectStatus(require(), 200);
    const after = await byLink('ann@example.com');
    for (const browser of [before, after]) {
      await expectStatus(browser.send('GET', tunnels()), 403);
      await expectStatus(browser.send('POST', `/api/tokens?project=${ann.projectId}`, { name: 'ci', role: 'owner' }), 403);
      const [project] = await browser.call<object[]>('GET', '/api/projects');
      assert.deepEqual(project, { id: ann.projectId, name: 'default', role: 'owner', passkey: 'needed' });
      await expectStatus(proveWith(browser, key), 204);
      await expectStatus(browser.send('GET', tunnels()), 200);
    }
    test.time.now += minutes(60);
    await expectStatus(before.send('GET', tunnels()), 200, 'the session stays confirmed');
    assert.equal((await ann.call<{ passkey: string }[]>('GET', '/api/projects'))[0]!.passkey, 'required');
  });

  it('lets a member in who adds a first passkey after the e-mail link', async () => {
    const bob = await test.signUp('bob@example.com');
    await test.addMember(ann.projectId, bob.userId, 'member');
    await addPasskey(ann);
    await expectStatus(require(), 200);
    await expectStatus(bob.send('GET', tunnels()), 403);
    assert.deepEqual(await list(bob), { passkeys: [], recoveryCodes: 0, required: true });
    await addPasskey(bob);
    await expectStatus(bob.send('GET', tunnels()), 200);
  });

  it('is closed to API tokens of people without a passkey, and open to those of people with one', async () => {
    const bob = await test.signUp('bob@example.com');
    await test.addMember(ann.projectId, bob.userId, 'member');
    const [annsToken, bobsToken] = await Promise.all(
      [ann, bob].map(async (who) => {
        const body = { name: 'ci', role: 'viewer' };
        return test.client((await who.call<NewApiToken>('POST', `/api/tokens?project=${ann.projectId}`, body)).token);
      }),
    );
    await addPasskey(ann);
    await expectStatus(require(), 200);
    await expectStatus(annsToken!.send('GET', tunnels()), 200);
    await expectStatus(bobsToken!.send('GET', tunnels()), 403);
  });

  it('lets no terminal in that a session by e-mail approves', async () => {
    await addPasskey(ann);
    await expectStatus(require(), 200);
    const { userCode } = await test.client().call<{ userCode: string }>('POST', '/auth/device', { name: 'laptop' });
    const thief = await byLink('ann@example.com');
    const approve = thief.send('POST', `/api/device/${userCode}/approve?project=${ann.projectId}`, { role: 'owner' });
    await expectStatus(approve, 403);
  });

  // Without a word, a live view would notice at its next check, up to 20 s later.
  it('ends live views whose session has no passkey, at once', { timeout: 10_000 }, async () => {
    const thief = await byLink('ann@example.com');
    const ended = await watchUntilEnd(thief);
    await addPasskey(ann);
    await expectStatus(require(), 200);
    await ended();
    const bob = await test.signUp('bob@example.com');
    await test.addMember(ann.projectId, bob.userId, 'member');
    const { key } = await addPasskey(bob);
    const second = await byLink('bob@example.com');
    await expectStatus(proveWith(second, key), 204);
    const closed = await watchUntilEnd(second);
    await test.control.operator.removePasskeys(bob.userId);
    await closed();
  });

  it('ends live views that a removed passkey confirmed, at once', { timeout: 10_000 }, async () => {
    const [{ id, key }] = [await addPasskey(ann), await addPasskey(ann)];
    await expectStatus(require(), 200);
    const other = await byLink('ann@example.com');
    await expectStatus(proveWith(other, key), 204);
    const ended = await watchUntilEnd(other);
    await expectStatus(ann.send('DELETE', `/api/passkeys/${id}`), 204);
    await ended();
  });

  it('is not deleted with the account by a session by e-mail', async () => {
    await addPasskey(ann);
    await expectStatus(require(), 200);
    const thief = await byLink('ann@example.com');
    await expectStatus(thief.send('DELETE', '/api/account', { email: 'ann@example.com' }), 403);
    await expectStatus(require(thief, false), 403);
    assert.equal((await thief.send('GET', '/api/dns/lookup?host=a.example.com')).status, 403);
  });

  it('is made so by an owner with a passkey only', async (t) => {
    assert.equal((await require()).status, 409, 'has no passkey');
    const bob = await test.signUp('bob@example.com');
    await test.addMember(ann.projectId, bob.userId, 'admin');
    await addPasskey(bob);
    assert.equal((await require(bob)).status, 403);
    const carl = await test.signUp('carl@example.com');
    await test.addMember(ann.projectId, carl.userId, 'owner');
    await addPasskey(carl);
    atTheWrite(t, () => test.store.db.updateTable('members').set({ role: 'admin' }).where('user_id', '=', carl.userId).execute());
    assert.equal((await require(carl)).status, 403, 'no owner any more when the change begins');
    assert.deepEqual(await ann.call<{ passkey?: string }[]>('GET', '/api/projects'), [
      { id: ann.projectId, name: 'default', role: 'owner' },
    ]);
  });

  it('does not count what a removed passkey confirmed, in the session that removed it either', async () => {
    const { id } = await addPasskey(ann);
    await expectStatus(ann.send('DELETE', `/api/passkeys/${id}`), 204);
    await test.store.db.updateTable('projects').set({ passkey_required: 1 }).where('id', '=', ann.projectId).execute();
    await expectStatus(ann.send('GET', tunnels()), 403);
  });

  it('keeps one passkey for each member, if two are removed at once', async () => {
    const [first, second] = [await addPasskey(ann), await addPasskey(ann)];
    await expectStatus(require(), 200);
    const remove = ({ id }: { id: string }) => ann.send('DELETE', `/api/passkeys/${id}`);
    const answers = await Promise.all([remove(first), remove(second)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 409]);
    assert.equal(await answers.find(({ status }) => status === 409)!.text(), lastPasskeyMessage);
    assert.equal((await list(ann)).passkeys.length, 1);
    await expectStatus(require(ann, false), 200);
    const [{ id }] = (await list(ann)).passkeys as [Passkey];
    await expectStatus(remove({ id }), 204);
  });
});

describe('operators who need a passkey', () => {
  const rule = '/api/operator/passkeys';
  let operator: SignedUp;
  beforeEach(async () => {
    operator = await test.signUp('operator@example.com', { operator: true });
  });
  const require = (required = true) => operator.send('PATCH', rule, { required });

  it('open the operator pages after a passkey confirms them', async () => {
    const second = await test.signUp('second@example.com', { operator: true });
    assert.equal((await require()).status, 409, 'has no passkey');
    const { id } = await addPasskey(operator);
    await expectStatus(require(), 200);
    assert.equal((await operator.send('DELETE', `/api/passkeys/${id}`)).status, 409, 'the last one');
    await expectStatus(second.send('GET', '/api/operator/users'), 403);
    await expectStatus(second.send('PATCH', rule, { required: false }), 403);
    await expectStatus(second.send('GET', '/dev/mailbox'), 403, 'it holds the links of everybody');
    assert.equal((await second.call<{ passkey?: string }>('GET', '/api/user')).passkey, 'needed');
    await expectStatus(second.send('GET', `/api/tunnels?project=${second.projectId}`), 200, 'their own project is open');
    await addPasskey(second);
    await expectStatus(second.send('GET', '/api/operator/users'), 200);
    assert.equal((await second.call<{ passkey?: string }>('GET', '/api/user')).passkey, undefined);
    await expectStatus(require(false), 200);
    assert.deepEqual(await operator.call('GET', rule), { required: false });
  });

  it('help a user who has lost everything: their passkeys, codes and confirmed sessions go', async () => {
    const { key } = await addPasskey(ann);
    await ann.call('POST', '/api/recovery-codes');
    const thief = test.client();
    await signInWith(thief, key);
    const confirmed = await byLink('ann@example.com');
    await expectStatus(proveWith(confirmed, key), 204);
    await operator.call('DELETE', `/api/operator/users/${ann.userId}/passkeys`);
    assert.equal((await thief.send('GET', '/api/user')).status, 401);
    await test.store.db.updateTable('projects').set({ passkey_required: 1 }).where('id', '=', ann.projectId).execute();
    await expectStatus(confirmed.send('GET', `/api/tunnels?project=${ann.projectId}`), 403, 'confirmed by the removed passkey');
    await test.store.db.updateTable('projects').set({ passkey_required: 0 }).execute();
    const back = await byLink('ann@example.com');
    assert.deepEqual(await list(back), { passkeys: [], recoveryCodes: 0, required: false });
    await addPasskey(back);
    assert.equal((await operator.send('DELETE', `/api/operator/users/${operator.userId}/passkeys`)).status, 409);
    await test.control.settle();
    assert.match(mailsTo('ann@example.com').join(), /The operator of the service removed all passkeys/);
  });
});
