// Access policies at the edge: what visitors get, and what the upstream learns about them.

import assert from 'node:assert/strict';
import { verify } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import type { PathRule } from '@underpass/rules/visit/path-rule.ts';
import { RequestHead } from '@underpass/wire/http/request-head.ts';
import { pino } from 'pino';
import { createRig, type Rig, tunnelOf } from '../fixture/rig.ts';
import {
  type Answer,
  ask,
  askH2,
  assertionPublicKey,
  type Begun,
  begunOf,
  claimsOf,
  controlOrigin,
  echoUpstream,
  gotField,
  machineToken,
  one,
  opened,
  pairOf,
  sessionOf,
  signed,
  stateOf,
  visitOf,
} from '../fixture/visits.ts';
import { VisitPolicy } from '../routes/visit-policy.ts';
import { EnteredVisits } from './entered-visits.ts';
import { VisitCheck, type VisitSide } from './visit-check.ts';

const host = 't.tunnels.test';
const neverEntered = new EnteredVisits(null, pino({ level: 'silent' }));
let rig: Rig;

before(async () => {
  const upstream = echoUpstream();
  rig = await createRig([
    tunnelOf('t', { allowList: [], visit: visitOf() }),
    tunnelOf('k', { allowList: [], visit: visitOf({ tokenHeader: 'x-api-key' }) }),
    tunnelOf('friends', { allowList: [], visit: visitOf({ origins: ['https://app.friend.test'] }) }),
    tunnelOf('open'),
    tunnelOf('closed', { allowList: [], visit: visitOf({ allowList: [] }) }),
    tunnelOf('broken', { allowList: [], visit: visitOf({ assertionKeyPem: 'no key' }) }),
    tunnelOf('short', { allowList: [], visit: visitOf({ sealKey: '' }) }),
  ]);
  for (const id of ['t', 'k', 'friends', 'open', 'broken', 'short']) await rig.client(id, upstream);
});
after(() => rig[Symbol.asyncDispose]());

const cookie = (session: string, more = ''): string => `Cookie: ${more}${sessionOf(session)}`;

describe('a visitor without a session', () => {
  it('is redirected to the sign-in if a person opens the address', async () => {
    const answer = await ask(rig, { path: '/a/b?c=d', fields: opened });
    assert.equal(answer.status, 303);
    const location = new URL(one(answer, 'location'));
    assert.equal(location.origin + location.pathname, `${controlOrigin}/access/sign-in`);
    assert.equal(location.searchParams.get('host'), host);
    const set = one(answer, 'set-cookie');
    assert.match(set, /^__Host-underpass-visit-[0-7]=[^;]+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=900$/);
    const { nonce, path } = begunOf(answer);
    assert.equal(location.searchParams.get('state'), stateOf(nonce));
    assert.equal(path, '/a/b?c=d');
    assert.equal(one(answer, 'cache-control'), 'no-store');
  });

  it('is redirected without Sec-Fetch fields if it accepts a page', async () => {
    assert.equal((await ask(rig, { fields: ['Accept: text/html,*/*'] })).status, 303);
    assert.equal((await ask(rig, { method: 'HEAD', fields: opened })).status, 303);
    assert.equal((await ask(rig, { version: '1.0', fields: opened })).status, 303);
    assert.equal((await askH2(rig, { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' })).status, 303);
  });

  const others: Readonly<Record<string, Parameters<typeof ask>[1]>> = {
    'a script': { fields: ['Sec-Fetch-Mode: cors', 'Sec-Fetch-Dest: empty', 'Accept: text/html'] },
    'a service worker': { fields: ['Sec-Fetch-Mode: same-origin', 'Sec-Fetch-Dest: serviceworker', 'Service-Worker: script'] },
    'a frame': { fields: ['Sec-Fetch-Mode: navigate', 'Sec-Fetch-Dest: iframe', 'Accept: text/html'] },
    'an image': { fields: ['Sec-Fetch-Mode: no-cors', 'Sec-Fetch-Dest: image'] },
    'a form': { method: 'POST', fields: opened, body: 'a=b' },
    'a preflight': { method: 'OPTIONS', fields: ['Origin: https://x.test', 'Access-Control-Request-Method: GET'] },
    'a WebSocket': { fields: ['Connection: Upgrade', 'Upgrade: websocket', ...opened] },
    'an XMLHttpRequest': { fields: ['Accept: text/html', 'X-Requested-With: XMLHttpRequest'] },
    'a program': { fields: ['Accept: */*'] },
    'OPTIONS *': { method: 'OPTIONS', path: '*' },
  };
  for (const [name, sent] of Object.entries(others)) {
    it(`gets 401 and no redirect if it is ${name}`, async () => {
      const answer = await ask(rig, sent);
      assert.equal(answer.status, 401);
      assert.equal(answer.got, null);
      assert.equal(one(answer, 'underpass-error'), 'UNDERPASS_SIGN_IN_REQUIRED');
      assert.equal(answer.fields.has('set-cookie'), false);
      assert.match(one(answer, 'www-authenticate'), /^Bearer realm="t\.tunnels\.test", resource_metadata="https:/);
    });
  }

  it('learns where the metadata of the resource is', async () => {
    const refused = await ask(rig, { path: '/mcp?x', fields: ['Authorization: Bearer nonsense'] });
    const metadata = `https://${host}/.well-known/oauth-protected-resource/mcp`;
    assert.equal(
      one(refused, 'www-authenticate'),
      `Bearer realm="${host}", resource_metadata="${metadata}", error="invalid_token"`,
    );
    const answer = await ask(rig, { path: new URL(metadata).pathname });
    assert.equal(answer.status, 200);
    assert.deepEqual(JSON.parse(answer.body), {
      resource: `https://${host}/mcp`,
      authorization_servers: [`${controlOrigin}/access/oauth`],
      bearer_methods_supported: ['header'],
      resource_name: host,
    });
    assert.equal((await ask(rig, { method: 'OPTIONS', path: '/.well-known/oauth-protected-resource' })).status, 204);
  });

  it('gets every public path, without identity, and no denied one', async () => {
    const open = await ask(rig, { path: '/public/x' });
    assert.equal(open.got?.url, '/public/x');
    assert.deepEqual(gotField(open, 'x-underpass-user'), []);
    for (const fields of [[], [cookie(signed())]]) {
      const denied = await ask(rig, { path: '/denied/x', fields });
      assert.equal(denied.status, 403);
      assert.equal(one(denied, 'underpass-error'), 'UNDERPASS_VISIT_DENIED');
    }
  });
});

describe('a visitor with a session', () => {
  it('reaches the upstream, which learns who they are and never sees the session', async () => {
    const session = signed({
      method: 'oidc',
      source: 'provider-1',
      subject: 'söme one',
      email: 'x@y.test',
      groups: ['staff', 'a,b ü'],
    });
    for (const answer of [
      await ask(rig, { fields: [cookie(session, 'a=b; ')] }),
      await askH2(rig, { cookie: `a=b; ${sessionOf(session)}` }),
    ]) {
      assert.equal(answer.status, 200);
      assert.deepEqual(gotField(answer, 'cookie'), ['a=b']);
      assert.deepEqual(gotField(answer, 'x-underpass-user'), ['s%C3%B6me%20one']);
      assert.deepEqual(gotField(answer, 'x-underpass-email'), ['x@y.test']);
      assert.deepEqual(gotField(answer, 'x-underpass-groups'), ['staff,a%2Cb %C3%BC']);
      const [jwt = ''] = gotField(answer, 'x-underpass-assertion');
      const [header = '', payload = '', signature = ''] = jwt.split('.');
      const key = { key: assertionPublicKey, dsaEncoding: 'ieee-p1363' } as const;
      assert.ok(verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')));
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
      const { iat, exp, ...rest } = claims;
      assert.ok(exp - iat <= 300 && iat <= Date.now() / 1_000);
      assert.deepEqual(rest, {
        iss: controlOrigin,
        aud: `https://${host}`,
        sub: 'söme one',
        email: 'x@y.test',
        groups: ['staff', 'a,b ü'],
        method: 'oidc',
      });
    }
  });

  const places: readonly (readonly [string, string, readonly string[]])[] = [
    ['alone', '%', []],
    ['first', '%; a=b', ['a=b']],
    ['last', 'a=b; %', ['a=b']],
    ['between', 'a=b; %; c=d', ['a=b; c=d']],
    ['with the other one first', '__Host-underpass-visit=entered; %; c=d; e=f', ['c=d; e=f']],
    ['with the other one around', '__Host-underpass-visit=entered; c=d; %', ['c=d']],
    ['with a waiting visit', '__Host-underpass-visit-7=x.y; c=d; %', ['c=d']],
    ['beside a name that is not ours', '__Host-underpass-visit-8=x; %', ['__Host-underpass-visit-8=x']],
    ['with the other one behind', 'c=d;%;__Host-underpass-visit=entered', ['c=d']],
    ['without spaces', 'a=b;%;c=d', ['a=b;c=d']],
  ];
  for (const [name, text, kept] of places) {
    it(`loses only the edge's cookies if the session is ${name}`, async () => {
      const answer = await ask(rig, { fields: [`Cookie: ${text.replace('%', sessionOf(signed()))}`] });
      assert.deepEqual(gotField(answer, 'cookie'), kept);
    });
  }

  it('loses them on a public path too', async () => {
    const answer = await ask(rig, {
      path: '/public/',
      fields: [cookie(signed(), 'a=b; '), `Authorization: Bearer ${machineToken}`],
    });
    assert.deepEqual([gotField(answer, 'cookie'), gotField(answer, 'authorization')], [['a=b'], []]);
  });

  it('keeps an Authorization field of the service', async () => {
    const answer = await ask(rig, { fields: [cookie(signed()), 'Authorization: Basic eDp5'] });
    assert.deepEqual(gotField(answer, 'authorization'), ['Basic eDp5']);
  });

  it('gets one assertion for several requests on several connections', async () => {
    const fields = [cookie(signed())];
    const [first, second] = [await ask(rig, { fields }), await ask(rig, { fields })];
    assert.deepEqual(gotField(first, 'x-underpass-assertion'), gotField(second, 'x-underpass-assertion'));
  });
});

describe('machines and programs', () => {
  it('are let through by a token, which the upstream does not see', async () => {
    const answer = await ask(rig, { fields: [`Authorization: bearer  ${machineToken}`] });
    assert.deepEqual(gotField(answer, 'x-underpass-user'), ['token:ci']);
    assert.deepEqual(gotField(answer, 'authorization'), []);
  });

  it('are let through by a program token', async () => {
    const token = signed({ agent: 'Inspector' }, { use: 'agent' });
    const answer = await ask(rig, { fields: [`Authorization: Bearer ${token}`] });
    assert.deepEqual(gotField(answer, 'x-underpass-user'), ['ada@firm.test']);
    const [, payload = ''] = (gotField(answer, 'x-underpass-assertion')[0] ?? '').split('.');
    assert.equal(JSON.parse(Buffer.from(payload, 'base64url').toString()).agent, 'Inspector');
  });

  it("are let through by a token in the owner's header", async () => {
    const k = 'k.tunnels.test';
    const answer = await ask(rig, { host: k, fields: [`X-Api-Key: ${machineToken}`, 'A: b'] });
    assert.deepEqual(gotField(answer, 'x-underpass-user'), ['token:ci']);
    assert.deepEqual([gotField(answer, 'x-api-key'), gotField(answer, 'a')], [[], ['b']]);
    assert.equal((await ask(rig, { host: k, fields: [`Authorization: Bearer ${machineToken}`] })).status, 401);
  });
});

describe('the way back from the sign-in', () => {
  const nonce = 'n'.repeat(22);
  const begun = (path = '/a/b?c=d'): string =>
    `Cookie: __Host-underpass-visit-0=${nonce}.${Buffer.from(path).toString('base64url')}`;
  const ticket = (changes = {}, how = {}): string =>
    signed(changes, { use: 'ticket', untilMs: Date.now() + 60_000, state: stateOf(nonce), ...how });
  const enter = (text: string): string => `/.underpass/access/enter?ticket=${text}`;

  it('sets the session and leads to where the visit began', async () => {
    const answer = await ask(rig, { path: enter(ticket()), fields: [begun(), ...opened] });
    assert.equal(answer.status, 303);
    assert.equal(one(answer, 'location'), '/a/b?c=d');
    const [session = '', entered = '', visit] = answer.fields.get('set-cookie') ?? [];
    const [, value = '', rest = ''] = /^__Host-underpass-access=([^;]+)(; .*)$/.exec(session) ?? [];
    assert.match(rest, /^; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=(3600|3599)$/);
    assert.equal(entered, '__Host-underpass-visit=entered; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=30');
    assert.equal(visit, '__Host-underpass-visit-0=; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=0');
    assert.equal((await ask(rig, { fields: [cookie(value)] })).status, 200);
  });

  it('works once: a copy of its ticket and cookie opens nothing', async () => {
    const again = 'r'.repeat(22);
    const cookies = `__Host-underpass-visit-0=${again}.L2E`;
    const path = enter(ticket({}, { state: stateOf(again) }));
    const first = await ask(rig, { path, fields: [`Cookie: ${cookies}`, ...opened] });
    assert.equal(one(first, 'location'), '/a');
    const other = enter(ticket({}, { state: stateOf(again), untilMs: Date.now() + 50_000 }));
    for (const copy of [path, `${path}=`, other]) {
      const answer = await ask(rig, { path: copy, fields: [`Cookie: ${cookies}`, ...opened] });
      assert.deepEqual([answer.status, one(answer, 'underpass-error')], [403, 'UNDERPASS_TICKET_REFUSED'], copy);
      assert.equal(answer.fields.has('set-cookie'), false);
    }
    const [session = ''] = (first.fields.get('set-cookie') ?? []).map(pairOf);
    const reload = await ask(rig, { path, fields: [`Cookie: ${cookies}; ${session}`, ...opened] });
    assert.deepEqual([reload.status, one(reload, 'location')], [303, '/a'], 'its own browser may reload it');
  });

  it('explains itself if the browser keeps no cookie, after one round', async () => {
    const noNonce = await ask(rig, { path: enter(ticket()), fields: opened });
    const noSession = await ask(rig, { path: '/x', fields: [...opened, 'Cookie: __Host-underpass-visit=entered'] });
    for (const answer of [noNonce, noSession]) {
      assert.equal(answer.status, 403);
      assert.equal(one(answer, 'underpass-error'), 'UNDERPASS_SESSION_NOT_KEPT');
    }
    const [, again = ''] = /href="([^"]+)"/.exec(noSession.body) ?? [];
    const retry = await ask(rig, { path: again, fields: [...opened, 'Cookie: __Host-underpass-visit=entered'] });
    assert.equal(retry.status, 303);
    assert.equal(begunOf(retry).path, '/x');
  });

  it('leads each of two windows to its own path, whichever finishes first', async () => {
    const finish = async (own: Begun, cookies: readonly string[]): Promise<Answer> =>
      ask(rig, { path: enter(ticket({}, { state: stateOf(own.nonce) })), fields: [...opened, `Cookie: ${cookies.join('; ')}`] });
    for (const isFirst of [true, false]) {
      const first = begunOf(await ask(rig, { path: '/a', fields: opened }));
      const second = begunOf(await ask(rig, { path: '/b', fields: [...opened, `Cookie: ${first.cookie}`] }));
      const [one, other] = isFirst ? [first, second] : [second, first];
      const answer = await finish(one, [first.cookie, second.cookie]);
      const [session = '', entered = '', cleared = ''] = (answer.fields.get('set-cookie') ?? []).map(pairOf);
      assert.equal(cleared, one.cookie.replace(/=.*/, '='));
      const last = await finish(other, [session, entered, other.cookie]);
      assert.deepEqual(
        [answer, last].map((each) => each.fields.get('location')),
        [[one.path], [other.path]],
      );
    }
  });

  it('leads a window whose cookie is gone to "/" once there is a session', async () => {
    const other = (slot: number): string => `__Host-underpass-visit-${slot}=${'o'.repeat(22)}.L2I; `;
    for (const others of ['', other(1) + other(2)]) {
      const answer = await ask(rig, { path: enter(ticket()), fields: [...opened, cookie(signed(), others)] });
      assert.deepEqual([answer.status, one(answer, 'location')], [303, '/']);
    }
  });

  it('refuses a visitor whom the policy no longer admits', async () => {
    const answer = await ask(rig, {
      path: enter(ticket({ email: 'eve@x.test', subject: 'eve@x.test' })),
      fields: [begun(), ...opened],
    });
    assert.equal(one(answer, 'underpass-error'), 'UNDERPASS_VISIT_DENIED');
  });
});

describe('signing out', () => {
  const path = '/.underpass/access/sign-out';
  const page = [`Origin: https://${host}`, 'Sec-Fetch-Site: same-origin'];
  it('asks first, and clears all cookies', async () => {
    const asked = await ask(rig, { path, fields: opened });
    assert.match(asked.body, /<form method="post" action="\/\.underpass\/access\/sign-out">/);
    assert.equal(asked.fields.has('set-cookie'), false);
    const visit = `Cookie: __Host-underpass-visit-3=${'n'.repeat(22)}.Lw`;
    const done = await ask(rig, { path, method: 'POST', fields: [...page, visit] });
    assert.deepEqual(
      done.fields.get('set-cookie')?.map((text) => /^([^;]+);.*Max-Age=0$/.exec(text)?.[1]),
      ['__Host-underpass-access=', '__Host-underpass-visit=', '__Host-underpass-visit-3='],
    );
  });

  const foreign = [
    ['Origin: https://evil.test'],
    ['Sec-Fetch-Site: cross-site'],
    ['Origin: null'],
    ['Sec-Fetch-Site: same-site'],
    [],
  ];
  for (const fields of foreign) {
    it(`is refused for ${fields[0] ?? 'a request that names no origin'}`, async () => {
      const answer = await ask(rig, { path, method: 'POST', fields });
      assert.equal(answer.fields.has('set-cookie'), false);
    });
  }

  it('has no other page', async () => {
    for (const other of ['/.underpass/access/', '/.underpass/access/x', `${path}/x`]) {
      assert.equal((await ask(rig, { path: other, fields: [cookie(signed())] })).status, 404);
    }
    assert.equal(
      (await ask(rig, { host: 'open.tunnels.test', path })).got?.url,
      path,
      'without a policy the path is the upstream’s',
    );
  });
});

describe('a policy that cannot be used', () => {
  it('is checked after the security group', async () => {
    const answer = await ask(rig, { host: 'closed.tunnels.test', fields: opened });
    assert.equal(one(answer, 'underpass-error'), 'UNDERPASS_SOURCE_DENIED');
  });

  for (const id of ['broken', 'short']) {
    it(`admits nobody but to public paths (${id})`, async () => {
      const session = signed({}, { host: `${id}.tunnels.test`, key: id === 'short' ? '' : visitOf().sealKey });
      for (const fields of [[cookie(session)], [`Authorization: Bearer ${machineToken}`], opened]) {
        const answer = await ask(rig, { host: `${id}.tunnels.test`, fields });
        assert.equal(one(answer, 'underpass-error'), 'UNDERPASS_SIGN_IN_UNAVAILABLE');
      }
      assert.equal((await ask(rig, { host: `${id}.tunnels.test`, path: '/public/' })).status, 200);
    });
  }
});

it('claims of every method are admitted as the policy says', async () => {
  const admitted = [
    claimsOf({ method: 'member', subject: 'member-1', email: 'm@x.test' }),
    claimsOf({ method: 'email', subject: 'z@open.test', email: 'z@open.test' }),
    claimsOf({ method: 'password', subject: 'password-1', source: 'password-1', email: '' }),
    claimsOf({ method: 'link', subject: 'link-1', source: 'link-1', email: '' }),
  ];
  for (const claims of admitted) assert.equal((await ask(rig, { fields: [cookie(signed(claims))] })).status, 200, claims.method);
});

/** Judges one request of the connection. */
function judgeAt(
  check: VisitCheck,
  side: VisitSide,
  policy: VisitPolicy,
  fields: readonly string[],
  path = '/',
  method = 'GET',
): string | null {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, ...fields, '', ''];
  const bytes = Buffer.from(lines.join('\r\n'), 'latin1');
  const head = new RequestHead();
  const end = head.scan(bytes, 0, bytes.length);
  return check.judge(side, policy, head, bytes, end)?.code ?? null;
}
const sideOf = (): VisitSide => ({ tunnelId: 't', host, site: host, credential: null, pass: null, rule: '' });

describe('what was verified before is judged again', () => {
  const policy = new VisitPolicy(visitOf());
  const credentials: Readonly<Record<string, string>> = {
    'a session': cookie(signed()),
    'a token': `Authorization: Bearer ${machineToken}`,
    'a program': `Authorization: Bearer ${signed({ agent: 'x' }, { use: 'agent' })}`,
  };
  for (const [name, field] of Object.entries(credentials)) {
    it(`${name}, once the policy changes, on its own connection and on others`, () => {
      const check = new VisitCheck(() => true, neverEntered);
      const own = sideOf();
      assert.equal(judgeAt(check, own, policy, [field]), null);
      const changed = new VisitPolicy(visitOf({ tokens: [], grants: { ...policy.feed.grants, people: [] } }));
      assert.equal(judgeAt(check, own, changed, [field]), 'UNDERPASS_SIGN_IN_REQUIRED');
      assert.equal(judgeAt(check, sideOf(), changed, [field]), 'UNDERPASS_SIGN_IN_REQUIRED');
    });
  }

  it('a session on a connection that stays open, once it ends', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
    const check = new VisitCheck(() => true, neverEntered);
    const own = sideOf();
    const field = cookie(signed({ expiresAtMs: Date.now() + 60_000 }));
    assert.equal(judgeAt(check, own, policy, [field]), null);
    t.mock.timers.tick(60_000);
    assert.equal(judgeAt(check, own, policy, [field]), 'UNDERPASS_SIGN_IN_REQUIRED');
  });
});

describe('a target without a path', () => {
  const check = new VisitCheck(() => true, neverEntered);
  const judgeBy = (rule: PathRule, path: string, method?: string): string | null =>
    judgeAt(check, sideOf(), new VisitPolicy(visitOf({ rules: [rule] })), [cookie(signed())], path, method);

  it('is judged as "/"', () => {
    for (const path of ['/', `https://${host}`])
      assert.equal(judgeBy({ path: '/', action: 'deny' }, path), 'UNDERPASS_VISIT_DENIED', path);
  });

  it('is no path for OPTIONS: no rule makes it public or denies it', () => {
    for (const path of ['*', `https://${host}`]) {
      for (const action of ['public', 'deny'] as const) {
        assert.equal(judgeBy({ path: '/*', action }, path, 'OPTIONS'), null, path);
        const without = judgeAt(
          check,
          sideOf(),
          new VisitPolicy(visitOf({ rules: [{ path: '/*', action }] })),
          [],
          path,
          'OPTIONS',
        );
        assert.equal(without, 'UNDERPASS_SIGN_IN_REQUIRED', path);
      }
    }
  });
});

it('a denied path has no metadata, a public one is the service’s own', async () => {
  const metadata = '/.well-known/oauth-protected-resource';
  for (const [action, code] of Object.entries({ deny: 'UNDERPASS_VISIT_DENIED', public: null })) {
    const policy = new VisitPolicy(visitOf({ rules: [{ path: `${metadata}/*`, action: action as 'deny' | 'public' }] }));
    const check = new VisitCheck(() => true, neverEntered);
    assert.equal(judgeAt(check, sideOf(), policy, [cookie(signed())], metadata), code);
  }
});

it('a script that fetches the page of the sign-in gets 401 and no nonce', async () => {
  const answer = await ask(rig, { path: '/.underpass/access/sign-in', fields: ['Sec-Fetch-Mode: cors', 'Accept: text/html'] });
  assert.deepEqual([answer.status, answer.fields.has('set-cookie')], [401, false]);
});

it('a policy without a key takes no ticket, also if it is signed with an empty key', async () => {
  const nonce = 'n'.repeat(22);
  const ticket = signed({}, { use: 'ticket', host: 'short.tunnels.test', key: '', state: stateOf(nonce) });
  const fields = [`Cookie: __Host-underpass-visit-0=${nonce}.Lw`];
  const answer = await ask(rig, { host: 'short.tunnels.test', path: `/.underpass/access/enter?ticket=${ticket}`, fields });
  assert.deepEqual([answer.status, answer.fields.has('set-cookie')], [503, false]);
});

describe('while control is away', () => {
  const check = new VisitCheck(() => false, neverEntered);
  const policy = new VisitPolicy(visitOf());
  function judge(fields: readonly string[], path = '/'): { readonly code: string | null; readonly side: VisitSide } {
    const side = sideOf();
    return { code: judgeAt(check, side, policy, fields, path), side };
  }

  it('redirects nobody to it, and says that signing in does not work', () => {
    for (const path of ['/', '/.underpass/access/sign-in'])
      assert.equal(judge(opened, path).code, 'UNDERPASS_SIGN_IN_UNAVAILABLE');
  });

  it('admits visitors with a session, and answers programs without a token with 401', () => {
    const { code, side } = judge([cookie(signed())]);
    assert.deepEqual([code, side.pass?.path, side.pass?.visitor?.claims?.email], [null, '/', 'ada@firm.test']);
    assert.equal(judge([]).code, 'UNDERPASS_SIGN_IN_REQUIRED');
  });
});

describe('a page of another origin', () => {
  const foreign = ['Origin: https://evil.tunnels.test', 'Sec-Fetch-Site: same-site'];
  const webSocket = ['Connection: Upgrade', 'Upgrade: websocket'];
  const refused = (answer: Answer): void => {
    assert.deepEqual([answer.status, one(answer, 'underpass-error')], [403, 'UNDERPASS_VISIT_OTHER_ORIGIN']);
    assert.equal(answer.got, null);
    assert.equal(one(answer, 'access-control-allow-origin'), '');
  };

  it('cannot write with the session of a visitor', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'QUERY'])
      refused(await ask(rig, { method, path: '/x', body: 'x', fields: [cookie(signed()), ...foreign] }));
    const sent = { ':method': 'POST', cookie: sessionOf(signed()), origin: 'https://evil.tunnels.test' };
    refused(await askH2(rig, sent, host, 'x'));
  });

  it('cannot open a WebSocket with the session of a visitor', async () => {
    for (const origin of [foreign, foreign.slice(0, 1), foreign.slice(1), ['Origin: null'], ['Origin: a', 'Origin: a']])
      refused(await ask(rig, { fields: [cookie(signed()), ...webSocket, ...origin] }));
  });

  it('may send what only reads, and gets no permission to see the answer', async () => {
    const answer = await ask(rig, { fields: [cookie(signed()), ...foreign] });
    assert.notEqual(answer.got, null);
    assert.equal(one(answer, 'access-control-allow-origin'), '');
  });

  it("may write with a machine's token, which no browser adds by itself", async () => {
    const fields = [`Authorization: Bearer ${machineToken}`, cookie(signed()), ...foreign];
    assert.notEqual((await ask(rig, { method: 'POST', body: 'x', fields })).got, null);
  });

  it('may write if the policy names its origin, and only then', async () => {
    const at = 'friends.tunnels.test';
    const post = (origin: string) =>
      ask(rig, { host: at, method: 'POST', body: 'x', fields: [cookie(signed({}, { host: at })), `Origin: ${origin}`] });
    assert.notEqual((await post('https://app.friend.test')).got, null);
    for (const origin of ['https://app.friend.test:444', 'http://app.friend.test', 'https://x.app.friend.test'])
      refused(await post(origin));
  });

  it('may write to a public path, where the service gets no session', async () => {
    const answer = await ask(rig, { path: '/public/x', method: 'POST', body: 'x', fields: [cookie(signed()), ...foreign] });
    assert.deepEqual(gotField(answer, 'cookie'), []);
  });

  it('loses what it opened when the policy no longer names its origin', () => {
    const visitor = { claims: claimsOf(), token: null, endsAtMs: Number.POSITIVE_INFINITY };
    const pass = { path: '/', reach: 'path', call: null, visitor, origin: 'https://app.friend.test' } as const;
    assert.equal(new VisitPolicy(visitOf({ origins: [pass.origin] })).admits(pass, Date.now()), true);
    assert.equal(new VisitPolicy(visitOf()).admits(pass, Date.now()), false);
  });
});

describe('a path with rules about MCP calls', () => {
  const check = new VisitCheck(() => true, neverEntered);
  const rules: readonly PathRule[] = [
    { path: '/open/*', action: 'public' },
    { path: '/mcp#tools/list', action: 'public' },
    { path: '/mcp#tools/call delete_*', action: 'deny' },
    { path: '/secret/*', action: 'deny' },
  ];
  const policy = new VisitPolicy(visitOf({ rules: [{ path: '/*', action: 'deny' }], callRules: rules }));
  const signedIn = cookie(signed());
  const post = (fields: readonly string[], path = '/mcp', method = 'POST') =>
    judgeAt(check, sideOf(), policy, fields, path, method);
  const call = (name: string): readonly string[] => [signedIn, 'Mcp-Method: tools/call', `Mcp-Name: ${name}`];

  it('lets a call pass by its rule, and every other by the rules of the path', () => {
    assert.equal(post(['Mcp-Method: tools/list']), null);
    assert.equal(post(call('read_all')), null);
    assert.equal(post(call('read_all').slice(1)), 'UNDERPASS_SIGN_IN_REQUIRED');
    assert.equal(post(call('delete_all')), 'UNDERPASS_VISIT_DENIED');
    assert.equal(post([], '/open/x', 'GET'), null);
    assert.equal(post([signedIn], '/other', 'GET'), null);
    assert.equal(post([signedIn], '/secret/x', 'GET'), 'UNDERPASS_VISIT_DENIED');
  });

  const unknown: Readonly<Record<string, readonly string[]>> = {
    'no field, as before 2026-07-28': [],
    'a call without the name of its tool': ['Mcp-Method: tools/call'],
    'two methods': ['Mcp-Method: tools/list', 'Mcp-Method: tools/call'],
    'a second method that a CGI server takes for the first': ['Mcp-Method: tools/list', 'mcp_method: tools/call'],
    'two names': ['Mcp-Method: tools/call', 'Mcp-Name: a', 'Mcp-Name: delete_all'],
    'methods in one field': ['Mcp-Method: tools/list, tools/call'],
    'a name in Base64': ['Mcp-Method: tools/call', 'Mcp-Name: =?base64?ZGVsZXRlX2FsbA==?='],
    'an escaped name': ['Mcp-Method: tools/call', 'Mcp-Name: delete%5fall'],
    'a name in another case': ['Mcp-Method: tools/call', 'Mcp-Name: Delete_all'],
    'a method in another case': ['Mcp-Method: Tools/Call', 'Mcp-Name: delete_all'],
    'a name with bytes outside ASCII': ['Mcp-Method: tools/call', 'Mcp-Name: d\xe9lete_all'],
    'an empty name': ['Mcp-Method: tools/call', 'Mcp-Name: '],
  };
  for (const [name, fields] of Object.entries(unknown)) {
    it(`refuses a request with ${name}`, () => {
      for (const path of ['/mcp', '/MCP/', '/%6dcp', '/open/../mcp'])
        assert.match(post([signedIn, ...fields], path) ?? 'passed', /^UNDERPASS_(CALL_UNKNOWN|VISIT_DENIED)$/, path);
    });
  }

  it('says to a client of an older revision what it lacks', () => {
    assert.equal(post([signedIn]), 'UNDERPASS_CALL_UNKNOWN');
    assert.equal(post([signedIn], '/secret/x'), 'UNDERPASS_VISIT_DENIED', 'a rule about every request');
  });

  it('refuses a stream and the end of a session of an older revision, whatever they name', () => {
    for (const method of ['GET', 'DELETE', 'OPTIONS'])
      assert.notEqual(post([signedIn, 'Mcp-Method: tools/list'], '/mcp', method), null, method);
  });

  it('keeps the metadata that leads a program to the sign-in', () => {
    const all = new VisitPolicy(visitOf({ rules: [], callRules: [{ path: '/*#tools/list', action: 'sign-in' }] }));
    const side = sideOf();
    const answer = judgeAt(check, side, all, [], '/.well-known/oauth-protected-resource/mcp');
    assert.deepEqual([answer, side.pass], [null, null], 'answered by the edge');
  });

  it('ends what runs when the policy no longer lets the call pass', () => {
    const side = sideOf();
    assert.equal(judgeAt(check, side, policy, call('read_all'), '/mcp', 'POST'), null);
    assert.equal(policy.admits(side.pass, Date.now()), true);
    const changed = new VisitPolicy(visitOf({ callRules: [{ path: '/mcp#tools/call *', action: 'deny' }] }));
    assert.equal(changed.admits(side.pass, Date.now()), false);
  });
});

it("the page itself writes with its visitor's session", async () => {
  const own = [`Origin: https://${host}`, 'Sec-Fetch-Site: same-origin'];
  assert.notEqual((await ask(rig, { method: 'POST', body: 'x', fields: [cookie(signed()), ...own] })).got, null);
});

describe('what another sign-in proxy says about the visitor', () => {
  const claims = ['Remote-User', 'REMOTE_USER', 'Cf-Access-Authenticated-User-Email', 'X.Auth+Request_Email', 'X-SSL-Client-CN'];
  claims.push('OIDC_CLAIM_email', 'X-Auth-Username', 'X-Auth-Roles', 'iv-user', 'SM_USER', 'OAM_REMOTE_USER');
  claims.push('Shib-Session-ID', 'X-Remote-Extra-Scopes', 'Teleport-JWT-Assertion', 'X-SSO-User');

  it('does not reach the service of a tunnel with a policy, however its marks are written, on public paths too', async () => {
    for (const path of ['/', '/public/x'])
      for (const name of claims) {
        const fields = [`${name}: boss`, cookie(signed()), `${name}: boss`, 'X-Kept: yes'];
        const answer = await ask(rig, { path, fields });
        assert.equal(JSON.stringify(answer.got).includes('boss'), false, name);
        assert.deepEqual(gotField(answer, 'x-kept'), ['yes']);
        const h2 = await askH2(rig, { ':path': path, cookie: sessionOf(signed()), [name.toLowerCase()]: 'boss' });
        assert.equal(JSON.stringify(h2.got).includes('boss'), false, name);
      }
  });

  it('passes a tunnel without a policy: the proxy may stand in between', async () => {
    assert.deepEqual(gotField(await ask(rig, { host: 'open.tunnels.test', fields: ['Remote-User: ada'] }), 'remote-user'), [
      'ada',
    ]);
  });
});
