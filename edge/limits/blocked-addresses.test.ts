// What an attacker at a blocked address tries: both ports, IPv4 in IPv6, another spelling, a PROXY header of their own, a connection
// or carrier from before, a handshake that is not finished, a restart of the edge, a control that forgets.

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { createRig, type Rig, readUntil, tunnelOf } from '../fixture/rig.ts';

const own = { id: '127.0.0.0/8' };
const request = 'GET / HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n';
const answer = (socket: Socket) => void socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));

/** What a visitor gets who may be refused before it sees that it is connected. */
async function ask(rig: Rig, port: 'https' | 'http', text: string): Promise<string> {
  const visitor = connect({ host: '127.0.0.1', port: rig.edge.ports[port] });
  visitor.on('error', () => {});
  visitor.write(text);
  const answered = await readUntil(visitor, (text) => text.includes('\r\n\r\n'));
  visitor.destroy();
  return answered;
}

const whenEnded = (socket: Socket): Promise<void> =>
  new Promise((resolve) => socket.once('end', resolve).once('close', resolve).resume());

async function noneOpen(rig: Rig): Promise<void> {
  await eventually(() => rig.edge.stats().open === 0);
}

const isRefused = async (rig: Rig, port: 'https' | 'http'): Promise<boolean> => (await ask(rig, port, request)) === '';

it('refuses visitors and clients of a blocked network on both ports before it reads a byte, and admits them afterwards', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  await rig.control.change({ blocks: [own, { id: '2001:db8::/32' }] });
  assert.deepEqual([await isRefused(rig, 'https'), await isRefused(rig, 'http')], [true, true]);
  await assert.rejects(rig.client('t', answer));
  assert.deepEqual(rig.edge.stats().refused, { address: 0, total: 0, blocked: 3 });
  await noneOpen(rig);
  await rig.control.change({}, { blocks: [own.id] });
  await rig.client('t', answer);
  assert.equal(await isRefused(rig, 'http'), false);
});

it('ends what is open from an address once it is blocked: visits, carriers, handshakes and silent connections', async () => {
  await using rig = await createRig([tunnelOf('t'), tunnelOf('p', { type: 'ingress', hosts: ['a.test'] })]);
  const client = await rig.client('t', answer);
  await rig.client('p', answer);
  const visitor = await rig.visit('t.tunnels.test');
  visitor.write(request);
  await readUntil(visitor, (text) => text.endsWith('ok'));
  const http2 = await rig.visit('t.tunnels.test', { ALPNProtocols: ['h2'] });
  const passed = await rig.visitRaw('http');
  passed.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await readUntil(passed, (text) => text.endsWith('ok'));
  const silent = await rig.visitRaw('https');
  const handshake = await rig.visitRaw('https');
  handshake.write(Buffer.from([22, 3, 1, 0, 200, 1]));
  const all = [client.socket, visitor, http2, passed, silent, handshake];
  const ended = Promise.all(all.map(whenEnded));
  assert.equal(rig.edge.stats().open, all.length + 1);
  await rig.control.change({ blocks: [own] });
  await ended;
  await noneOpen(rig);
  assert.deepEqual([rig.edge.stats().clients, rig.edge.stats().addresses], [0, 0]);
});

it('judges the visitor behind a balancer, not the balancer', async () => {
  await using rig = await createRig([tunnelOf('t')], { balancers: ['127.0.0.1'] });
  await rig.control.change({ blocks: [{ id: '198.51.100.7' }] });
  const from = (address: string) => ask(rig, 'http', `PROXY TCP4 ${address} 192.0.2.1 40000 80\r\n${request}`);
  assert.equal(await from('198.51.100.7'), '');
  assert.match(await from('198.51.100.8'), /^HTTP\/1\.1 30\d /);
  await rig.control.change({ blocks: [own] });
  assert.match(await from('198.51.100.8'), /^HTTP\/1\.1 30\d /);
});

it('ends what is open of a visitor behind a balancer, and nothing else that came through it', async () => {
  await using rig = await createRig([tunnelOf('t')], { balancers: ['127.0.0.1'] });
  const dial = async (header: string): Promise<Socket> => {
    const socket = await rig.visitRaw('http');
    socket.write(header);
    return socket;
  };
  const headerOf = (address: string): string => `PROXY TCP4 ${address} 192.0.2.1 40000 80\r\nGET`;
  const [bad, good, nameless] = [await dial(headerOf('198.51.100.7')), await dial(headerOf('198.51.100.8')), await dial('PROX')];
  await eventually(() => rig.edge.stats().addresses === 2);
  const ended = whenEnded(bad);
  await rig.control.change({ blocks: [own, { id: '198.51.100.7' }] });
  await ended;
  await eventually(() => rig.edge.stats().open === 2);
  for (const socket of [good, nameless]) assert.equal(socket.readableEnded || socket.destroyed, false);
});

const skip = process.platform === 'linux' ? false : 'workers need Linux';

it('holds at every worker of an edge, for what is open there and for what comes', { skip }, async () => {
  await using rig = await createRig([tunnelOf('t')], { workers: 3 });
  await rig.client('t', answer);
  // The kernel spreads them over the workers: all at one has a chance of 1 in half a million.
  const open = await Promise.all(Array.from({ length: 12 }, () => rig.visitRaw('http')));
  await eventually(() => rig.edge.stats().open === open.length + 1);
  const ended = Promise.all(open.map(whenEnded));
  await rig.control.change({ blocks: [own] });
  await ended;
  for (let visitor = 0; visitor < 12; visitor++) assert.equal(await isRefused(rig, 'http'), true);
  await eventually(() => rig.edge.stats().open === 0 && rig.edge.stats().refused.blocked >= 12);
  assert.equal(rig.edge.stats().clients, 0);
  await rig.control.change({}, { blocks: [own.id] });
  // A worker hears of it by a message.
  for (let visitor = 0; visitor < 12; visitor++) await eventually(async () => !(await isRefused(rig, 'http')));
});

it('believes no PROXY header of a blocked visitor', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  await rig.control.change({ blocks: [own] });
  assert.equal(await ask(rig, 'http', `PROXY TCP4 198.51.100.8 192.0.2.1 40000 80\r\n${request}`), '');
});

it('keeps its blocks over a restart without control, and with an older control that knows none', async () => {
  const home = await mkdtemp(join(tmpdir(), 'underpass-blocked-'));
  try {
    const first = await createRig([tunnelOf('t')], { home });
    await first.control.change({ blocks: [own] });
    await first[Symbol.asyncDispose]();
    const alone = await createRig([], { home }, { reachable: false });
    assert.equal(await isRefused(alone, 'http'), true);
    await alone[Symbol.asyncDispose]();
    // Its snapshot has no blocks at all.
    await using older = await createRig([tunnelOf('t')], { home });
    assert.equal(await isRefused(older, 'http'), true);
    older.control.state = { ...older.control.state, blocks: [] };
    const applied = older.control.next('ack');
    older.control.feed?.destroy();
    await applied;
    assert.equal(await isRefused(older, 'http'), false);
  } finally {
    await rm(home, { recursive: true });
  }
});

it('a handshake that began before the block does not become a visit', async () => {
  await using rig = await createRig([tunnelOf('t')]);
  const tcp = await rig.visitRaw('https');
  const ended = whenEnded(tcp);
  await rig.control.change({ blocks: [own] });
  tcp.write(Buffer.from([22, 3, 1, 0, 200, 1]));
  await ended;
  assert.equal(rig.edge.stats().connections, 0);
});
