// Attacks on an access policy at the edge. Each row says what the attack would achieve without the guard that stops it.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect as connectH2 } from 'node:http2';
import { after, before, describe, it } from 'node:test';
import { createRig, hashOf, type Rig, readAll, type TestClient, tunnelOf } from '../fixture/rig.ts';
import {
  type Answer,
  ask,
  askH2,
  begunOf,
  echoUpstream,
  gotField,
  machineToken,
  one,
  opened,
  parseAnswer,
  sessionOf,
  signed,
  stateOf,
  visitOf,
} from '../fixture/visits.ts';

const host = 't.tunnels.test';
const otherKey = randomBytes(32).toString('base64url');
const nonce = 'n'.repeat(22);
let rig: Rig;
let ingressClient: TestClient;

before(async () => {
  const upstream = echoUpstream();
  const guarded = (id: string, changes: Parameters<typeof visitOf>[0] = {}, more = {}) =>
    tunnelOf(id, { allowList: [], visit: visitOf(changes), ...more });
  rig = await createRig([
    guarded('t', {
      rules: [...visitOf().rules, { path: '/admin/*', action: 'sign-in' }, { path: '/files/*', action: 'public' }],
    }),
    guarded('other', { sealKey: otherKey, policyId: 'policy-2', tokens: [] }),
    guarded('two', {}, { hosts: ['a.test', 'b.test'] }),
    guarded('key', { tokenHeader: 'x-api-key' }),
    guarded('soft', { rules: [{ path: '/public/*', action: 'public' }] }),
    guarded('ended', { tokens: [{ id: 'x', name: 'old', hash: hashOf(machineToken), expiresAtMs: 1 }] }),
    guarded('ingress', {}, { type: 'ingress' }),
    tunnelOf('open'),
  ]);
  for (const id of ['t', 'other', 'two', 'key', 'soft', 'ended', 'open']) await rig.client(id, upstream);
  ingressClient = await rig.client('ingress', upstream);
});
after(() => rig[Symbol.asyncDispose]());

type Row = readonly [attack: string, wouldAchieve: string, run: () => Promise<void>];

function stopped(answer: Answer, status = 401): void {
  assert.equal(answer.got, null, 'the request reached the upstream');
  assert.equal(answer.status, status);
}
/** A request of a program: refused with 401. */
const refused =
  (fields: readonly string[], sent: Parameters<typeof ask>[1] = {}, status = 401) =>
  async () =>
    stopped(await ask(rig, { ...sent, fields }), status);
const session = (text: string): string => `Cookie: ${sessionOf(text)}`;
const bearer = (token: string): string => `Authorization: Bearer ${token}`;
/** One character of the body is another one. */
const tampered = (text: string): string => text.replace(/^(.{20})(.)/, (_, head, one) => head + (one === 'A' ? 'B' : 'A'));
const withBody = (signedText: string, body: string): string =>
  `${Buffer.from(body).toString('base64url')}.${signedText.split('.')[1]}`;

const sessions: readonly Row[] = [
  [
    'a cookie without a signature',
    'anybody signs in as anybody',
    refused([session(`${Buffer.from('{}').toString('base64url')}.`)]),
  ],
  ['an empty cookie', 'an empty signature counts', refused([session('')])],
  ['a cookie with a changed body', 'a visitor becomes another one', refused([session(tampered(signed()))])],
  [
    'a cookie with claims of its own under a true signature',
    'a visitor becomes another one',
    refused([session(withBody(signed(), '{"claims":{}}'))]),
  ],
  ['a signature that is cut short', 'a prefix of it is enough', refused([session(signed().slice(0, -8))])],
  [
    'a session of another host of the policy',
    'a session for one service opens all',
    refused([session(signed({}, { host: 'key.tunnels.test' }))]),
  ],
  [
    'a session of another host of the same tunnel',
    'a page of one host uses another',
    refused([session(signed({}, { host: 'a.test' }))], { host: 'b.test' }),
  ],
  ['a session of another policy', 'a session for one service opens all', refused([session(signed({}, { key: otherKey }))])],
  [
    'a session from before the keys were changed',
    'stolen keys stay good',
    refused([session(signed())], { host: 'other.tunnels.test' }),
  ],
  ['a session that has ended', 'a session lasts for ever', refused([session(signed({ expiresAtMs: Date.now() - 1 }))])],
  [
    'a session whose signed text has ended',
    'a short session lasts longer',
    refused([session(signed({}, { untilMs: Date.now() - 1 }))]),
  ],
  ['a session of a person who is not admitted', 'a removed person stays', refused([session(signed({ email: 'eve@x.test' }))])],
  [
    'a session of a domain that only ends alike',
    'evilopen.test counts as open.test',
    refused([session(signed({ email: 'eve@evilopen.test' }))]),
  ],
  [
    'a session of an address with two @',
    'a@open.test@evil.test counts as open.test',
    refused([session(signed({ email: 'a@open.test@evil.test' }))]),
  ],
  [
    'a session of another provider',
    'any provider vouches for any address',
    refused([session(signed({ method: 'oidc', source: 'p2', groups: ['staff'] }))]),
  ],
  [
    'a session by an old password',
    'a leaked password stays good',
    refused([session(signed({ method: 'password', source: 'old' }))]),
  ],
  [
    'a session by a link that is gone',
    'a revoked link stays good',
    refused([session(signed({ method: 'link', source: 'gone' }))]),
  ],
  ['a ticket as a cookie', 'a ticket from a log opens the service', refused([session(signed({}, { use: 'ticket' }))])],
  ["a program's token as a cookie", 'a program gets a browser session', refused([session(signed({}, { use: 'agent' }))])],
  ["a session as a program's token", 'a page hands its session to a program', refused([bearer(signed())])],
  ['a ticket as a token', 'a ticket from a log opens the service', refused([bearer(signed({}, { use: 'ticket' }))])],
  [
    "a program's token of another host",
    'a token for one resource opens another',
    refused([bearer(signed({}, { use: 'agent', host: 'key.tunnels.test' }))]),
  ],
  [
    "a machine's token that has ended",
    'an ended token stays good',
    refused([bearer(machineToken)], { host: 'ended.tunnels.test' }),
  ],
  [
    "a machine's token of another policy",
    'a token for one service opens all',
    refused([bearer(machineToken)], { host: 'other.tunnels.test' }),
  ],
  ['the hash of a token', 'a reader of the feed can sign in', refused([bearer(hashOf(machineToken))])],
  ['a token as a password', 'another scheme is taken for Bearer', refused([`Authorization: Basic ${machineToken}`])],
  ['a token in the wrong field', 'a page can send it without a preflight', refused([`X-Token: ${machineToken}`])],
  ['an empty token', 'the hash of nothing is looked up', refused(['Authorization: Bearer '])],
  [
    'two session cookies',
    'a tossed cookie wins over the own one',
    refused([`Cookie: ${sessionOf(signed())}; ${sessionOf(signed())}`]),
  ],
  [
    'two Cookie fields with a session each',
    'a tossed cookie wins over the own one',
    refused([session(signed()), session(signed({ email: 'x@open.test' }))]),
  ],
  [
    'a session in a cookie of another case',
    'a cookie without the guarantees of __Host- counts',
    refused([`Cookie: __host-underpass-access=${signed()}`]),
  ],
  ['a session in a cookie without the prefix', 'a sibling host can set it', refused([`Cookie: underpass-access=${signed()}`])],
  ['two Authorization fields', 'one is checked and another one used', refused([bearer(machineToken), bearer('x')])],
  [
    'two fields with tokens',
    'one is checked and another one used',
    refused(['X-Api-Key: x', `X_Api_Key: ${machineToken}`], { host: 'key.tunnels.test' }),
  ],
  ['a huge cookie', 'a long text costs much work', refused([session('a'.repeat(20_000))])],
  ['a cookie of thousands of dots', 'a long text costs much work', refused([session('.'.repeat(20_000))])],
  [
    'a session on a tunnel that is no http tunnel',
    'the policy is ignored',
    async () => {
      const socket = rig.connectTls('ingress.tunnels.test');
      assert.deepEqual([await readAll(socket), ingressClient.opened], ['', 0]);
    },
  ],
];

const page = (fields: readonly string[] = []): readonly string[] => [...opened, ...fields];
const begun = (text = Buffer.from('/here').toString('base64url'), own = nonce, slot: number | string = 0): string =>
  `Cookie: __Host-underpass-visit-${slot}=${own}.${text}`;
const ticket = (how: Parameters<typeof signed>[1] = {}, claims = {}): string =>
  signed(claims, { use: 'ticket', untilMs: Date.now() + 60_000, state: stateOf(nonce), ...how });
const enter = (text: string): string => `/.underpass/access/enter?ticket=${text}`;
function noSession(answer: Answer, code: string): void {
  stopped(answer, 403);
  assert.equal(one(answer, 'underpass-error'), code);
  assert.equal(answer.fields.has('set-cookie'), false);
}
const noEntry =
  (path: string, fields: readonly string[], code = 'UNDERPASS_TICKET_REFUSED') =>
  async () =>
    noSession(await ask(rig, { path, fields: page(fields) }), code);
/** A good ticket in its own browser. A visit is entered once, so each is another one. */
function entry(text?: string, others: readonly string[] = []): Promise<Answer> {
  const own = randomBytes(16).toString('base64url');
  const cookies = [begun(text, own), ...others].join('; ');
  return ask(rig, { path: enter(ticket({ state: stateOf(own) })), fields: page([cookies]) });
}
/** Where the visitor is led after a good ticket. */
const landing = (path: string, expected: string) => async () => {
  const answer = await entry(Buffer.from(path, 'latin1').toString('base64url'));
  assert.deepEqual([answer.status, one(answer, 'location')], [303, expected]);
};

const entries: readonly Row[] = [
  [
    'a ticket in another browser',
    'a ticket from a log or a referrer signs a thief in',
    noEntry(enter(ticket()), [begun(undefined, 'm'.repeat(22))]),
  ],
  [
    'a ticket in a browser without a nonce',
    'login CSRF: a victim gets the session of an attacker',
    noEntry(enter(ticket()), [], 'UNDERPASS_SESSION_NOT_KEPT'),
  ],
  [
    'a ticket once more in the same browser',
    'a ticket is good twice',
    noEntry(enter(ticket()), ['Cookie: __Host-underpass-visit=entered'], 'UNDERPASS_SESSION_NOT_KEPT'),
  ],
  ['a ticket without a state', 'a ticket is bound to no browser', noEntry(enter(ticket({ state: '' })), [begun()])],
  ['a ticket that has ended', 'an old log signs a thief in', noEntry(enter(ticket({ untilMs: Date.now() - 1 })), [begun()])],
  [
    'a ticket of another host',
    'a ticket for one service opens all',
    noEntry(enter(ticket({ host: 'key.tunnels.test' })), [begun()]),
  ],
  ['a ticket of another policy', 'a ticket for one service opens all', noEntry(enter(ticket({ key: otherKey })), [begun()])],
  ['a cookie as a ticket', 'an ended session is renewed for ever', noEntry(enter(ticket({ use: 'session' })), [begun()])],
  ["a program's token as a ticket", 'a program gets a browser session', noEntry(enter(ticket({ use: 'agent' })), [begun()])],
  ['two tickets', 'one is checked and another one used', noEntry(`${enter(ticket())}&ticket=${ticket()}`, [begun()])],
  [
    'two nonces',
    'a tossed nonce wins over the own one',
    noEntry(enter(ticket()), [begun(), begun()], 'UNDERPASS_SESSION_NOT_KEPT'),
  ],
  [
    '257 copies of a nonce',
    'a count that wraps takes them for one',
    noEntry(enter(ticket()), [`Cookie: ${Array(257).fill(begun().slice(8)).join('; ')}`], 'UNDERPASS_SESSION_NOT_KEPT'),
  ],
  [
    'a ticket of another window of the browser, once that window is signed in',
    'a ticket is good twice while any visit waits',
    noEntry(enter(ticket()), [begun(undefined, 'm'.repeat(22), 1)]),
  ],
  [
    'a ticket for one of several visits',
    'an attacker who opens a second window chooses where the first one ends',
    async () => {
      const path = Buffer.from('/other').toString('base64url');
      const others = [1, 2, 3].map((slot) => begun(path, String(slot).repeat(22), slot).slice(8));
      const answer = await entry(undefined, others);
      assert.deepEqual([answer.status, one(answer, 'location')], [303, '/here']);
      assert.deepEqual(answer.fields.get('set-cookie')?.filter((text) => /visit-/.test(text)).length, 1);
    },
  ],
  [
    'visits without end',
    'a page opens windows until the Cookie field is too long for every server',
    async () => {
      const jar = new Map<string, string>();
      for (let opened = 0; opened < 12; opened++) {
        const { cookie } = begunOf(
          await ask(rig, { path: `/${'a'.repeat(1_023)}`, fields: page([`Cookie: ${[...jar.values()].join('; ')}`]) }),
        );
        jar.set(cookie.replace(/=.*/, ''), cookie);
      }
      assert.equal(jar.size, 8);
      assert.ok([...jar.values()].join('; ').length < 12_000);
    },
  ],
  [
    'a visit while another sign-in has just ended without a session',
    'a loop as long as another visit waits',
    async () => {
      const fields = page([`${begun()}; __Host-underpass-visit=entered`]);
      noSession(await ask(rig, { path: '/x', fields }), 'UNDERPASS_SESSION_NOT_KEPT');
    },
  ],
  ...['8', '/', '00', '-1', ''].map(
    (slot): Row => [
      `a nonce in slot "${slot}"`,
      'a cookie that is never removed or replaced counts',
      noEntry(enter(ticket()), [begun(undefined, undefined, slot)], 'UNDERPASS_SESSION_NOT_KEPT'),
    ],
  ),
  [
    'a nonce of another form',
    'an attacker chooses what the browser sends back',
    noEntry(enter(ticket()), [begun(undefined, 'short')], 'UNDERPASS_SESSION_NOT_KEPT'),
  ],
  ['the nonce itself as the state', 'the state can be used as the nonce', noEntry(enter(ticket({ state: nonce })), [begun()])],
  ['a return path to another host', 'an open redirect with the trust of the sign-in', landing('//evil.test/', '/')],
  ['a return path with a backslash', 'browsers take it for a slash: an open redirect', landing('/\\evil.test/', '/')],
  ['a return path with a scheme', 'an open redirect', landing('https://evil.test/', '/')],
  ['a return path without a slash', 'an open redirect to a host that begins with the own name', landing('.evil.test/', '/')],
  ['a return path with a line end', 'a second answer or a cookie in the response', landing('/a\r\nSet-Cookie: a=b', '/')],
  ['a return path with a tab', 'browsers drop it: an open redirect', landing('/\t/evil.test', '/')],
  ['a return path to the sign-in', 'a loop', landing('/.underpass/access/sign-in', '/')],
  [
    'a return path to the sign-out',
    'a page that asks to sign out after each sign-in',
    landing('/.underpass/access/sign-out', '/'),
  ],
  ['a return path of more than 1 kB', 'a Location that proxies refuse', landing(`/${'a'.repeat(1_030)}`, '/')],
  [
    'a visit of a target with two slashes',
    'an open redirect after the sign-in',
    async () => {
      const answer = await ask(rig, { path: '//evil.test/x', fields: opened });
      assert.deepEqual([answer.status, begunOf(answer).path], [303, '/']);
    },
  ],
  [
    'a return path in the query of the sign-in',
    'an open redirect that the attacker writes into a link',
    async () => {
      const path = `/.underpass/access/sign-in?return=${Buffer.from('//evil.test').toString('base64url')}`;
      const answer = await ask(rig, { path, fields: opened });
      assert.equal(begunOf(answer).path, '/');
    },
  ],
  [
    'markup in the target',
    'a script on an error page',
    async () => {
      for (const fields of [
        [...opened, 'Cookie: __Host-underpass-visit=entered'],
        ['Accept: text/html'],
        ['Sec-Fetch-Mode: cors', 'Accept: text/html'],
      ]) {
        const answer = await ask(rig, { path: `/"><script>alert(1)</script>`, fields });
        assert.doesNotMatch(answer.body + [...answer.fields.values()].join(), /<script/);
      }
    },
  ],
  [
    'a frame around the sign-out page',
    'a click on another page signs the visitor out',
    async () => {
      const answer = await ask(rig, { path: '/.underpass/access/sign-out', fields: opened });
      assert.match(one(answer, 'content-security-policy'), /default-src 'none';.*frame-ancestors 'none'/);
    },
  ],
  [
    'a cookie for the whole domain',
    'a sibling name reads or replaces it',
    async () => {
      const { fields } = await entry();
      assert.equal(fields.get('set-cookie')?.length, 3);
      for (const text of fields.get('set-cookie') ?? []) {
        assert.match(text, /^__Host-[^;]+; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
      }
    },
  ],
];

const paths = [
  '/admin',
  '/ADMIN/x',
  '/files/../admin/x',
  '/files/..%2fadmin/x',
  '/files/%2e%2e/admin/x',
  '/files/%252e%252e/admin/x',
];
const morePaths = [
  '/files/..;/admin/x',
  '/files/..%5cadmin/x',
  '/files\\..\\admin\\x',
  '/files//../../admin',
  '/files/%00',
  '/files/%c0%ae%c0%ae/admin',
];

const soft = 'soft.tunnels.test';
/** Methods that name a second path, or that the edge does not know. */
const farMethods = ['MOVE', 'COPY', 'BIND', 'REBIND', 'REPORT', 'SEARCH', 'LINK', 'UNLINK', 'ACL', 'M-SEARCH'];
const overrides = ['X-HTTP-Method-Override', 'x-http-method', 'X_Method_Override'];

const methods: readonly Row[] = [
  ...farMethods.map(
    (method): Row => [
      `${method} on a public path`,
      'a visitor without a session writes, copies or reads a protected file',
      async () => {
        const sent = { method, path: '/public/x', fields: ['Destination: /admin/s.txt', 'Overwrite: T', 'Link: </admin/s.txt>'] };
        stopped(await ask(rig, { ...sent, host: soft }));
        stopped(await ask(rig, sent), 403);
        stopped(await ask(rig, { ...sent, fields: [...sent.fields, session(signed())] }), 403);
        stopped(await askH2(rig, { ':method': method, ':path': '/public/x', destination: '/admin/s.txt' }, soft));
        stopped(await askH2(rig, { ':method': method, ':path': '/public/x', cookie: sessionOf(signed()) }), 403);
      },
    ],
  ),
  ...overrides.map(
    (name): Row => [
      `MOVE in ${name}`,
      'the service takes another method than the edge',
      async () => {
        const sent = { method: 'POST', path: '/public/x', host: soft };
        for (const value of ['MOVE', 'move', ' Move ', 'X', '', 'PUT, MOVE'])
          stopped(await ask(rig, { ...sent, fields: [`${name}: ${value}`] }));
        for (const first of overrides) stopped(await ask(rig, { ...sent, fields: [`${first}: PUT`, `${name}: MOVE`] }));
        stopped(await ask(rig, { ...sent, method: 'MOVE', fields: [`${name}: POST`] }));
        stopped(await askH2(rig, { ':method': 'POST', ':path': '/public/x', [name.toLowerCase()]: 'MOVE' }, soft));
        assert.notEqual((await ask(rig, { ...sent, fields: [`${name}: patch`] })).got, null);
      },
    ],
  ),
  [
    'DELETE or LOCK on the folder above',
    'what is denied is deleted or locked with its folder',
    async () => {
      for (const method of ['DELETE', 'LOCK', 'UNLOCK'])
        for (const path of ['/', '/x/..', '//']) stopped(await ask(rig, { method, path, fields: [session(signed())] }), 403);
      stopped(await ask(rig, { path: '/', method: 'POST', fields: [session(signed()), 'X-HTTP-Method: DELETE'] }), 403);
    },
  ],
  [
    'a public path with a prefix that the service cuts off',
    'the service takes another path than the edge',
    async () => {
      const names = ['X-Script-Name', 'X_Forwarded_Prefix', 'X-Accel-Mapping', 'X-Sendfile-Type', 'X-WAWS-Unencoded-URL'];
      const answer = await ask(rig, { path: '/public/admin/', fields: names.map((name) => `${name}: /taken`) });
      assert.deepEqual([answer.status, JSON.stringify(answer.got).includes('/taken')], [200, false]);
    },
  ],
  [
    'too much care',
    'honest requests fail',
    async () => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'LOCK', 'PROPFIND', 'MKCOL'])
        assert.notEqual((await ask(rig, { method, path: '/public/x' })).got, null, method);
      for (const method of ['MOVE', 'REPORT'])
        assert.notEqual(
          (await ask(rig, { method, path: '/x', host: soft, fields: [session(signed({}, { host: soft }))] })).got,
          null,
        );
      assert.notEqual((await ask(rig, { method: 'MOVE', path: '/x', host: 'open.tunnels.test' })).got, null);
    },
  ],
];

const requests: readonly Row[] = [
  ...[...paths, ...morePaths].map(
    (path): Row => [`the target ${path}`, 'a protected path is public', async () => stopped(await ask(rig, { path }))],
  ),
  [
    'a denied path in another spelling',
    'a signed-in visitor reads what is denied',
    async () => {
      for (const path of ['/DENIED/x', '/x/../denied/x', '/x/..%2fdenied/x', '/d%65nied', '/denied;a/x', '//denied/x']) {
        stopped(await ask(rig, { path, fields: [session(signed())] }), 403);
      }
    },
  ],
  [
    'an absolute target',
    'the path is looked for in another place',
    async () => stopped(await ask(rig, { path: `https://${host}/admin/x` })),
  ],
  [
    'an absolute target for another host',
    'the policy of one host decides about another',
    refused([], { path: 'https://open.tunnels.test/' }, 400),
  ],
  [
    'a Host that is another tunnel',
    'a tunnel without a policy leads to one with it',
    refused([], { sni: 'open.tunnels.test', host }, 421),
  ],
  [
    'a connection for an open tunnel over HTTP/2',
    'coalescing leads past the policy',
    async () => stopped(await askH2(rig, { ':authority': host }, 'open.tunnels.test'), 421),
  ],
  ['another port in Host', 'another authority has no policy', refused([], { host: `${host}:8443`, sni: host })],
  ['a Host in capitals with a dot', 'another authority has no policy', refused([], { host: 'T.Tunnels.Test.', sni: host })],
  [
    'a protected request behind a public one',
    'the right of the first counts for the second',
    async () => {
      const socket = await rig.visit(host);
      const text = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
      socket.write(text('/public/a') + text('/b') + text('/c', 'Connection: close\r\n'));
      const [first = '', ...rest] = (await readAll(socket)).split(/(?=HTTP\/1\.1 )/);
      assert.match(first, /^HTTP\/1\.1 200/);
      for (const one of rest) stopped(parseAnswer(one));
      assert.equal(rest.length, 2);
    },
  ],
  [
    'a request without a session behind one with it',
    'a connection stays signed in for another visitor of a proxy',
    async () => {
      const socket = await rig.visit(host);
      const text = (more: string): string => `GET / HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`;
      socket.write(text(`${session(signed())}\r\n`) + text('Connection: close\r\n'));
      const [first = '', second = ''] = (await readAll(socket)).split(/(?=HTTP\/1\.1 )/);
      assert.match(first, /^HTTP\/1\.1 200/);
      stopped(parseAnswer(second));
    },
  ],
  [
    'a stream without a session beside one with it',
    'a connection of HTTP/2 stays signed in',
    async () => {
      const h2 = connectH2(`https://${host}`, { createConnection: () => rig.connectTls(host, { ALPNProtocols: ['h2'] }) });
      const status = (fields: Record<string, string>): Promise<number> =>
        new Promise((resolve) =>
          h2.request({ ':path': '/', ...fields }).on('response', (answer) => resolve(Number(answer[':status']))),
        );
      assert.deepEqual(await Promise.all([status({ cookie: sessionOf(signed()) }), status({})]), [200, 401]);
      h2.destroy();
    },
  ],
  ['an upgrade without a session', 'a WebSocket passes the policy', refused(['Connection: Upgrade', 'Upgrade: websocket'])],
  [
    'an upgrade to HTTP/2',
    'requests of the other protocol pass the policy',
    async () => {
      const answer = await ask(rig, {
        path: '/public/',
        fields: ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'],
      });
      assert.deepEqual([answer.status, gotField(answer, 'upgrade')], [200, []]);
    },
  ],
  [
    'a request in the body of a public one',
    'request smuggling passes the policy',
    async () => {
      const hidden = `GET /admin HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
      const answer = await ask(rig, { method: 'POST', path: '/public/', body: hidden });
      assert.equal(answer.got?.url, '/public/');
      assert.equal(answer.body.split('x-reached').length, 1);
    },
  ],
  [
    'two lengths',
    'request smuggling passes the policy',
    refused(['Content-Length: 5', 'Transfer-Encoding: chunked'], { method: 'POST', path: '/public/' }, 400),
  ],
  ['HTTP/1.0', 'an old version passes the policy', refused([], { version: '1.0' })],
  ['HEAD', 'another method passes the policy', refused([], { method: 'HEAD' })],
  ['an unknown method', 'another method passes the policy', refused([], { method: 'PROPFIND' })],
  [
    'a preflight',
    'OPTIONS reaches the service without a session',
    refused(['Origin: https://x.test', 'Access-Control-Request-Method: PUT'], { method: 'OPTIONS' }),
  ],
  [
    'X-Original-URL and other fields that name a path',
    'the service takes another path than the edge',
    async () => {
      const names = [
        'X-Original-URL',
        'X-Rewrite-URL',
        'X_Rewrite_URL',
        'X-Original-URI',
        'X-Forwarded-Uri',
        'X-Forwarded-Prefix',
      ];
      const all = (path: string): string[] => names.map((name) => `${name}: ${path}`);
      stopped(await ask(rig, { path: '/admin', fields: all('/public/') }));
      stopped(await ask(rig, { path: '/admin?x=/public/', fields: [] }));
      stopped(await ask(rig, { path: '/admin#/public/', fields: [] }), 400);
      const answer = await ask(rig, { path: '/public/', fields: all('/admin') });
      assert.deepEqual([answer.status, JSON.stringify(answer.got).includes('/admin')], [200, false]);
    },
  ],
  [
    'own identity fields',
    'a visitor names themselves',
    async () => {
      const names = [
        'X-Underpass-User',
        'x-underpass-email',
        'X_Underpass_User',
        'X-UNDERPASS_GROUPS',
        'X-Underpass-Assertion',
        'X.Underpass.User',
      ];
      for (const answer of [
        await ask(rig, { path: '/public/', fields: names.map((name) => `${name}: root`) }),
        await ask(rig, { host: 'open.tunnels.test', fields: names.map((name) => `${name}: root`) }),
        await ask(rig, { fields: [session(signed()), ...names.map((name) => `${name}: root`)] }),
        await askH2(rig, { cookie: sessionOf(signed()), 'x-underpass-user': 'root', x_underpass_user: 'root' }),
      ]) {
        assert.notEqual(answer.got, null);
        assert.equal(JSON.stringify(answer.got).includes('root'), false);
      }
    },
  ],
  [
    'Connection: x-underpass-user',
    'the identity is removed as a field of the connection',
    async () => {
      const answer = await ask(rig, { fields: [session(signed()), 'Connection: x-underpass-user, x-underpass-assertion'] });
      assert.deepEqual(gotField(answer, 'x-underpass-user'), ['ada@firm.test']);
      assert.equal(gotField(answer, 'x-underpass-assertion').length, 1);
    },
  ],
  [
    'Connection: cookie',
    'the session is cut twice, and other bytes with it',
    async () => {
      const answer = await ask(rig, { fields: [`Cookie: ${sessionOf(signed())}; a=b`, 'Connection: cookie', 'C: d'] });
      assert.deepEqual([gotField(answer, 'cookie'), gotField(answer, 'c')], [[], ['d']]);
    },
  ],
  [
    'identity fields in a trailer',
    'a service reads trailers as fields',
    async () => {
      const chunked = '1\r\na\r\n0\r\nX-Underpass-User: root\r\nCookie: a=b\r\n\r\n';
      const socket = await rig.visit(host);
      socket.write(
        `POST /public/ HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${chunked}`,
      );
      stopped(parseAnswer(await readAll(socket)), 400);
    },
  ],
  [
    'a line end in the subject',
    'a provider writes fields of its own',
    async () => {
      const answer = await ask(rig, { fields: [session(signed({ subject: 'a\r\nX-Admin: 1', method: 'member', email: '' }))] });
      stopped(answer);
      const provider = {
        method: 'oidc',
        source: 'provider-1',
        groups: ['staff', 'a\r\nX-Admin: 1'],
        subject: 'a\r\nX-Admin: 1',
      } as const;
      const through = await ask(rig, { fields: [session(signed(provider))] });
      assert.deepEqual([through.status, gotField(through, 'x-admin')], [200, []]);
      assert.deepEqual(gotField(through, 'x-underpass-user'), ['a%0D%0AX-Admin:%201']);
    },
  ],
  [
    'a sign-out from another site',
    'a link ends the session of a visitor',
    async () => {
      const path = '/.underpass/access/sign-out';
      const answer = await ask(rig, { path, method: 'POST', fields: ['Origin: https://evil.test', session(signed())] });
      assert.equal(answer.fields.has('set-cookie'), false);
    },
  ],
  [
    'a token of the service beside a session',
    'the edge eats a token that is not its own',
    async () => {
      const answer = await ask(rig, { fields: [session(signed()), bearer('of-the-service')] });
      assert.deepEqual(gotField(answer, 'authorization'), ['Bearer of-the-service']);
    },
  ],
  [
    'own paths in another spelling',
    'a page of the service passes for the sign-in',
    async () => {
      for (const path of ['/.underpass/access%2fenter', '//.underpass/access/enter', '/.UNDERPASS/access/enter'])
        stopped(await ask(rig, { path }));
    },
  ],
  [
    'metadata of a path that does not belong in a header',
    'a header of two lines',
    async () => {
      const answer = await ask(rig, { path: '/a"b%zz<c>', fields: ['Accept: */*'] });
      assert.equal(
        one(answer, 'www-authenticate'),
        `Bearer realm="${host}", resource_metadata="https://${host}/.well-known/oauth-protected-resource"`,
      );
    },
  ],
];

for (const [group, rows] of Object.entries({ sessions, entries, methods, requests })) {
  describe(`attacks with ${group}`, () => {
    for (const [attack, would, run] of rows) it(`${attack} — otherwise ${would}`, run);
  });
}

it('the table has at least 60 rows', () => {
  assert.ok(sessions.length + entries.length + requests.length >= 60, String(sessions.length + entries.length + requests.length));
});
