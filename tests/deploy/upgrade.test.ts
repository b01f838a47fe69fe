// A running server is replaced by the program on disk: visitors, uploads, upgraded connections and calls of the API notice nothing.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { createCli } from '@underpass/client/test-kit.ts';
import { doorOf } from '../chaos/stage.ts';
import { openEcho, startArrivals, startEchoUpstream } from '../helpers/arrivals.ts';
import { freePorts } from '../helpers/port.ts';
import {
  type StartedServer,
  startClientProcess,
  startProcess,
  startProgram,
  startServerProcess,
  temporaryHome,
} from '../helpers/process.ts';
import { createApiToken, signInBy } from '../helpers/product.ts';
import { skipWithout } from '../helpers/tool.ts';
import { visit, visitUntil } from '../helpers/visitor.ts';

const restarts = Number(process.env.TEST_UPGRADES ?? 2);
const perSecond = Number(process.env.TEST_UPGRADE_RATE ?? 15);

/** Calls control on a new connection each time. */
function keepCalling(t: TestContext, port: number): { stop(): Readonly<Record<string, number>> } {
  const answers: Record<string, number> = {};
  const call = (): void => {
    const count = (what: string): void => {
      answers[what] = (answers[what] ?? 0) + 1;
    };
    get({ port, path: '/readyz', agent: false }, (response) => {
      response.resume();
      count(String(response.statusCode));
    }).on('error', (error) => count(error.message));
  };
  const timer = setInterval(call, 50);
  t.after(() => clearInterval(timer));
  return {
    stop: () => {
      clearInterval(timer);
      return answers;
    },
  };
}

async function runUpgrade(
  t: TestContext,
  env: Record<string, string>,
  ...options: string[]
): Promise<[code: number, text: string]> {
  const command = startProcess(t, ['server/main.ts', 'upgrade', ...options], env);
  const [code] = await once(command.child, 'close');
  return [code as number, command.text()];
}

/** Returns the process id of the successor. */
async function upgrade(t: TestContext, { env }: StartedServer): Promise<number> {
  const [code, text] = await runUpgrade(t, env);
  assert.equal(code, 0, text);
  return Number(/process (\d+) has taken over/.exec(text)?.[1]);
}

/** The priorities of all threads of a process and its children. */
function prioritiesOf(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  const children = threads.flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [...threads.map((thread) => getPriority(Number(thread))), ...children.flatMap(prioritiesOf)];
}

for (const workers of ['1', '2']) {
  test(`an upgrade under load fails no visit and no call, with ${workers} worker(s)`, async (t) => {
    const server = await startServerProcess(t, {
      UNDERPASS_EDGE_WORKERS: workers,
      UNDERPASS_METRICS_PORT: '0',
      // The test waits for lines about carriers.
      UNDERPASS_LOG: 'info',
      // On a busy machine the command needs seconds to end after the handover.
      UNDERPASS_DRAIN_SECONDS: '60',
    });
    const door = doorOf(server);
    await startClientProcess(t, server, await startEchoUpstream(t));
    await visitUntil(door, 200);
    const arrivals = startArrivals(t, door, perSecond);
    // The first visits of a process take longest, also at the visitors' side.
    await wait(2_000);
    const calls = keepCalling(t, server.ports.control);
    const pids = new Set([server.server.pid]);
    for (let at = 0; at < restarts; at++) {
      const long = await Promise.all([1, 2, 3].map(() => openEcho(door)));
      const pid = await upgrade(t, server);
      pids.add(pid);
      // It started with a lower one.
      assert.deepEqual(new Set(prioritiesOf(pid)), new Set([getPriority()]));
      // Connections of the process before it live on.
      for (const each of long) await each.echo(`after ${pid}`);
      for (const each of long) each.close();
      // Until both carriers have moved, a connection may go through the process before this one, and ends with it.
      await server.server.seen(new RegExp(`"successor":${pid},[^]*"carrier closed"[^]*"carrier closed"`));
    }
    const { statuses, visits, failures, p99Ms, slowestMs } = await arrivals.stop();
    t.diagnostic(JSON.stringify({ visits, p99Ms: Math.round(p99Ms), slowestMs: Math.round(slowestMs) }));
    assert.deepEqual(failures, []);
    assert.deepEqual(statuses, { 200: visits });
    const { 200: good = 0, ...bad } = calls.stop();
    assert.deepEqual(bad, {});
    assert.ok(good > 0);
    assert.equal(pids.size, restarts + 1);
  });
}

test('a successor that cannot start changes nothing, and the command says why', async (t) => {
  const server = await startServerProcess(t, { UNDERPASS_LOG: 'info', UNDERPASS_DRAIN_SECONDS: '1' });
  const door = doorOf(server);
  await startClientProcess(t, server, await startEchoUpstream(t));
  await visitUntil(door, 200);
  const long = await openEcho(door);
  // A port that another program has.
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.after(() => other.close());
  const taken = String((other.address() as AddressInfo).port);
  const [code, text] = await runUpgrade(t, { ...server.env, UNDERPASS_METRICS_PORT: taken }, '--with-settings');
  assert.equal(code, 6, text);
  assert.match(text, /^error upgrade-failed: .*error port-in-use: .*UNDERPASS_METRICS_PORT/m);
  await long.echo('still here');
  long.close();
  assert.equal((await visit(door)).status, 200);
  const pid = await upgrade(t, server);
  assert.notEqual(pid, server.server.pid);
  assert.equal((await visit(door)).status, 200);
  // The old process stays for its parent, without connections: the successor must not go on looking for clients there.
  await server.server.seen(/the last connection of the process before this one is closed/);
  // No service manager follows the successor, so it ends with the process that was started. It holds that one's pipes.
  const closed = once(server.server.child, 'close', { signal: AbortSignal.timeout(30_000) }).catch((error: Error) => {
    process.kill(pid, 'SIGKILL');
    throw error;
  });
  await server.server.end('SIGKILL');
  await closed;
});

/** A datagram socket of systemd's protocol: prints what it receives. */
const serviceManager = `
import socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print('bound', flush=True)
while True: print(receiver.recv(4096).decode(), flush=True)
`;

test('under systemd the successor becomes the main process and the old one ends', {
  skip: skipWithout('systemd-analyze'),
}, async (t) => {
  const path = join(await temporaryHome(t), 'notify');
  const manager = startProgram(t, 'python3', ['-c', serviceManager, path]);
  await manager.seen(/bound/);
  const server = await startServerProcess(t, { NOTIFY_SOCKET: path });
  await manager.seen(new RegExp(`READY=1[^]*MAINPID=${server.server.pid}|MAINPID=${server.server.pid}[^]*READY=1`));
  const door = doorOf(server);
  await startClientProcess(t, server, await startEchoUpstream(t));
  await visitUntil(door, 200);
  const ended = once(server.server.child, 'exit');
  const pid = await upgrade(t, server);
  t.after(() => process.kill(pid, 'SIGKILL'));
  await manager.seen(new RegExp(`MAINPID=${pid}`));
  assert.deepEqual(await ended, [0, null]);
  assert.equal((await visit(door)).status, 200);
});

for (const workers of ['1', '2'])
  test(`an upgrade keeps the public port of a tcp tunnel open, with ${workers} worker(s)`, async (t) => {
    const [port = 0] = await freePorts(1);
    const server = await startServerProcess(t, {
      UNDERPASS_EDGE_WORKERS: workers,
      UNDERPASS_TCP_PORTS: `${port}-${port}`,
      UNDERPASS_DRAIN_SECONDS: '60',
    });
    const command = startProcess(t, ['server/main.ts', 'login-link', '--json'], server.env);
    await once(command.child, 'close');
    const origin = `http://localhost:${server.ports.control}`;
    const account = await signInBy(origin, JSON.parse(command.text()).url);
    const token = await createApiToken(account);
    const cli = await createCli(t, { UNDERPASS_SERVER: origin, UNDERPASS_API_TOKEN: token });
    const service = createTcpServer((socket) => void socket.on('error', () => {}).end('220 ready')).listen(0, '127.0.0.1');
    await once(service, 'listening');
    t.after(() => service.close());
    const quick = cli.start(['tcp', String((service.address() as AddressInfo).port)]);
    await quick.seen(/connected/);
    const answers: Record<string, number> = {};
    const knock = async (): Promise<void> => {
      const socket = connect({ host: '127.0.0.1', port });
      const answer = await once(socket, 'data').then(String, ({ code }: NodeJS.ErrnoException) => String(code));
      socket.destroy();
      answers[answer] = (answers[answer] ?? 0) + 1;
    };
    const timer = setInterval(() => void knock(), 50);
    t.after(() => clearInterval(timer));
    await upgrade(t, server);
    await wait(2_000);
    clearInterval(timer);
    assert.deepEqual(Object.keys(answers), ['220 ready']);
    quick.signal('SIGTERM');
    await quick.ended;
  });
