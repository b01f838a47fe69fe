import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import { frameType } from '@underpass/wire/core/frame.ts';
import { currentVersion, encodeHello, oldestVersion } from '@underpass/wire/core/hello.ts';
import type { Times } from '@underpass/wire/core/times.ts';
import { carrierPath, carrierProtocol, clientIdHeader, softwareHeader } from '@underpass/wire/core/upgrade.ts';
import { encodeFrame } from '@underpass/wire/fixture/frames.ts';
import { requestUpgrade } from '@underpass/wire/handshake.ts';
import { createSession } from '@underpass/wire/session/session.ts';
import { pino } from 'pino';
import { freePorts } from '../../tests/helpers/port.ts';
import { createTicketKeys } from '../door/ticket-keys.ts';
import { helloFor } from '../fixture/hello.ts';
import { createRig, FakeControl, readUntil, regionHost, tunnelOf } from '../fixture/rig.ts';
import { workerPids } from '../fixture/worker-pids.ts';
import { EdgeProcess } from '../process/edge-process.ts';

const ok = 'HTTP/1.1 200 OK\r\nDate: Sun, 22 Nov 2026 08:49:37 GMT\r\nContent-Length: 2\r\n\r\nok';
const answerOk = (socket: import('node:net').Socket) => void socket.on('data', () => socket.write(ok));
const hop = (secret = 's') => ({ listen: { host: '127.0.0.1', port: 0 }, address: '127.0.0.1:1', secret });

/** What falls silent is left within three seconds, or a few more on a busy machine, but it is given up only after 15 seconds. */
const leftMs = 10_000;

async function ask(rig: Awaited<ReturnType<typeof createRig>>, host = 't.tunnels.test', method = 'GET'): Promise<string> {
  const visitor = await rig.visit(host);
  visitor.write(`${method} / HTTP/1.1\r\nHost: ${host}\r\n${method === 'POST' ? 'Content-Length: 0\r\n' : ''}\r\n`);
  const text = await readUntil(visitor, (all) => /\r\n\r\n..$/.test(all) || all.endsWith('</html>\n'));
  visitor.destroy();
  return /underpass-error: (\w+)/.exec(text)?.[1] ?? text.slice(-2);
}

/** A visitor of an ingress tunnel, which sends a ClientHello. */
async function pass(rig: Awaited<ReturnType<typeof createRig>>): Promise<string> {
  const visitor = await rig.visitRaw('https');
  visitor.write(await helloFor('i.tunnels.test'));
  const text = await readUntil(visitor, (all) => /\r\n\r\n..$/.test(all));
  visitor.destroy();
  return text.slice(-2);
}

/** Asks until the wanted answer comes, for offers arrive after a moment, and returns how often it asked. */
async function askUntil(rig: Awaited<ReturnType<typeof createRig>>, wanted: string): Promise<number> {
  let asked = 0;
  const count = () => ask(rig).finally(() => asked++);
  await eventually(count, (answer) => answer === wanted);
  return asked;
}

/** An upstream that answers with its name, two characters. */
const answerWith = (name: string) => (socket: import('node:net').Socket) =>
  void socket.on('data', () => socket.write(ok.replace(/ok$/, name)));

/**
 * A way to a port of this machine that loses everything once it is stopped, as if the process behind it were. New connections
 * pass, unless it was stopped with `refuses`.
 */
async function startPath(to: number): Promise<{ port: number; stop(refuses?: boolean): void; close(): void }> {
  const sockets: import('node:net').Socket[] = [];
  let isShut = false;
  const server = createServer((front) => {
    if (isShut) return void front.destroy();
    const back = connect(to, '127.0.0.1');
    for (const socket of [front, back]) sockets.push(socket.on('error', () => {}));
    front.pipe(back).pipe(front);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as import('node:net').AddressInfo).port,
    stop: (refuses = false) => {
      isShut = refuses;
      for (const socket of sockets) socket.unpipe().pause();
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** A carrier that sends HELLO and then nothing: no PING is answered on it. */
async function connectSilent(rig: Awaited<ReturnType<typeof createRig>>): Promise<void> {
  const socket = rig.connectTls(regionHost);
  await once(socket, 'secureConnect');
  const headers = { [clientIdHeader]: randomBytes(16).toString('hex'), [softwareHeader]: 'underpass/0.0.0' };
  const request = { host: regionHost, path: carrierPath, protocol: carrierProtocol, token: 'token-t', headers };
  await requestUpgrade(socket, { ...request, timeoutMs: 60_000 });
  const hello = { oldest: oldestVersion, newest: currentVersion, maxStreams: 100, windowBytes: 65_536, info: {} };
  socket.write(encodeFrame(frameType.hello, 0, encodeHello(hello)));
}

function get(port: number, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    request({ port, path, host: '127.0.0.1' }, (response) => {
      let body = '';
      response.on('data', (piece) => {
        body += piece;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
    })
      .on('error', reject)
      .end();
  });
}

describe('another edge of the region', () => {
  it('has the client of a tcp tunnel, whose service speaks first', async () => {
    const [port = 0] = await freePorts(1);
    const tunnel = tunnelOf('t', { type: 'tcp', hosts: [], port });
    const tcpPorts = { first: port, last: port };
    await using far = await createRig([tunnel], { edgeId: 'edge-2', hop: hop() });
    await using near = await createRig([tunnel], { hop: hop(), tcpPorts });
    await near.control.change({ peers: [{ edgeId: 'edge-2', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    await far.client('t', (socket) => void socket.write('220 ready'));
    const greeting = async (): Promise<string> => {
      const visitor = connect({ host: '127.0.0.1', port }).on('error', () => {});
      return readUntil(visitor, () => true).finally(() => visitor.destroy());
    };
    await eventually(greeting, (text) => text === '220 ready');
  });

  it('serves a visitor of this edge, which has no client, and each edge counts its own', async () => {
    await using far = await createRig([tunnelOf('t')], { edgeId: 'far', hop: hop() });
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    await near.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    assert.equal(await ask(near), 'UNDERPASS_NO_CLIENT');
    await far.client('t', answerOk);
    const asked = await askUntil(near, 'ok');
    assert.equal(near.edge.stats().requests, 1 + asked);
    assert.equal(far.edge.stats().rxBytes, 0);
    assert.ok(near.edge.stats().rxBytes > 0);
  });

  it('passes the times of a request on to a client that asks, once its offer has arrived here', async () => {
    await using far = await createRig([tunnelOf('t')], { edgeId: 'far', hop: hop() });
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    await near.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    const told: Times[] = [];
    const offers = [{ key: '*', healthy: true, times: true }];
    await far.client('t', answerOk, { offers, onTimes: (times) => void told.push(times) });
    await eventually(async () => (await ask(near)) && told.length > 0);
    assert.ok(told[0]!.edgeMs > 0 && told[0]!.edgeMs < told[0]!.totalMs, JSON.stringify(told));
  });

  it('answers busy while its client is full, and serves once the client takes streams again', async () => {
    await using far = await createRig([tunnelOf('t')], { edgeId: 'far', hop: hop() });
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    const held = Promise.withResolvers<import('node:net').Socket>();
    const upstream = (socket: import('node:net').Socket): void => {
      socket.on('data', (chunk: Buffer) => (/^GET \/held/.test(chunk.toString()) ? held.resolve(socket) : socket.write(ok)));
      socket.on('end', () => socket.end());
    };
    await far.client('t', upstream, { maxStreams: 1 });
    const first = await far.visit('t.tunnels.test');
    first.write('GET /held HTTP/1.1\r\nHost: t.tunnels.test\r\n\r\n');
    const kept = await held.promise;
    await near.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    assert.equal(await ask(near), 'UNDERPASS_BUSY');
    kept.end(ok.replace('\r\n', '\r\nConnection: close\r\n'));
    await readUntil(first, (text) => text.endsWith('ok'));
    await askUntil(near, 'ok');
  });

  it('does not try again the client whose upstream timed out here: a visitor would wait twice', async () => {
    await using far = await createRig([tunnelOf('t')], { edgeId: 'far', hop: hop() });
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    const clientId = 'c'.repeat(32);
    const there = await far.client('t', answerOk, { clientId });
    await near.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    await askUntil(near, 'ok');
    const here = await near.client('t', answerOk, { clientId });
    let asked = 0;
    for (const { session } of [here, there]) {
      session.onStream = (stream) => {
        asked++;
        assert.equal(stream.request.clientId, '');
        stream.reset('upstream-timeout');
      };
    }
    assert.deepEqual([await ask(near), asked], ['UNDERPASS_UPSTREAM_TIMEOUT', 1]);
    await far.client('t', answerOk);
    assert.deepEqual([await ask(near), asked], ['ok', 2]);
  });

  it('tries one client, not two, after the upstream of a client timed out here', async () => {
    await using far = await createRig([tunnelOf('t')], { edgeId: 'far', hop: hop() });
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    const there = await Promise.all([far.client('t', answerOk), far.client('t', answerOk)]);
    await near.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    await askUntil(near, 'ok');
    const here = await near.client('t', answerOk);
    const asked: string[] = [];
    for (const { session } of [here, ...there]) {
      session.onStream = (stream) => {
        asked.push(session === here.session ? 'here' : 'there');
        stream.reset('upstream-timeout');
      };
    }
    assert.deepEqual([await ask(near), asked], ['UNDERPASS_UPSTREAM_TIMEOUT', ['here', 'there']]);
  });

  it('that has left the region is disconnected', async () => {
    await using far = await createRig([tunnelOf('t')], { edgeId: 'far', hop: hop() });
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    const client = await far.client('t', answerOk);
    await near.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    await askUntil(near, 'ok');
    client.socket.destroy();
    assert.ok(far.edge.stats().sockets > 0);
    await near.control.change({}, { peers: ['far'] });
    await eventually(() => far.edge.stats().sockets === 0);
  });

  it('that takes no hops is announced to clients, and not dialled', async () => {
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    await near.control.change({ peers: [{ edgeId: 'far', address: '' }] });
    assert.equal(await ask(near), 'UNDERPASS_NO_CLIENT');
    const { session } = await near.client('t', answerOk);
    assert.equal(session.peerInfo.edges, 2);
  });

  it('passes no stream back: a request without a client does not go round between two edges', async () => {
    await using a = await createRig([tunnelOf('t')], { edgeId: 'a', hop: hop() });
    await using b = await createRig([tunnelOf('t')], { edgeId: 'b', hop: hop() });
    await a.control.change({ peers: [{ edgeId: 'b', address: `127.0.0.1:${b.edge.ports.hop}` }] });
    await b.control.change({ peers: [{ edgeId: 'a', address: `127.0.0.1:${a.edge.ports.hop}` }] });
    assert.equal(await ask(a), 'UNDERPASS_NO_CLIENT');
  });

  it('that drains lets a visitor of this edge finish, and does not wait for the session between them', async () => {
    await using far = await createRig([tunnelOf('t')], { edgeId: 'far', hop: hop() });
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    await near.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    const answer = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    await far.client('t', (socket) => {
      socket.on('data', () => {
        asked.resolve();
        void answer.promise.then(() => socket.write(ok));
      });
      socket.on('end', () => socket.end());
    });
    const visit = askUntil(near, 'ok');
    await asked.promise;
    const started = performance.now();
    const drained = far.edge.drain(30_000);
    answer.resolve();
    await visit;
    await drained;
    assert.ok(performance.now() - started < 20_000);
    assert.equal(await ask(near), 'UNDERPASS_NO_CLIENT');
  });

  it('with another secret, or that cannot be reached, is skipped', async () => {
    await using far = await createRig([tunnelOf('t')], { edgeId: 'far', hop: hop('other') });
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    await far.client('t', answerOk);
    const peers = [
      { edgeId: 'away', address: '127.0.0.1:1' },
      { edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` },
    ];
    await near.control.change({ peers });
    assert.equal(await ask(near), 'UNDERPASS_NO_CLIENT');
  });

  it('reaches a client of any of its workers, whichever worker takes the hop', async () => {
    await using far = await createRig([tunnelOf('t')], { edgeId: 'far', hop: hop(), workers: 2 });
    await far.client('t', answerOk);
    const peers = [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }];
    // Each opens a hop session of its own, and the kernel chooses the worker.
    for (let i = 0; i < 8; i++) {
      await using near = await createRig([tunnelOf('t')], { edgeId: `near-${i}`, hop: hop() });
      await near.control.change({ peers });
      await askUntil(near, 'ok');
    }
  });

  it('checks the visitor against its own allow-list too', async () => {
    await using far = await createRig([tunnelOf('t', { allowList: ['10.0.0.0/8'] })], { edgeId: 'far', hop: hop() });
    await using near = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
    await far.client('t', answerOk);
    await near.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${far.edge.ports.hop}` }] });
    assert.equal(await ask(near), 'UNDERPASS_SOURCE_DENIED');
  });
});

/** Asks until a request has reached its upstream. */
async function askedBy(
  rig: Awaited<ReturnType<typeof createRig>>,
  reached: Promise<void>,
  then: (answer: Promise<string>) => Promise<void>,
): Promise<void> {
  let answer = ask(rig);
  const isReached = reached.then(() => true);
  // Until the other edge has told of its client, there is none.
  while (!(await Promise.race([isReached, answer.then(() => false)]))) answer = ask(rig);
  await then(answer);
}

describe('a client that is known to work', () => {
  const near = () => createRig([tunnelOf('t')], { edgeId: 'near', hop: hop() });
  const far = () => createRig([tunnelOf('t')], { edgeId: 'far', hop: hop() });
  const introduce = (rig: Awaited<ReturnType<typeof createRig>>, port: number | null) =>
    rig.control.change({ peers: [{ edgeId: 'far', address: `127.0.0.1:${port}` }] });
  const healthy = [{ key: '*', healthy: true }];
  const unhealthy = [{ key: '*', healthy: false }];

  it('at another edge is preferred to one here whose upstream fails its probe, until it fails too', async () => {
    await using here = await near();
    await using there = await far();
    await here.client('t', answerWith('hh'), { offers: unhealthy });
    const { session } = await there.client('t', answerWith('tt'), { offers: healthy });
    assert.equal(await ask(here), 'hh', 'the only known client');
    await introduce(here, there.edge.ports.hop);
    await askUntil(here, 'tt');
    for (let i = 0; i < 10; i++) assert.equal(await ask(here), 'tt');
    session.offer(unhealthy);
    await askUntil(here, 'hh');
    for (let i = 0; i < 10; i++) assert.equal(await ask(here), 'hh');
  });

  it('at another edge is preferred to one here that was never proven', async () => {
    await using here = await near();
    await using there = await far();
    await connectSilent(here);
    await there.client('t', answerWith('tt'));
    await introduce(here, there.edge.ports.hop);
    // The first visitors make the edge dial the other one, and hang at the silent client.
    const late = (ms: number) => new Promise<string>((resolve) => setTimeout(resolve, ms, 'late'));
    const end = performance.now() + 60_000;
    // On a busy machine an answer takes longer than the first wait.
    for (let ms = 250; (await Promise.race([ask(here), late(ms)])) !== 'tt'; ms *= 2)
      assert.ok(performance.now() < end, 'the silent client is preferred');
    for (let i = 0; i < 10; i++) assert.equal(await ask(here), 'tt');
  });

  it('at an edge that falls silent is left within three seconds for one at another edge', async (t) => {
    await using silent = await createRig([tunnelOf('t')], { edgeId: 'silent', hop: hop() });
    await using there = await far();
    await using here = await near();
    const path = await startPath(silent.edge.ports.hop ?? 0);
    t.after(path.close);
    await silent.client('t', answerWith('ss'));
    await there.client('t', answerWith('tt'));
    const peers = [
      { edgeId: 'silent', address: `127.0.0.1:${path.port}` },
      { edgeId: 'far', address: `127.0.0.1:${there.edge.ports.hop}` },
    ];
    await here.control.change({ peers });
    await askUntil(here, 'ss');
    path.stop(true);
    const stopped = performance.now();
    const hung: Promise<string>[] = [];
    for (let answer = ''; answer !== 'tt'; ) {
      const asked = ask(here);
      hung.push(asked.catch(() => 'cut'));
      answer = await Promise.race([asked, new Promise<string>((resolve) => setTimeout(resolve, 100, 'late'))]);
    }
    assert.ok(performance.now() - stopped < leftMs, `${hung.length} visitors were sent to the silent edge`);
    path.close();
    await Promise.all(hung);
  });

  it('only at an edge that does not answer: what may be repeated fails within three seconds, and the edge says so', async (t) => {
    await using silent = await createRig([tunnelOf('t')], { edgeId: 'silent', hop: hop() });
    await using here = await createRig([tunnelOf('t')], { edgeId: 'near', hop: hop(), metrics: { host: '127.0.0.1', port: 0 } });
    const path = await startPath(silent.edge.ports.hop ?? 0);
    t.after(path.close);
    await silent.client('t', answerWith('ss'));
    await introduce(here, path.port);
    await askUntil(here, 'ss');
    assert.deepEqual(here.edge.stats().hops, { working: 1, silent: 0, unreachable: 0 });
    path.stop(true);
    const stopped = performance.now();
    const changing = ask(here, 't.tunnels.test', 'POST');
    const asked = [ask(here), ask(here)];
    assert.deepEqual(await Promise.all(asked), ['UNDERPASS_CUT_OFF', 'UNDERPASS_CUT_OFF']);
    assert.equal(await ask(here), 'UNDERPASS_CUT_OFF', 'also one that comes later');
    assert.ok(performance.now() - stopped < leftMs, 'a visitor waited until the session was given up');
    const { hops, cutOff } = here.edge.stats();
    assert.deepEqual([hops, cutOff], [{ working: 0, silent: 1, unreachable: 0 }, 1]);
    const port = here.edge.ports.metrics as number;
    assert.match((await get(port, '/metrics')).body, /^underpass_edge_hops\{state="silent"\} 1$/m);
    const readiness = { status: 200, body: 'ready; tunnels cut off: 1\n' };
    assert.deepEqual(await get(port, '/readyz'), readiness);
    path.close();
    assert.equal(await changing, 'UNDERPASS_CLIENT_LOST', 'a request that may have effects waits');
  });

  it('at an edge whose connection has fallen silent is reached on a new one', async (t) => {
    await using there = await far();
    await using here = await near();
    const path = await startPath(there.edge.ports.hop ?? 0);
    t.after(path.close);
    await there.client('t', answerWith('tt'));
    await introduce(here, path.port);
    await askUntil(here, 'tt');
    path.stop();
    assert.equal(await ask(here), 'tt');
  });

  it('takes over a GET, but no POST, whose client is lost, here or at another edge', async () => {
    await using here = await near();
    await using there = await far();
    await introduce(here, there.edge.ports.hop);
    for (const rig of [here, there]) {
      const asked: (() => void)[] = [];
      const { session } = await rig.client('t', (socket) => void socket.on('data', () => asked.shift()?.()));
      for (const [method, wanted] of [['POST', 'UNDERPASS_CLIENT_LOST']] as const) {
        const { promise, resolve } = Promise.withResolvers<void>();
        asked.push(resolve);
        const answer = ask(here, 't.tunnels.test', method);
        await promise;
        session.close();
        assert.equal(await answer, wanted);
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      const stuck = await rig.client('t', (socket) => void socket.on('data', () => resolve()));
      await askedBy(here, promise, async (answer) => {
        const { session: good } = await there.client('t', answerWith('tt'));
        stuck.session.close();
        assert.equal(await answer, 'tt');
        good.close();
      });
    }
  });

  for (const [where, good] of [
    ['here', 'here'],
    ['at the edge of the other one', 'there'],
    ['at a third edge', 'far'],
  ] as const)
    it(`${where} takes over what waits for a client that falls silent, and then gets every new visitor`, async () => {
      const tunnels = [tunnelOf('t'), tunnelOf('i', { type: 'ingress', hosts: ['i.tunnels.test'] })];
      await using here = await createRig(tunnels, { edgeId: 'near', hop: hop() });
      await using there = await createRig(tunnels, { edgeId: 'there', hop: hop() });
      await using third = await createRig(tunnels, { edgeId: 'far', hop: hop() });
      const rigs = { here, there, far: third };
      const connectBoth = (to: typeof here, name: string) => Promise.all(['t', 'i'].map((id) => to.client(id, answerWith(name))));
      const silent = await connectBoth(good === 'here' ? here : there, 'ss');
      const peers = [
        { edgeId: 'there', address: `127.0.0.1:${there.edge.ports.hop}` },
        { edgeId: 'far', address: `127.0.0.1:${third.edge.ports.hop}` },
      ];
      await here.control.change({ peers });
      await askUntil(here, 'ss');
      assert.equal(await pass(here), 'ss');
      await connectBoth(rigs[good], 'tt');
      for (const { socket } of silent) socket.pause();
      const stopped = performance.now();
      const answers = await Promise.all([ask(here), ask(here), pass(here), pass(here)]);
      assert.deepEqual(answers, ['tt', 'tt', 'tt', 'tt']);
      for (let i = 0; i < 4; i++)
        assert.deepEqual(await Promise.all([ask(here, 't.tunnels.test', 'POST'), pass(here)]), ['tt', 'tt']);
      assert.ok(performance.now() - stopped < leftMs, 'a visitor waited until the carrier was given up');
    });

  it('at another edge is left for one at a third edge as soon as its own edge finds it silent', async (t) => {
    // That edge also looks for silent clients every two seconds. Here its interval never fires.
    t.mock.timers.enable({ apis: ['setInterval'] });
    await using there = await createRig([tunnelOf('t')], { edgeId: 'there', hop: hop() });
    t.mock.timers.reset();
    await using third = await far();
    await using here = await near();
    const silent = await there.client('t', answerWith('ss'));
    const peers = [
      { edgeId: 'there', address: `127.0.0.1:${there.edge.ports.hop}` },
      { edgeId: 'far', address: `127.0.0.1:${third.edge.ports.hop}` },
    ];
    await here.control.change({ peers });
    await askUntil(here, 'ss');
    await third.client('t', answerWith('tt'));
    silent.socket.pause();
    const stopped = performance.now();
    assert.equal(await ask(here), 'tt');
    assert.ok(performance.now() - stopped < leftMs, 'the visitor waited until the carrier was given up');
  });

  it('here is preferred to one elsewhere', async () => {
    await using here = await near();
    await using there = await far();
    await introduce(here, there.edge.ports.hop);
    await there.client('t', answerWith('tt'));
    await askUntil(here, 'tt');
    await here.client('t', answerWith('hh'));
    await askUntil(here, 'hh');
    for (let i = 0; i < 10; i++) assert.equal(await ask(here), 'hh');
  });

  it('at a sibling worker is preferred to an unhealthy one here', async () => {
    await using rig = await createRig([tunnelOf('t')], { workers: 2 });
    // So many that both workers get one, whatever the kernel chooses.
    for (let i = 0; i < 12; i++) await rig.client('t', answerWith('uu'), { offers: unhealthy });
    await rig.client('t', answerWith('hh'), { offers: healthy });
    let inRow = 0;
    for (let asked = 0; inRow < 24; asked++) {
      assert.ok(asked < 500, 'the healthy client is not found');
      inRow = (await ask(rig)) === 'hh' ? inRow + 1 : 0;
      // The offers reach the other worker after a moment.
      if (inRow === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
});

describe('several workers', () => {
  it('forget a worker that has died, and the session with it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'underpass-test-'));
    const control = new FakeControl({ tunnels: [tunnelOf('t')], certificates: [], challenges: [], peers: [] });
    const met = Promise.withResolvers<import('node:net').Socket>();
    const sibling = createServer((socket) => {
      createSession(socket, { side: 'acceptor', peerMayOpen: true, info: {} });
      met.resolve(socket);
    }).listen(join(folder, 'sibling'));
    await once(sibling, 'listening');
    let siblings = [join(folder, 'sibling')];
    const routed = control.next('ack');
    const starting = EdgeProcess.start({
      region: 'test',
      edgeId: 'edge-1',
      software: 'underpass/0.0.0',
      regionHosts: [regionHost],
      https: { host: '127.0.0.1', port: 0 },
      http: { host: '127.0.0.1', port: 0 },
      publicHttpsPort: 443,
      balancers: [],
      workers: 2,
      hop: hop(),
      siblings: { socketPath: join(folder, 'own'), siblingPaths: () => siblings, isRestart: false },
      ticketKeys: createTicketKeys(),
      feed: control.dial,
      snapshot: null,
      log: pino({ level: 'silent' }),
    });
    await routed;
    control.feed?.send({ type: 'ping', id: 1 });
    const edge = await starting;
    try {
      const closed = once(await met.promise, 'close');
      siblings = [];
      edge.siblingsChanged();
      await closed;
    } finally {
      await edge.close();
      sibling.close();
      await rm(folder, { recursive: true });
    }
  });

  const workers = Math.max(2, Math.min(3, availableParallelism()));
  /** News of a client may take long on a busy machine; the tests here are about waiting for it. */
  const timeouts = { clientWaitMs: 3_000 };
  const askAll = (rig: Awaited<ReturnType<typeof createRig>>, count: number, host?: string): Promise<string[]> =>
    Promise.all(Array.from({ length: count }, () => ask(rig, host)));

  it('share the ports, and a visitor of any reaches a client of any other', async () => {
    await using rig = await createRig([tunnelOf('t')], { workers, timeouts });
    const reported = rig.control.next('report', ({ tunnels }) => tunnels[0]?.requests === 24);
    const client = await rig.client('t', answerOk);
    for (let i = 0; i < 24; i++) assert.equal(await ask(rig), 'ok');
    assert.equal(client.opened, 24);
    const report = await reported;
    assert.equal(report.tunnels[0]?.clients.length, 1);
    assert.equal(report.tunnels[0]?.connections, 24);
  });

  it('find a client that has just connected for the next visitor of any of them', async () => {
    await using rig = await createRig([tunnelOf('t'), tunnelOf('u')], { workers, timeouts });
    // Each worker dials the others, and gets their offers from now on.
    assert.deepEqual(new Set(await askAll(rig, 12)), new Set(['UNDERPASS_NO_CLIENT']));
    for (const name of ['t', 'u']) {
      const { session } = await rig.client(name, answerOk);
      assert.deepEqual(new Set(await askAll(rig, 12, `${name}.tunnels.test`)), new Set(['ok']));
      session.close();
    }
  });

  it('serve a visitor whose client connects shortly after it', async () => {
    await using rig = await createRig([tunnelOf('t')], { workers, timeouts });
    assert.deepEqual(new Set(await askAll(rig, 12)), new Set(['UNDERPASS_NO_CLIENT']));
    const visitors = askAll(rig, 6);
    await rig.client('t', answerOk);
    assert.deepEqual(new Set(await visitors), new Set(['ok']));
  });

  it('a change is acknowledged when all of them have it', async () => {
    await using rig = await createRig([tunnelOf('t')], { workers });
    await rig.client('t', answerOk);
    await rig.control.change({ tunnels: [tunnelOf('t', { allowList: [] })] });
    for (let i = 0; i < 12; i++) assert.equal(await ask(rig), 'UNDERPASS_SOURCE_DENIED');
  });

  it('a worker that dies loses only its own visitors; the others keep serving and it is restarted', async () => {
    await using rig = await createRig([tunnelOf('t')], { workers, timeouts });
    await rig.client('t', answerOk);
    const pids = await workerPids();
    process.kill(pids[0] as number, 'SIGKILL');
    const renewed = async (): Promise<boolean> => {
      const now = await workerPids();
      return now.length === workers && !now.includes(pids[0] as number);
    };
    await eventually(renewed);
    await rig.client('t', answerOk);
    for (let i = 0; i < 8; i++) assert.equal(await ask(rig), 'ok');
  });
});

describe('the private port', () => {
  it('serves the counters to Prometheus, and tells whether the edge has routes', async () => {
    await using rig = await createRig([tunnelOf('t')], { metrics: { host: '127.0.0.1', port: 0 } });
    await rig.client('t', answerOk);
    await ask(rig);
    const port = rig.edge.ports.metrics as number;
    const { body } = await get(port, '/metrics');
    assert.match(body, /^underpass_edge_requests_total 1$/m);
    assert.match(body, /^underpass_edge_clients 1$/m);
    assert.match(body, /^underpass_edge_responses_total\{class="2xx"\} 1$/m);
    assert.deepEqual(await get(port, '/healthz'), { status: 200, body: 'ok\n' });
    assert.equal((await get(port, '/else')).status, 404);
  });
});
