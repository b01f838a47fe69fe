// An upgrade that fails, at any step, leaves the running server as it was and says why.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { handleOf, type NamedSocket } from '@underpass/edge/door/listen.ts';
import { pino } from 'pino';
import { ServerError } from '../process/error.ts';
import type { Running } from '../serve/start.ts';
import { startSuccessor } from './successor.ts';
import { askServer, openUpgradeDoor } from './upgrade-door.ts';
import { successorEnv } from './upgrades.ts';

const log = pino({ level: 'silent' });

/** Starts a program in place of the successor; returns why the upgrade failed, and what the running server was told. */
async function tryUpgrade(
  program: string,
  { signal = new AbortController().signal, sockets = [] }: { signal?: AbortSignal; sockets?: readonly NamedSocket[] } = {},
): Promise<{ why: string; told: string[] }> {
  const told: string[] = [];
  const running: Pick<Running, 'bequeath' | 'hold' | 'lock'> = {
    bequeath: async () => ({ sockets, siblingPaths: [] }),
    hold: async (held) => void told.push(held ? 'hold' : 'take back'),
    lock: async (held) => void told.push(held ? 'lock' : 'unlock'),
  };
  const command = [process.execPath, '-e', program] as const;
  const failed = startSuccessor({ running, env: process.env, log, signal, command }).then(
    () => 'it did not fail',
    (error: unknown) => (error instanceof ServerError ? error.message : String(error)),
  );
  return { why: await failed, told };
}

const say = (type: string): string => `process.send({ type: '${type}', reason: 'no room' });`;
const after = (type: string, then: string): string =>
  `process.on('message', ({ type }) => { if (type === '${type}') { ${then} } });`;
const dies = `process.kill(process.pid, 'SIGKILL');`;

const failures: readonly (readonly [when: string, program: string, why: RegExp, told: readonly string[]])[] = [
  ['ends at once', 'process.exit(3)', /ended \(exit code 3\)/, ['take back', 'lock']],
  ['says why it fails', `${say('failed')} setInterval(() => {}, 1000)`, /^no room$/, ['take back', 'lock']],
  ['is killed while it starts', after('inherit', dies), /ended \(SIGKILL\)/, ['take back', 'lock']],
  [
    'is killed once it has the feed',
    `${after('inherit', say('hold-edge'))} ${after('edge-held', dies)}`,
    /ended \(SIGKILL\)/,
    ['hold', 'take back', 'lock'],
  ],
  [
    'is killed before it has the lock',
    `${after('inherit', say('ready'))} ${after('yours', dies)}`,
    /ended \(SIGKILL\)/,
    ['unlock', 'take back', 'lock'],
  ],
];
for (const [when, program, why, told] of failures) {
  test(`a server goes on with everything that it had if its successor ${when}`, async () => {
    const tried = await tryUpgrade(program);
    assert.match(tried.why, why);
    assert.deepEqual(tried.told, told);
  });
}

test('a successor gets no socket that closed while the upgrade began', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const open = handleOf(server)!;
  const sockets = [
    { name: 'closed', handle: { fd: -1, close: () => {} } },
    { name: 'open', handle: open },
  ];
  const repeat = `process.on('message', ({ type, sockets }) => type === 'inherit' && process.send({ type: 'failed', reason: sockets.join() }));`;
  assert.equal((await tryUpgrade(repeat, { sockets })).why, 'open');
  server.close();
});

test('a stop ends the successor that is not ready yet', async () => {
  const stopped = new AbortController();
  const tried = tryUpgrade(after('inherit', 'setInterval(() => {}, 1000)'), { signal: stopped.signal });
  setImmediate(() => stopped.abort());
  assert.match((await tried).why, /was stopped/);
});

async function openDoor(t: TestContext, upgrade: () => Promise<string>): Promise<{ home: string; role: 'edge' }> {
  const home = await mkdtemp(join(tmpdir(), 'underpass-upgrade-'));
  const place = { home, role: 'edge' } as const;
  // As a killed server leaves it behind.
  await writeFile(join(home, 'upgrade-edge.sock'), '');
  const close = await openUpgradeDoor(place, { upgrade, status: async () => '[]', keys: async (text) => text });
  t.after(async () => {
    await close();
    await rm(home, { recursive: true });
  });
  return place;
}

test('the command prints what the server answers, and fails with its reason', async (t) => {
  let answer = async (): Promise<string> => 'done';
  const place = await openDoor(t, () => answer());
  assert.equal(await askServer(place, {}), 'done');
  answer = async () => {
    throw new ServerError('upgrade-failed', 'another upgrade is under way');
  };
  await assert.rejects(askServer(place, {}), { code: 'upgrade-failed', message: 'another upgrade is under way' });
});

test('the command says that no server runs', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'underpass-upgrade-'));
  t.after(() => rm(home, { recursive: true }));
  await assert.rejects(askServer({ home, role: 'all' }, {}), { code: 'not-running' });
});

test('the server hangs up on a request that it cannot read, and upgrades nothing', async (t) => {
  let asked = 0;
  const { home } = await openDoor(t, async () => String(++asked));
  for (const text of ['no json\n', '{"settings":{"UNDERPASS_PORT":1}}\n', `${'x'.repeat(1_100_000)}`]) {
    const socket = connect(join(home, 'upgrade-edge.sock'));
    socket.on('error', () => {});
    socket.write(text);
    await new Promise((resolve) => socket.once('close', resolve));
  }
  assert.equal(asked, 0);
});

test('the settings of the command replace all settings of the server, and nothing else', () => {
  const own = { PATH: '/bin', NOTIFY_SOCKET: '/run/notify', UNDERPASS_PORT: '1', SMTP_URL_FILE: '/old' };
  assert.deepEqual(successorEnv(own, {}), own);
  const settings = { PATH: '/evil', NODE_OPTIONS: '--inspect', UNDERPASS_PORT: '2' };
  assert.deepEqual(successorEnv(own, { settings }), { PATH: '/bin', NOTIFY_SOCKET: '/run/notify', UNDERPASS_PORT: '2' });
});
