// The operator's calls: registrations, subscriptions, users, projects, tunnels, regions, abuse reports.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Project, SecurityGroup, Tunnel } from '@underpass/rules/entity/entity.ts';
import type {
  AbuseReport,
  AuditPage,
  DeviceStart,
  OperatorRegion,
  OperatorRegistration,
  OperatorTunnel,
  OperatorUser,
  ServiceOverview,
  Subscription,
  UserReach,
} from '@underpass/rules/entity/resource.ts';
import { limits, rateLimits } from '@underpass/rules/limits.ts';
import {
  abuseReportList,
  allTunnelList,
  type ListRules,
  projectList,
  registrationList,
  subscriptionList,
  userList,
} from '@underpass/rules/list/list-page.ts';
import { keyOpensRegion } from '../edges/region/regions.ts';
import { hashToken } from '../platform/secret/token.ts';
import { createId } from '../platform/store/id.ts';
import {
  createTestControl,
  linkToken,
  loginForm,
  rightAnswer,
  type SignedUp,
  type TestControl,
  type TestControlOptions,
} from '../test-kit.ts';

let test: TestControl;
let operator: SignedUp;
const opened: (() => Promise<unknown>)[] = [];

beforeEach(async () => {
  test = await createTestControl();
  operator = await test.signUp('operator@example.com', { operator: true });
});
afterEach(() => test.close());
after(async () => {
  for (const close of opened) await close();
});

async function openWith(options: TestControlOptions): Promise<TestControl> {
  const made = await createTestControl(options);
  opened.push(() => made.close());
  return made;
}
const refusal = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];

function registrationForm(email: string, over: Record<string, string> = {}): FormData {
  const form = new FormData();
  const fields = {
    'first-name': 'Grace',
    'last-name': 'Hopper',
    email,
    company: 'Navy',
    'github-link': 'https://github.com/grace',
    'twitter-link': '@grace',
    'accept-terms': 'on',
    'bot-check': rightAnswer,
    ...over,
  };
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}
async function register(on: TestControl, email: string, over?: Record<string, string>): Promise<Response> {
  const response = await on.client().send('POST', '/auth/register', registrationForm(email, over));
  await on.control.settle();
  return response;
}
const waiting = (): Promise<OperatorRegistration[]> => operator.call('GET', '/api/operator/registrations?state=waiting');

describe('a registration', () => {
  it('waits with all its fields, and both sides get a mail', async () => {
    assert.equal((await register(test, 'Grace@Example.com')).status, 204);
    const [registration] = await waiting();
    assert.deepEqual(
      { ...registration, id: '', createdAt: '' },
      {
        ...{ id: '', createdAt: '', email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper', company: 'Navy' },
        ...{
          github: 'https://github.com/grace',
          x: '@grace',
          state: 'waiting',
          isSubscribed: false,
          decidedAt: null,
          decidedBy: null,
          invitations: [],
        },
      },
    );
    assert.deepEqual(test.mails.map((mail) => mail.to).sort(), ['grace@example.com', 'operator@example.com']);
  });

  it('is found by a command by its e-mail, however many came later; the operator gets at most 20 mails an hour about them', async () => {
    await register(test, 'grace@example.com');
    for (let i = 0; i < 24; i++) await register(test, `person-${i}@example.com`);
    const mails = () => test.mails.filter((mail) => mail.to === 'operator@example.com');
    assert.equal(mails().length, 20);
    assert.match(mails().at(-1)!.text, /No more mails about registrations in this hour\.\n$/);
    const first = { first_name: 'A', last_name: 'B', company: '', github: '', x_account: '', subscribed: 0 as const };
    const state = { state: 'waiting' as const, created_at: test.time.now, decided_at: null, decided_by: null };
    const rows = Array.from({ length: 200 }, (_, i) => ({
      id: createId(test.time.now),
      email: `${i}@example.org`,
      ...first,
      ...state,
    }));
    await test.store.db.insertInto('registrations').values(rows).execute();
    const { operator: desk } = test.control;
    assert.equal((await desk.approve(await desk.findRegistration('Grace@example.com'))).state, 'approved');
    await assert.rejects(desk.findRegistration('nobody@example.com'), { message: 'Registration not found' });
    for (let i = 0; i < 60; i++) {
      test.time.now += 120_000;
      await register(test, `later-${i}@example.com`);
    }
    assert.ok(mails().length >= 40, 'of a flood that goes on the next hour has its own');
  });

  it('is not locked out by a flood from other networks', async () => {
    const limited = await openWith({ limited: true });
    const { registerOverall, registerPerNetwork } = rateLimits;
    const many = registerOverall.points + registerPerNetwork.points;
    const ask = async (i: number, address: string): Promise<number> =>
      (await limited.client(undefined, address).send('POST', '/auth/register', registrationForm(`person-${i}@example.com`)))
        .status;
    for (let i = 0; i < many; i++) assert.equal(await ask(i, `198.51.100.${i % 200}`), 204);
    assert.deepEqual([await ask(many, '198.51.100.250'), await ask(many, '203.0.113.9')], [429, 204]);
  });

  it('once approved makes the user, a project that the user owns and its default group; the user gets a mail and can sign in', async () => {
    await register(test, 'grace@example.com');
    const [registration] = await waiting();
    const decided = await operator.call<OperatorRegistration>('POST', `/api/operator/registrations/${registration!.id}/approve`);
    assert.deepEqual([decided.state, decided.decidedBy], ['approved', 'operator@example.com']);
    await test.control.settle();
    assert.match(test.mails.at(-1)!.subject, /^Welcome to Underpass$/);
    const grace = test.client();
    await grace.call('POST', '/auth/magiclink', loginForm('grace@example.com'));
    await test.control.settle();
    await grace.call('POST', '/auth/login', new URLSearchParams({ token: linkToken(test.mails, 'grace@example.com') }));
    const [project] = await grace.call<Project[]>('GET', '/api/projects');
    assert.deepEqual([project?.name, project?.role], ['Navy', 'owner']);
    const [group] = await grace.call<SecurityGroup[]>('GET', `/api/security-groups?project=${project!.id}`);
    assert.deepEqual([group?.name, group?.allowList], ['default', ['0.0.0.0/0', '::/0']]);
  });

  it('once rejected makes no user, causes a mail, and may be repeated', async () => {
    await register(test, 'grace@example.com');
    const [registration] = await waiting();
    await operator.call('POST', `/api/operator/registrations/${registration!.id}/reject`);
    await test.control.settle();
    assert.match(test.mails.at(-1)!.text, /cannot approve/);
    assert.equal((await operator.call<OperatorUser[]>('GET', '/api/operator/users?q=grace')).length, 0);
    await register(test, 'grace@example.com', { company: 'Army' });
    assert.deepEqual(
      (await waiting()).map((each) => each.company),
      ['Army'],
    );
  });

  it('is decided once', async () => {
    await register(test, 'grace@example.com');
    const [registration] = await waiting();
    const path = `/api/operator/registrations/${registration!.id}`;
    const answers = await Promise.all([
      operator.send('POST', `${path}/approve`),
      operator.send('POST', `${path}/reject`),
      operator.send('POST', `${path}/approve`),
    ]);
    assert.deepEqual(answers.map((each) => each.status).sort(), [200, 409, 409]);
    assert.deepEqual(await refusal(await operator.send('POST', '/api/operator/registrations/nothing/approve')), [
      404,
      'Registration not found',
    ]);
  });

  it('does not reveal who is registered: the same answer and database work for new, waiting, approved and signed-up e-mails', async () => {
    await test.signUp('known@example.com');
    await register(test, 'waiting@example.com');
    const answers = [];
    for (const email of ['new@example.com', 'waiting@example.com', 'known@example.com', 'operator@example.com']) {
      const response = await test.client().send('POST', '/auth/register', registrationForm(email));
      const jobs = await test.store.db.selectFrom('jobs').select('id').execute();
      const headers = [...response.headers.keys()].filter((name) => name !== 'x-request-id');
      answers.push([response.status, await response.text(), headers, jobs.length]);
      await test.control.settle();
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
  });

  it('with somebody else’s e-mail changes nothing', async () => {
    await register(test, 'grace@example.com');
    await register(test, 'grace@example.com', { 'first-name': 'Mallory', company: 'Evil' });
    assert.deepEqual(
      (await waiting()).map((each) => [each.firstName, each.company]),
      [['Grace', 'Navy']],
    );
  });

  for (const [over, field] of [
    [{ 'first-name': '' }, 'first-name: Required.'],
    [{ 'last-name': ' ' }, 'last-name: Required.'],
    [{ email: 'nope' }, 'email: Not a valid email address.'],
    [{ 'accept-terms': '' }, 'accept-terms: Please accept terms of service.'],
    [{ 'bot-check': '' }, 'bot-check: Please verify you are a human.'],
    [{ 'bot-check': 'wrong' }, 'Please verify you are a human.'],
    [{ 'first-name': 'A\r\nBcc: evil@example.com' }, 'first-name: Must be one line of visible characters.'],
    [{ company: 'x'.repeat(300) }, 'company: Must be at most 200 characters; this has 300.'],
  ] as const) {
    it(`is refused: ${field}`, async () => {
      assert.deepEqual(await refusal(await register(test, 'grace@example.com', over)), [400, field]);
      assert.deepEqual(await waiting(), []);
    });
  }
});

describe('the audit log of the service', () => {
  it('shows operators the rows of no project, with the same filters as a project’s log', async () => {
    const ann = await test.signUp('ann@example.com');
    await ann.call('POST', `/api/security-groups?project=${ann.projectId}`, { name: 'office', allow: ['192.0.2.1'] });
    await ann.call('POST', '/auth/logout');
    const read = (query = '') => operator.call<AuditPage>('GET', `/api/operator/audit${query}`);
    const of = ({ entries }: AuditPage) => entries.map(({ actor, action }) => `${actor} ${action}`);
    assert.deepEqual(of(await read('?actor=ann@example.com')), ['ann@example.com session.end', 'ann@example.com session.create']);
    assert.ok(of(await read('?action=login-link')).includes('operator login-link.create'));
    assert.ok(!of(await read()).some((row) => row.includes('security-group')));
    const viewed = await ann.send('GET', '/api/operator/audit');
    assert.equal(viewed.status, 401);
  });
});

describe('a sign-in link made by a command', () => {
  it('leaves a row in the audit log, because everybody who has the link can sign in', async () => {
    await test.control.operator.createLoginLink(operator.email);
    const query = test.store.db.selectFrom('audit').select(['actor', 'target']).where('action', '=', 'login-link.create');
    assert.deepEqual({ ...(await query.orderBy('id').execute()).at(-1) }, { actor: 'operator', target: operator.email });
  });
});

describe('subscriptions', () => {
  it('match a registration by import, operator, webhook or look-up', async () => {
    await operator.call('POST', '/api/operator/subscriptions', { email: 'one@example.com' });
    await operator.call(
      'POST',
      '/api/operator/subscriptions/import',
      'email,expires_at\ntwo@example.com,2030-01-01\nthree@example.com,2001-01-01\n',
    );
    for (const name of ['one', 'two', 'three', 'four']) await register(test, `${name}@example.com`);
    const found = (await waiting()).map((each) => [each.email.split('@')[0], each.isSubscribed]);
    assert.deepEqual(Object.fromEntries(found), { one: true, two: true, three: false, four: false });
  });

  it('import reads columns in any order, quotes, BOM and CRLF, and reports the lines that it cannot read', async () => {
    const csv = '\uFEFFactive,email\r\nno,"ended@example.com"\r\n,good@example.com\r\n,not-an-email\r\nx"y,z\r\n\r\n';
    const answer = await operator.call('POST', '/api/operator/subscriptions/import', csv);
    assert.deepEqual(answer, { imported: 2, problems: ['line 4: Not a valid email address.', 'line 5: not CSV'] });
    const list = await operator.call<Subscription[]>('GET', '/api/operator/subscriptions');
    assert.deepEqual(
      list.map((each) => [each.email, each.active, each.source]),
      [
        ['good@example.com', true, 'import'],
        ['ended@example.com', false, 'import'],
      ],
    );
  });

  it('import of a large file does not delay other calls', async () => {
    const done: string[] = [];
    const csv = Array.from({ length: 10_000 }, (_, i) => `p${i}@example.com`).join('\n');
    const importing = operator.call('POST', '/api/operator/subscriptions/import', csv).then((answer) => {
      done.push('import');
      return answer;
    });
    // The import has begun: another call arrives in the middle.
    const rowsOf = async () => (await test.store.db.selectFrom('subscriptions').select('id').limit(1).execute()).length;
    // The embedded database answers without leaving the turn of the event loop, and the import needs one.
    while ((await rowsOf()) === 0) await nextTurn();
    await operator.call('GET', '/api/user');
    done.push('another call');
    assert.deepEqual(await importing, { imported: 10_000 });
    assert.deepEqual(done, ['another call', 'import']);
    const rows = await test.store.db.selectFrom('audit').select('target').where('action', '=', 'subscription.import').execute();
    assert.deepEqual(
      rows.map(({ target }) => target),
      ['10000 lines'],
    );
  });

  it('are deleted, and an import of the same e-mail replaces one', async () => {
    const made = await operator.call<Subscription>('POST', '/api/operator/subscriptions', {
      email: 'one@example.com',
      expiresAt: '2030-01-01',
    });
    assert.equal(made.expiresAt, '2030-01-01T00:00:00.000Z');
    await operator.call('POST', '/api/operator/subscriptions/import', 'one@example.com');
    const [row] = await operator.call<Subscription[]>('GET', '/api/operator/subscriptions');
    assert.deepEqual([row?.id, row?.source, row?.expiresAt], [made.id, 'import', null]);
    await operator.call('DELETE', `/api/operator/subscriptions/${made.id}`);
    assert.equal((await operator.send('DELETE', `/api/operator/subscriptions/${made.id}`)).status, 404);
    assert.equal(
      (await operator.send('POST', '/api/operator/subscriptions', { email: 'one@example.com', expiresAt: 'never' })).status,
      400,
    );
  });

  const secret = 'a-secret-of-the-provider';
  const sign = (body: string, seconds: number, key = secret): string =>
    `t=${seconds},v1=${createHmac('sha256', key).update(`${seconds}.${body}`).digest('hex')}`;
  const hook = (on: TestControl, body: string, signature: string): Promise<Response> => {
    const headers = { 'underpass-signature': signature, 'content-type': 'application/json' };
    return on.control.fetch(new Request('http://localhost:8400/hooks/subscriptions', { method: 'POST', body, headers }), {
      remoteAddress: '192.0.2.1',
    });
  };

  it('webhook accepts a signed request, and refuses a forged, old, changed or unsigned one', async () => {
    const on = await openWith({ settings: { subscriptionWebhookSecret: secret } });
    const body = JSON.stringify({ email: 'Hook@example.com', active: true });
    const now = Math.floor(on.time.now / 1000);
    assert.equal((await hook(on, body, sign(body, now))).status, 204);
    for (const [text, signature] of [
      [body, sign(body, now, 'another')],
      [body, sign(body, now - 301)],
      [body, sign(body, now + 301)],
      [body.replace('true', 'false'), sign(body, now)],
      [body, ''],
      [body, 't=1,v1=zz'],
    ] as const) {
      assert.equal((await hook(on, text, signature)).status, 401);
    }
    const off = JSON.stringify({ email: 'hook@example.com', active: false });
    assert.equal((await hook(on, off, sign(off, now))).status, 204);
    const [row] = await on.control.operator.listSubscriptions();
    assert.deepEqual([row?.email, row?.active, row?.source], ['hook@example.com', false, 'webhook']);
    const oddTypes = [
      '{"email":["a@example.com"],"active":true}',
      '{"email":{"toString":"a@example.com"},"active":true}',
      '{"email":7,"active":true}',
      '{"email":"a@example.com","active":"true"}',
      '{"email":"a@example.com","active":true,"expiresAt":1e999}',
      '{"email":"a@example.com","active":true,"expiresAt":["2027-01-31T00:00:00Z"]}',
      `${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    ];
    for (const bad of ['[]', 'null', '{"email":"x","active":true}', '{"email":"a@example.com"}', '{', ...oddTypes]) {
      assert.equal((await hook(on, bad, sign(bad, now))).status, 400, bad);
    }
    const large = 'x'.repeat(70_000);
    assert.equal((await hook(on, large, sign(large, now))).status, 413);
  });

  it('webhook keeps the newest report, however late an older one arrives, and audits each change', async () => {
    const on = await openWith({ settings: { subscriptionWebhookSecret: secret } });
    const now = Math.floor(on.time.now / 1000);
    const say = (active: boolean, seconds: number) => {
      const body = JSON.stringify({ email: 'hook@example.com', active });
      return hook(on, body, sign(body, seconds));
    };
    for (const [active, seconds] of [
      [true, now - 20],
      [false, now - 10],
      [true, now - 20],
    ] as const) {
      assert.equal((await say(active, seconds)).status, 204);
      // Rows sort by their time.
      on.time.now += 1;
    }
    const [row] = await on.control.operator.listSubscriptions();
    assert.equal(row?.active, false);
    const rows = await on.store.db
      .selectFrom('audit')
      .selectAll()
      .where('action', 'like', 'subscription.%')
      .orderBy('id')
      .execute();
    assert.deepEqual(
      rows.map((each) => [each.actor, each.action, each.target, each.address, JSON.parse(each.detail)]),
      [true, false].map((active) => [
        'webhook',
        'subscription.change',
        'hook@example.com',
        '192.0.2.1',
        { active, expiresAt: null },
      ]),
    );
  });

  it('webhook takes a cancellation after a report that was dated ahead, and its repetition changes nothing', async () => {
    const on = await openWith({ settings: { subscriptionWebhookSecret: secret } });
    const now = Math.floor(on.time.now / 1000);
    const say = async (active: boolean, seconds: number): Promise<boolean | undefined> => {
      const body = JSON.stringify({ email: 'ahead@example.com', active });
      assert.equal((await hook(on, body, sign(body, seconds))).status, 204);
      return (await on.control.operator.listSubscriptions())[0]?.active;
    };
    assert.equal(await say(true, now + 200), true);
    on.time.now += 50_000;
    assert.equal(await say(false, now + 50), false);
    on.time.now += 10_000;
    assert.equal(await say(true, now + 200), false, 'the first report again');
  });

  it('import lets other work run while it reads lines and while it writes them', async () => {
    const good = Array.from({ length: 2_000 }, (_, i) => `person${i}@example.net`);
    // Read to the end and not written.
    const bad = Array.from({ length: 40_000 }, (_, i) => `"person${i}@example.net","tomorrow",true`);
    let [turns, longestMs, before] = [0, 0, process.threadCpuUsage().user];
    let isDone = false;
    const count = (): void => {
      const now = process.threadCpuUsage().user;
      [turns, longestMs, before] = [turns + 1, Math.max(longestMs, (now - before) / 1000), now];
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const call = operator.call('POST', '/api/operator/subscriptions/import', [...good, ...bad].join('\n'));
    await call.finally(() => {
      isDone = true;
    });
    assert.ok(turns > 100, `the event loop turned ${turns} times`);
    assert.ok(longestMs < 300, `one turn took ${longestMs} ms of CPU: some 20 ms; all lines at once take more than 400`);
    await test.store.db.deleteFrom('subscriptions').where('email', 'like', 'person%').execute();
  });

  it('import accepts both spellings of the column for the end of a subscription', async () => {
    for (const header of ['email,expires_at', 'email,expiresAt']) {
      await operator.call('POST', '/api/operator/subscriptions/import', `${header}\nada@example.com,2030-01-01\n`);
      const [row] = await operator.call<Subscription[]>('GET', '/api/operator/subscriptions');
      assert.equal(row?.expiresAt, '2030-01-01T00:00:00.000Z', header);
      await operator.call('DELETE', `/api/operator/subscriptions/${row?.id}`);
    }
  });

  it('webhook answers 404 without a secret in the settings', async () => {
    assert.equal((await hook(test, '{}', '')).status, 404);
  });

  const serve = async (
    answer: (email: string | null) => { status: number; body: string } | undefined,
  ): Promise<{ url: string; asked: string[] }> => {
    const asked: string[] = [];
    const server: Server = createServer((request, response) => {
      const email = new URL(request.url!, 'http://x').searchParams.get('email');
      asked.push(`${request.headers.authorization} ${email}`);
      const made = answer(email);
      if (made) response.writeHead(made.status).end(made.body);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    opened.push(async () => server.closeAllConnections());
    opened.push(async () => server.close());
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/lookup`, asked };
  };

  for (const [status, body, subscribed] of [
    [200, '{"active":true}', true],
    [200, '{"active":false}', false],
    [200, '{"active":"yes"}', false],
    [404, '', false],
    [500, '', false],
    [200, 'not json', false],
  ] as const) {
    it(`look-up that answers ${status} ${body} ${subscribed ? 'matches' : 'does not match'}`, async () => {
      const { url, asked } = await serve(() => ({ status, body }));
      const on = await openWith({ settings: { subscriptionLookup: { url, token: 'sesame' } } });
      await register(on, 'a+b@example.com');
      assert.deepEqual(asked, ['Bearer sesame a+b@example.com']);
      const [registration] = await on.control.operator.listRegistrations();
      assert.equal(registration?.isSubscribed, subscribed);
    });
  }

  it('look-up without an answer times out, and the registration waits as usual', async (t) => {
    const { url } = await serve(() => undefined);
    const on = await openWith({ settings: { subscriptionLookup: { url } } });
    const started = performance.now();
    await register(on, 'slow@example.com');
    assert.ok(performance.now() - started < 30_000, 'bounded');
    const [registration] = await on.control.operator.listRegistrations();
    assert.deepEqual([registration?.email, registration?.isSubscribed], ['slow@example.com', false]);
    t.diagnostic(`${Math.round(performance.now() - started)} ms`);
  });
});

describe('users', () => {
  it('are found by e-mail and name; a percent sign is no pattern', async () => {
    await test.signUp('ann@example.com');
    const find = async (q: string) =>
      (await operator.call<OperatorUser[]>('GET', `/api/operator/users?q=${encodeURIComponent(q)}`)).map((each) => each.email);
    assert.deepEqual(await find('ANN@'), ['ann@example.com']);
    assert.equal((await find('lee')).length, 2);
    assert.deepEqual(await find('%'), []);
    assert.deepEqual(await find('_'), []);
  });

  it('once suspended lose their sessions, and the edges check their tunnels again', async () => {
    const ann = await test.signUp('ann@example.com');
    await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: 'shop', region: 'local' });
    test.feed.changed.length = 0;
    const user = await operator.call<OperatorUser>('PATCH', `/api/operator/users/${ann.userId}`, { suspended: true });
    assert.equal(user.suspended, true);
    assert.equal(test.feed.changed.length, 1);
    assert.equal((await ann.send('GET', '/api/user')).status, 401);
  });

  it('have a list of what stops with them, the same before and after: what another active owner keeps going is not in it', async () => {
    const [ann, bob] = [await test.signUp('ann@example.com'), await test.signUp('bob@example.com')];
    await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: 'shop', region: 'local' });
    await ann.call('POST', `/api/tokens?project=${ann.projectId}`, { name: 'ci', role: 'viewer' });
    const shared = await ann.call<Project>('POST', '/api/projects', { name: 'Shared' });
    await test.addMember(shared.id, bob.userId, 'owner');
    await test.addMember(bob.projectId, ann.userId, 'admin');
    const reach = () => operator.call<UserReach>('GET', `/api/operator/users/${ann.userId}/reach`);
    const suspend = ({ userId }: SignedUp, suspended: boolean) =>
      operator.call('PATCH', `/api/operator/users/${userId}`, { suspended });
    const own = { id: ann.projectId, name: 'default', tunnels: 1 };
    const expected = { projects: [own], projectCount: 1, tunnelCount: 1, apiTokens: 1 };
    assert.deepEqual(await reach(), { ...expected, signIns: 1 });
    await suspend(ann, true);
    assert.deepEqual(await reach(), { ...expected, signIns: 0 });
    await suspend(bob, true);
    const both = { projects: [own, { id: shared.id, name: 'Shared', tunnels: 0 }], projectCount: 2, tunnelCount: 1 };
    assert.deepEqual(await reach(), { ...both, apiTokens: 1, signIns: 0 });
    assert.equal((await operator.send('GET', '/api/operator/users/nobody/reach')).status, 404);
  });

  it('keep a last operator, even if two revoke each other at once', async () => {
    assert.deepEqual(await refusal(await operator.send('PATCH', `/api/operator/users/${operator.userId}`, { operator: false })), [
      409,
      'This is the last operator. Make another user an operator first.',
    ]);
    const second = await test.signUp('second@example.com', { operator: true });
    const answers = await Promise.all([
      operator.send('PATCH', `/api/operator/users/${second.userId}`, { operator: false }),
      second.send('PATCH', `/api/operator/users/${operator.userId}`, { operator: false }),
    ]);
    assert.ok(answers.some((each) => !each.ok));
    assert.equal((await operator.send('PATCH', '/api/operator/users/nobody', { suspended: true })).status, 404);
    assert.equal((await operator.send('PATCH', `/api/operator/users/${second.userId}`, {})).status, 400);
  });
});

describe('projects and tunnels', () => {
  it('are found by name, owner and host, and suspended one by one', async () => {
    const ann = await test.signUp('ann@example.com');
    const tunnel = await ann.call<Tunnel>('POST', `/api/tunnels?project=${ann.projectId}`, { name: 'shop', region: 'local' });
    const host = tunnel.ingressDomains[0]!.name;
    const [found] = await operator.call<OperatorTunnel[]>('GET', `/api/operator/tunnels?q=${host}`);
    assert.deepEqual(
      [found?.name, found?.project.id, found?.ingressDomains, found?.suspended],
      ['shop', ann.projectId, [host], false],
    );
    assert.equal(found?.connectedClients, 0);
    const client = { id: 'c', address: '192.0.2.7', version: '0.1.0', since: '', edge: 'e', rttMs: 1, healthy: true };
    test.feed.connected.set(found!.id, [client, client]);
    const suspended = await operator.call<OperatorTunnel>('PATCH', `/api/operator/tunnels/${found!.id}`, { suspended: true });
    assert.deepEqual([suspended.suspended, suspended.connectedClients], [true, 2]);
    const [again] = await operator.call<OperatorTunnel[]>('GET', `/api/operator/tunnels?q=${host}`);
    assert.equal(again?.connectedClients, 2);
    const [atMachine] = await test.control.operator.listTunnels(host);
    assert.ok(!('connectedClients' in atMachine!), 'no edge tells a command: it must not say 0');
    assert.equal(test.feed.changed.at(-1), found!.id);
    const projects = await operator.call<{ id: string; tunnels: number; owners: string[] }[]>(
      'GET',
      '/api/operator/projects?q=ann@',
    );
    assert.deepEqual(
      projects.map(({ id, tunnels, owners }) => [id, tunnels, owners]),
      [[ann.projectId, 1, ['ann@example.com']]],
    );
  });

  it('accept no invitation and give a terminal no token while suspended', async () => {
    const [ann, bob] = [await test.signUp('ann@example.com'), await test.signUp('bob@example.com')];
    await ann.call('POST', `/api/invitations?project=${ann.projectId}`, { email: bob.email, role: 'owner' });
    await test.control.settle();
    const token = /\/invitations\/(\S+)/.exec(test.mails.findLast(({ to }) => to === bob.email)!.text)![1];
    const { userCode, deviceCode } = await test.client().call<DeviceStart>('POST', '/auth/device', { name: 'laptop' });
    const ways: readonly (() => Promise<Response>)[] = [
      () => bob.send('POST', '/api/invitations/accept', { token }),
      () => ann.send('POST', `/api/device/${userCode}/approve?project=${ann.projectId}`, { role: 'owner' }),
    ];
    const suspend = (suspended: boolean) => operator.call('PATCH', `/api/operator/projects/${ann.projectId}`, { suspended });
    await suspend(true);
    for (const way of ways)
      assert.deepEqual(await refusal(await way()), [403, 'This project is suspended. Please write to the operator.']);
    await suspend(false);
    assert.deepEqual([(await ways[0]!()).status, (await ways[1]!()).status], [200, 204]);
    await suspend(true);
    const poll = () => test.client().send('POST', '/auth/device/token', { deviceCode });
    assert.equal((await poll()).status, 403, 'suspended after it was approved');
    await suspend(false);
    assert.equal((await poll()).status, 200);
  });

  it('cannot be deleted and made again while suspended, alone or with the project', async () => {
    const ann = await test.signUp('ann@example.com');
    const { id: projectId } = await ann.call<{ id: string }>('POST', '/api/projects', { name: 'Second' });
    await ann.call('POST', `/api/tunnels?project=${projectId}`, { name: 'shop', region: 'local' });
    const [found] = await operator.call<OperatorTunnel[]>('GET', '/api/operator/tunnels?q=shop');
    const suspend = (suspended: boolean) => operator.call('PATCH', `/api/operator/tunnels/${found!.id}`, { suspended });
    const path = `/api/tunnels/shop?project=${projectId}`;
    const ways: readonly (() => Promise<Response>)[] = [
      () => ann.send('PATCH', path, { proxyProtocol: 'v1' }),
      () => ann.send('DELETE', path),
      () => ann.send('DELETE', `/api/projects/${projectId}`, { name: 'Second' }),
    ];
    await suspend(true);
    for (const way of ways) {
      assert.deepEqual(await refusal(await way()), [403, "Tunnel 'shop' is suspended. Please write to the operator."]);
    }
    assert.equal((await ann.call<Tunnel>('GET', path)).proxyProtocol, '');
    await suspend(false);
    assert.deepEqual([(await ways[0]!()).status, (await ways[1]!()).status, (await ways[2]!()).status], [200, 204, 204]);
  });

  it('accept only known limits within their bounds', async () => {
    const path = `/api/operator/projects/${operator.projectId}`;
    for (const limits of [
      { tunnels: -1 },
      { rulesPerGroup: 1001 },
      { nothing: 1 },
      { tunnels: 1.5 },
      { tunnels: '5' },
      { __proto__: 1, constructor: 2 },
    ]) {
      assert.equal((await operator.send('PATCH', path, { limits })).status, 400, JSON.stringify(limits));
    }
    const changed = await operator.call<{ limits: object }>('PATCH', path, { limits: { tunnels: 5 } });
    assert.deepEqual(
      { ...changed.limits },
      {
        tunnels: 5,
        domains: 100,
        securityGroups: 100,
        accessPolicies: 100,
        rulesPerGroup: 500,
        ingressDomainsPerTunnel: 50,
        members: 100,
        apiTokens: 50,
        gigabytesPerMonth: 1_000_000,
        tcpPorts: 10,
      },
    );
    await operator.call('PATCH', path, { limits: { domains: 7 } });
    const [kept] = await operator.call<{ limits: { tunnels: number; domains: number } }[]>(
      'GET',
      `/api/operator/projects?q=${operator.projectId}`,
    );
    assert.deepEqual([kept?.limits.tunnels, kept?.limits.domains], [5, 7]);
  });
});

describe('regions', () => {
  it('of the settings follow them at each start, except for what an operator changed', async () => {
    const settings = { name: 'first', dataPlaneHost: 'first.example.net', tlsTermination: true };
    const start = (description: string, wildcardIngressDomain: string, httpsPort: number) =>
      test.control.operator.ensureRegion({ ...settings, description, wildcardIngressDomain, httpsPort });
    const shown = async () => {
      const regions = await operator.call<OperatorRegion[]>('GET', '/api/operator/regions');
      const region = regions.find(({ name }) => name === 'first');
      return [region?.description, region?.wildcardIngressDomain, region?.httpsPort, region?.available];
    };
    await start('One', 'one.example.net', 1);
    await start('Two', 'two.example.net', 2);
    assert.deepEqual(await shown(), ['Two', 'two.example.net', 2, true]);
    await operator.call('PATCH', '/api/operator/regions/first', { description: 'Ours' });
    await operator.call('PATCH', '/api/operator/regions/first', { available: false });
    await start('Three', 'three.example.net', 3);
    assert.deepEqual(await shown(), ['Ours', 'three.example.net', 3, false]);
    await operator.call('PATCH', '/api/operator/regions/first', { wildcardIngressDomain: 'ours.example.net' });
    await start('Four', 'four.example.net', 4);
    assert.deepEqual(await shown(), ['Ours', 'ours.example.net', 4, false]);
    await operator.call('DELETE', '/api/operator/regions/first');
    await start('Five', 'five.example.net', 5);
    // As the dashboard's panel does: every field, of which one is new.
    await operator.call('PATCH', '/api/operator/regions/first', {
      description: 'Five',
      wildcardIngressDomain: 'five.example.net',
      tlsTermination: true,
      available: false,
    });
    await start('Six', 'six.example.net', 6);
    assert.deepEqual(await shown(), ['Six', 'six.example.net', 6, false]);
    await operator.call('PATCH', '/api/operator/regions/first', { available: true });
    await start('Seven', 'seven.example.net', 7);
    assert.deepEqual(await shown(), ['Seven', 'seven.example.net', 7, true]);
  });

  it('show why the last certificate order for one of their names failed, until one succeeds', async () => {
    const shown = async () =>
      (await operator.call<OperatorRegion[]>('GET', '/api/operator/regions')).find(({ name }) => name === 'local')
        ?.certificateProblem;
    const attempt = { name: '*.tunnels.localhost', project_id: '', owner_id: '', retry_at: 0, retry_issuer: '' };
    const add = (at: number, outcome: 'failed' | 'issued', detail: string) =>
      test.store.db
        .insertInto('certificate_attempts')
        .values({ ...attempt, id: `attempt-${at}`, at, outcome, detail })
        .execute();
    assert.equal(await shown(), undefined);
    await add(1, 'failed', 'acme: not-proven: no TXT record');
    assert.equal(await shown(), '*.tunnels.localhost: acme: not-proven: no TXT record');
    await add(2, 'issued', '');
    assert.equal(await shown(), undefined);
  });

  const region = {
    name: 'eu-1',
    description: 'Europe',
    dataPlaneHost: 'EU1.example.net',
    tlsTermination: true,
    wildcardIngressDomain: '*.eu1-tunnels.net',
  };

  it('are created, shown to users, closed, and deleted once empty', async () => {
    const made = await operator.call<OperatorRegion>('POST', '/api/operator/regions', region);
    assert.deepEqual(
      [made.dataPlaneHost, made.wildcardIngressDomain, made.httpsPort, made.httpPort],
      ['eu1.example.net', 'eu1-tunnels.net', 443, 80],
    );
    assert.equal((await operator.send('POST', '/api/operator/regions', region)).status, 409);
    const tunnel = await operator.call<Tunnel>('POST', `/api/tunnels?project=${operator.projectId}`, {
      name: 'eu',
      region: 'eu-1',
    });
    const withoutTls = { tlsTermination: false };
    assert.deepEqual(await refusal(await operator.send('PATCH', '/api/operator/regions/eu-1', withoutTls)), [
      409,
      "Region 'eu-1' has 1 tunnel. Delete its tunnels first.",
    ]);
    await operator.call('PATCH', '/api/operator/regions/eu-1', { tlsTermination: true });
    assert.equal(tunnel.url, `https://eu1.example.net#ca=${'ab'.repeat(32)}`);
    await operator.call('PATCH', '/api/operator/regions/eu-1', { available: false, description: 'Closed' });
    const shown = await operator.call<{ name: string; available: boolean }[]>('GET', '/api/regions');
    assert.equal(shown.find((each) => each.name === 'eu-1')?.available, false);
    assert.deepEqual(await refusal(await operator.send('DELETE', '/api/operator/regions/eu-1')), [
      409,
      "Region 'eu-1' has 1 tunnel. Delete its tunnels first.",
    ]);
    await operator.call('DELETE', `/api/tunnels/eu?project=${operator.projectId}`);
    const changed = await operator.call<OperatorRegion>('PATCH', '/api/operator/regions/eu-1', withoutTls);
    assert.equal(changed.tlsTermination, false);
    await operator.call('DELETE', '/api/operator/regions/eu-1');
  });

  it('are refused with an invalid name, host or port', async () => {
    for (const over of [
      { name: 'EU' },
      { name: '' },
      { dataPlaneHost: 'single' },
      { wildcardIngressDomain: 'a b' },
      { httpsPort: 0 },
      { httpsPort: 70_000 },
      { description: '' },
    ]) {
      assert.equal(
        (await operator.send('POST', '/api/operator/regions', { ...region, ...over })).status,
        400,
        JSON.stringify(over),
      );
    }
  });

  it('show an edge key once; a new one overlaps with the old for a day', async () => {
    const opens = async (key: string, name = 'local') => keyOpensRegion(test.store.db, name, hashToken(key), test.time.now);
    const { key: first } = await operator.call<{ key: string }>('POST', '/api/operator/regions/local/key');
    assert.equal(await opens(first), true);
    assert.equal(await opens(first, 'other'), false);
    assert.equal(await opens('wrong'), false);
    const { key: second } = await operator.call<{ key: string }>('POST', '/api/operator/regions/local/key');
    assert.deepEqual([await opens(first), await opens(second)], [true, true]);
    test.time.now += 24 * 3600_000;
    assert.deepEqual([await opens(first), await opens(second)], [false, true]);
    const rows = JSON.stringify(await test.store.db.selectFrom('edge_keys').selectAll().execute());
    assert.ok(!rows.includes(first) && !rows.includes(second));
    const { key: leaked } = await test.control.operator.createRegionKey('local');
    const { key: fresh } = await test.control.operator.createRegionKey('local', 'leaked');
    assert.deepEqual([await opens(leaked), await opens(fresh)], [false, true]);
  });
});

describe('abuse reports', () => {
  it('are mailed at most 200 times an hour, and a flood from other networks keeps nobody from reporting', async () => {
    const limited = await openWith({ limited: true });
    const body = { host: 'bad.example.com', email: 'a@example.com', text: 'x', 'bot-check': rightAnswer };
    const statusFrom = async (address: string): Promise<number> =>
      (await limited.client(undefined, address).send('POST', '/api/abuse-reports', body)).status;
    for (let i = 0; i < 205; i++) assert.equal(await statusFrom(`2001:db8:1:${i.toString(16)}::1`), 204);
    assert.deepEqual([await statusFrom('2001:db8:1:ffff::1'), await statusFrom('2001:db8:2::1')], [429, 204]);
    const jobs = await limited.store.db.selectFrom('jobs').select('id').execute();
    const reports = await limited.store.db.selectFrom('abuse_reports').select('id').execute();
    assert.deepEqual([jobs.length, reports.length], [200, 206]);
  });

  const report = {
    host: 'https://bad.example.com/login?x=1',
    email: 'victim@example.com',
    text: 'Phishing',
    'bot-check': rightAnswer,
  };

  it('are accepted from anybody, mailed to the operator, and closed', async () => {
    assert.equal((await test.client().send('POST', '/api/abuse-reports', report)).status, 204);
    const [open] = await operator.call<AbuseReport[]>('GET', '/api/operator/abuse-reports?state=open');
    assert.deepEqual([open?.host, open?.email, open?.text], ['bad.example.com', 'victim@example.com', 'Phishing']);
    await test.control.settle();
    assert.equal(test.mails.at(-1)?.subject, 'Abuse report about bad.example.com');
    await operator.call('PATCH', `/api/operator/abuse-reports/${open!.id}`, { state: 'closed' });
    assert.deepEqual(await operator.call('GET', '/api/operator/abuse-reports?state=open'), []);
    assert.equal((await operator.send('PATCH', `/api/operator/abuse-reports/${open!.id}`, { state: 'gone' })).status, 400);
  });

  it('accept a host or the URL of a page, as the form does', async () => {
    for (const [i, host] of ['bad.example.com:8443', 'bad.example.com/login?a=b', 'HTTPS://bad.example.com:8443/x'].entries()) {
      const body = { ...report, host };
      assert.equal((await test.client(undefined, `192.0.2.${i}`).send('POST', '/api/abuse-reports', body)).status, 204, host);
    }
    const open = await operator.call<AbuseReport[]>('GET', '/api/operator/abuse-reports?state=open');
    assert.deepEqual([...new Set(open.map((each) => each.host))], ['bad.example.com']);
    const one = await refusal(await test.client().send('POST', '/api/abuse-reports', { ...report, host: 'localhost' }));
    assert.deepEqual(one, [400, 'host: Please enter a valid address, such as app.example.com.']);
  });

  it('are refused with an invalid host, e-mail or text, and without the bot check', async () => {
    for (const over of [
      { host: '' },
      { host: 'a b' },
      { email: 'x' },
      { text: '  ' },
      { text: 'x'.repeat(4001) },
      { 'bot-check': 'wrong' },
    ]) {
      assert.equal(
        (await test.client().send('POST', '/api/abuse-reports', { ...report, ...over })).status,
        400,
        JSON.stringify(over).slice(0, 40),
      );
    }
  });
});

describe('a list of more than a page', () => {
  const made = { created_at: 0, suspended_at: null };
  const person = { first_name: 'A', last_name: 'B' };
  const decided = { state: 'waiting' as const, decided_at: null, decided_by: null };
  const more = Array.from({ length: limits.operatorPageRows + 5 }, (_, i) => ({ i, id: createId(i) }));
  const add: Readonly<Record<string, () => Promise<unknown>>> = {
    users: () => {
      const rows = more.map(({ id, i }) => ({ id, email: `${i}@example.org`, ...person, operator: 0 as const, ...made }));
      const values = rows.map((row) => ({ ...row, default_project: null }));
      return test.store.db.insertInto('users').values(values).execute();
    },
    projects: () => {
      const values = more.map(({ id, i }) => ({
        id,
        name: `p${i}`,
        limits: null,
        passkey_required: 0 as const,
        revision: 0,
        ...made,
      }));
      return test.store.db.insertInto('projects').values(values).execute();
    },
    tunnels: async () => {
      const group = await test.store.db.selectFrom('security_groups').select(['id', 'project_id']).executeTakeFirstOrThrow();
      const of = { project_id: group.project_id, security_group_id: group.id, type: 'http', region: 'local' } as const;
      const values = more.map(({ id, i }) => ({ id, name: `t${i}`, ...of, proxy_protocol: '' as const, ...made, updated_at: 0 }));
      return test.store.db.insertInto('tunnels').values(values).execute();
    },
    registrations: () => {
      const of = { company: '', github: '', x_account: '', subscribed: 0 as const, created_at: 0 };
      const values = more.map(({ id, i }) => ({ id, email: `${i}@example.org`, ...person, ...of, ...decided }));
      return test.store.db.insertInto('registrations').values(values).execute();
    },
    subscriptions: () => {
      const of = { source: 'operator' as const, active: 1 as const, expires_at: null, updated_at: 0 };
      const values = more.map(({ id, i }) => ({ id, email: `many-${i}@example.org`, ...of }));
      return test.store.db.insertInto('subscriptions').values(values).execute();
    },
    'abuse-reports': () => {
      const of = { host: 'h', email: 'e', text: 't', state: 'open' as const, address: '', created_at: 0 };
      return test.store.db
        .insertInto('abuse_reports')
        .values(more.map(({ id }) => ({ id, ...of })))
        .execute();
    },
  };

  const lists: Readonly<Record<string, ListRules>> = {
    ...{ users: userList, projects: projectList, tunnels: allTunnelList },
    ...{ registrations: registrationList, subscriptions: subscriptionList, 'abuse-reports': abuseReportList },
  };
  const read = async (list: string, query: string) => {
    const response = await operator.send('GET', `/api/operator/${list}?${query}`);
    const { status, headers } = response;
    const ids = ((await response.json()) as { id: string }[]).map(({ id }) => id);
    return { status, ids, counts: headers.get('underpass-counts') ?? '', link: headers.get('link') ?? '' };
  };

  /** The ids of each page, and the query of the last. */
  async function walk(list: string, query: string, relation: 'next' | 'prev') {
    const pages: string[][] = [];
    for (let at = query; ; ) {
      const { ids, link } = await read(list, at);
      pages.push(ids);
      const found = new RegExp(`\\?([^>]*)>; rel="${relation}"`).exec(link)?.[1];
      if (found === undefined) return Object.assign(pages, { last: at });
      at = found;
    }
  }

  it('counts the rows of each status, also of those that the page leaves out', async () => {
    const { counts } = await read('users', 'limit=1&status=Suspended');
    assert.match(counts, /^total=0, Active=\d+, Suspended=0$/);
  });

  for (const [list, insert] of Object.entries(add)) {
    it(`of ${list} is answered page by page, each row once, newest first`, async () => {
      await insert();
      const ask = (query: string) => operator.call<{ id: string }[]>('GET', `/api/operator/${list}?${query}`);
      const first = await ask('');
      assert.equal(first.length, limits.operatorPageRows);
      const rest = await ask(`before=${first.at(-1)!.id}`);
      const ids = [...first, ...rest].map(({ id }) => id);
      assert.deepEqual(ids, [...new Set(ids)].sort().reverse());
      assert.ok(more.every(({ id }) => ids.includes(id)));
      assert.deepEqual(await ask(`before=${ids.at(-1)}`), []);
    });

    it(`of ${list} is sorted by each column, whole in both directions, and back again`, async () => {
      const { sorts } = lists[list]!;
      for (const sort of [...sorts, ...sorts.map((each) => `-${each}`)]) {
        const there = await walk(list, `limit=30&sort=${sort}`, 'next');
        assert.equal(new Set(there.flat()).size, there.flat().length);
        assert.equal(there.flat().length, Number(/total=(\d+)/.exec((await read(list, 'limit=1')).counts)![1]));
        const back = await walk(list, there.last, 'prev');
        assert.deepEqual(back.reverse().slice(1), there.slice(1), sort);
      }
      for (const cursor of ['', '~', 'x~y', '~9e999', "'~1"])
        for (const turn of ['after', 'before'])
          assert.equal((await read(list, `limit=5&sort=${sorts[0]}&${turn}=${cursor}`)).status, 200, cursor);
    });
  }
});

describe('the first start', () => {
  it('makes one operator, with a project and a link that signs in; the second start makes none', async () => {
    const fresh = await openWith({});
    assert.equal(await fresh.control.operator.ensureOperator(), true);
    assert.equal(await fresh.control.operator.ensureOperator(), false);
    const url = new URL(await fresh.control.operator.createLoginLink('operator@example.com'));
    assert.equal(url.origin, 'http://localhost:8400');
    const client = fresh.client();
    await client.call('POST', '/auth/login', new URLSearchParams({ token: url.pathname.split('/').at(-1)! }));
    assert.equal((await client.call<{ operator: boolean }>('GET', '/api/user')).operator, true);
    assert.equal((await client.call<Project[]>('GET', '/api/projects')).length, 1);
  });
});

describe('the overview of the service', () => {
  const row = { name: '', since: null, lastError: null, build: null };
  const edge = {
    ...{ id: 'edge-1', region: 'local', version: 'underpass/1', since: '2026-01-01T00:00:00.000Z' },
    ...{ lastSeenAt: '2026-01-01T00:00:00.000Z', acknowledged: true, clients: 2 },
  };

  it('is for operators only', async () => {
    const person = await test.signUp('ann@example.com');
    assert.equal((await person.send('GET', '/api/operator/overview')).status, 403);
  });

  it('says nothing of a service that is well', async () => {
    test.feed.knownEdges.push({ ...edge, connected: true });
    const { attention, regions, edges, connectedEdges } = await operator.call<ServiceOverview>('GET', '/api/operator/overview');
    assert.deepEqual([attention, edges, connectedEdges], [[], 1, 1]);
    assert.deepEqual(regions.map(({ name, connectedEdges: up, clients }) => [name, up, clients])[0], ['local', 1, 2]);
  });

  it('names parts that fail, edges that are behind, and what waits since when', async () => {
    const other = await openWith({
      readStatus: async () => [
        { ...row, part: 'database', ok: true, state: 'answers' },
        { ...row, part: 'backup', ok: false, state: 'late' },
      ],
    });
    const boss = await other.signUp('boss@example.com', { operator: true });
    other.feed.knownEdges.push(
      ...Array.from({ length: 50 }, (_, i) => ({ ...edge, id: `edge-${i}`, connected: true, acknowledged: i !== 9 })),
    );
    await other.store.db
      .insertInto('abuse_reports')
      .values({
        ...{ id: createId(1), host: 'a.example', email: 'eve@example.org', text: 'x', state: 'open' as const },
        ...{ address: '192.0.2.1', created_at: other.time.now },
      })
      .execute();
    const { attention, parts, regions } = await boss.call<ServiceOverview>('GET', '/api/operator/overview');
    assert.deepEqual(
      attention.map(({ kind, part, name, affected, since }) => [kind, part ?? name ?? affected, since]),
      [
        ['part-failing', 'backup', undefined],
        ['abuse-open', 1, new Date(other.time.now).toISOString()],
        ['edge-behind', 'local/edge-9', undefined],
      ],
    );
    assert.deepEqual(
      parts.map(({ part }) => part),
      ['database', 'backup'],
    );
    const local = regions.find(({ name }) => name === 'local')!;
    assert.deepEqual([local.totalEdges, local.edges.length, local.edges[0]?.id], [50, 8, 'edge-9']);
  });
});
