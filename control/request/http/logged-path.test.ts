// The log never contains a secret: none of any call of the table, and none of the pages.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { Call } from '@underpass/rules/api/call.ts';
import { type CallName, calls, secretNames } from '@underpass/rules/api/calls.ts';
import { payloadSchemaOf, queryShapeOf } from '@underpass/rules/api/schemas.ts';
import { callsOfInvited, pathOf, prepareCall, sendCall } from '../../api/test-kit-calls.ts';
import { createTestControl, type SignedUp, type TestControl } from '../../test-kit.ts';
import { loggedPath } from './logged-path.ts';

/** Fields that are no secrets. A name in neither list fails the test, so the author of a new call has to decide. */
const harmless = new Set(
  [
    ...[
      'accept-terms',
      'action',
      'active',
      'actor',
      'after',
      'allow',
      'apexName',
      'approve',
      'available',
      'before',
      'by',
      'company',
    ],
    ...['dataPlaneHost', 'description', 'email', 'expiresAt', 'expiresInDays', 'first-name', 'fresh', 'from', 'github-link'],
    ...['host', 'httpPort', 'httpsPort', 'id', 'ingressDomains', 'last-name', 'limit', 'limits', 'metrics', 'name', 'operator'],
    ...[
      'expiresInHours',
      'fallback',
      'accessPolicy',
      'address',
      'log',
      'members',
      'private',
      'month',
      'mostUses',
      'people',
      'policy',
      'rules',
      'sessionHours',
    ],
    ...['brief', 'format', 'mail', 'origins', 'tokenHeader', 'tunnel', 'url', 'waitSeconds'],
    // Its clientSecret is read from the body alone, which no log has.
    'provider',
    ...['path', 'project', 'proxyProtocol', 'q', 'range', 'region', 'role', 'securityGroup', 'sort', 'state', 'status'],
    ...[
      'suspended',
      'text',
      'tlsTermination',
      'keep',
      'lastsSeconds',
      'overlap',
      'ownProjects',
      'required',
      'to',
      'reason',
      'value',
      'twitter-link',
      'type',
      'unkept',
      'visitorLog',
      'visitorLogQuery',
      'beginsTraces',
      'tcpPorts',
      'wildcardIngressDomain',
    ],
  ].sort(),
);

const namesIn = (call: Call): { segments: string[]; query: string[]; fields: string[] } => ({
  segments: [...call.path.matchAll(/:([A-Za-z]+)/g)].map(([, name = '']) => name),
  query: Object.keys(queryShapeOf(call)),
  fields: Object.keys(payloadSchemaOf(call)?.shape ?? {}),
});

const isSecret = (name: string): boolean => (secretNames as readonly string[]).includes(name);
const all = Object.keys(calls) as CallName[];

it('every field of every call is listed as a secret or not', () => {
  const names = new Set(all.flatMap((name) => Object.values(namesIn(calls[name])).flat()));
  const unknown = [...names].filter((name) => !isSecret(name) && !harmless.has(name));
  assert.deepEqual(unknown, []);
  for (const name of secretNames) assert.ok(names.has(name), `no call takes ${name}`);
});

describe('the log', () => {
  let test: TestControl;
  let owner: SignedUp;
  let operator: SignedUp;

  before(async () => {
    test = await createTestControl();
    owner = await test.signUp('owner@example.com');
    operator = await test.signUp('operator@example.com', { operator: true });
  });
  after(() => test.close());

  const assertHidden = (secret: string, about: string): void => {
    assert.ok(test.logged.length > 0);
    const lines = test.logged.filter((line) => line.toLowerCase().includes(secret.toLowerCase()));
    assert.deepEqual(lines, [], about);
    test.logged.length = 0;
  };

  for (const name of all.filter((each) => Object.values(namesIn(calls[each])).flat().some(isSecret))) {
    it(`has none of the secrets of ${name}, right or wrong`, async () => {
      const caller = callsOfInvited.has(name) ? await test.signUp(`${name.toLowerCase()}@example.com`) : owner;
      const { segments, query, fields } = namesIn(calls[name]);
      const prepared = await prepareCall[name]({ test, owner, operator }, caller);
      for (const segment of segments.filter(isSecret)) {
        const right = prepared.segments?.[segment] ?? '';
        await (await sendCall(caller, name, prepared, owner.projectId)).body?.cancel();
        assertHidden(right, `${name}: ${segment}`);
        for (const marker of ['marker-abc', 'BCDF-GHJK', 'x'.repeat(500), 'a/b-marker', 'é-marker']) {
          const marked = { ...prepared, segments: { ...prepared.segments, [segment]: marker } };
          await (await sendCall(caller, name, marked, owner.projectId)).body?.cancel();
          await (await caller.send('GET', `${pathOf(name, marked, owner.projectId)}/more`)).body?.cancel();
          assertHidden(marker, `${name}: ${segment}`);
        }
      }
      for (const field of [...query, ...fields].filter(isSecret)) {
        const marker = `marker-${randomBytes(8).toString('hex')}`;
        const isForm = prepared.body instanceof FormData || prepared.body instanceof URLSearchParams;
        if (isForm) (prepared.body as FormData).set(field, marker);
        const body = isForm ? prepared.body : { ...(prepared.body as object), [field]: marker };
        const marked = { ...prepared, ...(body ? { body } : {}), query: { ...prepared.query, [field]: marker } };
        await (await sendCall(caller, name, marked, owner.projectId)).body?.cancel();
        assertHidden(marker, `${name}: ${field}`);
      }
    });
  }

  it('has no cookie and no API token', async () => {
    const [cookie] = [...owner.cookies.values()];
    const body = { name: 'ci', role: 'viewer' };
    const { token } = await owner.call<{ token: string }>('POST', `/api/tokens?project=${owner.projectId}`, body);
    await test.client(token).call('GET', `/api/tunnels?project=${owner.projectId}`);
    for (const secret of [cookie ?? '', token, `%22${token}`]) {
      await (await owner.send('GET', `/api/tunnels/${secret}?project=${owner.projectId}`)).body?.cancel();
      assert.ok(secret.length >= 43);
      assertHidden(token, 'in a path where it does not belong');
    }
  });

  it('has no token of a page that a mail links to, however its path is written', async () => {
    const token = randomBytes(32).toString('base64url');
    const paths = [
      ...[
        `/login/${token}`,
        `/magiclink/${token}`,
        `/confirm/${token}`,
        `/invitations/${token}`,
        `/alerts/unsubscribe/${token}`,
        `/Magiclink/${token}`,
        `//login//${token}`,
      ],
      ...[`/%6Cogin/${token}`, `/magiclink/${token}/`, `/projects/${token}`, `/activate?code=${token}`, `/login?token=${token}`],
    ];
    for (const path of paths) {
      await (await test.client().send('GET', path)).body?.cancel();
      assertHidden(token, path);
    }
  });
});

describe('a logged path', () => {
  for (const [path, logged] of [
    ['/api/tunnels/shop', '/api/tunnels/shop'],
    ['/api/device/BCDF-GHJK', '/api/device/[secret]'],
    ['/api/Device//bcdf', '/api/Device/[secret]'],
    ['/magiclink/short', '/magiclink/[secret]'],
    ['/login', '/login'],
    ['/a%0Ab', '/a%0Ab'],
    ['/login/%E0%A4%A', '/login/[secret]'],
    [`/x/${'t'.repeat(43)}/y`, '/x/[secret]/y'],
  ] as const) {
    it(`${path.slice(0, 30)} is ${logged}`, () => assert.equal(loggedPath(path), logged));
  }
});
