// Tests every call of the table with every kind of caller.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Call } from '@underpass/rules/api/call.ts';
import { type CallName, calls } from '@underpass/rules/api/calls.ts';
import { queryShapeOf } from '@underpass/rules/api/schemas.ts';
import type { Role } from '@underpass/rules/entity/entity.ts';
import { durations } from '@underpass/rules/limits.ts';
import { type Action, may, permissions, roles } from '@underpass/rules/people/permission.ts';
import { createTestControl, type SignedUp, type TestClient, type TestControl } from '../test-kit.ts';
import { callsOfInvited, prepareCall, sendCall, type World } from './test-kit-calls.ts';

const names = Object.keys(calls) as CallName[];
const rowOf = (name: CallName): Call => calls[name];
const isAction = (who: Call['who']): who is Action => Object.hasOwn(permissions, who);

let test: TestControl;
let operator: SignedUp;
let count = 0;

before(async () => {
  test = await createTestControl();
  operator = await test.signUp('operator@example.com', { operator: true });
});
after(() => test.close());

function makeStale({ userId }: SignedUp) {
  const longAgo = test.time.now - durations.proofMinutes * 60_000;
  return test.store.db.updateTable('sessions').set({ proven_at: longAgo }).where('user_id', '=', userId).execute();
}

const nextEmail = (): string => `person-${++count}@example.com`;

/** A new project for each pair of call and caller, so that no test sees what another left. */
async function createWorld(): Promise<World> {
  // The test makes more calls than the rate limits allow in a minute.
  test.time.now += 60_000;
  await test.makeFresh(operator);
  return { test, owner: await test.signUp(nextEmail()), operator };
}

async function memberWith({ owner }: World, role: Role): Promise<SignedUp> {
  const member = await test.signUp(nextEmail());
  await test.addMember(owner.projectId, member.userId, role);
  return member;
}

async function tokenWith(world: World, role: Role): Promise<TestClient> {
  const body = { name: 'ci', role };
  const { token } = await world.owner.call<{ token: string }>('POST', `/api/tokens?project=${world.owner.projectId}`, body);
  return test.client(token);
}

async function statusFor(world: World, caller: TestClient, name: CallName): Promise<number> {
  const prepared = await prepareCall[name](world, caller);
  const response = await sendCall(caller, name, prepared, world.owner.projectId);
  await response.body?.cancel();
  return response.status;
}

// The table allows these calls to every member; the handler decides by the request (decideMembershipChange).
const decidedInside: Partial<Record<CallName, (role: Role) => boolean>> = {
  changeMember: (role) => may(role, 'member.change'),
  removeMember: (role) => may(role, 'member.remove'),
  // The token is another member's: only callers who may remove that member may delete it.
  deleteApiToken: (role) => may(role, 'member.remove'),
};

const roleMay = (role: Role, name: CallName): boolean =>
  may(role, rowOf(name).who as Action) && (decidedInside[name]?.(role) ?? true);

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

describe('calls of a project', () => {
  for (const name of names.filter((each) => isAction(rowOf(each).who))) {
    for (const role of roles) {
      const allowed = roleMay(role, name);
      it(`${name}: a ${role} ${allowed ? 'may' : 'may not'}`, async () => {
        const world = await createWorld();
        const status = await statusFor(world, await memberWith(world, role), name);
        if (allowed) assert.ok(isSuccess(status), `status ${status}`);
        else assert.equal(status, 403);
      });
    }

    it(`${name}: a stranger gets 404, as for a project that does not exist`, async () => {
      const world = await createWorld();
      const stranger = await test.signUp(nextEmail());
      const prepared = await prepareCall[name](world, stranger);
      const real = await sendCall(stranger, name, prepared, world.owner.projectId);
      const made = {
        ...prepared,
        ...(rowOf(name).path.startsWith('/api/projects/') ? { segments: { id: 'nothing-here' } } : {}),
      };
      const unreal = await sendCall(stranger, name, made, 'nothing-here');
      assert.equal(real.status, 404);
      assert.deepEqual([unreal.status, await unreal.text()], [404, await real.text()]);
    });

    it(`${name}: an operator who is not a member gets 404`, async () => {
      const world = await createWorld();
      assert.equal(await statusFor(world, operator, name), 404);
    });

    it(`${name}: an API token does what its role may`, async () => {
      const world = await createWorld();
      for (const role of ['owner', 'viewer'] as const) {
        const status = await statusFor(world, await tokenWith(world, role), name);
        const allowed = roleMay(role, name) && rowOf(name).needs === undefined;
        assert.equal(isSuccess(status), allowed, `${role}: status ${status}`);
        if (!allowed) assert.equal(status, 403);
      }
    });

    it(`${name}: an API token of another project gets 404`, async () => {
      const [world, other] = [await createWorld(), await createWorld()];
      const status = await statusFor(world, await tokenWith(other, 'owner'), name);
      assert.equal(status, rowOf(name).needs ? 403 : 404);
    });

    if ('project' in queryShapeOf(rowOf(name)) && rowOf(name).query !== 'InProjectOrOnly') {
      it(`${name}: 400 without a project, and with two`, async () => {
        const world = await createWorld();
        const prepared = await prepareCall[name](world, world.owner);
        assert.equal((await sendCall(world.owner, name, prepared, null)).status, 400);
        const { method } = rowOf(name);
        const path = rowOf(name).path.replace(/:([A-Za-z]+)/g, (_, key: string) => prepared.segments?.[key] ?? '');
        const twice = `${path}?${new URLSearchParams([...Object.entries(prepared.query ?? {}), ['project', world.owner.projectId], ['project', world.owner.projectId]])}`;
        assert.equal((await world.owner.send(method, twice, prepared.body, prepared.headers)).status, 400);
      });
    }
  }
});

describe('calls that need a fresh proof', () => {
  const fresh = names.filter((name) => rowOf(name).needs === 'fresh');

  it('are invitations, roles, tokens, approvals of people and terminals, operators, keys of regions, and all about a person', () => {
    const wanted = [
      ...['approveDevice', 'approveRegistration', 'changeMember', 'changePasskeyRule', 'changeUser', 'createApiToken'],
      ...['createInvitation', 'createRegionKey', 'exportAccount', 'exportUser', 'removeUserPasskeys', 'requirePasskeys'],
    ];
    assert.deepEqual(fresh.toSorted(), wanted);
  });

  const proofNeeded = async (world: World, caller: SignedUp, name: CallName): Promise<boolean> => {
    const prepared = await prepareCall[name](world, caller);
    await makeStale(caller);
    const response = await sendCall(caller, name, prepared, world.owner.projectId);
    await response.body?.cancel();
    const refused = response.headers.get('underpass-error') === 'UNDERPASS_PROOF_NEEDED';
    assert.ok(refused ? response.status === 403 : isSuccess(response.status), `status ${response.status}`);
    return refused;
  };

  for (const name of fresh.filter((each) => isAction(rowOf(each).who))) {
    it(`${name}: an owner needs a proof of the last ten minutes, an admin does not`, async () => {
      const world = await createWorld();
      assert.equal(await proofNeeded(world, world.owner, name), true);
      if (!roleMay('admin', name)) return;
      const next = await createWorld();
      assert.equal(await proofNeeded(next, await memberWith(next, 'admin'), name), false);
    });
  }

  for (const name of fresh.filter((each) => rowOf(each).who === 'user')) {
    it(`${name}: everybody needs a proof of the last ten minutes`, async () => {
      const world = await createWorld();
      assert.equal(await proofNeeded(world, await memberWith(world, 'viewer'), name), true);
    });
  }

  for (const name of fresh.filter((each) => rowOf(each).who === 'operator')) {
    it(`${name}: an operator needs a proof of the last ten minutes`, async () => {
      assert.equal(await proofNeeded(await createWorld(), operator, name), true);
    });
  }

  // The operator is one person in all tests, so each test takes the passkey away again.
  const withPasskey = async (caller: SignedUp, work: () => Promise<void>): Promise<void> => {
    const id = nextEmail();
    const row = { id, user_id: caller.userId, credential_id: id, public_key: '', sign_count: 0, transports: '[]', name: 'Key' };
    await test.store.db
      .insertInto('passkeys')
      .values({ ...row, created_at: test.time.now, used_at: null })
      .execute();
    await work();
    await test.store.db.deleteFrom('passkeys').where('id', '=', id).execute();
  };
  const provenAt = (passkey_at: number | null, { userId }: SignedUp) =>
    test.store.db.updateTable('sessions').set({ passkey_at }).where('user_id', '=', userId).execute();
  const answerTo = async (world: World, caller: SignedUp, name: CallName, proof: number | null) => {
    const prepared = await prepareCall[name](world, caller);
    await provenAt(proof, caller);
    let answer: readonly [number, string | null] | undefined;
    await withPasskey(caller, async () => {
      const response = await sendCall(caller, name, prepared, world.owner.projectId);
      await response.body?.cancel();
      answer = [response.status, response.headers.get('underpass-error')];
    });
    return answer;
  };

  const lasting = names.filter((name) => rowOf(name).lasting || rowOf(name).needs === 'fresh');
  it('also change policies and make their secrets, set webhooks, change passkeys, remove members, delete projects and accounts, and end sign-ins', () => {
    const wanted = [
      ...[
        'addPasskey',
        'createAccessLink',
        'createAccessPolicy',
        'createAccessToken',
        'createReachTicket',
        'createRecoveryCodes',
      ],
      ...[
        'deleteAccount',
        'deleteOwnToken',
        'deleteProject',
        'deleteSession',
        'endOtherSignIns',
        'removeMember',
        'removePasskey',
      ],
      ...['rotateAlertWebhook', 'saveAlertWebhook', 'startPasskey', 'updateAccessPolicy'],
    ];
    assert.deepEqual(lasting.filter((name) => !fresh.includes(name)).toSorted(), wanted);
  });

  for (const name of lasting) {
    it(`${name}: a fresh session by an e-mailed link is not enough for a person who has a passkey`, async () => {
      const answer = async (proof: number | null) => {
        const world = await createWorld();
        const caller = rowOf(name).who === 'operator' ? operator : world.owner;
        const given = await answerTo(world, caller, name, proof);
        await provenAt(null, caller);
        return given;
      };
      const refused = [403, 'UNDERPASS_PASSKEY_NEEDED'];
      assert.deepEqual(await answer(null), refused);
      const longAgo = test.time.now + 60_000 - durations.proofMinutes * 60_000;
      assert.deepEqual(await answer(longAgo), refused, 'a passkey of ten minutes ago');
      const [, code] = (await answer(test.time.now + 60_000))!;
      assert.equal(code, null, 'a passkey or recovery code of now');
    });
  }

  it('ask admins and members with a passkey as well', async () => {
    for (const role of ['admin', 'member'] as const) {
      const world = await createWorld();
      const caller = await memberWith(world, role);
      const needed = [403, 'UNDERPASS_PASSKEY_NEEDED'];
      assert.deepEqual(await answerTo(world, caller, 'createApiToken', null), needed, role);
    }
  });

  it('an invitation of a viewer needs no recent proof, but of a person with a passkey a session that it opened', async () => {
    const invite = async (proof?: number | null) => {
      const world = await createWorld();
      const [body, project] = [{ email: nextEmail(), role: 'viewer' }, world.owner.projectId];
      const send = async () => {
        const response = await world.owner.send('POST', `/api/invitations?project=${project}`, body);
        await response.body?.cancel();
        return [response.status, response.headers.get('underpass-error')];
      };
      await makeStale(world.owner);
      if (proof === undefined) return send();
      await provenAt(proof, world.owner);
      let answer: unknown;
      await withPasskey(world.owner, async () => {
        answer = await send();
      });
      return answer;
    };
    assert.deepEqual(await invite(), [200, null]);
    assert.deepEqual(await invite(null), [403, 'UNDERPASS_PASSKEY_NEEDED'], 'by an e-mailed link');
    assert.deepEqual(await invite(1), [200, null], 'by a passkey, long ago');
  });

  it('tell a caller without the right that first', async () => {
    const world = await createWorld();
    const viewer = await memberWith(world, 'viewer');
    await makeStale(viewer);
    const body = { email: nextEmail(), role: 'viewer' };
    const response = await viewer.send('POST', `/api/invitations?project=${world.owner.projectId}`, body);
    assert.deepEqual([response.status, response.headers.get('underpass-error')], [403, null]);
  });

  it('are closed to an API token of an owner, with a code of their own', async () => {
    const world = await createWorld();
    const token = await tokenWith(world, 'owner');
    const body = { email: nextEmail(), role: 'owner' };
    const response = await token.send('POST', `/api/invitations?project=${world.owner.projectId}`, body);
    assert.deepEqual([response.status, response.headers.get('underpass-error')], [403, 'UNDERPASS_SESSION_NEEDED']);
  });
});

describe('calls of a suspended project', () => {
  for (const name of names.filter((each) => isAction(rowOf(each).who))) {
    const changes = rowOf(name).method !== 'GET';
    it(`${name}: the owner ${changes ? 'gets 403' : 'may still read'}`, async () => {
      const world = await createWorld();
      const prepared = await prepareCall[name](world, world.owner);
      await test.control.operator.changeProject(world.owner.projectId, { suspended: true });
      const response = await sendCall(world.owner, name, prepared, world.owner.projectId);
      await response.body?.cancel();
      if (changes) assert.equal(response.status, 403);
      else assert.ok(isSuccess(response.status), `status ${response.status}`);
    });
  }
});

describe('calls of operators', () => {
  for (const name of names.filter((each) => rowOf(each).who === 'operator')) {
    it(`${name}: an operator is allowed`, async () => {
      const status = await statusFor(await createWorld(), operator, name);
      assert.ok(isSuccess(status), `status ${status}`);
    });

    it(`${name}: a user gets 403, an operator's API token too`, async () => {
      const world = await createWorld();
      assert.equal(await statusFor(world, world.owner, name), 403);
      const body = { name: 'ci', role: 'owner' };
      const { token } = await operator.call<{ token: string }>('POST', `/api/tokens?project=${operator.projectId}`, body);
      assert.equal(await statusFor(world, test.client(token), name), 403);
    });
  }
});

describe('calls without a sign-in', () => {
  for (const name of names) {
    const open = rowOf(name).who === 'anyone';
    it(`${name}: ${open ? 'is open to anyone' : 'gets 401'}`, async () => {
      const world = await createWorld();
      const status = await statusFor(world, test.client(undefined, `192.0.2.${count % 250}`), name);
      if (open) assert.ok(isSuccess(status), `status ${status}`);
      else assert.equal(status, 401);
    });
  }
});

describe('calls of a person', () => {
  for (const name of names.filter((each) => rowOf(each).who === 'user')) {
    it(`${name}: a user may; an API token ${rowOf(name).needs ? 'gets 403' : 'may'}`, async () => {
      const world = await createWorld();
      const person = callsOfInvited.has(name) ? await test.signUp(nextEmail()) : world.owner;
      const user = await statusFor(world, person, name);
      assert.ok(isSuccess(user), `status ${user}`);
      // Without the session above, the token could not be made.
      const next = await createWorld();
      const status = await statusFor(next, await tokenWith(next, 'owner'), name);
      assert.equal(isSuccess(status), rowOf(name).needs === undefined, `token: status ${status}`);
    });
  }
});
