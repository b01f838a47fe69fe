// What a policy no longer admits ends at once, and nothing else does.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { programSubject } from '@underpass/rules/visit/grants.ts';
import type { FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { createRig, type Rig, readUntil, tunnelOf, whenClosed } from '../fixture/rig.ts';
import { grants, machineToken, sessionOf, signed, visitOf } from '../fixture/visits.ts';

const host = 't.tunnels.test';
const guarded = (changes: Parameters<typeof visitOf>[0] = {}): FeedTunnel =>
  tunnelOf('t', { allowList: [], visit: visitOf(changes) });

/** Starts a response that stays open, of the kind that the request asks for, and echoes all later bytes. */
function lasting(socket: Socket): void {
  socket.on('data', (chunk: Buffer) => {
    const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    const stream = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n';
    const text = chunk.toString('latin1');
    if (/^GET /.test(text)) socket.write(/\r\nUpgrade: /.test(text) ? upgrade : stream);
    else socket.write(chunk);
  });
}

const websocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

async function rigWith(tunnel: FeedTunnel): Promise<Rig> {
  const rig = await createRig([tunnel]);
  await rig.client('t', lasting);
  return rig;
}

async function begin(rig: Rig, fields: string, path = '/'): Promise<Socket> {
  const visitor = await rig.visit(host);
  visitor.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`);
  assert.match(await readUntil(visitor, (text) => /\r\n\r\n/.test(text)), /^HTTP\/1\.1 (101|200)/);
  return visitor;
}

const cookie = (...claims: Parameters<typeof signed>): string => `Cookie: ${sessionOf(signed(...claims))}\r\n`;

const later = Date.now() + 60_000;
const endings: Readonly<Record<string, readonly [string, Parameters<typeof visitOf>[0]]>> = {
  'a person who is removed': [cookie(), { grants: { ...grants, people: [] } }],
  'a person who is signed out': [cookie(), { grants: { ...grants, signedOut: [{ subject: 'ada@firm.test', atMs: later }] } }],
  'everybody who is signed out': [cookie(), { grants: { ...grants, validFromMs: later } }],
  'a member who leaves': [cookie({ method: 'member', subject: 'member-1' }), { grants: { ...grants, memberIds: [] } }],
  'a password that is changed': [
    cookie({ method: 'password', source: 'password-1' }),
    { grants: { ...grants, passwordId: 'new' } },
  ],
  'a link that is revoked': [cookie({ method: 'link', source: 'link-1' }), { grants: { ...grants, links: [] } }],
  'another provider': [
    cookie({ method: 'oidc', source: 'provider-1', groups: ['staff'] }),
    { grants: { ...grants, provider: null } },
  ],
  'a token that is deleted': [`Authorization: Bearer ${machineToken}\r\n`, { tokens: [] }],
  'a program whose person is removed': [
    `Authorization: Bearer ${signed({ agent: 'x' }, { use: 'agent' })}\r\n`,
    { grants: { ...grants, people: [] } },
  ],
  'a program that is revoked': [
    `Authorization: Bearer ${signed({ agent: 'x', programId: 'p1' }, { use: 'agent' })}\r\n`,
    { grants: { ...grants, signedOut: [{ subject: programSubject('p1'), atMs: later }] } },
  ],
  'a path that is denied now': [cookie(), { rules: [{ path: '/*', action: 'deny' }] }],
};

describe('a change of the policy ends', () => {
  for (const [name, [fields, change]] of Object.entries(endings)) {
    it(`the WebSocket of ${name}`, async () => {
      await using rig = await rigWith(guarded());
      const visitor = await begin(rig, fields + websocket);
      const closed = whenClosed(visitor);
      await rig.control.change({ tunnels: [guarded(change)] });
      await closed;
    });
  }

  it('a response over HTTP/1.1, and the streams of HTTP/2', async () => {
    await using rig = await rigWith(guarded());
    const visitor = await begin(rig, cookie());
    const session = connect(`https://${host}`, { createConnection: () => rig.connectTls(host, { ALPNProtocols: ['h2'] }) });
    session.on('error', () => {});
    const stream = session.request({ ':path': '/', cookie: sessionOf(signed()) });
    const open = session.request({ ':path': '/public/x', cookie: sessionOf(signed()) });
    await Promise.all([once(stream, 'response'), once(open, 'response')]);
    const ended = Promise.all([whenClosed(visitor), once(stream, 'error')]);
    await rig.control.change({ tunnels: [guarded({ grants: { ...grants, people: [] } })] });
    await ended;
    assert.equal(open.destroyed, false, 'a public path needs no sign-in');
    session.destroy();
  });

  it('what ran before the tunnel had a policy, and on paths that are no longer public', async () => {
    await using rig = await rigWith(tunnelOf('t'));
    const before = await begin(rig, websocket);
    const cut = whenClosed(before);
    await rig.control.change({ tunnels: [guarded()] });
    await cut;
    const open = await begin(rig, websocket, '/public/x');
    const cutToo = whenClosed(open);
    await rig.control.change({ tunnels: [guarded({ rules: [] })] });
    await cutToo;
  });
});

describe('a change of the policy leaves alone', () => {
  const stays: Readonly<Record<string, readonly [string, string]>> = {
    'a visitor who is still admitted': [cookie(), '/'],
    'a public path': ['', '/public/x'],
    'a long path': [cookie(), `/${'x'.repeat(6_000)}`],
  };
  for (const [name, [fields, path]] of Object.entries(stays)) {
    it(name, async () => {
      await using rig = await rigWith(guarded());
      const visitor = await begin(rig, fields + websocket, path);
      await rig.control.change({ tunnels: [guarded({ tokens: [], grants: { ...grants, links: [] } })] });
      visitor.write('still here');
      assert.equal(await readUntil(visitor, (text) => text.length > 0), 'still here');
    });
  }
});

describe('the clock ends', () => {
  const ends: Readonly<Record<string, (expiresAtMs: number) => readonly [string, FeedTunnel]>> = {
    'a session': (expiresAtMs) => [cookie({ expiresAtMs }), guarded()],
    'a token': (expiresAtMs) => [
      `Authorization: Bearer ${machineToken}\r\n`,
      guarded({ tokens: visitOf().tokens.map((token) => ({ ...token, expiresAtMs })) }),
    ],
    'a link': (expiresAtMs) => [
      cookie({ method: 'link', source: 'link-1' }),
      guarded({ grants: { ...grants, links: [{ id: 'link-1', expiresAtMs }] } }),
    ],
  };
  for (const [name, make] of Object.entries(ends)) {
    it(`the WebSocket of ${name}, and lets nothing through by it afterwards`, async () => {
      await using rig = await rigWith(guarded());
      // Enough to begin on a busy machine.
      const [fields, tunnel] = make(Date.now() + 1_500);
      await rig.control.change({ tunnels: [tunnel] });
      const visitor = await begin(rig, fields + websocket);
      await whenClosed(visitor);
      const next = await rig.visit(host);
      next.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`);
      assert.match(await readUntil(next, (text) => /\r\n\r\n/.test(text)), /^HTTP\/1\.1 401/);
    });
  }
});
