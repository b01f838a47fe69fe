// Who reaches a private tunnel at an edge, and what ends it. The attacker has the region's address and can say what it likes.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { eventually } from '@underpass/rules/test-kit.ts';
import { carrierPath, reachProtocol, tunnelHeader } from '@underpass/wire/core/upgrade.ts';
import type { FeedReach, FeedTunnel } from '@underpass/wire/feed/feed.ts';
import { type HandshakeError, requestUpgrade } from '@underpass/wire/handshake.ts';
import { signVisit } from '@underpass/wire/ticket/signed-visit.ts';
import { createRig, hashOf, type Rig, readUntil, regionHost, tunnelOf, whenClosed } from '../fixture/rig.ts';

const key = 'key of the tunnel';
const ticket = { id: 'k1', hash: hashOf('secret'), expiresAtMs: null };
const anns = { id: 'ann', expiresAtMs: null };
const reach: FeedReach = { keys: ['a newer key', key], passes: [anns], tickets: [ticket] };
const secretTunnel = (changes: Partial<FeedTunnel> = {}): FeedTunnel =>
  tunnelOf('d', { type: 'tcp', hosts: [], reach, ...changes });
const others = [tunnelOf('open', { type: 'tcp', hosts: [], port: 20_000, reach }), tunnelOf('web', { reach })];

function pass(subject: string, { tunnelId = 'd', by = key, untilMs = Date.now() + 60_000 } = {}): string {
  const who = { method: 'member', subject, email: '', groups: [], source: '' } as const;
  return signVisit(Buffer.from(by), 'reach', tunnelId, { claims: { ...who, signedInAtMs: 2, expiresAtMs: untilMs }, untilMs });
}

async function ask(rig: Rig, token: string, tunnelId = 'd', path: string = carrierPath): Promise<TLSSocket> {
  const socket = await rig.visit(regionHost);
  const headers = { [tunnelHeader]: tunnelId };
  await requestUpgrade(socket, { host: regionHost, path, protocol: reachProtocol, token, headers, timeoutMs: 60_000 });
  return socket;
}

const outcome = (asked: Promise<TLSSocket>): Promise<string> =>
  asked.then(
    () => 'reached',
    (error: HandshakeError) => error.code,
  );

const echo = (socket: Socket): void => void socket.pipe(socket.on('error', () => {}));

async function world(tunnel: FeedTunnel = secretTunnel()): Promise<Rig> {
  const rig = await createRig([tunnel, ...others]);
  await rig.client('d', echo, { isPrivate: true });
  return rig;
}

async function echoes(socket: TLSSocket): Promise<void> {
  socket.write('hello');
  assert.equal(await readUntil(socket, (text) => text === 'hello'), 'hello');
}

describe('a private tunnel', { timeout: 60_000 }, () => {
  it('is reached by a member with a pass, and by a ticket, with bytes unchanged', async () => {
    await using rig = await world();
    for (const secret of [pass('ann'), 'secret']) await echoes(await ask(rig, secret));
  });

  it('is reached by nothing else, and the answer does not tell what was wrong', async () => {
    await using rig = await world();
    const wrong: readonly (readonly [string, string, string?])[] = [
      ['no such ticket', 'guess'],
      ['the token of its client', 'token-d'],
      ['no such tunnel', 'secret', 'nowhere'],
      ['a ticket of another tunnel', 'secret', 'web'],
      ['a tunnel with a public port', 'secret', 'open'],
      ['a pass of a sign-in that is over', pass('bob')],
      ['a ticket as a pass', pass('k1')],
      ['a pass as a ticket', 'ann'],
      ['a pass for another tunnel', pass('ann', { tunnelId: 'e' })],
      ['a pass by another key', pass('ann', { by: 'mine' })],
      ['a pass that has ended', pass('ann', { untilMs: Date.now() - 1 })],
      ['a session of an access policy', signVisit(Buffer.from(key), 'session', 'd', visitOf('ann'))],
    ];
    for (const [why, secret, tunnelId] of wrong) assert.equal(await outcome(ask(rig, secret, tunnelId)), 'token-refused', why);
    assert.equal(await outcome(ask(rig, 'secret', 'd', '/other')), 'bad-request');
  });

  it('is closed to addresses that its security group does not allow, and while it is suspended', async () => {
    await using rig = await world(secretTunnel({ allowList: ['192.0.2.0/24'] }));
    assert.equal(await outcome(ask(rig, 'secret')), 'denied');
    assert.equal(await outcome(ask(rig, 'guess')), 'token-refused');
    await rig.control.change({ tunnels: [secretTunnel({ suspended: true })] });
    assert.equal(await outcome(ask(rig, 'secret')), 'tunnel-suspended');
  });

  it('leaves the last tenth of the connections to clients', async () => {
    await using rig = await createRig([secretTunnel()], { connectionLimits: { total: 20, perAddress: 20 } });
    await rig.client('d', echo, { isPrivate: true });
    const held = await Promise.all(Array.from({ length: 17 }, () => ask(rig, 'secret')));
    assert.equal(rig.edge.stats().open, 18);
    assert.equal(await outcome(ask(rig, 'secret')), 'unready');
    const { socket } = await rig.client('d', echo, { isPrivate: true });
    const closed = whenClosed(held[0]!);
    for (const each of [socket, held[0]!]) each.destroy();
    await closed;
    await eventually(() => rig.edge.stats().open === 17);
    await echoes(await ask(rig, 'secret'));
  });

  it('says by an alert of TLS that it has no client', async () => {
    await using rig = await createRig([secretTunnel()], { timeouts: { returnWaitMs: 1 } });
    assert.equal(await readUntil(await ask(rig, 'secret'), () => false), '\x15\x03\x01\x00\x02\x02\x50');
  });

  it('waits for a client that is away for a moment, with what was sent meanwhile', async () => {
    await using rig = await createRig([secretTunnel()], { timeouts: { returnWaitMs: 60_000 } });
    const early = await Promise.all([ask(rig, 'secret'), ask(rig, pass('ann'))]);
    for (const socket of early) socket.write('hel');
    const { socket: lost } = await rig.client('d', echo, { isPrivate: true });
    for (const socket of early) {
      socket.write('lo');
      assert.equal(await readUntil(socket, (text) => text === 'hello'), 'hello');
    }
    const left = rig.control.next('report', ({ tunnels }) => tunnels.some(({ clients }) => clients.length === 0));
    lost.destroy();
    await left;
    const later = ask(rig, 'secret');
    await rig.client('d', echo, { isPrivate: true });
    await echoes(await later);
  });

  it('leaves out who waits and may not reach it any more', async () => {
    await using rig = await createRig([secretTunnel()], { timeouts: { returnWaitMs: 60_000 } });
    const socket = await ask(rig, 'secret');
    const closed = whenClosed(socket);
    await rig.control.change({ tunnels: [secretTunnel({ reach: { ...reach, tickets: [] } })] });
    await closed;
    const client = await rig.client('d', echo, { isPrivate: true });
    await echoes(await ask(rig, pass('ann')));
    assert.equal(client.opened, 1);
  });

  it('takes no client that would serve it in plain text', async () => {
    await using rig = await createRig([secretTunnel()]);
    const closed = rig.control.next('report', ({ tunnels }) => tunnels.some(({ refused }) => refused?.code === 'version'));
    void rig.client('d', echo).catch(() => {});
    await closed;
  });
});

describe('the client of a private tunnel', () => {
  const hop = () => ({ listen: { host: '127.0.0.1', port: 0 }, address: '127.0.0.1:1', secret: 's' });

  it('is reached at another edge of the region', async () => {
    await using far = await createRig([secretTunnel()], { edgeId: 'far', hop: hop() });
    await using near = await createRig([secretTunnel()], { edgeId: 'near', hop: hop() });
    await far.client('d', echo, { isPrivate: true });
    await near.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    const alert = '\x15\x03';
    const tryOnce = async (): Promise<string> => {
      const socket = await ask(near, 'secret');
      socket.write('hello');
      return readUntil(socket, (text) => text === 'hello' || text.startsWith(alert)).finally(() => socket.destroy());
    };
    await eventually(tryOnce, (text) => text === 'hello');
    const [member, holder] = await Promise.all([ask(near, pass('ann')), ask(near, 'secret')]);
    await Promise.all([echoes(member), echoes(holder)]);
    const closed = whenClosed(member);
    await near.control.change({ tunnels: [secretTunnel({ reach: { ...reach, passes: [] } })] });
    await closed;
    await echoes(holder);
  });

  it('is reached whichever worker process takes the visitor, and each checks the ticket', {
    skip: process.platform === 'linux' ? false : 'workers need Linux',
  }, async () => {
    await using rig = await createRig([secretTunnel()], { workers: 2 });
    await rig.client('d', echo, { isPrivate: true });
    for (let visits = 0; visits < 8; visits++) {
      await echoes(await ask(rig, 'secret'));
      assert.equal(await outcome(ask(rig, 'guess')), 'token-refused');
    }
    await rig.control.change({ tunnels: [secretTunnel({ reach: { ...reach, tickets: [] } })] });
    for (let visits = 0; visits < 8; visits++) assert.equal(await outcome(ask(rig, 'secret')), 'token-refused');
  });

  it('is told of by the report: which ticket was used, and when', async () => {
    await using rig = await world();
    const told = rig.control.next('report', ({ tunnels }) => tunnels.some(({ ticketsUsed = [] }) => ticketsUsed.length > 0));
    const beforeMs = Date.now();
    await ask(rig, pass('ann'));
    await ask(rig, 'secret');
    const [{ ticketsUsed: [used, ...more] = [] } = {}] = (await told).tunnels;
    assert.deepEqual([used?.id, more], ['k1', []]);
    assert.ok(used!.atMs >= beforeMs && used!.atMs <= Date.now());
  });
});

const visitOf = (subject: string) => ({
  claims: { method: 'member' as const, subject, email: '', groups: [], source: '', signedInAtMs: 0, expiresAtMs: 9e15 },
  untilMs: 9e15,
});

describe('an open connection to a private tunnel is cut', { timeout: 60_000 }, () => {
  const changes: readonly (readonly [why: string, secret: () => string, tunnel: FeedTunnel])[] = [
    ['the ticket is deleted', () => 'secret', secretTunnel({ reach: { ...reach, tickets: [] } })],
    ['the ticket ends', () => 'secret', secretTunnel({ reach: { ...reach, tickets: [{ ...ticket, expiresAtMs: 1 }] } })],
    [
      'the sign-in of its pass is over',
      () => pass('ann'),
      secretTunnel({ reach: { ...reach, passes: [{ ...anns, id: 'bob' }] } }),
    ],
    [
      'the token of its pass ends',
      () => pass('ann'),
      secretTunnel({ reach: { ...reach, passes: [{ ...anns, expiresAtMs: 1 }] } }),
    ],
    ['nobody may reach it', () => pass('ann'), { ...tunnelOf('d', { type: 'tcp', hosts: [] }) }],
    ['the security group changes', () => 'secret', secretTunnel({ allowList: [] })],
    ['the tunnel is suspended', () => 'secret', secretTunnel({ suspended: true })],
  ];
  for (const [why, secret, tunnel] of changes)
    it(`when ${why}`, async () => {
      await using rig = await world();
      const socket = await ask(rig, secret());
      await echoes(socket);
      const closed = whenClosed(socket);
      await rig.control.change({ tunnels: [tunnel] });
      await closed;
    });

  it('when the tunnel is deleted, but not when something else changes', async () => {
    await using rig = await world();
    const socket = await ask(rig, 'secret');
    await rig.control.change({ tunnels: [secretTunnel({ reach: { ...reach, passes: [] } })] });
    await echoes(socket);
    const closed = whenClosed(socket);
    await rig.control.change({}, { tunnels: ['d'] });
    await closed;
  });

  it('when its end comes, without a message from control', async (t) => {
    const ends = { expiresAtMs: Date.now() + 60_000 };
    const ending = { ...reach, tickets: [{ ...ticket, ...ends }], passes: [{ ...anns, ...ends }] };
    await using rig = await world(secretTunnel({ reach: ending }));
    const sockets = [await ask(rig, 'secret'), await ask(rig, pass('ann'))];
    for (const socket of sockets) await echoes(socket);
    const now = Date.now;
    t.mock.method(Date, 'now', () => now() + 120_000);
    await Promise.all(sockets.map(whenClosed));
  });
});
