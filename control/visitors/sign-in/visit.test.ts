// The pages on which visitors sign in, as a browser uses them and as an attacker does. Each attack says what it would have achieved.

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { refusalOf, type VisitorClaims } from '@underpass/rules/visit/grants.ts';
import { type TestClient, testOrigin } from '../../test-kit.ts';
import { onBothDatabases } from '../../test-kit-databases.ts';
import { fieldIn, openVisitStage, postForm, state, ticketUrlIn, type VisitStage } from './test-kit.ts';

async function open(
  t: TestContext,
  policy: Parameters<typeof openVisitStage>[0],
  options: Parameters<typeof openVisitStage>[1] = {},
): Promise<VisitStage> {
  const stage = await openVisitStage(policy, options);
  t.after(() => stage.close());
  return stage;
}

const signInPath = (host: string): string => `/access/sign-in?host=${host}&state=${state}`;

/** Asks for a code and answers the page that takes it. */
async function askForCode(stage: VisitStage, browser: TestClient, email: string) {
  const answer = await postForm(browser, '/access/code', { host: stage.host, state, email });
  assert.equal(answer.status, 200);
  const page = await answer.text();
  await stage.control.settle();
  return { page, flow: fieldIn(page, 'flow') };
}

function mailedCode(stage: VisitStage, email: string): string {
  const mail = stage.mails.findLast((each) => each.to === email);
  return /^[A-Z]{4}-[A-Z]{4}$/m.exec(mail?.text ?? '')![0];
}

const enter = (stage: VisitStage, browser: TestClient, flow: string, code: string, host = stage.host): Promise<Response> =>
  postForm(browser, '/access/code/enter', { host, state, flow, code });

const bob = 'bob@example.com';

describe('the sign-in page', () => {
  it('says whose service it is, offers the ways of the policy, and cannot be framed, cached or scripted', async (t) => {
    const stage = await open(t, { members: true, people: [bob], password: 'correct horse' });
    const answer = await stage.client().send('GET', signInPath(stage.host));
    const page = await answer.text();
    assert.equal(answer.status, 200);
    assert.match(page, /This service belongs to the project <strong>default<\/strong>/);
    assert.equal(page.match(/<h1/g)?.length, 1);
    for (const words of ['Continue with your Underpass account', 'Send the code', 'type="password"'])
      assert.ok(page.includes(words));
    const policy = answer.headers.get('content-security-policy')!;
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"])
      assert.ok(policy.includes(part), part);
    assert.ok(!policy.includes('script-src') && !page.includes('<script'));
    assert.equal(answer.headers.get('x-frame-options'), 'DENY');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.headers.get('referrer-policy'), 'same-origin');
  });

  it('offers guests their way first where the policy names guests or the project has few members, else members', async (t) => {
    const stage = await open(t, { members: true, password: 'correct horse' });
    const first = async () =>
      /class="button main"[^>]*>([^<]*)</.exec(await (await stage.client().send('GET', signInPath(stage.host))).text())![1];
    assert.equal(await first(), 'Sign in');
    for (let i = 0; i < 3; i++)
      await stage.addMember(stage.ann.projectId, (await stage.signUp(`member-${i}@example.com`)).userId, 'viewer');
    assert.equal(await first(), 'Continue with your Underpass account');
    await stage.change({ people: [bob] });
    assert.equal(await first(), 'Send the code');
  });

  const nowhere: readonly (readonly [query: (host: string, bare: string) => string, why: string])[] = [
    [() => '', 'nothing'],
    [(host) => `host=${host}`, 'no state'],
    [(host) => `host=${host}&state=${state}x`, 'a state that is too long'],
    [(host) => `host=${host}&state=${'!'.repeat(43)}`, 'a state of other letters'],
    [() => `host=evil.example&state=${state}`, 'a host of nobody: an open redirect to it'],
    [(host) => `host=${host}.evil.example&state=${state}`, 'a host that begins like a tunnel'],
    [(host) => `host=${host}@evil.example&state=${state}`, 'a host that is a user name'],
    [(host) => `host=${host}/../evil&state=${state}`, 'a host with a path'],
    [(_, bare) => `host=${bare}&state=${state}`, 'a tunnel without a policy: a ticket for it would mean nothing'],
  ];
  it('answers 404 for a host without a policy', async (t) => {
    const stage = await open(t, { members: true });
    for (const [query, why] of nowhere) {
      const answer = await stage.client().send('GET', `/access/sign-in?${query(stage.host, stage.bareHost)}`);
      assert.equal(answer.status, 404, why);
      assert.match(await answer.text(), /nothing to sign in to/);
    }
    for (const path of ['/access', '/access/', '/access/x', '/access/link?host=evil.example', '/access/keys/evil.example'])
      assert.equal((await stage.client().send('GET', path)).status, 404, path);
  });

  it("signs a member in to no question of a program that another browser asked: that browser's owner would allow it", async (t) => {
    const stage = await open(t, { members: true });
    const mallory = stage.client();
    const metadata = { client_name: 'Scribe', redirect_uris: ['http://127.0.0.1/callback'] };
    const { client_id } = (await (await mallory.send('POST', '/access/oauth/register', metadata)).json()) as {
      client_id: string;
    };
    const query = new URLSearchParams({
      client_id,
      response_type: 'code',
      redirect_uri: 'http://127.0.0.1/callback',
      code_challenge: state,
      code_challenge_method: 'S256',
      resource: new URL((await stage.policy()).url).origin,
    });
    const asked = await mallory.send('GET', `/access/oauth/authorize?${query}`);
    const grant = new URL(asked.headers.get('location')!).searchParams.get('grant')!;
    for (const path of [`/access/member/grant/${grant}`, `/access/sign-in?grant=${grant}`]) {
      const answer = await stage.ann.send('GET', path);
      assert.equal(answer.status, 400);
      assert.match(await answer.text(), /in the same browser/);
    }
    assert.equal((await mallory.send('GET', `/access/oauth/consent?grant=${grant}`)).status, 400);
    assert.deepEqual(await stage.signIns(), []);
    assert.equal((await mallory.send('GET', `/access/sign-in?grant=${grant}`)).status, 200);
  });

  it('leads to the address in the store, whatever port and case the query names', async (t) => {
    const stage = await open(t, { members: true });
    const answer = await stage.ann.send('GET', signInPath(`${stage.host.toUpperCase()}:9999`));
    assert.equal(answer.status, 303);
    assert.equal((await ticketUrlIn(answer))?.host, `${stage.host}:8443`);
    await stage.claimsIn(answer);
  });

  it('shows texts of others as texts', async (t) => {
    const stage = await open(t, { people: [bob] });
    await stage.ann.call('PATCH', `/api/projects/${stage.ann.projectId}`, { name: '<script>alert(1)</script>' });
    const typed = '"><script>alert(2)</script>';
    const answer = await postForm(stage.client(), '/access/code', { host: stage.host, state, email: typed });
    const page = await answer.text();
    assert.equal(answer.status, 400);
    assert.ok(!page.includes('<script'), 'a script of the owner or of a link would read what visitors type');
    assert.ok(page.includes('&lt;script&gt;alert(1)') && page.includes('&quot;&gt;&lt;script&gt;alert(2)'));
  });

  it('answers HEAD and OPTIONS, and other methods with 405', async (t) => {
    const stage = await open(t, { members: true });
    const status = async (method: string, path: string) => (await stage.client().send(method, path)).status;
    assert.equal(await status('HEAD', signInPath(stage.host)), 200);
    assert.equal(await status('OPTIONS', '/access/password'), 204);
    assert.equal(await status('PUT', '/access/password'), 405);
    assert.equal(await status('GET', '/access/password'), 404);
  });
});

describe('forms', () => {
  const foreign: readonly (readonly [headers: Record<string, string>, why: string])[] = [
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 'another site would sign its visitor in as itself'],
    [{ 'sec-fetch-site': 'same-site', origin: 'http://evil.localhost:8400' }, 'a tunnel of the same domain would do so'],
    [{ 'sec-fetch-site': 'same-origin', origin: 'null' }, 'a sandboxed frame would'],
  ];
  it('of other sites are refused', async (t) => {
    const stage = await open(t, { password: 'correct horse', people: [bob] });
    for (const [headers, why] of foreign) {
      for (const path of ['/access/password', '/access/code', '/access/code/enter', '/access/link']) {
        const fields = { host: stage.host, state, password: 'correct horse', email: bob, flow: state, code: 'x', secret: 'x' };
        assert.equal((await postForm(stage.client(), path, fields, headers)).status, 403, `${path}: ${why}`);
      }
    }
    assert.equal(stage.mails.length, 0);
  });

  it('with a field twice, of another type or too large are refused', async (t) => {
    const stage = await open(t, { password: 'correct horse' });
    const browser = stage.client();
    const twice = new URLSearchParams([
      ['host', stage.host],
      ['host', stage.bareHost],
      ['state', state],
      ['password', 'x'],
    ]);
    assert.equal((await browser.send('POST', '/access/password', twice)).status, 400);
    assert.equal((await browser.send('POST', '/access/password', { host: stage.host, state })).status, 415);
    assert.equal(
      (await postForm(browser, '/access/password', { host: stage.host, state, password: 'x'.repeat(40_000) })).status,
      413,
    );
  });
});

describe('members', () => {
  it('who are signed in go straight on, and the log says so', async (t) => {
    const stage = await open(t, { members: true });
    const answer = await stage.ann.send('GET', signInPath(stage.host));
    assert.equal(answer.status, 303);
    const { method, subject, email, expiresAtMs } = await stage.claimsIn(answer);
    assert.deepEqual([method, subject, email], ['member', stage.ann.userId, 'ann@example.com']);
    assert.equal(expiresAtMs, stage.time.now + 24 * 3600_000);
    const [entry] = await stage.signIns();
    const { id: _, at: _at, ...said } = entry!;
    const row = { policy: 'team', host: stage.host, who: 'ann@example.com', method: 'member', allowed: true };
    assert.deepEqual(said, { ...row, reason: '', address: '192.0.2.1' });
  });

  it('do not sign in by an image or a frame of another page', async (t) => {
    const stage = await open(t, { members: true });
    for (const path of [signInPath(stage.host), `/access/member/${stage.host}/${state}`]) {
      for (const dest of ['image', 'iframe', 'empty']) {
        const answer = await stage.ann.send('GET', path, undefined, { 'sec-fetch-dest': dest });
        assert.equal(await ticketUrlIn(answer), undefined, 'any page could fill the sign-in log in the name of a member');
      }
      await stage.claimsIn(await stage.ann.send('GET', path, undefined, { 'sec-fetch-dest': 'document' }));
    }
    assert.equal((await stage.signIns()).length, 2);
  });

  it('end what they opened when they sign out everywhere else, and when the project begins to require a passkey', async (t) => {
    const stage = await open(t, { members: true });
    const refusal = async (claims: VisitorClaims) => refusalOf(claims, (await stage.policy()).grants, stage.time.now);
    const stolen = await stage.claimsIn(await stage.ann.send('GET', signInPath(stage.host)));
    assert.equal(await refusal(stolen), null);
    stage.feed.changed.length = 0;
    await stage.ann.call('POST', '/api/account/end-other-sign-ins');
    assert.equal(await refusal(stolen), 'signed-out');
    assert.equal(stage.feed.changed.length, 1, 'the edges hear of it');
    stage.time.now += 1;
    const again = await stage.claimsIn(await stage.ann.send('GET', signInPath(stage.host)));
    assert.equal(await refusal(again), null);
    await stage.store.db.updateTable('sessions').set({ passkey_at: stage.time.now }).execute();
    await stage.ann.call('PATCH', `/api/projects/${stage.ann.projectId}/passkeys`, { required: true });
    assert.equal(await refusal(again), 'signed-out');
  });

  it('choose first where there are other ways', async (t) => {
    const stage = await open(t, { members: true, people: [bob] });
    assert.equal((await stage.ann.send('GET', signInPath(stage.host))).status, 200);
    await stage.claimsIn(await stage.ann.send('GET', `/access/member/${stage.host}/${state}`));
  });

  it('who are not signed in get the button, and the sign-in of the dashboard leads back', async (t) => {
    const stage = await open(t, { members: true });
    const browser = stage.client();
    assert.match(await (await browser.send('GET', signInPath(stage.host))).text(), /Continue with your Underpass account/);
    const path = `/access/member/${stage.host}/${state}`;
    const answer = await browser.send('GET', path);
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, `/login#${path}`]);
  });

  it('of other projects get a page that says so, without a loop', async (t) => {
    const stage = await open(t, { members: true });
    const eve = await stage.signUp('eve@example.com');
    const answer = await eve.send('GET', signInPath(stage.host));
    assert.equal(answer.status, 403);
    assert.equal(await ticketUrlIn(answer), undefined);
    const page = await answer.text();
    assert.match(page, /<strong>eve@example.com<\/strong> is not a member/);
    assert.match(page, /<button class="button main">Sign out and use another account/);
    assert.deepEqual(
      (await stage.signIns()).map(({ who, allowed }) => [who, allowed]),
      [['eve@example.com', false]],
    );
  });

  it('who signed in with the wrong account sign out, and come back to the ways to sign in to the same address', async (t) => {
    const stage = await open(t, { members: true });
    const eve = await stage.signUp('eve@example.com');
    const fields = { host: stage.host, state };
    assert.equal(
      (await postForm(eve, '/access/sign-out', fields, { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }))
        .status,
      403,
    );
    assert.equal((await eve.send('GET', '/api/user')).status, 200, 'another site signs nobody out');
    const answer = await postForm(eve, '/access/sign-out', fields);
    assert.deepEqual([answer.status, answer.headers.get('location')], [303, signInPath(stage.host)]);
    assert.equal((await eve.send('GET', '/api/user')).status, 401);
    assert.equal((await eve.send('GET', signInPath(stage.host))).status, 200);
  });

  it('do not sign in where the policy has no members, with an API token, or without the passkey that the project requires', async (t) => {
    const stage = await open(t, { people: [bob] });
    const path = `/access/member/${stage.host}/${state}`;
    assert.equal(await ticketUrlIn(await stage.ann.send('GET', path)), undefined);
    await stage.change({ members: true });
    const { token } = await stage.ann.call<{ token: string }>('POST', `/api/tokens?project=${stage.ann.projectId}`, {
      name: 'ci',
      role: 'viewer',
    });
    const withToken = await stage.client(token).send('GET', path);
    assert.equal(withToken.headers.get('location'), `/login#${path}`, 'a leaked token would open every tunnel');
    await stage.store.db.updateTable('projects').set({ passkey_required: 1 }).execute();
    const answer = await stage.ann.send('GET', path);
    assert.equal(answer.status, 403);
    assert.match(await answer.text(), /without a passkey/);
  });
});

describe('a code by e-mail', () => {
  it('signs in a person of the list', async (t) => {
    const stage = await open(t, { people: [bob, '*@firm.example'] });
    for (const email of [bob, 'Carol@Firm.example']) {
      const browser = stage.client();
      const { flow } = await askForCode(stage, browser, email);
      const code = mailedCode(stage, email.toLowerCase());
      const answer = await enter(stage, browser, flow, ` ${code.toLowerCase().replace('-', ' ')} `);
      const { method, subject, email: known } = await stage.claimsIn(answer);
      assert.deepEqual([method, subject, known], ['email', email.toLowerCase(), email.toLowerCase()]);
    }
  });

  it('answers the same for an address that is not listed, and sends nothing to it', async (t) => {
    const stage = await open(t, { people: [bob] });
    const [listed, stranger] = await Promise.all(
      [bob, 'eve@example.com'].map(async (email) => {
        const answer = await postForm(stage.client(), '/access/code', { host: stage.host, state, email });
        const page = (await answer.text()).replaceAll(email, 'X').replace(/name="flow" value="[^"]+"/, '');
        const names = [...answer.headers.keys()].filter((name) => name !== 'x-request-id');
        return { status: answer.status, page, names, cookies: answer.headers.getSetCookie().length };
      }),
    );
    assert.deepEqual(stranger, listed, 'the list of people could be read out');
    await stage.control.settle();
    assert.deepEqual(
      stage.mails.map(({ to }) => to),
      [bob],
    );
    assert.match((await stage.signIns())[0]!.reason, /does not list/);
  });

  it('works once', async (t) => {
    const stage = await open(t, { people: [bob] });
    const browser = stage.client();
    const { flow } = await askForCode(stage, browser, bob);
    const code = mailedCode(stage, bob);
    const answers = await Promise.all(Array.from({ length: 5 }, () => enter(stage, browser, flow, code)));
    const urls = await Promise.all(answers.map(ticketUrlIn));
    assert.equal(urls.filter((url) => url !== undefined).length, 1, 'somebody who reads over a shoulder could use it again');
    assert.equal((await enter(stage, browser, flow, code)).status, 403);
  });

  it('works only in the browser that asked', async (t) => {
    const stage = await open(t, { people: [bob] });
    const { flow } = await askForCode(stage, stage.client(), bob);
    const code = mailedCode(stage, bob);
    const other = stage.client();
    assert.equal(
      await ticketUrlIn(await enter(stage, other, flow, code)),
      undefined,
      'a victim could be talked into an attacker’s flow',
    );
    await askForCode(stage, other, 'other@example.com');
    assert.equal(await ticketUrlIn(await enter(stage, other, flow, code)), undefined);
  });

  it('works only for the policy that sent it', async (t) => {
    const stage = await open(t, { people: [bob] });
    await stage.ann.call('POST', `/api/access-policies?project=${stage.ann.projectId}`, { name: 'other', people: [bob] });
    await stage.ann.call('PATCH', `/api/tunnels/bare?project=${stage.ann.projectId}`, { accessPolicy: 'other' });
    const browser = stage.client();
    const { flow } = await askForCode(stage, browser, bob);
    const answer = await enter(stage, browser, flow, mailedCode(stage, bob), stage.bareHost);
    assert.equal(answer.status, 403, 'a right at one service would open another');
  });

  it('ends after five tries, also at the same time, and after ten minutes', async (t) => {
    const stage = await open(t, { people: [bob] });
    const browser = stage.client();
    const first = await askForCode(stage, browser, bob);
    const code = mailedCode(stage, bob);
    const wrong = code === 'BBBB-BBBB' ? 'CCCC-CCCC' : 'BBBB-BBBB';
    await Promise.all(Array.from({ length: 20 }, () => enter(stage, browser, first.flow, wrong)));
    const late = await enter(stage, browser, first.flow, code);
    assert.match(await late.text(), /no longer works/, 'a script could try all codes');
    const { flow } = await askForCode(stage, browser, bob);
    stage.time.now += 10 * 60_000 + 1;
    assert.equal(await ticketUrlIn(await enter(stage, browser, flow, mailedCode(stage, bob))), undefined);
  });

  it('does not sign in a person who has left the list', async (t) => {
    const stage = await open(t, { people: [bob] });
    const browser = stage.client();
    const { flow } = await askForCode(stage, browser, bob);
    await stage.change({ people: ['carol@example.com'] });
    const answer = await enter(stage, browser, flow, mailedCode(stage, bob));
    assert.equal(answer.status, 403);
    assert.match(await answer.text(), /may not visit/);
  });

  it('goes to one address, whatever the field holds', async (t) => {
    const stage = await open(t, { people: ['*@example.com'] });
    for (const email of ['a@example.com\r\nBcc: eve@evil.example', 'a@example.com,eve@evil.example', '<a@example.com>', '']) {
      const answer = await postForm(stage.client(), '/access/code', { host: stage.host, state, email });
      assert.equal(answer.status, 400, email);
    }
    await stage.control.settle();
    assert.equal(stage.mails.length, 0, 'a header in the address would send the code to others');
  });

  it('is limited by address, and silently by mailbox', async (t) => {
    const stage = await open(t, { people: [bob, '*@firm.example'] }, { limited: true });
    for (let i = 0; i < 7; i++) await askForCode(stage, stage.client(), bob);
    assert.equal(stage.mails.length, 5, 'a stranger could flood a mailbox');
    const ask = (at: number) =>
      postForm(stage.client(), '/access/code', { host: stage.host, state, email: `p${at}@firm.example` });
    for (let i = 0; i < 13; i++) assert.equal((await ask(i)).status, 200);
    const refused = await ask(13);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers.get('retry-after')) > 0);
    assert.match(await refused.text(), /Too many codes/);
  });

  it('replaces a cookie that is not one of ours', async (t) => {
    const stage = await open(t, { people: [bob] });
    const browser = stage.client();
    browser.cookies.set('underpass-sign-in', 'chosen-by-somebody');
    await askForCode(stage, browser, bob);
    assert.notEqual(browser.cookies.get('underpass-sign-in'), 'chosen-by-somebody');
  });
});

describe('a password', () => {
  const password = 'correct horse';

  it('signs in, and another one does not', async (t) => {
    const stage = await open(t, { password });
    const enterIt = (typed: string) => postForm(stage.client(), '/access/password', { host: stage.host, state, password: typed });
    const { passwordId } = (await stage.policy()).grants;
    const claims = await stage.claimsIn(await enterIt(password));
    assert.deepEqual([claims.method, claims.subject, claims.source, claims.email], ['password', passwordId, passwordId, '']);
    for (const wrong of ['', 'correct horse ', 'Correct horse', 'x'.repeat(5000)]) {
      const answer = await enterIt(wrong);
      assert.equal(answer.status, 403);
      assert.match(await answer.text(), /aria-invalid="true" autofocus/);
    }
    assert.equal((await stage.signIns()).filter(({ allowed, reason }) => !allowed && /wrong/.test(reason)).length, 4);
  });

  it('is tried only so often, and a right one costs nothing', async (t) => {
    const stage = await open(t, { password }, { limited: true });
    const enterIt = (typed: string) => postForm(stage.client(), '/access/password', { host: stage.host, state, password: typed });
    for (let i = 0; i < 6; i++) await stage.claimsIn(await enterIt(password));
    const answers = await Promise.all(Array.from({ length: 8 }, () => enterIt('wrong one')));
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [403, 403, 403, 403, 403, 429, 429, 429], 'a script could try a word list');
    assert.equal((await enterIt(password)).status, 429);
  });

  it('that is right is let in from a browser that knew it, though others at its address used up all tries', async (t) => {
    const stage = await open(t, { password }, { limited: true });
    const enterIt = (client: TestClient, typed: string) =>
      postForm(client, '/access/password', { host: stage.host, state, password: typed });
    const known = stage.client();
    await stage.claimsIn(await enterIt(known, password));
    for (let i = 0; i < 5; i++) assert.equal((await enterIt(stage.client(), 'wrong one')).status, 403);
    await stage.claimsIn(await enterIt(known, password));
    assert.equal((await enterIt(known, 'mistyped')).status, 403);
    assert.equal((await enterIt(stage.client(), password)).status, 429, 'a stranger could guess on');
    const copied = stage.client();
    copied.cookies.set('underpass-known', `${'a'.repeat(43)}.${known.cookies.get('underpass-known')!.split('.')[1]}`);
    assert.equal((await enterIt(copied, password)).status, 429, 'a mark would make any number of browsers known');
    await stage.claimsIn(await enterIt(known, password));
  });

  it('has 60 wrong tries a day from a browser that knew it, and those of its address after them', async (t) => {
    const stage = await open(t, { password }, { limited: true });
    const known = stage.client();
    const enterIt = async (typed: string) =>
      (await postForm(known, '/access/password', { host: stage.host, state, password: typed })).status;
    assert.equal(await enterIt(password), 200);
    const statuses = [];
    for (let i = 0; i < 67; i++) statuses.push(await enterIt('wrong one'));
    assert.deepEqual(statuses, [...Array(65).fill(403), 429, 429]);
    assert.equal(await enterIt(password), 429);
  });

  it('that has changed makes every browser a stranger', async (t) => {
    const stage = await open(t, { password }, { limited: true });
    const known = stage.client();
    const enterIt = (client: TestClient, typed: string) =>
      postForm(client, '/access/password', { host: stage.host, state, password: typed });
    await stage.claimsIn(await enterIt(known, password));
    for (let i = 0; i < 5; i++) assert.equal((await enterIt(stage.client(), 'wrong one')).status, 403);
    await stage.change({ password: 'another horse' });
    assert.equal((await enterIt(known, 'another horse')).status, 429, 'somebody who left could guess the next password');
  });

  it('of the 10 last policies is remembered, in a cookie that only says so', async (t) => {
    const stage = await open(t, { password });
    const browser = stage.client();
    const enterIt = () => postForm(browser, '/access/password', { host: stage.host, state, password });
    const own = 'b'.repeat(43);
    browser.cookies.set('underpass-known', [own, ...Array(12).fill('c'.repeat(43)), 'x y'].join('.'));
    await enterIt();
    await enterIt();
    const marks = browser.cookies.get('underpass-known')!.split('.');
    assert.deepEqual([marks[0], marks.length, new Set(marks).size], [own, 11, 3]);
  });

  it('is not asked for where the policy has none', async (t) => {
    const stage = await open(t, { members: true });
    const answer = await postForm(stage.client(), '/access/password', { host: stage.host, state, password: '' });
    assert.equal(await ticketUrlIn(answer), undefined, 'an empty password would match no password');
  });
});

async function makeLink(stage: VisitStage, body: object) {
  const path = `/api/access-policies/team/links?project=${stage.ann.projectId}`;
  const link = await stage.ann.call<{ id: string; urls: string[] }>('POST', path, { name: 'Review', ...body });
  return { id: link.id, url: new URL(link.urls[0]!), secret: new URL(link.urls[0]!).hash.slice(1) };
}

const useLink = (stage: VisitStage, secret: string, host = stage.host): Promise<Response> =>
  postForm(stage.client(), '/access/link', { host, state, secret });

describe('a share link', () => {
  it('leads through the edge, and signs in by the post of its secret', async (t) => {
    const stage = await open(t, {});
    const { id, url, secret } = await makeLink(stage, {});
    const page = await (await stage.client().send('GET', url.pathname + url.search)).text();
    assert.ok(page.includes(`href="https://${stage.host}:8443/.underpass/access/sign-in?return=/"`));
    const answer = await stage.client().send('GET', signInPath(stage.host));
    assert.match(answer.headers.get('content-security-policy')!, /script-src 'self';/);
    assert.match(await answer.text(), /<form method="post" action="\/access\/link" data-link/);
    const claims = await stage.claimsIn(await useLink(stage, secret));
    assert.deepEqual([claims.method, claims.source, claims.email], ['link', id, '']);
    assert.equal((await stage.signIns())[0]!.who, 'Review');
  });

  it('is not used up by what only opens it', async (t) => {
    const stage = await open(t, {});
    const { url, secret } = await makeLink(stage, { mostUses: 1 });
    for (const method of ['GET', 'HEAD', 'GET']) await stage.client().send(method, url.pathname + url.search);
    await stage.client().send('GET', `/access/link?host=${stage.host}&secret=${secret}`);
    await stage.claimsIn(await useLink(stage, secret));
    assert.equal((await useLink(stage, secret)).status, 403);
  });

  it('ends by time, by revocation and for other policies, and each answer says why', async (t) => {
    const stage = await open(t, {});
    const { secret } = await makeLink(stage, { expiresInHours: 1 });
    const claims = await stage.claimsIn(await useLink(stage, secret));
    assert.equal(claims.expiresAtMs, stage.time.now + 3600_000, 'a session would outlive its link');
    stage.time.now += 3600_000;
    assert.match(await (await useLink(stage, secret)).text(), /has expired/);
    const { id, secret: revoked } = await makeLink(stage, {});
    await stage.ann.call('DELETE', `/api/access-policies/team/links/${id}?project=${stage.ann.projectId}`);
    assert.match(await (await useLink(stage, revoked)).text(), /was revoked/);
    await stage.ann.call('POST', `/api/access-policies?project=${stage.ann.projectId}`, { name: 'other' });
    await stage.ann.call('PATCH', `/api/tunnels/bare?project=${stage.ann.projectId}`, { accessPolicy: 'other' });
    const { secret: elsewhere } = await makeLink(stage, {});
    assert.equal((await useLink(stage, elsewhere, stage.bareHost)).status, 403);
  });
});

onBothDatabases((name, skip, openStore) => {
  it(`a link with one use opens once for 20 browsers at the same time, on ${name}`, { skip }, async (t) => {
    const store = await openStore();
    t.after(() => store.close());
    const stage = await open(t, {}, { store });
    const { secret } = await makeLink(stage, { mostUses: 1 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => useLink(stage, secret)));
    const urls = await Promise.all(answers.map(ticketUrlIn));
    assert.equal(urls.filter((url) => url !== undefined).length, 1, 'a link for one would let in many');
  });
});

describe('keys of assertions', () => {
  it('are public, and hold no private part', async (t) => {
    const stage = await open(t, { members: true });
    const answer = await stage.client().send('GET', `/access/keys/${stage.host}`);
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=300');
    const { keys } = (await answer.json()) as { keys: Record<string, string>[] };
    assert.deepEqual(Object.keys(keys[0]!).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });
});

describe('the logs', () => {
  it('hold no code, password, secret, state or ticket', async (t) => {
    const stage = await open(t, { people: [bob], password: 'correct horse' });
    const browser = stage.client();
    const { flow } = await askForCode(stage, browser, bob);
    const code = mailedCode(stage, bob);
    await enter(stage, browser, flow, code);
    await postForm(browser, '/access/password', { host: stage.host, state, password: 'correct horse' });
    const { secret } = await makeLink(stage, {});
    await useLink(stage, secret);
    await browser.send('GET', `/access/member/${stage.host}/${state}`);
    const all = stage.logged.join('\n') + JSON.stringify(await stage.store.db.selectFrom('jobs').selectAll().execute());
    for (const text of [code, flow, 'correct horse', secret, state, 'ticket=']) assert.ok(!all.includes(text), text);
    const rows = JSON.stringify(await stage.store.db.selectFrom('access_flows').selectAll().execute());
    assert.ok(!rows.includes(bob) && !rows.includes(code));
  });

  it('of sign-ins stay empty where the policy says so', async (t) => {
    const stage = await open(t, { members: true, log: false });
    await stage.claimsIn(await stage.ann.send('GET', signInPath(stage.host)));
    assert.deepEqual(await stage.signIns(), []);
  });
});

it('control without https names its cookie without the prefix, and with https with it', async (t) => {
  for (const [origin, name] of [
    [testOrigin, 'underpass-sign-in'],
    ['https://console.example.com', '__Host-underpass-sign-in'],
  ] as const) {
    const stage = await openVisitStage({ people: [bob] }, { settings: { origin } });
    t.after(() => stage.close());
    const answer = await postForm(stage.client(), '/access/code', { host: stage.host, state, email: bob }, { origin });
    const [cookie = ''] = answer.headers.getSetCookie();
    assert.ok(cookie.startsWith(`${name}=`) && cookie.includes('HttpOnly; SameSite=Lax'), cookie);
  }
});
