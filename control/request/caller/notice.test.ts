// What is mailed to people when somebody gains power over their account, project or installation.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DeviceStart } from '@underpass/rules/entity/resource.ts';
import { rateLimits } from '@underpass/rules/limits.ts';
import { createTestControl, linkToken, type SignedUp, type TestClient, type TestControl } from '../../test-kit.ts';

let test: TestControl;
let count = 0;

before(async () => {
  test = await createTestControl();
});
after(() => test.close());

const person = (options = {}): Promise<SignedUp> => test.signUp(`person-${++count}@example.com`, options);
async function mailsTo({ email }: { email: string }, subject: RegExp): Promise<string[]> {
  await test.control.settle();
  return test.mails.filter((mail) => mail.to === email && subject.test(mail.subject)).map(({ text }) => text);
}
const linuxChrome = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36';

async function signIn(browser: TestClient, { email }: SignedUp, userAgent = linuxChrome): Promise<void> {
  const token = new URL(await test.control.operator.createLoginLink(email)).pathname.split('/').at(-1)!;
  const body = new URLSearchParams({ token });
  assert.equal((await browser.send('POST', '/auth/login', body, { 'user-agent': userAgent })).status, 204);
}

describe('a sign-in', () => {
  const news = /^New sign-in/;

  it('in an unknown browser is mailed with its name and address', async () => {
    const ann = await person();
    assert.deepEqual(await mailsTo(ann, news), [], 'the first one');
    await signIn(test.client(undefined, '198.51.100.7'), ann);
    const [mail = '', ...more] = await mailsTo(ann, news);
    assert.deepEqual(more, []);
    assert.match(mail, /from a new browser: Chrome on Linux, from 198\.51\.100\.7, at 2026-/);
    assert.match(mail, /\/account\n/);
  });

  it('in a known browser is not mailed, after a log-out and half a year either', async () => {
    const ann = await person();
    await ann.call('POST', '/auth/logout');
    test.time.now += 180 * 24 * 3600_000;
    await signIn(ann, ann);
    assert.deepEqual(await mailsTo(ann, news), []);
  });

  it('puts nothing into the mail that the browser chose', async () => {
    const ann = await person();
    await signIn(test.client(), ann, 'Visit http://evil.example/ now');
    const [mail = ''] = await mailsTo(ann, news);
    assert.ok(!mail.includes('evil') && mail.includes('from a new browser: unknown'), mail);
  });

  it('in a browser that another person uses is mailed', async () => {
    const [ann, bob] = [await person(), await person()];
    await signIn(bob, ann);
    assert.equal((await mailsTo(ann, news)).length, 1);
  });

  it('is remembered for fifty browsers of a person', async () => {
    const ann = await person();
    for (let i = 0; i < 55; i++) await signIn(test.client(), ann);
    const rows = await test.store.db.selectFrom('known_browsers').select('id').where('user_id', '=', ann.userId).execute();
    assert.equal(rows.length, 50);
  });
});

describe('a new token', () => {
  it('is mailed to the person in whose name it is, without a name that looks like a link', async () => {
    const ann = await person();
    for (const name of ['deploy', 'http://evil.example'])
      await ann.call('POST', `/api/tokens?project=${ann.projectId}`, { name, role: 'viewer' });
    const [first = '', second = ''] = await mailsTo(ann, /^New API token/);
    assert.match(first, /created in your name: "deploy", as viewer of "default", from 192\.0\.2\.1/);
    assert.ok(!second.includes('evil'));
  });

  it('of a terminal is mailed with the address of the terminal', async () => {
    const ann = await person();
    const terminal = test.client(undefined, '198.51.100.8');
    const { deviceCode, userCode } = await terminal.call<DeviceStart>('POST', '/auth/device', { name: 'laptop' });
    await ann.call('POST', `/api/device/${userCode}/approve?project=${ann.projectId}`, { role: 'viewer' });
    await terminal.call('POST', '/auth/device/token', { deviceCode });
    assert.match((await mailsTo(ann, /^A terminal was signed in/))[0] ?? '', /"laptop", as viewer .* from 198\.51\.100\.8/);
  });

  it('is made without a mail once a person has caused too many', async () => {
    const limited = await createTestControl({ limited: true });
    const ann = await limited.signUp('ann@example.com');
    const { points } = rateLimits.noticePerSubject;
    for (let i = 0; i < points + 3; i++)
      await ann.call('POST', `/api/tokens?project=${ann.projectId}`, { name: 'ci', role: 'viewer' });
    await limited.control.settle();
    assert.equal(limited.mails.filter(({ subject }) => subject.startsWith('New API token')).length, points);
    await limited.close();
  });
});

describe('a new owner', () => {
  const news = /^New owner/;

  it('by a changed role is mailed to every owner of the project, and to nobody else', async () => {
    const [ann, bob, admin] = [await person(), await person(), await person()];
    await test.addMember(ann.projectId, bob.userId, 'viewer');
    await test.addMember(ann.projectId, admin.userId, 'admin');
    const path = `/api/members/${bob.userId}?project=${ann.projectId}`;
    await ann.call('PATCH', path, { role: 'admin' });
    assert.deepEqual(await mailsTo(ann, news), []);
    for (let i = 0; i < 2; i++) await ann.call('PATCH', path, { role: 'owner' });
    for (const owner of [ann, bob]) {
      const [mail = '', ...more] = await mailsTo(owner, news);
      assert.ok(more.length === 0 && mail.includes(`${bob.email} is now an owner of "default"`), mail);
      assert.ok(mail.includes(`${ann.email} made the change.`));
    }
    assert.deepEqual(await mailsTo(admin, news), []);
  });

  it('by an invitation is mailed to every owner', async () => {
    const [ann, bob] = [await person(), await person()];
    await ann.call('POST', `/api/invitations?project=${ann.projectId}`, { email: bob.email, role: 'owner' });
    await test.control.settle();
    await bob.call('POST', '/api/invitations/accept', { token: linkToken(test.mails, bob.email) });
    for (const owner of [ann, bob]) assert.equal((await mailsTo(owner, news)).length, 1, owner.email);
  });
});

describe('a new operator', () => {
  it('is mailed to every operator, by a session or a command', async () => {
    const [root, ann, bob] = [await person({ operator: true }), await person(), await person()];
    await root.call('PATCH', `/api/operator/users/${ann.userId}`, { operator: true });
    for (const each of [root, ann])
      assert.match(
        (await mailsTo(each, /^New operator/))[0] ?? '',
        new RegExp(`${ann.email} is now an operator.*${root.email} made`),
      );
    await root.call('PATCH', `/api/operator/users/${ann.userId}`, { operator: true });
    await test.control.operator.changeUser(bob.userId, { operator: true });
    const toRoot = await mailsTo(root, /^New operator/);
    assert.equal(toRoot.length, 2);
    assert.match(toRoot[1]!, /A command on the server made the change/);
  });
});
