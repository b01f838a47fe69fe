import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFile, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { saveChallenge } from '@underpass/control/edges/certificate/certificate-rows.ts';
import { createKeyRing } from '@underpass/control/platform/secret/key-ring.ts';
import { openSqliteStore } from '@underpass/control/platform/store/sqlite.ts';
import { run } from './cli.ts';
import { exitCodes } from './process/error.ts';
import type { Io } from './process/io.ts';
import type { Environment } from './settings/settings.ts';
import { dropHome, makeHome, openServer, signIn } from './test-kit.ts';

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

let home: string;
before(async () => {
  home = await makeHome();
  const server = await openServer(home);
  await signIn(server);
  await server.running.close();
});
after(() => dropHome(home));

interface Given {
  readonly env?: Environment;
  readonly stdin?: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly now?: () => number;
  /** Called with what stops the server, once it has printed something. */
  readonly onOutput?: (stop: () => void) => void;
  /** Called with the same before the start. */
  readonly onStart?: (stop: () => void) => void;
}

async function command(line: string, given: Given = {}): Promise<Ended> {
  let out = '';
  let err = '';
  let stop = (): void => {};
  const ports = { UNDERPASS_PORT: '0', UNDERPASS_EDGE_HTTPS_PORT: '0', UNDERPASS_EDGE_HTTP_PORT: '0' };
  const io: Io = {
    stdout: {
      write: (text) => {
        out += text;
        given.onOutput?.(() => stop());
      },
    },
    stderr: {
      write: (text) => {
        err += text;
      },
    },
    env: { UNDERPASS_HOME: home, UNDERPASS_LOG: 'silent', ...ports, ...given.env },
    readFile: (path) => given.files?.[path] ?? assert.fail(`no file ${path}`),
    readStdin: async () => given.stdin ?? '',
    now: given.now ?? Date.now,
    onStopSignal: (listener) => {
      stop = listener;
      given.onStart?.(stop);
      return () => {};
    },
  };
  const code = await run(
    line.split(' ').filter((word) => word !== ''),
    io,
  );
  return { code, out, err };
}

async function json<T>(line: string, given: Given = {}): Promise<T> {
  const { code, out, err } = await command(`${line} --json`, given);
  assert.equal(code, exitCodes.ok, err);
  return JSON.parse(out) as T;
}

/** Writes noise over the first page of the table. */
async function spoilTable(path: string, table: string): Promise<void> {
  const database = new DatabaseSync(path);
  const page = Number(database.prepare('select rootpage from sqlite_master where name = ?').get(table)?.rootpage);
  database.close();
  const bytes = await readFile(path);
  await writeFile(path, bytes.fill(0xa5, (page - 1) * 4096, page * 4096));
}

describe('start', () => {
  test('runs until a stop signal, then exits with 0', async () => {
    const { code, out } = await command('start', { onOutput: (stop) => stop() });
    assert.equal(code, exitCodes.ok);
    assert.match(
      out,
      /^underpass \d+\.\d+\.\d+ \(all\), dashboard http:\/\/localhost:0, region local, ports \d+, \d+, \d+, database sqlite\n/,
    );
  });

  test('starts without a command too', async () => {
    assert.equal((await command('', { onOutput: (stop) => stop() })).code, exitCodes.ok);
  });

  test('does not count the signal that npm forwards as a second one', async () => {
    const onOutput = (stop: () => void): void => {
      stop();
      stop();
    };
    assert.equal((await command('start', { onOutput, now: () => 0 })).code, exitCodes.ok);
  });

  test('stops at once on a second signal', async () => {
    let clock = 0;
    const onOutput = (stop: () => void): void => {
      stop();
      clock += 501;
      stop();
    };
    const { code } = await command('start', { onOutput, now: () => clock });
    assert.equal(code, exitCodes.forced);
  });

  test('stops at once on a second signal during a start that waits for its database', { timeout: 60_000 }, async () => {
    const sockets = new Set<Socket>();
    const mute = createServer((socket) => sockets.add(socket.on('error', () => {})));
    await once(mute.listen(0, '127.0.0.1'), 'listening');
    const { port } = mute.address() as AddressInfo;
    let clock = 0;
    const onStart = (stop: () => void): void => {
      mute.once('connection', () => {
        stop();
        clock += 501;
        stop();
      });
    };
    const env = { UNDERPASS_HOME: await makeHome(), DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/u` };
    const { code } = await command('start', { env, onStart, now: () => clock });
    assert.equal(code, exitCodes.forced);
    for (const socket of sockets) socket.destroy();
    mute.close();
    await dropHome(env.UNDERPASS_HOME);
  });

  test('names every refused setting, and starts nothing', async () => {
    const { code, err } = await command('start', { env: { UNDERPASS_PORT: 'x', UNDERPASS_ROLE: 'y' } });
    assert.equal(code, exitCodes.settings);
    assert.match(err, /UNDERPASS_PORT must/);
    assert.match(err, /UNDERPASS_ROLE must/);
  });

  test('tells in one line that the home folder cannot be written', async () => {
    await writeFile(join(home, 'file'), '');
    const { code, err } = await command('start', { env: { UNDERPASS_HOME: join(home, 'file', 'home') } });
    assert.equal(code, exitCodes.local);
    assert.match(err, /^error home-unusable: The home folder cannot be used: /);
  });

  test('creates no database for a command without the settings of its server', async () => {
    const empty = await makeHome();
    const { code, err } = await command('login-link', { env: { UNDERPASS_HOME: empty } });
    assert.equal(code, exitCodes.local);
    assert.equal(err.split('\n')[0], `error no-state: This folder holds no state of a server: ${empty}`);
    assert.deepEqual(await readdir(empty), []);
    await dropHome(empty);
  });

  test('names a misspelt setting beside the one that is missing because of it', async () => {
    const env = { UNDERPASS_PRODUCTION: 'true', UNDERPASS_OPERATOR_MAIL: 'ops@example.com' };
    const { code, err } = await command('start', { env });
    assert.equal(code, exitCodes.settings);
    assert.match(err, /^warning: UNDERPASS_OPERATOR_MAIL is not a setting/m);
    assert.match(err, /UNDERPASS_OPERATOR_EMAIL must be/);
  });

  /** What prevents a start, and its code. */
  const obstacles: readonly (readonly [what: string, code: string, Environment, (home: string) => Promise<void>])[] = [
    ['that the access log has no folder', 'access-log-unusable', { UNDERPASS_ACCESS_LOG: '/nowhere/access.log' }, async () => {}],
    ['that the address belongs to another machine', 'address-unknown', { UNDERPASS_LISTEN: '192.0.2.1' }, async () => {}],
    ['that the folder of pages does not exist', 'file-unusable', { UNDERPASS_DASHBOARD: '/dev/null/pages' }, async () => {}],
    [
      'that the database file is not a database',
      'database-damaged',
      {},
      (at) => writeFile(join(at, 'underpass.db'), 'no database'.repeat(99)),
    ],
    ['that a page of the database is damaged', 'database-damaged', {}, (at) => spoilTable(join(at, 'underpass.db'), 'audit')],
    ['that the database is cut short', 'database-damaged', {}, (at) => truncate(join(at, 'underpass.db'), 40 * 4096)],
    ['that the database is missing', 'database-lost', {}, (at) => rm(join(at, 'underpass.db'))],
    ['that the database is empty', 'database-lost', {}, (at) => truncate(join(at, 'underpass.db'))],
    [
      'that the database is missing while a setting holds the keys',
      'database-lost',
      { UNDERPASS_MASTER_KEY: Buffer.alloc(32).toString('base64') },
      (at) => Promise.all(['underpass.db', 'keys', 'ca.pem', 'ca-key.pem'].map((name) => rm(join(at, name)))).then(() => {}),
    ],
    [
      'that the lock cannot be opened',
      'home-unusable',
      {},
      (at) => rm(join(at, 'edge.lock')).then(() => mkdir(join(at, 'edge.lock'))),
    ],
    ['that the authority cannot be read', 'file-unusable', {}, (at) => writeFile(join(at, 'ca.pem'), 'no certificate')],
    ['that the key of the authority is missing', 'file-unusable', {}, (at) => rm(join(at, 'ca-key.pem'))],
    ['that keys are lost', 'keys-missing', {}, (at) => rm(join(at, 'keys'))],
  ];
  for (const [what, code, env, spoil] of obstacles) {
    test(`tells ${what} in two lines, without a stack`, async () => {
      const other = await makeHome();
      await (await openServer(other)).running.close();
      await spoil(other);
      const ended = await command('start', { env: { UNDERPASS_HOME: other, ...env } });
      assert.equal(ended.code, exitCodes.local, ended.err);
      assert.match(ended.err, new RegExp(`^error ${code}: .+\n.+\n$`));
      await dropHome(other);
    });
  }

  test('migrate makes no empty database in place of a lost one, and a start after a first one without a database works', async () => {
    const other = await makeHome();
    const env = { UNDERPASS_HOME: other };
    await writeFile(join(other, 'underpass.db'), '');
    assert.equal((await command('migrate', { env })).code, exitCodes.ok, 'the first start was killed before it wrote anything');
    await rm(join(other, 'underpass.db'));
    const { code, err } = await command('migrate', { env });
    assert.equal(code, exitCodes.local);
    assert.match(err, /^error database-lost: .*underpass\.db does not exist, but .*keys does\n/);
    await dropHome(other);
  });

  test('starts without the key of a challenge that has ended', async () => {
    const other = await makeHome();
    await (await openServer(other)).running.close();
    const store = await openSqliteStore(join(other, 'underpass.db'));
    const challenge = { id: 'left', kind: 'http-01', host: 'www.example.com', token: 't', keyAuthorization: 't.k' } as const;
    await saveChallenge(store, createKeyRing([Buffer.alloc(32)]), 'local', challenge, Date.now() - 3_600_000);
    await store.close();
    const { code, err } = await command('start', { env: { UNDERPASS_HOME: other }, onOutput: (stop) => stop() });
    assert.equal(code, exitCodes.ok, err);
    await dropHome(other);
  });

  test('refuses a home folder that allows no new files, without endless retries', {
    skip: process.platform === 'linux' ? false : 'needs procfs',
  }, async () => {
    const { code, err } = await command('start', { env: { UNDERPASS_HOME: '/proc/underpass/home' } });
    assert.equal(code, exitCodes.local);
    assert.match(err, /^error home-unusable: .*\/proc\/underpass\/home \(ENOENT\)$/m);
  });

  test('tells in one line, without the password, that the database does not answer', async () => {
    const { code, err } = await command('users', { env: { DATABASE_URL: 'postgres://ann:hunter2@127.0.0.1:1/x' } });
    assert.equal(code, exitCodes.local);
    assert.match(err, /^error database-unreachable: /);
    assert.doesNotMatch(err, /hunter2/);
  });
});

test('a running server is found without its secrets, which systemd keeps from ExecReload', async () => {
  const env = { SMTP_URL_FILE: '/run/credentials/smtp-url' };
  assert.match((await command('upgrade --with-settings', { env })).err, /^error not-running:/);
  assert.match((await command('status', { env })).out, /no server runs on this folder/);
  const odd = await command('status', { env: { UNDERPASS_ROLE: 'boss' } });
  assert.match(odd.err, /^error settings-refused: .*UNDERPASS_ROLE/);
});

describe('config', () => {
  test('shows every setting, and as JSON', async () => {
    const { out } = await command('config');
    assert.match(out, /^UNDERPASS_PORT +0$/m);
    const { settings } = await json<{ settings: { name: string }[] }>('config');
    assert.ok(settings.some((each) => each.name === 'UNDERPASS_HOME'));
  });

  test('prints the problems and fails', async () => {
    const { code, out } = await command('config', { env: { UNDERPASS_PORT: 'x' } });
    assert.equal(code, exitCodes.settings);
    assert.match(out, /UNDERPASS_PORT must be a whole number/);
  });
});

describe("the operator's commands", () => {
  test('every command has help, and every list has JSON', async () => {
    for (const name of [
      'registrations list',
      'subscriptions list',
      'users',
      'projects',
      'tunnels',
      'regions list',
      'regions edges',
      'certificates list',
      'feed status',
    ]) {
      assert.match((await command(`${name} --help`)).out, /^Usage: underpass-server /);
      assert.ok(Array.isArray(await json<unknown[]>(name)), name);
    }
  });

  test('fits every list into a terminal of 120 columns, with long names too', async () => {
    const env = { UNDERPASS_HOME: await makeHome() };
    await (await openServer(env.UNDERPASS_HOME)).running.close();
    const emails = ['ann-with-a-long-name@mail.department.example.com', 'bob@example.com'];
    await command('subscriptions import -', { env, stdin: `email,expiresAt\n${emails.join(',2030-01-01T00:00:00Z\n')},\n` });
    await command('regions add eu-central-frankfurt --host eu-central-frankfurt.edge.example.com --wildcard t.example.com', {
      env,
    });
    for (const name of [
      'registrations list',
      'subscriptions list',
      'users',
      'projects',
      'tunnels',
      'regions list',
      'feed status',
      'certificates list',
    ]) {
      const { out } = await command(name, { env });
      const widest = Math.max(...out.split('\n').map((line) => line.length));
      assert.ok(widest <= 120, `${name}: ${widest}\n${out}`);
    }
    const [user] = await json<{ id: string }[]>('users', { env });
    assert.ok(user && (await command('users', { env })).out.includes(user.id), 'ids stay whole');
    await dropHome(env.UNDERPASS_HOME);
  });

  test('shows the help of a group without one of its commands', async () => {
    for (const name of ['suspend', 'resume', 'registrations', 'subscriptions', 'regions', 'keys', 'certificates', 'feed']) {
      const { code, out, err } = await command(name);
      assert.deepEqual([code, out], [exitCodes.usage, ''], name);
      assert.match(err, new RegExp(`^Usage: underpass-server ${name} `));
      assert.doesNotMatch(err, /outputHelp/);
    }
  });

  test('refuses a mistyped command as a usage error', async () => {
    const { code, err } = await command('usres');
    assert.equal(code, exitCodes.usage);
    assert.match(err, /usres/);
  });

  test('lists the first operator as a user, and makes login links for known users only', async () => {
    const users = await json<{ email: string; operator: boolean }[]>('users operator');
    assert.deepEqual(
      users.map((user) => [user.email, user.operator]),
      [['operator@underpass.localhost', true]],
    );
    assert.match((await command('login-link')).out, /^http:\/\/localhost:0\/magiclink\/[\w-]{43}\n$/);
    const unknown = await command('login-link nobody@example.com');
    assert.equal(unknown.code, exitCodes.notFound);
  });

  test('suspends and resumes a tunnel, a project and a user', async () => {
    const [tunnel] = await json<{ id: string; project: { id: string } }[]>('tunnels first');
    assert.ok(tunnel);
    for (const target of [`tunnel ${tunnel.id}`, `project ${tunnel.project.id}`]) {
      assert.match((await command(`suspend ${target}`)).out, /is suspended/);
      assert.match((await command(`resume ${target}`)).out, /is resumed/);
    }
    const last = await command('suspend user operator@underpass.localhost');
    assert.equal(last.code, exitCodes.refused);
    assert.match(last.err, /last operator/);
    assert.equal((await command('suspend tunnel nonsense')).code, exitCodes.notFound);
  });

  test('deletes a user and a project; refuses the last operator and unknown ids', async () => {
    await command('subscriptions import -', { stdin: 'email\nbob@example.com\n' });
    const last = await command('users delete operator@underpass.localhost');
    assert.equal(last.code, exitCodes.refused);
    assert.match(last.err, /last operator/);
    assert.equal((await command('users delete nobody@example.com')).code, exitCodes.notFound);
    assert.equal((await command('users remove-passkeys nobody@example.com')).code, exitCodes.notFound);
    assert.match((await command('users remove-passkeys operator@underpass.localhost')).err, /has no passkey/);
    assert.equal((await command('projects delete nonsense')).code, exitCodes.notFound);
    const spare = await makeHome();
    const env = { UNDERPASS_HOME: spare };
    const started = await openServer(spare);
    await started.running.close();
    const [project] = await json<{ id: string }[]>('projects', { env });
    assert.match((await command(`projects delete ${project?.id}`, { env })).out, /^project Underpass Ltd is deleted\n$/);
    assert.deepEqual(await json('tunnels', { env }), []);
    await dropHome(spare);
  });

  test('sets limits by name', async () => {
    const [project] = await json<{ id: string; limits: Record<string, number> }[]>('projects');
    const changed = await json<{ limits: Record<string, number> }>(`limits ${project?.id} tunnels=7`);
    assert.equal(changed.limits.tunnels, 7);
    assert.equal((await command(`limits ${project?.id} tunnels`)).code, exitCodes.usage);
    assert.equal((await command(`limits ${project?.id} wings=7`)).code, exitCodes.refused);
  });

  test('reads subscriptions from a file and from standard input', async () => {
    await command('subscriptions import list.csv', { files: { 'list.csv': 'email\nann@example.com\n' } });
    await command('subscriptions import -', { stdin: 'email\nbob@example.com\n' });
    const list = await json<{ email: string }[]>('subscriptions list');
    assert.deepEqual(list.map((each) => each.email).sort(), ['ann@example.com', 'bob@example.com']);
  });

  test('adds a region with a key for its edges', async () => {
    const made = await command('regions add eu --host eu.example.com --wildcard eu.example.net --description Europe');
    assert.equal(made.code, exitCodes.ok, made.err);
    assert.match((await command('regions key eu')).out, /^[\w-]{43}\n$/);
    assert.equal((await command('regions key moon')).code, exitCodes.notFound);
    assert.equal((await command('regions add eu --host eu.example.com')).code, exitCodes.refused);
  });

  test('lists the edges of the last run', async () => {
    const edges = await json<{ region: string }[]>('regions edges');
    assert.deepEqual(
      edges.map((edge) => edge.region),
      ['local'],
    );
  });

  test('shows which tunnels the edges have acknowledged, although no server runs', async () => {
    const [tunnel] = await json<{ status: string }[]>('tunnels first');
    assert.equal(tunnel?.status, 'Created');
  });
});

describe('what is kept', () => {
  test('one command backs up everything, and one restores it into an empty home, and nowhere else', async () => {
    const file = join(home, 'backup.jsonl');
    const backup = await command(`backup ${file}`);
    assert.equal(backup.code, exitCodes.ok);
    assert.match(backup.out, /: the database, keys, ca\.pem, ca-key\.pem, first-tunnel\.token\nanyone who can read this file/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await command(`backup ${file}`)).code, exitCodes.local, 'it never overwrites');
    const verified = await command(`backup verify ${file}`, { env: { UNDERPASS_HOME: '/nowhere' } });
    assert.equal(verified.code, exitCodes.ok, verified.err);
    assert.match(
      verified.out,
      /is whole: the database, keys, ca\.pem, ca-key\.pem, first-tunnel\.token; \d+ rows can be restored\n$/,
    );
    const empty = await makeHome();
    const env = { UNDERPASS_HOME: empty };
    const restored = await command(`restore ${file}`, { env });
    assert.deepEqual(restored, { code: exitCodes.ok, out: `restored ${file}\n`, err: '' });
    assert.deepEqual(await json('users', { env }), await json('users'));
    for (const name of ['keys', 'ca.pem', 'ca-key.pem']) {
      assert.equal(await readFile(join(empty, name), 'utf8'), await readFile(join(home, name), 'utf8'));
      assert.equal((await stat(join(empty, name))).mode & 0o777, 0o600);
    }
    const again = await command(`restore ${file}`);
    assert.equal(again.code, exitCodes.refused);
    assert.match(again.err, /the database is not empty: it has users, .*\. Nothing was restored\. Use an empty folder/);
    await dropHome(empty);
  });

  test('a backup of a damaged database fails in two clear lines and leaves no file', async () => {
    const other = await makeHome();
    await (await openServer(other)).running.close();
    await spoilTable(join(other, 'underpass.db'), 'audit');
    const file = join(other, 'backup.jsonl');
    const { code, err } = await command(`backup ${file}`, { env: { UNDERPASS_HOME: other } });
    assert.equal(code, exitCodes.local);
    assert.match(err, /^error database-damaged: .+\n.+\n$/);
    assert.ok(!(await readdir(other)).includes('backup.jsonl'));
    await dropHome(other);
  });

  test('a backup of the database alone names what to keep, and restores only beside its key', async () => {
    const file = join(home, 'database.jsonl');
    const backup = await command(`backup ${file} --database-only`);
    for (const name of ['keys', 'ca.pem', 'ca-key.pem']) assert.ok(backup.out.includes(join(home, name)), backup.out);
    const empty = await makeHome();
    const env = { UNDERPASS_HOME: empty };
    const keyless = await command(`restore ${file}`, { env });
    assert.equal(keyless.code, exitCodes.refused);
    assert.match(
      keyless.err,
      /sealed with a key that is not in .*keys. Nothing was restored. Put the key .* there, or restore --without-keys/,
    );
    assert.deepEqual(await readdir(empty), ['.writable'], 'a refused restore leaves nothing that a start would take for its own');
    await copyFile(join(home, 'keys'), join(empty, 'keys'));
    const restored = await command(`restore ${file}`, { env });
    assert.equal(restored.code, exitCodes.ok);
    assert.match(restored.err, /^warning: put ca\.pem and ca-key\.pem of the backed-up server into /);
    await dropHome(empty);
  });

  test('with the keys in a setting, a backup leaves them out and says so', async () => {
    const other = await makeHome();
    const env = { UNDERPASS_HOME: other, UNDERPASS_MASTER_KEY: Buffer.alloc(32, 7).toString('base64') };
    await (await openServer(other, env)).running.close();
    // From before the setting: it is not what seals now.
    await writeFile(join(other, 'keys'), 'old');
    const file = join(other, 'backup.jsonl');
    const { out } = await command(`backup ${file}`, { env });
    assert.match(
      out,
      /: the database, ca\.pem, ca-key\.pem, first-tunnel\.token\nkeep UNDERPASS_MASTER_KEY too, in another place/,
    );
    const empty = await makeHome();
    assert.equal((await command(`restore ${file}`, { env: { ...env, UNDERPASS_HOME: empty } })).code, exitCodes.ok);
    for (const each of [other, empty]) await dropHome(each);
  });

  test('a restore replaces no file, refuses files with unknown names, and leaves nothing if it fails', async () => {
    const file = join(home, 'whole.jsonl');
    await command(`backup ${file}`);
    const text = await readFile(file, 'utf8');
    const evil = join(home, 'evil.jsonl');
    // A backup of an earlier version, in which nothing else shows the change.
    const unsummed = text.replace(/,"sha256":"[0-9a-f]+"/, '');
    const attempts = [
      [unsummed.replace('"file":"keys"', '"file":"../keys"'), exitCodes.refused, /unknown file "\.\.\/keys"/],
      [unsummed.replace('"file":"keys"', '"file":7'), exitCodes.refused, /unknown file 7/],
      [text.slice(0, -20), exitCodes.local, /cut off or damaged/],
      [text.replace(/^\["users".*\n/m, '7\n'), exitCodes.local, /cut off or damaged/],
      [text.replace('"operator":', '"Operator":'), exitCodes.local, /cut off or damaged/],
    ] as const;
    for (const [changed, expected, pattern] of attempts) {
      await writeFile(evil, changed);
      const empty = await makeHome();
      const { code, err } = await command(`restore ${evil}`, { env: { UNDERPASS_HOME: empty } });
      assert.equal(code, expected, err);
      assert.match(err, pattern);
      if (expected === exitCodes.local) {
        const verified = await command(`backup verify ${evil}`);
        assert.match(`${verified.code} ${verified.err}`, new RegExp(`^${expected} .*${pattern.source}`));
      }
      assert.deepEqual(
        (await readdir(empty)).filter((name) => name !== '.writable'),
        [],
      );
      await dropHome(empty);
    }
    await writeFile(evil, unsummed);
    const earlier = await makeHome();
    const old = await command(`restore ${evil}`, { env: { UNDERPASS_HOME: earlier } });
    assert.match(`${old.code} ${old.err}`, /^0 warning: it is of an earlier version and has no checksum/);
    await dropHome(earlier);
    const used = await makeHome();
    await writeFile(join(used, 'ca.pem'), 'mine');
    const { code, err } = await command(`restore ${file}`, { env: { UNDERPASS_HOME: used } });
    assert.equal(code, exitCodes.refused);
    assert.match(err, /ca\.pem is not the backup's\. Nothing was restored\. Use an empty folder/);
    assert.deepEqual(await readdir(used), ['ca.pem']);
    await dropHome(used);
  });

  test('keys prune removes an old key only after the server has sealed everything with the new one', async () => {
    const keysOf = async (): Promise<string[]> => (await readFile(join(home, 'keys'), 'utf8')).trim().split('\n');
    const [old] = await keysOf();
    assert.equal((await command('keys rotate')).code, exitCodes.ok);
    assert.deepEqual((await keysOf()).slice(1), [old]);
    const early = await command('keys prune');
    assert.equal(early.code, exitCodes.refused);
    assert.match(early.err, /still sealed with an older key/);
    assert.equal((await command('start', { onOutput: (stop) => stop() })).code, exitCodes.ok);
    assert.equal((await command('keys prune')).code, exitCodes.ok);
    assert.equal((await keysOf()).length, 1);
    assert.notEqual((await keysOf())[0], old);
    assert.equal((await command('start', { onOutput: (stop) => stop() })).code, exitCodes.ok);
  });

  test('migrate prints what it changed', async () => {
    assert.match((await command('migrate')).out, /the sqlite database is up to date/);
  });
});
