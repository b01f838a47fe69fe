// Two users in two projects make random calls, right and wrong ones: neither ever sees the other's objects.

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';

interface Side {
  readonly user: SignedUp;
  /** A word in every name that this side makes: if it shows up on the other side, something leaked. */
  readonly mark: string;
  readonly sessionId: string;
}

/** `own`: the caller's project and names. `foreign`: the other's project and names. `mixed`: the other's names in the caller's project. */
type Target = 'own' | 'foreign' | 'mixed';
type Step = { readonly side: 0 | 1; readonly target: Target; readonly call: number; readonly object: 0 | 1 | 2 };

const nameOf = (side: Side, object: number): string => `${side.mark}-${object}`;
const apexOf = (side: Side, object: number): string => `${side.mark}-${object}.com`;

/** Every kind of call; `of` is the side whose objects it names. */
const calls: readonly ((by: Side, of: Side, object: number, project: string) => Promise<Response>)[] = [
  (by) => by.user.send('GET', '/api/projects'),
  (by) => by.user.send('GET', '/api/user'),
  (by) => by.user.send('GET', '/api/sessions'),
  (by, _, __, p) => by.user.send('GET', `/api/tunnels?project=${p}`),
  (by, _, __, p) => by.user.send('GET', `/api/domains?project=${p}`),
  (by, _, __, p) => by.user.send('GET', `/api/security-groups?project=${p}`),
  (by, _, __, p) => by.user.send('GET', `/api/members?project=${p}`),
  (by, _, __, p) => by.user.send('GET', `/api/invitations?project=${p}`),
  (by, _, __, p) => by.user.send('GET', `/api/tokens?project=${p}`),
  (by, _, __, p) => by.user.send('GET', `/api/audit?project=${p}`),
  (by, _, __, p) => by.user.send('GET', `/api/audit/export?project=${p}`),
  (by, of, o, p) => by.user.send('GET', `/api/tunnels/${nameOf(of, o)}?project=${p}&metrics=1`),
  (by, of, o, p) => by.user.send('GET', `/api/tunnels/${nameOf(of, o)}/clients?project=${p}`),
  (by, of, o, p) => by.user.send('GET', `/api/tunnels/${nameOf(of, o)}/history?project=${p}&range=hour`),
  (by, of, o, p) => by.user.send('GET', `/api/domains/${apexOf(of, o)}?project=${p}`),
  (by, of, o, p) => by.user.send('GET', `/api/security-groups/${nameOf(of, o)}?project=${p}`),
  (by, of, o) => by.user.send('GET', `/api/dns/lookup?host=www.${apexOf(of, o)}`),
  (by, of, o, p) => by.user.send('POST', `/api/domains?project=${p}`, { name: apexOf(of, o) }),
  (by, of, o, p) => by.user.send('POST', `/api/domains/${apexOf(of, o)}/verify?project=${p}`),
  (by, of, o, p) => by.user.send('DELETE', `/api/domains/${apexOf(of, o)}?project=${p}`),
  (by, of, o, p) => by.user.send('POST', `/api/security-groups?project=${p}`, { name: nameOf(of, o), allow: ['192.0.2.1'] }),
  (by, of, o) => by.user.send('PATCH', `/api/security-groups/${nameOf(of, o)}`, { allow: ['192.0.2.2'] }),
  (by, of, o) => by.user.send('DELETE', `/api/security-groups/${nameOf(of, o)}`),
  (by, of, o, p) =>
    by.user.send('POST', `/api/tunnels?project=${p}`, {
      name: nameOf(of, o),
      region: 'local',
      ingressDomains: [`www.${apexOf(of, o)}`],
    }),
  (by, of, o, p) => by.user.send('PATCH', `/api/tunnels/${nameOf(of, o)}?project=${p}`, { securityGroup: nameOf(of, o) }),
  (by, of, o, p) => by.user.send('POST', `/api/tunnels/${nameOf(of, o)}/token/rotate?project=${p}`),
  (by, of, o, p) => by.user.send('DELETE', `/api/tunnels/${nameOf(of, o)}?project=${p}`),
  (by, of, o, p) =>
    by.user.send('POST', `/api/invitations?project=${p}`, { email: `${nameOf(of, o)}@example.com`, role: 'viewer' }),
  (by, of, __, p) => by.user.send('PATCH', `/api/members/${of.user.userId}?project=${p}`, { role: 'viewer' }),
  (by, of, __, p) => by.user.send('DELETE', `/api/members/${of.user.userId}?project=${p}`),
  (by, _, o, p) => by.user.send('PATCH', `/api/projects/${p}`, { name: nameOf(by, o) }),
  (by, _, o, p) => by.user.send('POST', `/api/tokens?project=${p}`, { name: nameOf(by, o), role: 'viewer' }),
  (by, of, o, p) => by.user.send('GET', `/api/tunnels/${nameOf(of, o)}/domains?project=${p}&host=www.${apexOf(of, o)}`),
  (by, _, __, p) => by.user.send('GET', `/api/access-policies?project=${p}`),
  (by, _, __, p) => by.user.send('GET', `/api/access-sign-ins?project=${p}`),
  (by, of, o, p) => by.user.send('POST', `/api/access-policies?project=${p}`, { name: nameOf(of, o), members: true }),
  (by, of, o, p) => by.user.send('GET', `/api/access-policies/${nameOf(of, o)}?project=${p}`),
  (by, of, o, p) => by.user.send('PATCH', `/api/access-policies/${nameOf(of, o)}?project=${p}`, { people: ['a@x.com'] }),
  (by, of, o, p) => by.user.send('DELETE', `/api/access-policies/${nameOf(of, o)}?project=${p}`),
  (by, of, o, p) => by.user.send('POST', `/api/access-policies/${nameOf(of, o)}/tokens?project=${p}`, { name: nameOf(by, o) }),
  (by, of, o, p) => by.user.send('PATCH', `/api/tunnels/${nameOf(by, o)}?project=${p}`, { accessPolicy: nameOf(of, o) }),
];
const lastCall = calls.length - 1;

const step: fc.Arbitrary<Step> = fc.record({
  side: fc.constantFrom<0 | 1>(0, 1),
  target: fc.constantFrom<Target>('own', 'foreign', 'mixed'),
  call: fc.nat({ max: calls.length - 1 }),
  object: fc.constantFrom<0 | 1 | 2>(0, 1, 2),
});

/** First removes from the answer the names that the caller sent, because refusals repeat them. */
function assertNothingOf(other: Side, answer: string, asked: string): void {
  const rest = asked === '' ? answer : answer.replaceAll(asked, '');
  for (const secret of [other.mark, other.sessionId, other.user.projectId, other.user.userId, other.user.email]) {
    assert.ok(!rest.includes(secret), `${secret} leaked: ${answer}`);
  }
}

// Calls that create an object under the name that they send: in the caller's project that name becomes the caller's.
const making = new Set([17, 20, 23, 27, lastCall - 5]);
const lookUp = 16;
/** Calls that name one object: the other side's is never found. */
const naming = new Set([11, 12, 13, 14, 15, 18, 19, 21, 22, 24, 25, 26, 28, 29, ...[0, 1, 2, 3, 4].map((i) => lastCall - i)]);
const firstOfProject = 3;

async function runStep(sides: readonly [Side, Side], { side, target, call, object }: Step): Promise<void> {
  const [by, other] = side === 0 ? [sides[0], sides[1]] : [sides[1], sides[0]];
  if (target === 'mixed' && making.has(call)) return;
  const of = target === 'own' ? by : other;
  const project = target === 'foreign' ? other.user.projectId : by.user.projectId;
  const response = await calls[call]!(by, of, object, project);
  const answer = await response.text();
  assertNothingOf(other, answer, target === 'own' ? '' : nameOf(other, object));
  if (target === 'foreign' && call >= firstOfProject && call !== lookUp)
    assert.ok([400, 404].includes(response.status), `${call}: ${response.status} ${answer}`);
  if (target === 'mixed' && naming.has(call))
    assert.ok([400, 404].includes(response.status), `${call}: ${response.status} ${answer}`);
  if (target !== 'own' && call === lookUp) assert.equal(response.status, 403);
}

async function snapshot(test: TestControl, projectId: string): Promise<unknown> {
  const tables = ['tunnels', 'domains', 'security_groups', 'access_policies', 'members', 'invitations', 'api_tokens'] as const;
  const rows = tables.map((table) => test.store.db.selectFrom(table).selectAll().where('project_id', '=', projectId).execute());
  return JSON.parse(JSON.stringify(await Promise.all(rows)));
}

/** Has a tunnel, its domain and a group under each name, so that a leak would find something. */
async function openSide(test: TestControl, mark: string): Promise<Side> {
  const user = await test.signUp(`${mark}@example.com`);
  const [session] = await user.call<{ id: string }[]>('GET', '/api/sessions');
  const side = { user, mark, sessionId: session!.id };
  const project = `?project=${user.projectId}`;
  for (const object of [0, 1, 2]) {
    const tunnel = { name: nameOf(side, object), region: 'local', ingressDomains: [`www.${apexOf(side, object)}`] };
    await user.call('POST', `/api/tunnels${project}`, tunnel);
    await user.call('POST', `/api/access-policies${project}`, { name: nameOf(side, object), members: true });
    await user.call('POST', `/api/security-groups${project}`, { name: nameOf(side, object), allow: ['192.0.2.1'] });
  }
  return side;
}

it('two projects never see or change each other’s objects, whatever they call', async () => {
  const test = await createTestControl();
  test.dns.checkChallenge = async () => 'found';
  let run = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
    run++;
    const sides = [await openSide(test, `lefty${run}x`), await openSide(test, `right${run}x`)] as const;
    for (const each of steps) {
      const [own, other] = each.side === 0 ? sides : [sides[1], sides[0]];
      const before = await snapshot(test, other.user.projectId);
      await runStep(sides, each);
      assert.deepEqual(await snapshot(test, other.user.projectId), before, `${own.mark} changed ${other.mark}`);
    }
  });
  await fc.assert(property, { numRuns: 25 });
  await test.close();
});
