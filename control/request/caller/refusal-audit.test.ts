// Refusals in the audit log.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { AuditPage } from '@underpass/rules/entity/resource.ts';
import { rateLimits } from '@underpass/rules/limits.ts';
import { addPasskey, createAuthenticator, proveWith, signInWith } from '../../people/passkey/test-kit.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';

let test: TestControl;
let operator: SignedUp;
let count = 0;

before(async () => {
  test = await createTestControl();
  operator = await test.signUp('operator@example.com', { operator: true });
});
after(() => test.close());

const person = (): Promise<SignedUp> => test.signUp(`person-${++count}@example.com`);
const entriesOf = async (who: SignedUp) => (await who.call<AuditPage>('GET', `/api/audit?project=${who.projectId}`)).entries;
const serviceEntries = async (action: string) =>
  (await operator.call<AuditPage>('GET', `/api/operator/audit?action=${action}`)).entries;

describe('a refused change', () => {
  it('of a member is in the log of the project', async () => {
    const [ann, viewer] = [await person(), await person()];
    await test.addMember(ann.projectId, viewer.userId, 'viewer');
    const refused = await viewer.send('POST', `/api/domains?project=${ann.projectId}`, { name: 'a.com' });
    assert.equal(refused.status, 403);
    assert.match(await refused.text(), /Only owners, admins and members may do this\. Ask Ann \(person-\d+@example\.com\)\.$/);
    const [entry] = await entriesOf(ann);
    assert.deepEqual([entry!.actor, entry!.action, entry!.target], [viewer.email, 'call.refuse', 'createDomain']);
    assert.equal(entry!.detail.why, 'Your role in this project does not allow this.');
  });

  it('of an API token says so', async () => {
    const ann = await person();
    const made = await ann.call<{ token: string }>('POST', `/api/tokens?project=${ann.projectId}`, { name: 'ci', role: 'owner' });
    const body = { email: 'x@example.com', role: 'owner' };
    assert.equal((await test.client(made.token).send('POST', `/api/invitations?project=${ann.projectId}`, body)).status, 403);
    const [entry] = await entriesOf(ann);
    assert.deepEqual([entry!.action, entry!.target, entry!.detail.by], ['call.refuse', 'createInvitation', 'api-token']);
  });

  it('of a stranger is in no log of the project', async () => {
    const [ann, stranger] = [await person(), await person()];
    const before = await entriesOf(ann);
    const { token } = await stranger.call<{ token: string }>('POST', `/api/tokens?project=${stranger.projectId}`, {
      name: 'ci',
      role: 'owner',
    });
    const body = { email: 'x@example.com', role: 'owner' };
    for (const who of [stranger, test.client(token)]) await who.send('POST', `/api/invitations?project=${ann.projectId}`, body);
    assert.deepEqual(await entriesOf(ann), before);
    assert.equal((await stranger.send('PATCH', `/api/operator/users/${ann.userId}`, { operator: true })).status, 403);
    const [entry] = await serviceEntries('call.refuse');
    assert.deepEqual([entry!.actor, entry!.target], [stranger.email, 'changeUser']);
  });

  it('is all that is logged: a refused read, a wrong body and a call that must be confirmed leave no row', async () => {
    const [ann, viewer] = [await person(), await person()];
    await test.addMember(ann.projectId, viewer.userId, 'viewer');
    const before = await entriesOf(ann);
    assert.equal((await viewer.send('GET', `/api/audit?project=${ann.projectId}`)).status, 403);
    assert.equal((await ann.send('POST', `/api/domains?project=${ann.projectId}`, { name: 'x' })).status, 400);
    test.time.now += 10 * 60_000;
    const body = { email: 'x@example.com', role: 'member' };
    assert.equal(
      (await ann.send('POST', `/api/invitations?project=${ann.projectId}`, body)).status,
      403,
      'to be confirmed first',
    );
    assert.deepEqual(await entriesOf(ann), before);
  });

  it('is logged a bounded number of times for a caller', async () => {
    const limited = await createTestControl({ limited: true });
    const [ann, viewer] = [await limited.signUp('ann@example.com'), await limited.signUp('bob@example.com')];
    await limited.addMember(ann.projectId, viewer.userId, 'viewer');
    const { points } = rateLimits.refusalInAudit;
    for (let i = 0; i < points + 5; i++) await viewer.send('POST', `/api/domains?project=${ann.projectId}`, { name: 'a.com' });
    const rows = await limited.store.db.selectFrom('audit').select('id').where('action', '=', 'call.refuse').execute();
    assert.equal(rows.length, points);
    await limited.close();
  });
});

describe('a failed sign-in', () => {
  const tryLink = async (token: string): Promise<number> =>
    (await test.client().send('POST', '/auth/login', new URLSearchParams({ token }))).status;
  const linkOf = async ({ email }: SignedUp): Promise<string> =>
    new URL(await test.control.operator.createLoginLink(email)).pathname.split('/').at(-1)!;
  const newest = async () => {
    const [entry] = await serviceEntries('session.refuse');
    return [entry?.actor, entry?.target, entry?.detail.why];
  };

  it('is in the log of the service, with the person if the link is known', async () => {
    const ann = await person();
    const used = await linkOf(ann);
    assert.equal(await tryLink(used), 204);
    assert.equal(await tryLink(used), 401);
    assert.deepEqual(await newest(), ['unknown', ann.email, 'used']);
    const late = await linkOf(ann);
    test.time.now += 15 * 60_000;
    assert.equal(await tryLink(late), 401);
    assert.deepEqual(await newest(), ['unknown', ann.email, 'expired']);
    const barred = await linkOf(ann);
    await test.control.operator.changeUser(ann.userId, { suspended: true });
    assert.equal(await tryLink(barred), 401);
    assert.deepEqual(await newest(), ['unknown', ann.email, 'suspended']);
    assert.equal(await tryLink('x'.repeat(43)), 401);
    assert.deepEqual(await newest(), ['unknown', '', 'unknown link']);
  });

  it('by a passkey is in the log too, and so is a proof that fails', async () => {
    const ann = await person();
    const { key } = await addPasskey(ann);
    await signInWith(test.client(), key, { origin: 'https://evil.example' });
    assert.deepEqual(await newest(), ['unknown', ann.email, 'wrong answer of a passkey']);
    await proveWith(ann, key, { origin: 'https://evil.example' });
    assert.deepEqual(await newest(), [ann.email, ann.email, 'wrong answer of a passkey']);
    await ann.send('POST', '/api/proof/recovery', { recoveryCode: 'BCDFG-HJKLM-NPQRS-TVWXZ' });
    assert.deepEqual(await newest(), [ann.email, ann.email, 'wrong recovery code']);
    await test.control.operator.changeUser(ann.userId, { suspended: true });
    await signInWith(test.client(), key);
    assert.deepEqual(await newest(), ['unknown', ann.email, 'suspended']);
    await signInWith(test.client(), createAuthenticator());
    assert.deepEqual(await newest(), ['unknown', '', 'unknown passkey']);
  });

  it('is logged a bounded number of times for each person, and for all unknown ones together', async () => {
    const limited = await createTestControl({ limited: true });
    const ann = await limited.signUp('ann@example.com');
    const used = new URL(await limited.control.operator.createLoginLink(ann.email)).pathname.split('/').at(-1)!;
    const { points } = rateLimits.refusalInAudit;
    for (let i = 0; i < points + 5; i++) {
      const from = { address: `192.0.2.${i}` };
      for (const token of [used, 'x'.repeat(43)])
        await limited.client(undefined, from.address).send('POST', '/auth/login', new URLSearchParams({ token }));
    }
    const rows = await limited.store.db.selectFrom('audit').select('target').where('action', '=', 'session.refuse').execute();
    assert.equal(rows.filter(({ target }) => target === '').length, points);
    assert.equal(rows.filter(({ target }) => target === ann.email).length, points);
    await limited.close();
  });
});
