import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { quoteSystemdWord } from '@underpass/rules/connect/systemd-word.ts';
import fc from 'fast-check';
import { requireTool, skipWithout } from '../../tests/helpers/tool.ts';
import type { Io } from '../process/io.ts';
import { binary, createCli } from '../test-kit.ts';
import { installService } from './install.ts';
import { planLaunchd } from './launchd.ts';
import type { ServiceSpec } from './plan.ts';
import { isPrivatePath, planSystemd } from './systemd.ts';
import { planWindowsTask, quoteWindowsWord } from './windows-task.ts';

const spec: ServiceSpec = {
  tunnel: { name: 'shop', url: `https://eu1.example.com#ca=${'ab'.repeat(32)}` },
  upstreams: { type: 'http', upstreams: [{ domain: 'shop.example.com', upstream: 'http://127.0.0.1:8080' }] },
  scope: 'user',
  self: ['/usr/local/bin/underpass'],
  home: '/home/ada',
  configHome: '/home/ada/.config',
  userName: 'ada',
  userId: 1000,
};

const hostile = fc.string({
  unit: fc.constantFrom(
    '"',
    "'",
    '\\',
    '$',
    '%',
    '`',
    '<',
    '>',
    '&',
    ' ',
    '\n',
    '\t',
    'a',
    '{',
    '}',
    '#',
    ';',
    ']]>',
    'ü',
    '\u0001',
  ),
});
const hostileSpec = hostile.map(
  (text): ServiceSpec => ({
    ...spec,
    tunnel: { name: `s${text}`, url: `https://e.example.com/${text}` },
    upstreams: { type: 'http', upstreams: [{ domain: text, upstream: text }] },
  }),
);

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-service-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

for (const scope of ['user', 'system'] as const) {
  test(`systemd accepts the ${scope} unit without a warning`, { skip: skipWithout('systemd-analyze') }, async (t) => {
    const folder = await folderOf(t);
    const program = join(folder, 'under pass');
    await writeFile(program, '#!/bin/sh\n', { mode: 0o755 });
    const path = join(folder, 'underpass-shop.service');
    await writeFile(path, planSystemd({ ...spec, scope, self: [program] }).definition.text);
    const args = scope === 'user' ? ['--user', 'verify', path] : ['verify', path];
    const env = { ...process.env, XDG_RUNTIME_DIR: folder };
    const { status, stderr } = spawnSync(requireTool('systemd-analyze'), args, { encoding: 'utf8', env });
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
  });
}

test('a unit always restarts after five seconds, and holds no token', () => {
  for (const scope of ['user', 'system'] as const) {
    const { text } = planSystemd({ ...spec, scope }).definition;
    assert.match(text, /^Restart=always\nRestartSec=5$/m);
    assert.match(text, /^StartLimitIntervalSec=0$/m);
    assert.match(text, /--token-file /);
  }
});

test('every value stays one word of ExecStart= in the user unit', () => {
  fc.assert(
    fc.property(hostileSpec, (wild) => {
      const { text } = planSystemd(wild).definition;
      assert.ok(text.includes(`--url ${quoteSystemdWord(wild.tunnel.url)} `));
      assert.equal(text.split('\n').filter((line) => line.startsWith('ExecStart=')).length, 1);
      assert.equal(text.split('\n').filter((line) => /^[A-Z][A-Za-z]+=/.test(line)).length, 7);
    }),
  );
});

test('python reads the same words back from the property list', () => {
  const wild = fc.sample(hostileSpec, { numRuns: 40, seed: 7 });
  const lists = wild.map((item) => planLaunchd(item).definition.text);
  const script = 'import sys,json,plistlib; print(json.dumps([plistlib.loads(t.encode()) for t in json.load(sys.stdin)]))';
  const { stdout, stderr, status } = spawnSync('python3', ['-c', script], { input: JSON.stringify(lists), encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  const strip = (text: string) => text.replaceAll('\u0001', '');
  for (const [index, plist] of (JSON.parse(stdout) as Record<string, unknown>[]).entries()) {
    const { tunnel, upstreams } = wild[index] as ServiceSpec;
    const [pair] = upstreams.type === 'http' ? upstreams.upstreams : [];
    const words = plist.ProgramArguments as string[];
    assert.equal(words[words.indexOf('--url') + 1], strip(tunnel.url));
    assert.equal(words.at(-1), strip(`${pair?.domain}=${pair?.upstream}`));
    assert.equal(plist.KeepAlive, true);
    assert.equal(plist.ThrottleInterval, 5);
  }
});

test('the task file is well-formed XML with one action for any value', () => {
  const wild = fc.sample(hostileSpec, { numRuns: 40, seed: 7 }).flatMap((item) => [item, { ...item, scope: 'system' as const }]);
  const tasks = wild.map((item) => planWindowsTask(item).definition.text.replace('UTF-16', 'UTF-8').replace('\ufeff', ''));
  const script = `
import sys, json, xml.etree.ElementTree as E
n = '{http://schemas.microsoft.com/windows/2004/02/mit/task}'
print(json.dumps([[a.text for a in E.fromstring(t).iter(n + 'Arguments')] for t in json.load(sys.stdin)]))`;
  const { stdout, stderr, status } = spawnSync('python3', ['-c', script], { input: JSON.stringify(tasks), encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  for (const actions of JSON.parse(stdout) as string[][]) assert.equal(actions.length, 1);
});

test('on Windows the folder of a system service is closed to other users before a file is in it', async (t) => {
  const cli = await createCli(t);
  const folder = join(cli.home, 'underpass');
  const plan = planWindowsTask({ ...spec, scope: 'system' });
  const moved = {
    ...plan,
    tokenPath: join(folder, 'shop.token'),
    definition: { ...plan.definition, path: join(folder, 'task.xml') },
  };
  const ran: string[] = [];
  const execute = async (file: string, args: readonly string[]) => {
    ran.push(`${[file, ...args].join(' ')}, ${(await readdir(folder)).length} files`);
    return { code: 0, stdout: '', stderr: '' };
  };
  await installService({ execute } as unknown as Io, moved, 'secret-token');
  assert.deepEqual(ran.slice(0, 3), [
    'icacls C:\\ProgramData\\underpass /setowner *S-1-5-32-544, 0 files',
    'icacls C:\\ProgramData\\underpass /reset, 0 files',
    'icacls C:\\ProgramData\\underpass /inheritance:r /grant:r *S-1-5-19:(OI)(CI)RX /grant:r *S-1-5-18:(OI)(CI)F /grant:r *S-1-5-32-544:(OI)(CI)F, 0 files',
  ]);
  assert.match(ran[3]!, /^schtasks \/Create .*, 2 files$/);
  await rm(folder, { recursive: true });
  await symlink(cli.home, folder);
  await assert.rejects(installService({ execute } as unknown as Io, moved, 'secret-token'), /is a link/);
});

/** Splits a command line as Windows programs do: CommandLineToArgvW without the program's name. */
function splitWindows(line: string): string[] {
  const words: string[] = [];
  const pattern = /\s*((?:\\*"(?:\\.|[^"\\])*"|[^\s"\\]|\\)+)/gy;
  for (const match of line.matchAll(pattern)) words.push(unquoteWindows(match[1] ?? ''));
  return words;
}

function unquoteWindows(word: string): string {
  let text = '';
  for (const [, slashes = '', quote = '', other = ''] of word.matchAll(/(\\*)("?)([^\\"]*)/g)) {
    text += quote === '' ? slashes : '\\'.repeat(slashes.length / 2) + (slashes.length % 2 === 1 ? '"' : '');
    text += other;
  }
  return text;
}

test('Windows reads back the word that was quoted', () => {
  for (const word of ['', 'a', 'a b', 'a"b', 'C:\\a b\\', '\\\\"', 'a\\"b c\\\\', '"']) {
    assert.deepEqual(splitWindows(quoteWindowsWord(word)), [word], quoteWindowsWord(word));
  }
});

test('isPrivatePlace knows the folders that a system unit cannot see', () => {
  for (const path of ['/home/ada/.local/bin/underpass', '/root/underpass', '/tmp/underpass'])
    assert.equal(isPrivatePath(path), true, path);
  for (const path of ['/usr/local/bin/underpass', '/opt/underpass/underpass', '/homebrew/bin/underpass'])
    assert.equal(isPrivatePath(path), false, path);
});

test('refuses a system service of a program in a private folder, and for a clone does not suggest installing node', {
  skip: binary && 'the compiled file is where it is',
}, async (t) => {
  const cli = await createCli(t);
  const install = async (self: readonly string[]) => {
    const argv = ['service', 'install', 'shop', '--system', '--url', 'https://eu1.example.com', '--type', 'http'];
    const more = ['--token-file', '-', '--upstream', 'shop.example.com=http://127.0.0.1:8080'];
    const { stderr } = await cli.run([...argv, ...more], { stdin: 'tok', io: { self, platform: 'linux' } });
    assert.match(stderr, /code: service-program-private/);
    return stderr;
  };
  assert.match(
    await install(['/root/underpass']),
    /fix: Run "sudo install -m 0755 \/root\/underpass \/usr\/local\/bin\/underpass"/,
  );
  assert.match(await install(['/root/bin/node', '/root/main.ts']), /fix: Install a released underpass to \/usr\/local\/bin\./);
});

test('refuses a service of the copy that npx keeps in its cache', { skip: binary && 'not started by npx' }, async (t) => {
  const cli = await createCli(t);
  const self = ['/usr/bin/node', '/home/ada/.npm/_npx/0f1e/node_modules/underpass/underpass.mjs'];
  const { stderr } = await cli.run(['service', 'install', 'shop', '--upstream', '8080'], { io: { self } });
  assert.match(stderr, /code: service-program-temporary/);
});

/** A system whose service manager records its commands. */
async function withManager(t: TestContext, name: string, answer = 'exit 0') {
  const cli = await createCli(t);
  const folder = join(cli.home, 'bin');
  await mkdir(folder);
  await writeFile(join(folder, name), `#!/bin/sh\necho "$*" >> '${cli.home}/calls'\n${answer}\n`);
  await chmod(join(folder, name), 0o755);
  const env = { PATH: `${folder}:${process.env.PATH}` };
  const calls = async () =>
    (await readFile(join(cli.home, 'calls'), 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
  const installArgs = [
    'service',
    'install',
    'shop',
    '--user',
    '--url',
    'https://eu1.example.com',
    '--type',
    'http',
    '--token-file',
    '-',
    '--upstream',
    'shop.example.com=http://127.0.0.1:8080',
  ];
  return { cli, env, calls, installArgs };
}

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

test('install writes a unit and a private token, a second install changes nothing, and uninstall leaves nothing', async (t) => {
  const { cli, env, calls, installArgs } = await withManager(t, 'systemctl');
  const before = await filesUnder(cli.home);
  const first = await cli.run([...installArgs, '--json'], { env, stdin: 'secret-token\n' });
  assert.equal(first.code, 0, first.stderr);
  assert.equal(JSON.parse(first.stdout).changed, true);
  const unit = join(cli.home, '.config/systemd/user/underpass-shop.service');
  const token = join(cli.home, '.config/underpass/shop.token');
  assert.equal((await readFile(unit, 'utf8')).includes('secret-token'), false);
  assert.equal((await stat(token)).mode & 0o777, 0o600);
  assert.deepEqual(await calls(), [
    '--user daemon-reload',
    '--user enable underpass-shop.service',
    '--user restart underpass-shop.service',
  ]);
  const again = await cli.run([...installArgs, '--json'], { env, stdin: 'secret-token\n' });
  assert.equal(JSON.parse(again.stdout).changed, false);
  assert.match((await cli.run(['service', 'status', 'shop', '--user'], { env })).stdout, /^running: /);
  assert.equal((await cli.run(['service', 'uninstall', 'shop', '--user'], { env })).code, 0);
  assert.deepEqual(
    (await filesUnder(cli.home)).filter((path) => !path.endsWith('/calls')),
    before,
  );
  assert.match((await cli.run(['service', 'uninstall', 'shop', '--user'], { env })).stdout, /There was no service/);
  assert.equal((await cli.run(['service', 'status', 'shop', '--user'], { env })).code, 6);
});

test('the service of an ingress tunnel takes one host, or an upstream for each port', async (t) => {
  const { cli, env } = await withManager(t, 'systemctl');
  const install = async (...upstreams: readonly string[]) => {
    const flags = upstreams.flatMap((text) => ['--upstream', text]);
    const place = ['--url', 'https://eu1.example.com', '--type', 'ingress', '--token-file', '-'];
    const { code, stderr } = await cli.run(['service', 'install', 'shop', '--user', ...place, ...flags], { env, stdin: 't\n' });
    assert.equal(code, 0, stderr);
    const unit = await readFile(join(cli.home, '.config/systemd/user/underpass-shop.service'), 'utf8');
    return [...unit.matchAll(/--upstream "?([^\s"]+)/g)].map(([, word]) => word);
  };
  assert.deepEqual(await install('10.0.0.7'), ['10.0.0.7']);
  assert.deepEqual(await install('80=127.0.0.1:8080', '443=[2001:db8::7]:8443'), ['80=127.0.0.1:8080', '443=[2001:db8::7]:8443']);
  assert.deepEqual(await install('443=127.0.0.1'), ['443=127.0.0.1:443']);
});

test('shows the message of a service manager that refuses', async (t) => {
  const { cli, env, installArgs } = await withManager(t, 'systemctl', 'echo "Failed to connect to bus" >&2; exit 1');
  const { code, stderr } = await cli.run(installArgs, { env, stdin: 'secret-token\n' });
  assert.equal(code, 3);
  assert.match(stderr, /Failed to connect to bus/);
  const left = (await filesUnder(cli.home)).filter((path) => /underpass-shop|token/.test(path));
  assert.deepEqual(left, [], 'no token stays of what was never installed');
  assert.equal(stderr.includes('secret-token'), false);
});

test('macOS and Windows get their own files and commands, and uninstall removes them', {
  skip: binary && 'the compiled file is of one system',
}, async (t) => {
  for (const [platform, manager, definition] of [
    ['darwin', 'launchctl', 'Library/LaunchAgents/com.underpass.shop.plist'],
    ['win32', 'schtasks', undefined],
  ] as const) {
    const { cli, installArgs } = await withManager(t, manager);
    const ran: string[] = [];
    const execute = async (file: string, args: readonly string[]) => {
      ran.push([file, ...args].join(' '));
      return { code: 0, stdout: '', stderr: '' };
    };
    const io = { platform, execute };
    const installed = await cli.run([...installArgs, '--json'], { io, stdin: 'secret-token' });
    assert.equal(installed.code, 0, installed.stderr);
    const { service } = JSON.parse(installed.stdout);
    if (definition) assert.equal(service, join(cli.home, definition));
    assert.ok(ran.some((line) => line.startsWith(manager)));
    assert.equal(ran.join('\n').includes('secret-token'), false);
    const removed = await cli.run(['service', 'uninstall', 'shop', '--user', '--json'], { io });
    assert.equal(JSON.parse(removed.stdout).removed, true);
    await assert.rejects(stat(service));
  }
});
