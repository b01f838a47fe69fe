// What is tried against invitations of people without an account: each test is an attack, or what an honest person must get.

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Project, Role, User } from '@underpass/rules/entity/entity.ts';
import type { InvitationOffer, OperatorRegistration, OperatorUser } from '@underpass/rules/entity/resource.ts';
import { invitedOnlyMessage } from '@underpass/rules/people/account.ts';
import { invitationRefusals } from '@underpass/rules/people/invitation.ts';
import {
  createTestControl,
  linkIn,
  linkToken,
  rightAnswer,
  type SignedUp,
  type TestClient,
  type TestControl,
} from '../../test-kit.ts';
import { approvedPerOwner } from './invitations.ts';

interface Stage {
  readonly test: TestControl;
  readonly operator: SignedUp;
  readonly ann: SignedUp;
}

async function openStage(t: TestContext, invitationsApprove = true): Promise<Stage> {
  const test = await createTestControl({ settings: { invitationsApprove } });
  t.after(() => test.close());
  return {
    test,
    operator: await test.signUp('operator@example.com', { operator: true }),
    ann: await test.signUp('ann@example.com'),
  };
}

async function invite(
  { test }: Stage,
  who: SignedUp,
  email: string,
  role: Role = 'member',
  project = who.projectId,
): Promise<string> {
  await who.call('POST', `/api/invitations?project=${project}`, { email, role });
  await test.control.settle();
  return linkToken(test.mails, email);
}

async function register({ test }: Stage, email: string, invitation?: string, browser = test.client()): Promise<TestClient> {
  const form = new FormData();
  const fields = { 'first-name': 'Grace', 'last-name': 'Hopper', email, 'accept-terms': 'on', 'bot-check': rightAnswer };
  for (const [name, value] of Object.entries({ ...fields, ...(invitation ? { invitation } : {}) })) form.set(name, value);
  assert.equal((await browser.send('POST', '/auth/register', form)).status, 204);
  await test.control.settle();
  return browser;
}

async function signInByMail({ test }: Stage, email: string, browser: TestClient): Promise<TestClient> {
  const token = linkToken(test.mails, email);
  assert.deepEqual(await browser.call('POST', '/auth/link', new URLSearchParams({ token })), { sameBrowser: true, usable: true });
  await browser.call('POST', '/auth/login', new URLSearchParams({ token }));
  return browser;
}

const check = (who: TestClient, token: string) => who.send('POST', '/api/invitations/check', { token });
const offerOf = async (who: TestClient, token: string) => (await (await check(who, token)).json()) as InvitationOffer;
const accept = (who: TestClient, token: string) => who.call<Project>('POST', '/api/invitations/accept', { token });
const hasAccount = async ({ test }: Stage, email: string) =>
  (await test.store.db.selectFrom('users').select('id').where('email', '=', email).executeTakeFirst()) !== undefined;
const waiting = async ({ operator }: Stage) =>
  (await operator.call<OperatorRegistration[]>('GET', '/api/operator/registrations?state=waiting')).map(
    ({ email, invitations }) => [email, invitations] as const,
  );
const mailsTo = ({ test }: Stage, email: string) => test.mails.filter(({ to }) => to === email).map(({ subject }) => subject);

const grace = 'grace@example.com';

describe('an invitation approves the account, if the operator set it so:', () => {
  it('the person registers, signs in by one mail in the same browser, and joins; nothing waits for an operator', async (t) => {
    const stage = await openStage(t);
    const token = await invite(stage, stage.ann, grace);
    const browser = stage.test.client();
    assert.deepEqual(await offerOf(browser, token), {
      ...{ projectName: 'default', invitedBy: 'ann@example.com', role: 'member', email: grace },
      ...{ inviterName: 'Ann Lee', approves: true },
    });
    await register(stage, grace, token, browser);
    assert.deepEqual(await waiting(stage), []);
    await signInByMail(stage, grace, browser);
    assert.deepEqual(await browser.call('GET', '/api/projects'), []);
    const project = await accept(browser, token);
    assert.deepEqual(await browser.call('GET', '/api/projects'), [project]);
    assert.deepEqual(mailsTo(stage, grace), ['Join a project on Underpass', 'Your Underpass login link']);
    const rows = await stage.test.store.db.selectFrom('audit').selectAll().where('action', '=', 'registration.approve').execute();
    assert.deepEqual(
      rows.map(({ actor, target, project_id, detail }) => [actor, target, project_id, detail]),
      [['ann@example.com', grace, stage.ann.projectId, '{"by":"invitation"}']],
    );
  });

  it('the account makes no project until an operator allows it', async (t) => {
    const stage = await openStage(t);
    const browser = await register(stage, grace, await invite(stage, stage.ann, grace));
    await signInByMail(stage, grace, browser);
    assert.equal((await browser.call<User>('GET', '/api/user')).invited, true);
    const refused = await browser.send('POST', '/api/projects', { name: 'Mine' });
    assert.deepEqual([refused.status, await refused.text()], [403, invitedOnlyMessage]);
    const [user] = await stage.operator.call<OperatorUser[]>('GET', `/api/operator/users?q=${grace}`);
    assert.equal(user!.invitedBy, 'ann@example.com');
    await stage.operator.call('PATCH', `/api/operator/users/${user!.id}`, { ownProjects: true });
    assert.equal((await browser.call<User>('GET', '/api/user')).invited, undefined);
    await browser.call('POST', '/api/projects', { name: 'Mine' });
  });

  it('the account lets nobody else in, even as an owner of the project', async (t) => {
    const stage = await openStage(t);
    const token = await invite(stage, stage.ann, grace, 'owner');
    const browser = await register(stage, grace, token);
    await signInByMail(stage, grace, browser);
    const { id } = await accept(browser, token);
    const next = await invite(stage, { ...browser, email: grace, userId: '', projectId: id }, 'next@example.com');
    assert.deepEqual(((await offerOf(stage.test.client(), next)) as { approves: boolean }).approves, false);
    await register(stage, 'next@example.com', next);
    assert.equal(await hasAccount(stage, 'next@example.com'), false);
    assert.equal((await waiting(stage)).length, 1);
  });

  it('a person who has an account already gets a login link instead', async (t) => {
    const stage = await openStage(t);
    const bob = await stage.test.signUp('bob@example.com');
    const token = await invite(stage, stage.ann, bob.email);
    const browser = await register(stage, bob.email, token);
    await signInByMail(stage, bob.email, browser);
    assert.equal((await browser.call<User>('GET', '/api/user')).invited, undefined);
    await accept(browser, token);
  });

  const denied: readonly [name: string, prepare: (stage: Stage, token: string) => Promise<unknown>][] = [
    ['withdrawn', ({ ann, test }) => withdrawAll(ann, test)],
    ['expired', async ({ test }) => (test.time.now += 7 * 24 * 3600_000)],
    ['by a person who is suspended', ({ ann, test }) => test.control.operator.changeUser(ann.userId, { suspended: true })],
    [
      'to a project that is suspended',
      ({ ann, test }) => test.control.operator.changeProject(ann.projectId, { suspended: true }),
    ],
    [
      'by a member who no longer owns the project',
      async ({ ann, test }) => {
        await test.addMember(ann.projectId, (await test.signUp('other@example.com')).userId, 'owner');
        const change = test.store.db.updateTable('members').set({ role: 'admin' }).where('user_id', '=', ann.userId);
        await change.execute();
      },
    ],
    [
      'for an e-mail that an operator has rejected, also after it registered again',
      async (stage) => {
        await register(stage, grace);
        await stage.test.control.operator.reject(await stage.test.control.operator.findRegistration(grace));
        await register(stage, grace);
      },
    ],
    [
      `by an owner who has let in ${approvedPerOwner} people`,
      async ({ ann, test }) => {
        for (let i = 0; i < approvedPerOwner; i++) {
          const { userId } = await test.signUp(`let-in-${i}@example.com`);
          await test.store.db.updateTable('users').set({ invited_by: ann.email }).where('id', '=', userId).execute();
        }
      },
    ],
  ];
  for (const [name, prepare] of denied)
    it(`not if it is ${name}`, async (t) => {
      const stage = await openStage(t);
      const token = await invite(stage, stage.ann, grace);
      await prepare(stage, token);
      await register(stage, grace, token);
      assert.equal(await hasAccount(stage, grace), false);
      const registrations = await stage.test.control.operator.listRegistrations({ state: 'waiting' });
      assert.deepEqual(
        registrations.map(({ email }) => email),
        [grace],
      );
    });

  it('not if it ended after the form was sent, before the account was made', async (t) => {
    const stage = await openStage(t);
    const token = await invite(stage, stage.ann, grace);
    const form = new FormData();
    const fields = { 'first-name': 'Grace', 'last-name': 'Hopper', email: grace, 'accept-terms': 'on', 'bot-check': rightAnswer };
    for (const [name, value] of Object.entries({ ...fields, invitation: token })) form.set(name, value);
    await stage.test.client().send('POST', '/auth/register', form);
    await stage.test.store.db.deleteFrom('invitations').execute();
    await stage.test.control.settle();
    assert.equal(await hasAccount(stage, grace), false);
  });

  it('not by an admin', async (t) => {
    const stage = await openStage(t);
    const admin = await stage.test.signUp('admin@example.com');
    await stage.test.addMember(stage.ann.projectId, admin.userId, 'admin');
    const token = await invite(stage, admin, grace, 'member', stage.ann.projectId);
    await register(stage, grace, token);
    assert.equal(await hasAccount(stage, grace), false);
  });

  it('not for whom it was forwarded to: their own address waits, and the invited address gets the mail', async (t) => {
    const stage = await openStage(t);
    const token = await invite(stage, stage.ann, grace);
    await register(stage, 'mallory@example.com', token);
    assert.equal(await hasAccount(stage, 'mallory@example.com'), false);
    const mallory = await register(stage, grace, token);
    assert.equal(mailsTo(stage, grace).at(-1), 'Your Underpass login link');
    assert.ok(!mailsTo(stage, 'mallory@example.com').includes('Your Underpass login link'));
    assert.equal((await mallory.send('POST', '/api/invitations/accept', { token })).status, 401);
  });

  it('not for a stranger who only knows that an address is invited', async (t) => {
    const stage = await openStage(t);
    await invite(stage, stage.ann, grace);
    await register(stage, grace);
    await register(stage, grace, 'x'.repeat(43));
    assert.equal(await hasAccount(stage, grace), false);
    assert.equal((await waiting(stage)).length, 1);
  });

  it('and stays limited if the owner who invited it deletes their account', async (t) => {
    const stage = await openStage(t);
    const browser = await register(stage, grace, await invite(stage, stage.ann, grace));
    await signInByMail(stage, grace, browser);
    await stage.test.control.operator.deleteUser(stage.ann.userId);
    assert.equal((await browser.send('POST', '/api/projects', { name: 'Mine' })).status, 403);
  });
});

async function withdrawAll(ann: SignedUp, { store }: TestControl): Promise<void> {
  for (const { id } of await store.db.selectFrom('invitations').select('id').execute())
    await ann.call('DELETE', `/api/invitations/${id}?project=${ann.projectId}`);
}

describe('without the setting', () => {
  it('an operator approves, sees who invites the person to what, and the mail then has a link to join in one step', async (t) => {
    const stage = await openStage(t, false);
    const token = await invite(stage, stage.ann, grace);
    assert.match(stage.test.mails.findLast(({ to }) => to === grace)!.text, /An operator must approve it first/);
    assert.equal(((await offerOf(stage.test.client(), token)) as { approves: boolean }).approves, false);
    await register(stage, grace, token);
    assert.equal(await hasAccount(stage, grace), false);
    assert.deepEqual(await waiting(stage), [[grace, [{ invitedBy: 'ann@example.com', projectName: 'default' }]]]);
    assert.match(stage.test.mails.findLast(({ to }) => to === 'operator@example.com')!.text, /Invited by ann@example\.com\./);
    // The operator takes almost as long as an invitation lasts; registering and the approval each begin it again.
    stage.test.time.now += 6 * 24 * 3600_000;
    await stage.test.control.operator.approve(await stage.test.control.operator.findRegistration(grace));
    await stage.test.control.settle();
    stage.test.time.now += 6 * 24 * 3600_000;
    const mail = stage.test.mails.findLast(({ to }) => to === grace)!;
    assert.equal(mail.subject, 'Welcome to Underpass');
    const link = /http\S+\/invitations\/(\S+)/.exec(mail.text)![1]!;
    assert.equal(link, token, 'a browser that kept the first link can use it, too');
    const browser = stage.test.client();
    const url = new URL(await stage.test.control.operator.createLoginLink(grace));
    await browser.call('POST', '/auth/login', new URLSearchParams({ token: url.pathname.split('/').at(-1)! }));
    await accept(browser, link);
    const names = (await browser.call<Project[]>('GET', '/api/projects')).map(({ name }) => name);
    assert.deepEqual(names.toSorted(), ['Grace Hopper', 'default']);
  });

  it('an invited person who asks to sign in without an account gets a mail that says what to do; others get none', async (t) => {
    const stage = await openStage(t, false);
    await invite(stage, stage.ann, grace);
    for (const email of [grace, 'nobody@example.com']) {
      const form = new FormData();
      for (const [name, value] of Object.entries({ email, 'bot-check': rightAnswer })) form.set(name, value);
      assert.equal((await stage.test.client().send('POST', '/auth/magiclink', form)).status, 204);
    }
    await stage.test.control.settle();
    assert.equal(mailsTo(stage, grace).at(-1), 'You have no Underpass account yet');
    assert.deepEqual(mailsTo(stage, 'nobody@example.com'), []);
  });
});

describe('the link of an invitation', () => {
  it('tells a browser without a session nothing unless the whole secret is right and open', async (t) => {
    const stage = await openStage(t);
    const token = await invite(stage, stage.ann, grace);
    const other = token.startsWith('A') ? 'B' : 'A';
    const answers = await Promise.all(
      ['', 'x', token.slice(1), other + token.slice(1), `${token}A`, 'x'.repeat(10_000)].map(async (wrong) => {
        const answer = await check(stage.test.client(), wrong);
        return [answer.status, await answer.text()].join();
      }),
    );
    assert.deepEqual(new Set(answers), new Set([`400,${invitationRefusals.unknown}`]));
  });

  it('says the same to whom has an account and to whom has none', async (t) => {
    const stage = await openStage(t);
    const token = await invite(stage, stage.ann, grace);
    const before = await offerOf(stage.test.client(), token);
    await stage.test.signUp(grace);
    assert.deepEqual(await offerOf(stage.test.client(), token), before);
  });

  it('is none of the business of another account, or of a program', async (t) => {
    const stage = await openStage(t);
    const mallory = await stage.test.signUp('mallory@example.com');
    const bob = await stage.test.signUp('bob@example.com');
    const token = await invite(stage, stage.ann, bob.email);
    assert.equal((await check(mallory, token)).status, 400);
    const made = await bob.call<{ token: string }>('POST', `/api/tokens?project=${bob.projectId}`, {
      name: 'ci',
      role: 'viewer',
    });
    assert.equal((await check(stage.test.client(made.token), token)).status, 400);
  });

  it('leads the member who used it to the project, and nobody else, nor a member who was removed', async (t) => {
    const stage = await openStage(t);
    const bob = await stage.test.signUp('bob@example.com');
    const token = await invite(stage, stage.ann, bob.email);
    await accept(bob, token);
    assert.deepEqual(await offerOf(bob, token), { joined: stage.ann.projectId });
    assert.equal((await check(stage.ann, token)).status, 400);
    assert.equal((await check(stage.test.client(), token)).status, 400);
    assert.equal((await bob.send('POST', '/api/invitations/accept', { token })).status, 400, 'it is accepted once');
    await stage.ann.call('DELETE', `/api/members/${bob.userId}?project=${stage.ann.projectId}`);
    assert.equal((await check(bob, token)).status, 400);
    assert.equal(linkIn(stage.test.mails, bob.email).origin, 'http://localhost:8400');
  });

  it('says why it opens nothing, and hides that its sender was suspended', async (t) => {
    const stage = await openStage(t);
    const { test, ann } = stage;
    const bob = await test.signUp('bob@example.com');
    const reasonOf = async (who: TestClient, link: string) => {
      const text = await (await check(who, link)).text();
      return Object.entries(invitationRefusals).find(([, each]) => each === text)?.[0];
    };
    const token = await invite(stage, ann, bob.email);
    assert.equal(await reasonOf(ann, token), 'otherAddress');
    await accept(bob, token);
    assert.deepEqual([await reasonOf(ann, token), await reasonOf(test.client(), token)], ['used', 'used']);
    await ann.call('DELETE', `/api/members/${bob.userId}?project=${ann.projectId}`);
    assert.equal(await reasonOf(bob, token), 'left');
    const next = await invite(stage, ann, bob.email);
    await test.store.db.updateTable('invitations').set({ expires_at: 1 }).execute();
    assert.deepEqual([await reasonOf(bob, next), await reasonOf(test.client(), next)], ['expired', 'expired']);
    const newest = await invite(stage, ann, bob.email);
    assert.deepEqual([await reasonOf(bob, next), await reasonOf(bob, newest)], ['unknown', undefined], 'a newer one replaces it');
    await test.control.operator.changeUser(ann.userId, { suspended: true });
    assert.equal(await reasonOf(bob, newest), 'unknown');
    assert.equal(await reasonOf(bob, 'not-a-token'), 'unknown');
  });
});
