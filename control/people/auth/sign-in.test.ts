// Signing in by link, and attacks on it: sign-in and session cases.

import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { durations, rateLimits } from '@underpass/rules/limits.ts';
import { text } from '@underpass/rules/text/text.ts';
import { hearNarrowed } from '../../platform/bus/narrowed-rights.ts';
import {
  createTestControl,
  linkIn,
  linkToken,
  loginForm,
  type SignedUp,
  type TestClient,
  type TestControl,
  testOrigin,
} from '../../test-kit.ts';

let test: TestControl;
let ann: SignedUp;
const opened: TestControl[] = [];

beforeEach(async () => {
  test = await createTestControl();
  ann = await test.signUp('ann@example.com');
});
afterEach(() => test.close());
after(async () => {
  for (const each of opened) await each.close();
});

const minutes = (count: number): number => count * 60_000;
const days = (count: number): number => count * 24 * 3600_000;
const tokenForm = (token: string): URLSearchParams => new URLSearchParams({ token });

async function askLink(browser: TestClient, email = 'ann@example.com'): Promise<string> {
  await browser.call('POST', '/auth/magiclink', loginForm(email));
  await test.control.settle();
  return linkToken(test.mails, email);
}

const redeem = (browser: TestClient, token: string): Promise<Response> => browser.send('POST', '/auth/login', tokenForm(token));
const userStatus = async (browser: TestClient): Promise<number> => (await browser.send('GET', '/api/user')).status;

describe('a login link', () => {
  it('signs in the browser that redeems it, and loads the user', async () => {
    const browser = test.client();
    assert.equal(await userStatus(browser), 401);
    assert.equal((await redeem(browser, await askLink(browser))).status, 204);
    const user = await browser.call('GET', '/api/user');
    assert.deepEqual(user, { email: 'ann@example.com', firstName: 'Ann', defaultProject: ann.projectId, operator: false });
  });

  it('works once, even if two requests redeem it at the same moment', async () => {
    const token = await askLink(test.client());
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await redeem(test.client(), token)).status));
    assert.deepEqual(statuses.sort(), [204, ...Array(19).fill(401)]);
  });

  it('ends after 15 minutes', async () => {
    const [early, late] = [await askLink(test.client()), await askLink(test.client())];
    test.time.now += minutes(15) - 1;
    assert.equal((await redeem(test.client(), early)).status, 204);
    test.time.now += 1;
    assert.equal((await redeem(test.client(), late)).status, 401);
  });

  it('is refused with the text of the screen when it is truncated, changed, empty or 10 kB long', async () => {
    const token = await askLink(test.client());
    const wrong = [token.slice(0, -1), `${token}A`, token.toLowerCase(), '', 'x'.repeat(10_000), '../../etc/passwd'];
    for (const each of wrong) {
      const response = await redeem(test.client(), each);
      assert.deepEqual([response.status, await response.text()], [401, text.login.failed]);
    }
    assert.equal((await redeem(test.client(), `${token}\0`)).status, 400, 'no link has a control character');
    assert.equal((await redeem(test.client(), token)).status, 204, 'the link itself was not consumed');
  });

  it('is not consumed when a mail scanner or anybody else fetches its page', async () => {
    const token = await askLink(test.client());
    for (const path of [`/magiclink/${token}`, `/login/${token}`, `/auth/login?token=${token}`]) {
      await test.client().send('GET', path);
      await test.client().send('HEAD', path);
    }
    assert.equal((await redeem(test.client(), token)).status, 204);
  });

  it('tells only the browser that asked for it that it is its own, tells others whether it works, and is not consumed', async () => {
    const [browser, scanner] = [test.client(), test.client()];
    const token = await askLink(browser);
    const other = await askLink(scanner, 'ann@example.com');
    const check = (who: TestClient, which: string) => who.call('POST', '/auth/link', tokenForm(which));
    assert.deepEqual(await check(browser, token), { sameBrowser: true, usable: true });
    assert.deepEqual(await check(browser, other), { sameBrowser: false, usable: true });
    assert.deepEqual(await check(scanner, token), { sameBrowser: false, usable: true });
    assert.deepEqual(await check(test.client(), token), { sameBrowser: false, usable: true });
    assert.deepEqual(await check(browser, 'nonsense'), { sameBrowser: false, usable: false });
    assert.equal((await redeem(browser, token)).status, 204);
    assert.deepEqual(await check(browser, token), { sameBrowser: false, usable: false }, 'a used link is nobody’s');
  });

  it('starts with the configured origin, whatever Host or forwarding headers the request has', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', forwarded: 'host=evil.example' };
    await test.client().send('POST', '/auth/magiclink', loginForm('ann@example.com'), headers);
    await test.control.settle();
    assert.equal(linkIn(test.mails, 'ann@example.com').origin, testOrigin);
    assert.doesNotMatch(JSON.stringify(test.mails), /evil/);
  });

  it('is stored only as a hash, and never logged', async () => {
    const browser = test.client();
    const token = await askLink(browser);
    await browser.send('GET', `/magiclink/${token}`);
    await browser.send('GET', `/login/${token}`);
    await redeem(browser, token);
    const rows = await Promise.all(
      (['login_links', 'jobs', 'sessions', 'audit'] as const).map((table) =>
        test.store.db.selectFrom(table).selectAll().execute(),
      ),
    );
    const kept = JSON.stringify(rows) + test.logged.join('\n');
    assert.ok(!kept.includes(token));
    for (const secret of browser.cookies.values()) assert.ok(!kept.includes(secret), 'a cookie was kept');
  });

  it('stops working when its user is suspended', async () => {
    const token = await askLink(test.client());
    await test.control.operator.ensureOperator();
    await test.control.operator.changeUser(ann.userId, { suspended: true });
    assert.equal((await redeem(test.client(), token)).status, 401);
  });
});

describe('asking for a link', () => {
  const kinds = ['known', 'unknown', 'unapproved', 'suspended'] as const;

  const prepareKinds = async (): Promise<Record<(typeof kinds)[number], string>> => {
    const suspended = await test.signUp('suspended@example.com');
    await test.control.operator.ensureOperator();
    await test.control.operator.changeUser(suspended.userId, { suspended: true });
    const now = test.time.now;
    const row = {
      first_name: 'W',
      last_name: 'W',
      company: '',
      github: '',
      x_account: '',
      subscribed: 0,
      state: 'waiting',
      created_at: now,
    } as const;
    const waiting = { ...row, id: 'r1', email: 'waiting@example.com', decided_at: null, decided_by: null };
    await test.store.db.insertInto('registrations').values(waiting).execute();
    return { known: 'ann@example.com', unknown: 'nobody@example.com', unapproved: waiting.email, suspended: suspended.email };
  };

  it('has the same status, body, headers and database work for a known, unknown, unapproved and suspended e-mail', async () => {
    const emails = await prepareKinds();
    const answers = [];
    for (const kind of kinds) {
      const response = await test.client().send('POST', '/auth/magiclink', loginForm(emails[kind]));
      const headers = [...response.headers.entries()].filter(([name]) => !['set-cookie', 'x-request-id'].includes(name));
      const jobs = await test.store.db.selectFrom('jobs').select('kind').execute();
      answers.push({
        status: response.status,
        body: await response.text(),
        headers,
        cookies: response.headers.getSetCookie().length,
        jobs: jobs.length,
      });
      await test.store.db.deleteFrom('jobs').execute();
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    assert.equal(answers[0]?.jobs, 1);
  });

  it('is answered before its job begins', async () => {
    for (const email of Object.values(await prepareKinds())) {
      test.control.start();
      await test.client().call('POST', '/auth/magiclink', loginForm(email));
      const jobs = await test.store.db.selectFrom('jobs').select('attempts').execute();
      assert.deepEqual(
        jobs.map((job) => job.attempts),
        [0],
      );
      await test.control.settle();
      await test.control.close();
    }
  });

  it('leaves the same rows for a known, unknown, unapproved and suspended e-mail, except for the user’s id', async () => {
    for (const email of Object.values(await prepareKinds()))
      await test.client().call('POST', '/auth/magiclink', loginForm(email));
    await test.control.settle();
    const rows = await test.store.db.selectFrom('login_links').selectAll().where('used_at', 'is', null).execute();
    assert.deepEqual(rows.map((row) => row.user_id !== null).sort(), [false, false, false, true]);
    assert.deepEqual(await test.store.db.selectFrom('jobs').selectAll().execute(), []);
  });

  it('mails a link only to the known e-mail, and to the unapproved one that it waits', async () => {
    const emails = await prepareKinds();
    for (const kind of kinds) await test.client().call('POST', '/auth/magiclink', loginForm(emails[kind]));
    await test.control.settle();
    assert.deepEqual(
      test.mails.map(({ to, text: body }) => [to, body.includes('/magiclink/'), body.includes('not approved yet')]),
      [
        ['ann@example.com', true, false],
        ['waiting@example.com', false, true],
      ],
    );
  });

  it('makes a link that names the page to return to, if it is one that only shows', async () => {
    const ask = async (path: string): Promise<string> => {
      await test.client().call('POST', `/auth/magiclink?${new URLSearchParams({ path })}`, loginForm('ann@example.com'));
      await test.control.settle();
      return linkIn(test.mails, 'ann@example.com').hash;
    };
    assert.equal(await ask('/projects/p1/tunnels/web?new=1'), '#/projects/p1/tunnels/web');
    for (const path of ['//evil.example', '/activate', '/projects/../activate', 'x'.repeat(100_000)])
      assert.equal(await ask(path), '');
  });

  it('finds the account however the e-mail is typed', async () => {
    await askLink(test.client(), 'ann@example.com');
    await test.client().call('POST', '/auth/magiclink', loginForm('  ANN@Example.COM '));
    await test.control.settle();
    assert.deepEqual(
      test.mails.map((mail) => mail.to),
      ['ann@example.com', 'ann@example.com'],
    );
  });

  for (const [email, why] of [
    ['ann@example.com\r\nBcc: evil@example.com', 'a header behind a line break'],
    ['ann@example.com, evil@example.com', 'a second recipient'],
    ['"ann"@example.com', 'a quoted local part'],
    ['ann@example.com\0', 'a NUL'],
    [`${'a'.repeat(65)}@example.com`, 'a local part of 65'],
    [`a@${'b'.repeat(250)}.com`, 'a total over 254'],
    ['', 'nothing'],
  ]) {
    it(`refuses ${why} in the e-mail with 400`, async () => {
      const response = await test.client().send('POST', '/auth/magiclink', loginForm(email!));
      await test.control.settle();
      assert.equal(response.status, 400);
      assert.equal(test.mails.length, 0);
    });
  }

  it('is refused without a right answer to the bot check', async () => {
    for (const answer of ['', 'wrong', 'x'.repeat(5000)]) {
      const response = await test.client().send('POST', '/auth/magiclink', loginForm('ann@example.com', answer));
      assert.equal(response.status, 400);
      assert.match(await response.text(), /Please verify you are a human\.$/);
    }
  });

  it('accepts only a multipart form', async () => {
    const browser = test.client();
    const fields = { email: 'ann@example.com', 'bot-check': 'a-right-answer' };
    assert.equal((await browser.send('POST', '/auth/magiclink', fields)).status, 415);
    assert.equal((await browser.send('POST', '/auth/magiclink', new URLSearchParams(fields))).status, 415);
    const twice = loginForm('ann@example.com');
    twice.append('email', 'evil@example.com');
    assert.equal((await browser.send('POST', '/auth/magiclink', twice)).status, 400);
  });
});

describe('a session', () => {
  it('has a cookie that scripts, other sites and plain http cannot read', async () => {
    const secure = await createTestControl({ settings: { origin: 'https://underpass.example' } });
    opened.push(secure);
    await secure.signUp('bob@example.com').catch(() => {});
    const url = new URL(await secure.control.operator.createLoginLink('bob@example.com'));
    const request = new Request('https://underpass.example/auth/login', {
      method: 'POST',
      body: tokenForm(url.pathname.split('/').at(-1)!),
      headers: { origin: 'https://underpass.example' },
    });
    const cookie = (await secure.control.fetch(request, { remoteAddress: '192.0.2.1' })).headers.getSetCookie()[0]!;
    assert.match(cookie, /^__Host-underpass-session=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/);
  });

  it('is a new one at every sign-in, so an attacker cannot plant one', async () => {
    const browser = test.client();
    browser.cookies.set('underpass-session', 'A'.repeat(43));
    await redeem(browser, await askLink(browser));
    const first = browser.cookies.get('underpass-session');
    assert.notEqual(first, 'A'.repeat(43));
    await redeem(browser, await askLink(browser));
    assert.notEqual(browser.cookies.get('underpass-session'), first);
    const old = test.client();
    old.cookies.set('underpass-session', first!);
    assert.equal(await userStatus(old), 401, 'the session before it has ended');
  });

  it('ends after 14 days without use, and after 90 days in any case', async () => {
    test.time.now += days(14);
    assert.equal(await userStatus(ann), 401);
    const busy = await test.signUp('busy@example.com');
    for (let day = 0; day < 89; day++) {
      test.time.now += days(1);
      assert.equal(await userStatus(busy), 200, `day ${day + 1}`);
    }
    test.time.now += days(1);
    assert.equal(await userStatus(busy), 401);
  });

  it('of an operator ends after 12 hours without use, and after 7 days in any case', async () => {
    const idle = await test.signUp('idle-operator@example.com', { operator: true });
    test.time.now += days(0.5) - 1;
    assert.equal(await userStatus(idle), 200);
    test.time.now += days(0.5);
    assert.equal(await userStatus(idle), 401);
    const busy = await test.signUp('busy-operator@example.com', { operator: true });
    for (let hour = 10; hour < 7 * 24; hour += 10) {
      test.time.now += days(10 / 24);
      assert.equal(await userStatus(busy), 200, `hour ${hour}`);
    }
    test.time.now += days(8 / 24);
    assert.equal(await userStatus(busy), 401);
  });

  it('of a person who becomes an operator has the shorter life', async () => {
    const person = await test.signUp('later-operator@example.com');
    test.time.now += days(8);
    assert.equal(await userStatus(person), 200);
    await test.control.operator.changeUser(person.userId, { operator: true });
    assert.equal(await userStatus(person), 401);
  });

  it('tells when it begins that others of its person may have ended: the oldest makes room', async () => {
    const told: string[] = [];
    hearNarrowed(test.bus, (id) => told.push(id));
    await test.store.db.updateTable('sessions').set({ id: '0' }).where('user_id', '=', ann.userId).execute();
    const [row] = await test.store.db.selectFrom('sessions').selectAll().where('user_id', '=', ann.userId).execute();
    const others = Array.from({ length: 49 }, (_, index) => ({ ...row!, id: `00-${10 + index}`, token_hash: `${index}` }));
    await test.store.db.insertInto('sessions').values(others).execute();
    const phone = test.client();
    await redeem(phone, await askLink(phone));
    assert.deepEqual(told, [ann.userId]);
    assert.deepEqual([await userStatus(ann), await userStatus(phone)], [401, 200]);
  });

  it('is listed and revoked only by its user', async () => {
    const phone = test.client();
    await redeem(phone, await askLink(phone));
    const list = await ann.call<{ id: string; isCurrent: boolean }[]>('GET', '/api/sessions');
    assert.deepEqual(list.map((each) => each.isCurrent).sort(), [false, true]);
    const other = list.find((each) => !each.isCurrent)!;
    const mallory = await test.signUp('mallory@example.com');
    assert.equal((await mallory.send('DELETE', `/api/sessions/${other.id}`)).status, 404);
    assert.equal(await userStatus(phone), 200);
    await ann.call('DELETE', `/api/sessions/${other.id}`);
    assert.equal(await userStatus(phone), 401);
    assert.equal(await userStatus(ann), 200);
  });

  it('leaves a row in the audit log when it begins and however it ends', async () => {
    const here = await test.signUp('audited@example.com');
    const there = test.client();
    await redeem(there, await askLink(there, here.email));
    const sessions = await here.call<{ id: string; isCurrent: boolean }[]>('GET', '/api/sessions');
    const other = sessions.find((each) => !each.isCurrent)!;
    await here.call('DELETE', `/api/sessions/${other.id}`);
    await redeem(here, await askLink(here, here.email));
    await here.call('POST', '/auth/logout');
    await here.call('POST', '/auth/logout');
    const rows = await test.store.db
      .selectFrom('audit')
      .select(['actor', 'action', 'address', 'detail'])
      .where('target', '=', here.email)
      .where('action', 'like', 'session.%')
      .orderBy('id')
      .execute();
    const row = (action: string, detail = {}) => [here.email, action, '192.0.2.1', JSON.stringify(detail)];
    assert.deepEqual(
      rows.map(({ actor, action, address, detail }) => [actor, action, address, detail]),
      [
        row('session.create'),
        row('session.create'),
        row('session.end', { session: other.id }),
        row('session.end'),
        row('session.create'),
        row('session.end'),
      ],
    );
  });

  it('ends at once when its user is suspended', async () => {
    await test.control.operator.ensureOperator();
    await test.control.operator.changeUser(ann.userId, { suspended: true });
    assert.equal(await userStatus(ann), 401);
    await test.control.operator.changeUser(ann.userId, { suspended: false });
    assert.equal(await userStatus(ann), 401, 'and does not come back');
  });

  it('is read from the first cookie of its name only', async () => {
    const own = ann.cookies.get('underpass-session')!;
    const cookie = `underpass-session=${'B'.repeat(43)}; underpass-session=${own}`;
    assert.equal((await ann.send('GET', '/api/user', undefined, { cookie })).status, 401);
  });
});

describe('logging out', () => {
  it('ends the session by POST, and by GET from a page of this site', async () => {
    await ann.call('POST', '/auth/logout');
    assert.equal(await userStatus(ann), 401);
    const bob = await test.signUp('bob@example.com');
    const response = await bob.send('GET', '/auth/logout', undefined, { 'sec-fetch-mode': 'navigate' });
    assert.deepEqual([response.status, response.headers.get('location')], [303, '/']);
    assert.equal(await userStatus(bob), 401);
  });

  for (const [headers, why] of [
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 'a link on another site'],
    [{ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate' }, 'a link on a sibling host'],
    [{ 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'no-cors' }, 'an image on a page'],
    [{ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, 'an address typed or pasted'],
  ] as const) {
    it(`does not happen by ${why}`, async () => {
      assert.equal((await ann.send('GET', '/auth/logout', undefined, headers)).status, 403);
      assert.equal(await userStatus(ann), 200);
    });
  }
});

describe('an unsafe call', () => {
  const unsafe = [
    ['POST', '/auth/logout', undefined],
    ['POST', '/api/projects', { name: 'Planted' }],
    ['POST', '/auth/login', tokenForm('x')],
    ['POST', '/auth/magiclink', loginForm('ann@example.com')],
  ] as const;
  const foreign = [
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, 'from another site'],
    [{ 'sec-fetch-site': 'same-site', origin: 'http://sibling.localhost:8400' }, 'from a sibling host'],
    [{ 'sec-fetch-site': '', origin: 'https://evil.example' }, 'from another origin, by an old browser'],
    [{ 'sec-fetch-site': '', origin: 'null' }, 'from a sandboxed frame'],
    [{ 'sec-fetch-site': 'cross-site', origin: testOrigin }, 'with our Origin but a foreign site'],
    [{ 'sec-fetch-site': '', origin: `${testOrigin}.evil.example` }, 'from an origin that begins like ours'],
  ] as const;

  for (const [method, path, body] of unsafe) {
    for (const [headers, why] of foreign) {
      it(`${method} ${path} ${why} gets 403`, async () => {
        assert.equal((await sendWithout(ann, method, path, body, headers)).status, 403);
        assert.equal(await userStatus(ann), 200);
      });
    }
  }

  it('and a read by a foreign page, which could use up live views and rate limits, are refused', async () => {
    const read = async (site: string, path = '/api/user'): Promise<number> =>
      (await sendWithout(ann, 'GET', path, undefined, { 'sec-fetch-site': site, origin: '' })).status;
    for (const site of ['same-site', 'cross-site']) assert.equal(await read(site), 403, site);
    for (const site of ['same-origin', 'none', '']) assert.equal(await read(site), 200, site);
    assert.equal(await read('same-site', '/api/bot-check'), 200, 'what anybody may read');
    const stranger = new Request(`${testOrigin}/api/user`, { headers: { 'sec-fetch-site': 'cross-site' } });
    assert.equal((await test.control.fetch(stranger)).status, 401, 'without a cookie there is nothing to use up');
  });

  it('with a cookie but neither Origin nor Sec-Fetch-Site gets 403', async () => {
    const response = await sendWithout(ann, 'POST', '/auth/logout', undefined, { 'sec-fetch-site': '', origin: '' });
    assert.equal(response.status, 403);
  });

  it('from a program without cookies needs neither', async () => {
    const headers = { 'content-type': 'application/json' };
    const request = new Request(`${testOrigin}/auth/device`, { method: 'POST', body: '{"name":"cli"}', headers });
    assert.equal((await test.control.fetch(request, { remoteAddress: '192.0.2.1' })).status, 200);
  });

  /** Empty stands for a header that is not sent. */
  const sendWithout = (
    who: TestClient,
    method: string,
    path: string,
    body: object | URLSearchParams | FormData | undefined,
    headers: Record<string, string>,
  ): Promise<Response> => {
    const cookie = [...who.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const sent = Object.fromEntries(Object.entries({ cookie, ...headers }).filter(([, value]) => value !== ''));
    const isForm = body instanceof FormData || body instanceof URLSearchParams;
    const typed = body === undefined || isForm ? {} : { 'content-type': 'application/json' };
    const text = body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) };
    const request = new Request(testOrigin + path, { method, headers: { ...sent, ...typed }, ...text });
    return test.control.fetch(request, { remoteAddress: '192.0.2.1' });
  };
});

describe('floods', () => {
  const flood = async (limited: TestControl, count: number, email: (i: number) => string, address: (i: number) => string) => {
    const statuses: Response[] = [];
    for (let i = 0; i < count; i++)
      statuses.push(await limited.client(undefined, address(i)).send('POST', '/auth/magiclink', loginForm(email(i))));
    return statuses;
  };
  const openLimited = async (): Promise<TestControl> => {
    const limited = await createTestControl({ limited: true });
    opened.push(limited);
    return limited;
  };

  it('of requests for one e-mail, known or not, get the same answer, and mails stop at 5', async () => {
    const limited = await openLimited();
    await limited.signUp('ann@example.com');
    for (const [network, email] of ['ann@example.com', 'nobody@example.com'].entries()) {
      const answers = await flood(
        limited,
        15,
        () => email,
        (i) => `198.51.${network}.${i}`,
      );
      assert.deepEqual([...new Set(answers.map((each) => each.status))], [204]);
    }
    await limited.control.settle();
    assert.deepEqual(
      limited.mails.map((mail) => mail.to),
      Array(5).fill('ann@example.com'),
    );
  });

  it('of requests for a chosen person never keep the person out: the newest link signs in, from any browser', async () => {
    const limited = await openLimited();
    await limited.signUp('ann@example.com');
    await flood(
      limited,
      30,
      () => 'ann@example.com',
      (i) => `198.51.100.${i}`,
    );
    await limited.control.settle();
    // At the end of the window of mails, which is shorter than the life of a link.
    limited.time.now += rateLimits.loginMailPerEmail.windowSeconds * 1000;
    const browser = limited.client(undefined, '203.0.113.5');
    assert.equal((await browser.send('POST', '/auth/magiclink', loginForm('ann@example.com'))).status, 204);
    assert.equal((await redeem(browser, linkToken(limited.mails, 'ann@example.com'))).status, 204);
    const before = linkToken(limited.mails.slice(0, -1), 'ann@example.com');
    assert.equal((await redeem(limited.client(), before)).status, 204, 'an earlier link stays usable');
    assert.ok(rateLimits.loginMailPerEmail.windowSeconds <= (durations.loginLinkMinutes - 5) * 60);
  });

  it('without a right answer to the bot check use up no limit of another person', async () => {
    const limited = await openLimited();
    for (let i = 0; i < 6; i++) {
      const form = loginForm('ann@example.com', 'wrong');
      assert.equal((await limited.client(undefined, `198.51.100.${i}`).send('POST', '/auth/magiclink', form)).status, 400);
    }
    assert.equal((await limited.client().send('POST', '/auth/magiclink', loginForm('ann@example.com'))).status, 204);
  });

  it('of links from one address stop at 20', async () => {
    const answers = await flood(
      await openLimited(),
      21,
      (i) => `person-${i}@example.com`,
      () => '198.51.100.1',
    );
    assert.deepEqual(answers.map((each) => each.status).slice(19), [204, 429]);
  });

  it('from one IPv6 network count as one address', async () => {
    const answers = await flood(
      await openLimited(),
      21,
      (i) => `person-${i}@example.com`,
      (i) => `2001:db8:1:2::${i + 1}`,
    );
    assert.equal(answers[20]!.status, 429);
  });

  it('of links from many addresses stop, and do not lock out callers from other networks', async () => {
    const limited = await openLimited();
    const { loginLinkOverall, loginLinkPerNetwork } = rateLimits;
    const many = loginLinkOverall.points + loginLinkPerNetwork.points;
    const answers = await flood(
      limited,
      many + 1,
      (i) => `person-${i}@example.com`,
      (i) => `198.51.100.${i % 200}`,
    );
    assert.deepEqual(answers.map((each) => each.status).slice(many - 1), [204, 429]);
    const seconds = Number(answers[many]!.headers.get('retry-after'));
    assert.ok(seconds > 0 && seconds <= loginLinkOverall.windowSeconds, `Retry-After ${seconds}`);
    const ask = async (address: string): Promise<number> =>
      (await limited.client(undefined, address).send('POST', '/auth/magiclink', loginForm('ann@example.com'))).status;
    assert.deepEqual([await ask('203.0.113.9'), await ask('2001:db8::9'), await ask('198.51.100.250')], [204, 204, 429]);
  });

  it('of guessed links stop at 30, and a right link still signs in from the same address', async () => {
    const limited = await openLimited();
    await limited.signUp('ann@example.com');
    const client = limited.client();
    const statuses: number[] = [];
    for (let i = 0; i < 31; i++) statuses.push((await redeem(client, 'A'.repeat(43))).status);
    assert.deepEqual(statuses.slice(29), [401, 429]);
    const link = new URL(await limited.control.operator.createLoginLink('ann@example.com'));
    assert.equal((await redeem(client, link.pathname.split('/').at(-1)!)).status, 204);
  });

  it('of puzzles that another site’s page asks for leave those of the visitor’s own form', async () => {
    const limited = await openLimited();
    const visitor = limited.client();
    const ask = async (site: string): Promise<number> =>
      (await visitor.send('GET', '/api/bot-check/challenge', undefined, { 'sec-fetch-site': site })).status;
    const { points } = rateLimits.botCheck;
    for (const site of ['cross-site', 'same-site']) {
      for (let i = 0; i < points; i++) await ask(site);
      assert.equal(await ask(site), 429);
    }
    assert.equal(await ask('same-origin'), 200);
  });

  it('cannot hide behind X-Forwarded-For from an untrusted peer', async () => {
    const limited = await openLimited();
    let last = 0;
    for (let i = 0; i < 31; i++) {
      last = (await limited.client().send('POST', '/auth/login', tokenForm('x'), { 'x-forwarded-for': `203.0.113.${i}` })).status;
    }
    assert.equal(last, 429);
  });
});
