// The programs that people start with the Node of their machine: an older one starts the pinned one, or says what to run.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const oldNode = findOldNode();
const skip = oldNode === undefined && 'no Node older than the pinned one is on the PATH';

function findOldNode() {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'));
  return candidates.filter(existsSync).find((path) => {
    const { stdout = '' } = spawnSync(path, ['--version'], { encoding: 'utf8' });
    return /^v\d+\./.test(stdout) && Number(stdout.slice(1).split('.')[0]) < 26;
  });
}

const runOld = (...args) => spawnSync(oldNode, args, { cwd: root, encoding: 'utf8', timeout: 60_000 });

describe('on a Node older than the pinned one', { skip }, () => {
  const commands = [
    [['server/main.ts', '--version'], 0, /^\d+\.\d+\.\d+(\+[0-9a-f]{12})?\n$/],
    [['server/main.mjs', '--version'], 0, /^\d+\.\d+\.\d+(\+[0-9a-f]{12})?\n$/],
    [['client/main.ts', '--version'], 0, /^\d+\.\d+\.\d+\n$/],
    [['node_modules/.bin/underpass', '--version'], 0, /^\d+\.\d+\.\d+\n$/],
    [['node_modules/.bin/underpass-server', 'no-such-command'], 2, /^error usage: /],
    [['deploy/release/build.ts', '--only', 'no-such-platform'], 1, /^unknown platform no-such-platform; known: .*\n$/],
    [['deploy/release/build.ts', '--onyl', 'linux-x64'], 1, /^Unknown option '--onyl'/],
    [['deploy/image/build.ts'], 1, /^usage: node deploy\/image\/build\.ts client\|server .*\n$/],
  ];
  for (const [args, code, pattern] of commands)
    test(`node ${args.join(' ')} runs under the pinned one`, () => {
      const { status, stdout, stderr } = runOld(...args);
      assert.equal(status, code, stderr);
      assert.match(stdout + stderr, pattern);
      assert.doesNotMatch(stderr, /ERR_UNKNOWN_FILE_EXTENSION|^\s+at /m);
    });

  test('a stop signal reaches the program, and its exit code comes back', async (t) => {
    const home = mkdtempSync(join(tmpdir(), 'underpass-pinned-'));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    const ports = { UNDERPASS_PORT: '0', UNDERPASS_EDGE_HTTPS_PORT: '0', UNDERPASS_EDGE_HTTP_PORT: '0' };
    const env = { ...process.env, ...ports, UNDERPASS_HOME: home, UNDERPASS_LOG: 'silent' };
    const child = spawn(oldNode, ['server/main.ts'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve([code, signal])));
    child.stdout.once('data', () => child.kill('SIGTERM'));
    assert.deepEqual(await ended, [0, null]);
  });

  test('without the pinned Node, one line says what to run', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'underpass-pinned-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    for (const name of ['tools', 'server']) mkdirSync(join(folder, name));
    for (const name of ['tools/pinned-node.mjs', 'server/main.mjs']) cpSync(join(root, name), join(folder, name));
    symlinkSync('main.mjs', join(folder, 'server/main.ts'));
    const { status, stdout, stderr } = spawnSync(oldNode, [join(folder, 'server/main.ts')], { encoding: 'utf8' });
    assert.deepEqual([status, stdout], [1, '']);
    assert.match(stderr, /^Node 26 is needed, and this is v\d+\S+: run npm ci in \S+, which installs it\.\n$/);
  });
});
