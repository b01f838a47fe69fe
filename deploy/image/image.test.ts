// The images as a runtime would start them: as user 1000, on a read-only root, with nothing in it but what was put there.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startFakeEdge } from '../../client/carry/fixture/edge.ts';
import { freePorts } from '../../tests/helpers/port.ts';
import { skipWithout } from '../../tests/helpers/tool.ts';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');
const work = mkdtempSync(join(tmpdir(), 'underpass-image-test-'));
after(() => rmSync(work, { recursive: true, force: true }));
const skip = skipWithout('buildah') || (process.getuid?.() !== 0 && 'needs root to change the root folder');

interface Image {
  readonly rootfs: string;
  readonly config: {
    readonly User: string;
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Env: readonly string[];
  };
}

function build(name: string, ...args: string[]): Image {
  const out = join(work, `${name}.tar`);
  const built = spawnSync(process.execPath, [join(here, 'build.ts'), name, '--out', out, ...args], { encoding: 'utf8' });
  assert.equal(built.status, 0, built.stderr);
  return unpack(out, join(work, name));
}

/** By the OCI image layout alone, not by what wrote it. */
function unpack(archive: string, folder: string): Image {
  const rootfs = join(folder, 'rootfs');
  mkdirSync(rootfs, { recursive: true });
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  const blob = (digest: string) => join(folder, 'blobs', digest.replace(':', '/'));
  const json = (path: string) => JSON.parse(readFileSync(path, 'utf8'));
  const manifest = json(blob(json(join(folder, 'index.json')).manifests[0].digest));
  for (const { digest } of manifest.layers) execFileSync('tar', ['-xzpf', blob(digest), '-C', rootfs, '--same-owner']);
  return { rootfs, config: json(blob(manifest.config.digest)).config };
}

interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Folders that may be written, as a runtime's tmpfs. */
  readonly writable?: readonly string[];
}

function start(
  t: TestContext,
  { rootfs, config }: Image,
  args: readonly string[],
  { env = {}, writable = [] }: StartOptions = {},
) {
  for (const folder of ['proc', 'dev']) mkdirSync(join(rootfs, folder), { recursive: true });
  const mounts = [
    `mount --bind '${rootfs}' '${rootfs}'`,
    `mount --rbind /dev '${rootfs}/dev'`,
    `mount -t proc proc '${rootfs}/proc'`,
    ...writable.map((folder) => `mount -t tmpfs -o uid=1000,gid=1000,mode=700 tmpfs '${rootfs}${folder}'`),
    `mount -o remount,bind,ro '${rootfs}'`,
    `exec chroot --userspec=${config.User} '${rootfs}' "$@"`,
  ];
  const argv = ['--mount', '--', 'sh', '-ec', mounts.join('\n'), 'sh', ...config.Entrypoint, ...args];
  const own = Object.fromEntries(config.Env.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  const child = spawn('unshare', argv, {
    env: { ...own, PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  return watch(child);
}

function watch(child: ChildProcess) {
  let text = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      for (const listener of listeners) listener();
    });
  }
  const ended = new Promise<number>((done) => child.once('close', (code) => done(code ?? -1)));
  const seen = (pattern: RegExp) =>
    new Promise<void>((done, fail) => {
      const look = () => pattern.test(text) && done();
      listeners.add(look);
      ended.then((code) => fail(new Error(`ended with ${code}: ${text}`)));
      look();
    });
  return { child, ended, seen, text: () => text };
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length));
}

describe('the image of the client', { skip }, () => {
  const program = join(work, 'release');
  const version = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version as string;
  const platform = `linux-${process.arch}`;
  let image: Image;

  test('is built by one command, and holds the program, its libraries, certificates and two users alone', () => {
    const release = spawnSync(process.execPath, [join(root, 'deploy/release/build.ts'), '--only', platform, '--out', program], {
      env: { ...process.env, UNDERPASS_HOME: work },
      encoding: 'utf8',
    });
    assert.equal(release.status, 0, release.stderr);
    image = build('client', '--program', join(program, version, `underpass-${version}-${platform}`));
    const strange = filesOf(image.rootfs).filter((path) => !/^\/(lib|lib64)\/.*\.so(\.\d+)*$/.test(path));
    assert.deepEqual(strange.sort(), [
      '/etc/group',
      '/etc/nsswitch.conf',
      '/etc/passwd',
      '/etc/ssl/certs/ca-certificates.crt',
      '/usr/bin/underpass',
    ]);
    assert.equal(image.config.User, '1000:1000');
    assert.equal(statSync(join(image.rootfs, 'usr/bin/underpass')).uid, 0);
    for (const path of filesOf(image.rootfs)) assert.equal(statSync(join(image.rootfs, path)).mode & 0o6022, 0, path);
  });

  test('prints its help and its version without arguments of its own', async (t) => {
    const help = start(t, image, image.config.Cmd);
    assert.equal(await help.ended, 0, help.text());
    assert.match(help.text(), /Usage: underpass/);
    const shown = start(t, image, ['--version']);
    assert.equal(await shown.ended, 0);
    assert.equal(shown.text().trim(), version);
  });

  test('carries a tunnel as user 1000 on a read-only root, says so on its health address, and drains on SIGTERM', async (t) => {
    await using edge = await startFakeEdge();
    const args = ['http', '--url', edge.url, '--upstream', 'http://127.0.0.1:9', '--health', '127.0.0.1:0'];
    const client = start(t, image, args, { env: { UNDERPASS_TOKEN: 'secret' } });
    await edge.next();
    await client.seen(/ connected /);
    const [address] = /http:\/\/[\d.:]+\/readyz/.exec(client.text()) ?? [];
    assert.equal((await fetch(address ?? '')).status, 200);
    const { pid } = client.child;
    assert.match(readFileSync(`/proc/${pid}/status`, 'utf8'), /^Uid:\t1000\t1000\t1000\t1000$/m);
    client.child.kill('SIGTERM');
    assert.equal(await client.ended, 0, client.text());
  });

  test('resolves names by DNS and trusts the bundle of certificates', async (t) => {
    const doctor = start(t, image, ['doctor', '--url', 'https://no-such-name.invalid']);
    assert.equal(await doctor.ended, 10);
    assert.match(doctor.text(), /no-such-name\.invalid does not resolve/);
  });

  test('can write nothing', async (t) => {
    const update = start(t, image, ['completion', 'bash']);
    assert.equal(await update.ended, 0);
    const touched = start(t, { ...image, config: { ...image.config, Entrypoint: ['/usr/bin/underpass'] } }, [
      'login',
      '--with-token',
      '--server',
      'http://127.0.0.1:9',
    ]);
    assert.notEqual(await touched.ended, 0);
    assert.equal(existsSync(join(image.rootfs, 'home/underpass/.config')), false);
  });
});

describe('the image of the server', { skip }, () => {
  test('starts control and an edge as user 1000, writes to its home alone, and serves the dashboard', async (t) => {
    const image = build('server');
    assert.equal(image.config.User, '1000:1000');
    const own = filesOf(join(image.rootfs, 'app')).filter((path) => !path.startsWith('/node_modules/'));
    assert.deepEqual(
      own.filter((path) => /\.test\.ts$|^\/(client|tests|bench|tools)\//.test(path)),
      [],
    );
    const [control = 0, https = 0, http = 0] = await freePorts(3);
    const env = {
      UNDERPASS_PRODUCTION: 'false',
      UNDERPASS_PORT: String(control),
      UNDERPASS_EDGE_HTTPS_PORT: String(https),
      UNDERPASS_EDGE_HTTP_PORT: String(http),
    };
    const server = start(t, image, image.config.Cmd, { env, writable: ['/var/lib/underpass', '/tmp'] });
    await server.seen(/sign in|login/i);
    const origin = `http://127.0.0.1:${control}`;
    assert.equal((await fetch(`${origin}/readyz`)).status, 200);
    assert.match(await (await fetch(`${origin}/`)).text(), /<!doctype html>/i);
    assert.match(await (await fetch(`${origin}/install.sh`)).text(), /^#!\/bin\/sh/);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0, server.text());
  });
});
