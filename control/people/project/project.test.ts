// Projects, members and invitations by their calls (spec 6).

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Project, Role } from '@underpass/rules/entity/entity.ts';
import type { Invitation, Member } from '@underpass/rules/entity/resource.ts';
import { invitationRefusals } from '@underpass/rules/people/invitation.ts';
import { forbiddenMessage, lastOwnerMessage } from '@underpass/rules/people/permission.ts';
import { openSqliteStore } from '../../platform/store/sqlite.ts';
import {
  createTestControl,
  linkIn,
  linkToken,
  type SignedUp,
  type TestClient,
  type TestControl,
  testOrigin,
} from '../../test-kit.ts';

let test: TestControl;
let count = 0;

before(async () => {
  test = await createTestControl();
  await test.signUp('operator@example.com', { operator: true });
});
after(() => test.close());

const person = (): Promise<SignedUp> => test.signUp(`person-${++count}@example.com`);
const refusal = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];

async function join(owner: SignedUp, role: Role): Promise<SignedUp> {
  const member = await person();
  await test.addMember(owner.projectId, member.userId, role);
  return member;
}
const changeRole = (who: SignedUp, owner: SignedUp, member: SignedUp, role: string): Promise<Response> =>
  who.send('PATCH', `/api/members/${member.userId}?project=${owner.projectId}`, { role });
const remove = (who: SignedUp, owner: SignedUp, member: SignedUp): Promise<Response> =>
  who.send('DELETE', `/api/members/${member.userId}?project=${owner.projectId}`);
async function rolesIn(owner: SignedUp): Promise<Record<string, Role>> {
  const rows = await test.store.db.selectFrom('members').selectAll().where('project_id', '=', owner.projectId).execute();
  return Object.fromEntries(rows.map((row) => [row.user_id, row.role]));
}

describe('projects', () => {
  it('are created with an owner and a default group, listed, and renamed only by owners', async () => {
    const ann = await person();
    const made = await ann.call<Project>('POST', '/api/projects', { name: ' Second ' });
    assert.deepEqual(made, { id: made.id, name: 'Second', role: 'owner' });
    assert.deepEqual(
      (await ann.call<Project[]>('GET', '/api/projects')).map((each) => each.name),
      ['default', 'Second'],
    );
    assert.equal((await ann.call<unknown[]>('GET', `/api/security-groups?project=${made.id}`)).length, 1);
    const admin = await join(ann, 'admin');
    assert.equal((await admin.send('PATCH', `/api/projects/${ann.projectId}`, { name: 'Mine' })).status, 403);
    assert.equal((await ann.call<Project>('PATCH', `/api/projects/${ann.projectId}`, { name: 'Renamed' })).name, 'Renamed');
  });

  it('are refused without a name, with an invisible one, and beyond 20 for one owner', async () => {
    const ann = await person();
    for (const name of ['', '  ', 'a\nb', 'x\u202ey', 'a'.repeat(64)]) {
      assert.equal((await ann.send('POST', '/api/projects', { name })).status, 400, JSON.stringify(name));
    }
    const statuses = await Promise.all(
      Array.from({ length: 25 }, async () => (await ann.send('POST', '/api/projects', { name: 'p' })).status),
    );
    assert.equal(statuses.filter((status) => status === 200).length, 19);
  });

  it('are deleted with their certificates, but not those of another project that serves the same host', async () => {
    const [ann, mallory] = [await person(), await person()];
    const body = { name: 'web', region: 'local', ingressDomains: ['www.hoped-for.com'] };
    for (const who of [mallory, ann]) await who.call('POST', `/api/tunnels?project=${who.projectId}`, body);
    test.dns.proofs.set('hoped-for.com', 'found');
    await ann.call('POST', `/api/domains/hoped-for.com/verify?project=${ann.projectId}`);
    const sealed = { hosts: '["www.hoped-for.com"]', chain_pem: '', key_sealed: '', issuer: 'test' };
    const times = { starts_at: 0, expires_at: test.time.now + 1, created_at: 0 };
    const row = { id: 'c1', name: 'www.hoped-for.com', ...sealed, ...times };
    await test.store.db.insertInto('certificates').values(row).execute();
    const held = () => test.store.db.selectFrom('certificates').select('id').execute();
    await mallory.call('DELETE', `/api/projects/${mallory.projectId}`, { name: 'default' });
    assert.equal((await held()).length, 1);
    await ann.call('DELETE', `/api/projects/${ann.projectId}`, { name: 'default' });
    assert.equal((await held()).length, 0);
  });
});

describe('members', () => {
  it('are listed to every member, with a mark on the caller', async () => {
    const ann = await person();
    const viewer = await join(ann, 'viewer');
    const members = await viewer.call<Member[]>('GET', `/api/members?project=${ann.projectId}`);
    assert.deepEqual(
      members.map(({ email, role, isSelf }) => [email, role, isSelf]),
      [
        [ann.email, 'owner', false],
        [viewer.email, 'viewer', true],
      ],
    );
  });

  it('have a new role from the next call on', async () => {
    const ann = await person();
    const member = await join(ann, 'member');
    assert.equal((await changeRole(ann, ann, member, 'viewer')).status, 200);
    const body = { name: 'no', region: 'local' };
    assert.equal((await member.send('POST', `/api/tunnels?project=${ann.projectId}`, body)).status, 403);
  });

  for (const [actor, from, to, allowed] of [
    ['owner', 'viewer', 'owner', true],
    ['owner', 'owner', 'viewer', true],
    ['admin', 'viewer', 'admin', true],
    ['admin', 'member', 'viewer', true],
    ['admin', 'viewer', 'owner', false],
    ['admin', 'owner', 'viewer', false],
    ['member', 'viewer', 'member', false],
    ['viewer', 'viewer', 'member', false],
  ] as const) {
    it(`${actor}: ${from} to ${to} ${allowed ? 'is' : 'is not'} allowed`, async () => {
      const ann = await person();
      const [who, whom] = [await join(ann, actor), await join(ann, from)];
      const response = await changeRole(who, ann, whom, to);
      if (!allowed) assert.deepEqual(await refusal(response), [403, forbiddenMessage]);
      assert.equal((await rolesIn(ann))[whom.userId], allowed ? to : from);
    });
  }

  it('may leave or lower their own role, but not raise it', async () => {
    const ann = await person();
    const [viewer, admin] = [await join(ann, 'viewer'), await join(ann, 'admin')];
    assert.equal((await changeRole(viewer, ann, viewer, 'owner')).status, 403);
    assert.equal((await changeRole(admin, ann, admin, 'member')).status, 200);
    assert.equal((await remove(viewer, ann, viewer)).status, 204);
    assert.equal((await viewer.send('GET', `/api/tunnels?project=${ann.projectId}`)).status, 404);
  });

  it('keep the last owner, who may neither leave nor step down, nor may the last two at the same moment', async () => {
    const ann = await person();
    assert.deepEqual(await refusal(await remove(ann, ann, ann)), [409, lastOwnerMessage]);
    assert.deepEqual(await refusal(await changeRole(ann, ann, ann, 'admin')), [409, lastOwnerMessage]);
    const second = await join(ann, 'owner');
    const answers = await Promise.all([
      remove(ann, ann, second),
      remove(second, ann, ann),
      changeRole(ann, ann, ann, 'viewer'),
      remove(second, ann, second),
    ]);
    assert.ok(answers.some((each) => each.ok));
    assert.ok(Object.values(await rolesIn(ann)).includes('owner'));
  });

  it('lose their API tokens when they are removed', async () => {
    const ann = await person();
    const member = await join(ann, 'member');
    const { token } = await member.call<{ token: string }>('POST', `/api/tokens?project=${ann.projectId}`, {
      name: 'ci',
      role: 'member',
    });
    const program = test.client(token);
    assert.equal((await program.send('GET', `/api/tunnels?project=${ann.projectId}`)).status, 200);
    await remove(ann, ann, member);
    assert.equal((await program.send('GET', `/api/tunnels?project=${ann.projectId}`)).status, 401);
  });

  it('are not removed by their own API token with a lower role, and lowered by none', async () => {
    const ann = await person();
    const owner = await join(ann, 'owner');
    for (const role of ['viewer', 'admin']) {
      const { token } = await owner.call<{ token: string }>('POST', `/api/tokens?project=${ann.projectId}`, { name: role, role });
      const path = `/api/members/${owner.userId}?project=${ann.projectId}`;
      assert.equal((await test.client(token).send('PATCH', path, { role: 'viewer' })).status, 403);
      assert.deepEqual(await refusal(await test.client(token).send('DELETE', path)), [403, forbiddenMessage]);
    }
    assert.equal((await rolesIn(ann))[owner.userId], 'owner');
  });

  it('are refused with an unknown id or role', async () => {
    const ann = await person();
    const stranger = await person();
    assert.deepEqual(await refusal(await changeRole(ann, ann, stranger, 'viewer')), [404, 'Member not found']);
    assert.equal((await changeRole(ann, ann, ann, 'god')).status, 400);
  });
});

describe('invitations of a suspended person', () => {
  const suspend = (who: SignedUp, suspended: boolean) => test.control.operator.changeUser(who.userId, { suspended });

  it('are void until the suspension is lifted', async () => {
    const [inviter, guest] = [await person(), await person()];
    const path = `/api/invitations?project=${inviter.projectId}`;
    await inviter.call('POST', path, { email: guest.email, role: 'owner' });
    await test.control.settle();
    const token = linkToken(test.mails, guest.email);
    await suspend(inviter, true);
    for (const call of ['check', 'accept'])
      assert.equal((await guest.send('POST', `/api/invitations/${call}`, { token })).status, 400, call);
    await suspend(inviter, false);
    await guest.call('POST', '/api/invitations/check', { token });
    await guest.call('POST', '/api/invitations/accept', { token });
  });

  it('are not mailed', async () => {
    const inviter = await person();
    const path = `/api/invitations?project=${inviter.projectId}`;
    await inviter.call('POST', path, { email: 'nobody-yet@example.com', role: 'owner' });
    await suspend(inviter, true);
    await test.control.settle();
    assert.ok(!test.mails.some(({ to }) => to === 'nobody-yet@example.com'));
  });
});

describe('invitations', () => {
  const invite = (who: SignedUp, owner: SignedUp, email: string, role: Role = 'member'): Promise<Response> =>
    who.send('POST', `/api/invitations?project=${owner.projectId}`, { email, role });
  const listOf = (owner: SignedUp): Promise<Invitation[]> => owner.call('GET', `/api/invitations?project=${owner.projectId}`);
  const accept = (who: SignedUp, token: string): Promise<Response> => who.send('POST', '/api/invitations/accept', { token });
  const mailedToken = async (email: string): Promise<string> => {
    await test.control.settle();
    return linkToken(test.mails, email);
  };

  it('are mailed with a link of the configured origin, and accepted once by the user whom they name', async () => {
    const [ann, bob] = [await person(), await person()];
    assert.equal((await invite(ann, ann, bob.email.toUpperCase())).status, 200);
    const token = await mailedToken(bob.email);
    assert.equal(linkIn(test.mails, bob.email).origin, 'http://localhost:8400');
    const project = (await (await accept(bob, token)).json()) as Project;
    assert.deepEqual(project, { id: ann.projectId, name: 'default', role: 'member' });
    assert.equal((await accept(bob, token)).status, 400);
    assert.deepEqual(await listOf(ann), []);
  });

  it('do not work for another user, after 7 days, or once withdrawn', async () => {
    const [ann, bob, mallory] = [await person(), await person(), await person()];
    await invite(ann, ann, bob.email);
    const token = await mailedToken(bob.email);
    assert.equal((await accept(mallory, token)).status, 400);
    assert.equal((await accept(bob, token.slice(1))).status, 400);
    const [invitation] = await listOf(ann);
    await ann.call('DELETE', `/api/invitations/${invitation!.id}?project=${ann.projectId}`);
    assert.equal((await accept(bob, token)).status, 400);
    await invite(ann, ann, bob.email);
    const late = await mailedToken(bob.email);
    test.time.now += 7 * 24 * 3600_000;
    assert.deepEqual(await listOf(ann), []);
    assert.equal((await accept(bob, late)).status, 400);
  });

  it('end when the inviter loses the right to invite, so a removed member cannot come back through one', async () => {
    const ann = await person();
    for (const lose of [remove, (who: SignedUp, in_: SignedUp, whom: SignedUp) => changeRole(who, in_, whom, 'member')]) {
      const [admin, other] = [await join(ann, 'admin'), await person()];
      await invite(admin, ann, other.email, 'admin');
      const token = await mailedToken(other.email);
      assert.ok((await lose(ann, ann, admin)).ok);
      assert.equal((await accept(other, token)).status, 400);
    }
    const [owner, viewer] = [await join(ann, 'owner'), await person()];
    await invite(owner, ann, viewer.email, 'viewer');
    assert.ok((await changeRole(ann, ann, owner, 'admin')).ok);
    assert.equal((await accept(viewer, await mailedToken(viewer.email))).status, 200);
  });

  it('and domains are refused if the caller was removed, or the token revoked, while the body arrived', async () => {
    const ann = await person();
    const [admin, other] = [await join(ann, 'admin'), await join(ann, 'admin')];
    const made = await other.call<{ id: string; token: string }>('POST', `/api/tokens?project=${ann.projectId}`, {
      name: 'ci',
      role: 'admin',
    });
    const cookie = [...admin.cookies].map((pair) => pair.join('=')).join('; ');
    const late: readonly [string, object, Record<string, string>, () => Promise<Response>, number][] = [
      [
        'invitations',
        { email: 'late@example.com', role: 'admin' },
        { cookie, 'sec-fetch-site': 'same-origin' },
        () => remove(ann, ann, admin),
        404,
      ],
      [
        'domains',
        { name: 'late.example' },
        { authorization: `Bearer ${made.token}` },
        () => ann.send('DELETE', `/api/tokens/${made.id}?project=${ann.projectId}`),
        401,
      ],
    ];
    for (const [things, change, identity, revoke, status] of late) {
      const pull = async (controller: ReadableStreamDefaultController) => {
        assert.equal((await revoke()).status, 204);
        controller.enqueue(new TextEncoder().encode(JSON.stringify(change)));
        controller.close();
      };
      const body = new ReadableStream({ pull }, { highWaterMark: 0 });
      const headers = { ...identity, 'content-type': 'application/json' };
      const url = `${testOrigin}/api/${things}?project=${ann.projectId}`;
      const answer = await test.control.fetch(new Request(url, { method: 'POST', headers, body, duplex: 'half' }));
      assert.equal(answer.status, status, await answer.text());
    }
    assert.deepEqual(await listOf(ann), []);
  });

  it('cannot give a role above the inviter’s own', async () => {
    const ann = await person();
    const admin = await join(ann, 'admin');
    assert.deepEqual(await refusal(await invite(admin, ann, 'x@example.com', 'owner')), [403, forbiddenMessage]);
    assert.equal((await invite(admin, ann, 'x@example.com', 'admin')).status, 200);
  });

  it('replace an earlier one, never lower a member, and are refused for a member', async () => {
    const [ann, bob] = [await person(), await person()];
    await invite(ann, ann, bob.email, 'viewer');
    const first = await mailedToken(bob.email);
    await invite(ann, ann, bob.email, 'admin');
    assert.equal((await listOf(ann)).length, 1);
    assert.equal((await accept(bob, first)).status, 400);
    assert.equal(((await (await accept(bob, await mailedToken(bob.email))).json()) as Project).role, 'admin');
    assert.deepEqual(await refusal(await invite(ann, ann, bob.email)), [409, `${bob.email} is already a member`]);
  });

  it('store no token, and do not reveal who has an account', async () => {
    const [ann, bob] = [await person(), await person()];
    const answers = await Promise.all([invite(ann, ann, bob.email), invite(ann, ann, 'nobody-at-all@example.com')]);
    const shapes = await Promise.all(answers.map(async (each) => Object.keys((await each.json()) as object)));
    assert.deepEqual(shapes[0], shapes[1]);
    const token = await mailedToken(bob.email);
    const rows = JSON.stringify(await test.store.db.selectFrom('invitations').selectAll().execute());
    assert.ok(!rows.includes(token));
  });

  it('show the project and the inviter only to the user whom they name, and to a browser without a session', async () => {
    const [ann, bob, mallory] = [await person(), await person(), await person()];
    await ann.call('PATCH', `/api/projects/${ann.projectId}`, { name: 'Secret plans' });
    await invite(ann, ann, bob.email, 'viewer');
    const token = await mailedToken(bob.email);
    const check = (who: TestClient, text: string) => who.send('POST', '/api/invitations/check', { token: text });
    for (let times = 0; times < 2; times++) {
      const offer = await (await check(bob, token)).json();
      const inviter = { invitedBy: ann.email, inviterName: 'Ann Lee' };
      const expected = { projectName: 'Secret plans', ...inviter, role: 'viewer', email: bob.email, approves: false };
      assert.deepEqual(offer, expected);
    }
    assert.deepEqual(await refusal(await check(bob, 'x'.repeat(43))), [400, invitationRefusals.unknown]);
    assert.deepEqual(await refusal(await check(mallory, token)), [400, invitationRefusals.otherAddress]);
    assert.equal((await check(test.client(), token)).status, 200);
    assert.equal((await accept(bob, token)).status, 200, 'asking used nothing up');
    assert.deepEqual(await (await check(bob, token)).json(), { joined: ann.projectId });
    await invite(ann, ann, mallory.email);
    const late = await mailedToken(mallory.email);
    test.time.now += 7 * 24 * 3600_000;
    assert.deepEqual(await refusal(await check(mallory, late)), [400, invitationRefusals.expired]);
  });

  it('by one person stop at 100 a day, over all projects, also those that were deleted', async () => {
    const limited = await createTestControl({ limited: true });
    const [owner, other] = [await limited.signUp('owner@example.com'), await limited.signUp('other@example.com')];
    const statuses: number[] = [];
    for (let round = 0; round < 3; round++) {
      const { id } = await owner.call<{ id: string }>('POST', '/api/projects', { name: `round-${round}` });
      for (let i = 0; i < 40; i++) {
        const body = { email: `person-${round}-${i}@example.com`, role: 'viewer' };
        statuses.push((await owner.send('POST', `/api/invitations?project=${id}`, body)).status);
      }
      await owner.call('DELETE', `/api/projects/${id}`, { name: `round-${round}` });
    }
    assert.deepEqual(statuses, [...Array(100).fill(200), ...Array(20).fill(429)]);
    assert.equal((await invite(other, other, 'person@example.com')).status, 200);
    await limited.close();
  });

  it('to one e-mail stop at 5 a day for each person who invites, so nobody keeps another from inviting it', async () => {
    const limited = await createTestControl({ limited: true });
    const statuses: number[] = [];
    for (let project = 0; project < 2; project++) {
      const owner = await limited.signUp(`owner-${project}@example.com`);
      for (let times = 0; times < 6; times++) statuses.push((await invite(owner, owner, 'victim@example.com')).status);
    }
    assert.deepEqual(statuses, [...Array(5).fill(200), 429, ...Array(5).fill(200), 429]);
    await limited.close();
  });

  it('refuse e-mails that would inject recipients or markup', async () => {
    const ann = await person();
    for (const email of ['x@example.com\r\nBcc: evil@example.com', 'x@example.com,evil@example.com', '<script>@example.com']) {
      assert.equal((await invite(ann, ann, email)).status, 400);
    }
  });
});

describe('an account that is deleted while its call runs', () => {
  it('gets an answer that says so, and nothing is made', async () => {
    const store = await openSqliteStore(':memory:');
    let meanwhile = async (): Promise<unknown> => undefined;
    const test = await createTestControl({
      store: {
        ...store,
        write: async (body) => {
          await meanwhile();
          return store.write(body);
        },
      },
    });
    const statusOf = async (email: string, path: string, body: object): Promise<number> => {
      const who = await test.signUp(email);
      meanwhile = () => store.db.deleteFrom('users').where('email', '=', email).execute();
      const { status } = await who.send('POST', path.replace('PROJECT', who.projectId), body);
      meanwhile = async () => undefined;
      return status;
    };
    assert.equal(await statusOf('gone@example.com', '/api/projects', { name: 'Late' }), 401);
    const token = { name: 'ci', role: 'viewer', expiresInDays: 9 };
    assert.ok([401, 404, 409].includes(await statusOf('left@example.com', '/api/tokens?project=PROJECT', token)));
    await test.close();
    await store.close();
  });
});
