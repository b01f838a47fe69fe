// The programs of a policy: who sees them, and what ends one.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, beforeEach, test as check } from 'node:test';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import type { AccessProgram } from '@underpass/rules/visit/access-policy.ts';
import { programSubject } from '@underpass/rules/visit/grants.ts';
import { policyLimits } from '@underpass/rules/visit/policy-limits.ts';
import { createKeyRing } from '../../platform/secret/key-ring.ts';
import { hashToken } from '../../platform/secret/token.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';
import { findSignInPolicy, type SignInPolicy } from '../policies/find-sign-in-policy.ts';
import { type Chain, insertFlow } from './flows.ts';
import { endOwnProgram } from './program-end.ts';
import { claimsAt } from './test-kit.ts';

const keyRing = createKeyRing([randomBytes(32)]);
let test: TestControl;
let ann: SignedUp;
let host = '';
let policyId = '';
let count = 0;

before(async () => {
  test = await createTestControl({ keyRing });
  ann = await test.signUp('ann@example.com');
});
after(() => test.close());
beforeEach(async () => {
  const accessPolicy = `team-${++count}`;
  await ann.call('POST', `/api/access-policies?project=${ann.projectId}`, { name: accessPolicy, people: ['*@example.com'] });
  const body = { name: `t-${count}`, region: 'local', accessPolicy };
  const tunnel = await ann.call<Tunnel>('POST', `/api/tunnels?project=${ann.projectId}`, body);
  host = tunnel.ingressDomains[0]!.name;
  policyId = (await policy()).policyId;
  test.feed.changed.length = 0;
});

const policy = async (): Promise<SignInPolicy> => (await findSignInPolicy(test.store.db, keyRing, host, test.time.now))!;
const ended = async (): Promise<readonly string[]> => (await policy()).grants.signedOut.map(({ subject }) => subject);
const pathOf = (id = ''): string => `/api/access-policies/team-${count}/programs${id}?project=${ann.projectId}`;
const list = (): Promise<readonly AccessProgram[]> => ann.call('GET', pathOf());

/** Returns the program's id. */
async function connect(name: string, program: Partial<Chain['program']> = {}): Promise<string> {
  const secret = randomBytes(32).toString('base64url');
  const claims = claimsAt(test.time.now, { method: 'email', subject: 'bo@example.com', email: 'bo@example.com' });
  const content: Chain = {
    ...{ stage: 'chain', redirectUri: '', challenge: '', resource: `https://${host}/mcp`, host, claims, current: '' },
    program: { id: 'x', name, isDocument: false, ...program },
  };
  await insertFlow(test.store.db, keyRing, secret, { policyId, content, expiresAt: claims.expiresAtMs }, test.time.now);
  return hashToken(secret);
}

check('lists the programs of one policy, the newest first, and no secret', async () => {
  const old = await connect('Scribe');
  test.time.now += 1_000;
  const id = await connect('Notes', { id: 'https://notes.example/client.json', isDocument: true });
  const programs = await list();
  const at = (ms: number): string => new Date(ms).toISOString();
  assert.deepEqual(programs[0], {
    ...{ id, name: 'Notes', site: 'notes.example', host, who: 'bo@example.com', method: 'email' },
    ...{ connectedAt: at(test.time.now), endsAt: at(test.time.now + 24 * 3600_000) },
  });
  assert.deepEqual([programs[1]?.id, programs[1]?.site, programs.length], [old, null, 2]);
});

check('ends one program at control and at the edges, and leaves the others and the person', async () => {
  const [id, other] = [await connect('Scribe'), await connect('Notes')];
  assert.equal((await ann.send('DELETE', pathOf(`/${id}`))).status, 204);
  assert.deepEqual(await ended(), [programSubject(id)]);
  assert.deepEqual(
    (await list()).map((program) => program.id),
    [other],
  );
  assert.equal(test.feed.changed.length, 1);
  assert.equal((await ann.send('DELETE', pathOf(`/${id}`))).status, 404);
  const audit = await test.store.db.selectFrom('audit').select('detail').where('target', '=', `team-${count}`).execute();
  assert.match(JSON.stringify(audit), /Scribe.*bo@example.com/);
});

check('does not end a program of another policy', async () => {
  const id = await connect('Scribe');
  const name = `other-${count}`;
  await ann.call('POST', `/api/access-policies?project=${ann.projectId}`, { name });
  assert.equal((await ann.send('DELETE', `/api/access-policies/${name}/programs/${id}?project=${ann.projectId}`)).status, 404);
  const other = await test.store.db.selectFrom('access_policies').select('id').where('name', '=', name).executeTakeFirstOrThrow();
  await endOwnProgram(test, other.id, id, test.time.now);
  assert.deepEqual([await ended(), (await list()).length], [[], 1]);
});

check('forgets an ended program once its last access token has ended', async () => {
  const first = await connect('Scribe');
  await ann.send('DELETE', pathOf(`/${first}`));
  test.time.now += 2 * 3600_000;
  const second = await connect('Notes');
  await ann.send('DELETE', pathOf(`/${second}`));
  assert.deepEqual(await ended(), [programSubject(second)]);
});

async function fill(prefix: string, length: number): Promise<void> {
  const rows = Array.from({ length }, (_, i) => ({ policy_id: policyId, subject: prefix + i, at: test.time.now }));
  await test.store.db.insertInto('access_sign_outs').values(rows).execute();
}

check('programs that end over and over sign out nobody else, and leave room for the project’s people', async () => {
  await fill(programSubject(''), policyLimits.endedPrograms);
  const [own, revoked] = [await connect('Scribe'), await connect('Notes')];
  await endOwnProgram(test, policyId, own, test.time.now);
  assert.equal((await ended()).length, policyLimits.endedPrograms);
  assert.equal((await list()).length, 1, 'its refresh token has ended');
  await ann.send('DELETE', pathOf(`/${revoked}`));
  assert.ok((await ended()).includes(programSubject(revoked)));
});

check('signs out everybody when the list gets too long for the edges', async () => {
  await fill('p', policyLimits.people);
  await ann.send('DELETE', pathOf(`/${await connect('Scribe')}`));
  const { grants } = await policy();
  assert.deepEqual([grants.signedOut, grants.validFromMs], [[], test.time.now + 1]);
});
