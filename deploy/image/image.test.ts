// Runs the images as a container runtime does: as user 1000, on a read-only root that holds only the image's files.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { startFakeEdge } from '../../client/carry/fixture/edge.ts';
import { startPostgres, type TestPostgres } from '../../control/test-kit-postgres.ts';
import { chartContainers, composeService } from '../../tests/helpers/deployment.ts';
import { startNats } from '../../tests/helpers/nats.ts';
import { freePorts } from '../../tests/helpers/port.ts';
import { buildRelease, root, version } from '../../tests/helpers/release-build.ts';
import { skipWithout } from '../../tests/helpers/tool.ts';

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
  const built = spawnSync(process.execPath, [join(import.meta.dirname, 'build.ts'), name, '--out', out, ...args], {
    encoding: 'utf8',
  });
  assert.equal(built.status, 0, built.stderr);
  return unpack(out, join(work, name));
}

/** Reads it by the OCI image layout, without the code that wrote it. */
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
  /** Folders of this machine, by the path at which the program sees them. */
  readonly volumes?: Readonly<Record<string, string>>;
}

const environmentOf = ({ config }: Image, env: Readonly<Record<string, string>>): Record<string, string> => ({
  ...Object.fromEntries(config.Env.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])),
  ...env,
});

function start(t: TestContext, image: Image, args: readonly string[], options: StartOptions = {}) {
  const { rootfs, config } = image;
  const { env = {}, writable = [], volumes = {} } = options;
  for (const folder of ['proc', 'dev', ...writable, ...Object.keys(volumes)])
    mkdirSync(join(rootfs, folder), { recursive: true });
  const mounts = [
    `mount --bind '${rootfs}' '${rootfs}'`,
    `mount --rbind /dev '${rootfs}/dev'`,
    `mount -t proc proc '${rootfs}/proc'`,
    ...writable.map((folder) => `mount -t tmpfs -o uid=1000,gid=1000,mode=700 tmpfs '${rootfs}${folder}'`),
    ...Object.entries(volumes).map(([path, folder]) => `mount --bind '${folder}' '${rootfs}${path}'`),
    `mount -o remount,bind,ro '${rootfs}'`,
    'exec env -i "$@"',
  ];
  const own = Object.entries(environmentOf(image, env)).map(([name, value]) => `${name}=${value}`);
  const enter = ['/usr/bin/setpriv', '--no-new-privs', '--', '/usr/sbin/chroot', `--userspec=${config.User}`, rootfs];
  const argv = ['--mount', '--', 'sh', '-ec', mounts.join('\n'), 'sh', ...own, ...enter, ...config.Entrypoint, ...args];
  const child = spawn('unshare', argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  return { ...watch(child), exec: (command: readonly string[]) => execIn(child.pid ?? 0, command, environmentOf(image, env)) };
}

/** Does what `docker exec` and `kubectl exec` do: another process in the same root, with the same user and environment. */
function execIn(pid: number, command: readonly string[], env: Record<string, string>) {
  const flags = ['--target', String(pid), '--mount', '--root', '--wd', '--setuid', '1000', '--setgid', '1000', '--'];
  return spawnSync('/usr/bin/nsenter', [...flags, ...command], { env, encoding: 'utf8', timeout: 60_000 });
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
  let image: Image;

  test('one command builds it, with only the program, its libraries, certificates and two users', () => {
    const program = buildRelease(join(work, 'release'), { ...process.env, UNDERPASS_HOME: work });
    image = build('client', '--program', program);
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

  test('cannot write anywhere', async (t) => {
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

const docs = ['docs/operations.md', 'deploy/helm/underpass/templates/NOTES.txt', 'deploy/README.md'];

/** The arguments of every command that the docs run in a container of this kind, in their order. */
function documentedExecs(container: 'underpass' | 'deployment/underpass-control'): readonly string[][] {
  const text = docs.map((path) => readFileSync(join(root, path), 'utf8').replaceAll('\\\n', ' ')).join('\n');
  const found = [...text.matchAll(/ exec (?:-T )?(\S+)(?: --)?\s+(underpass-server(?: +(?:"[^"]*"|[^\s"|>){]+))*)/g)];
  return found
    .filter(([, name]) => name === container)
    .map(([, , line = '']) => [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word = '']) => quoted ?? word));
}

/** What the docs run beside a server, except what needs a file of the machine. */
function documentedCommands(): readonly string[][] {
  const text = readFileSync(join(root, 'docs/operations.md'), 'utf8');
  const lines = [...text.matchAll(/^underpass-server ([a-z][a-z -]+)$/gm)].map(([, line = '']) => line);
  return [...new Set(lines)].filter((line) => !/keys|migrate/.test(line)).map((line) => ['underpass-server', ...line.split(' ')]);
}

/** A new named volume. Like a runtime, it copies the image's folder into it, with owner and mode. */
function namedVolume({ rootfs }: Image, path: string): string {
  const volume = join(mkdtempSync(join(work, 'volume-')), 'data');
  execFileSync('cp', ['-a', join(rootfs, path), volume]);
  return volume;
}

function secretFolder(secrets: Readonly<Record<string, string>>, mode: number): string {
  const folder = mkdtempSync(join(work, 'secrets-'));
  chmodSync(folder, 0o755);
  for (const [name, text] of Object.entries(secrets)) {
    writeFileSync(join(folder, name), text);
    chownSync(join(folder, name), 1000, 1000);
    chmodSync(join(folder, name), mode);
  }
  return folder;
}

const portsOf = (control: number, https: number, http: number, metrics: number) => ({
  UNDERPASS_PORT: String(control),
  UNDERPASS_EDGE_HTTPS_PORT: String(https),
  UNDERPASS_EDGE_HTTP_PORT: String(http),
  UNDERPASS_METRICS_PORT: String(metrics),
});

/** Production needs an authority; this one does not answer. */
const noAuthority = { UNDERPASS_ACME_DIRECTORY: 'https://127.0.0.1:9/directory' };

describe('the image of the server', { skip: skip || skipWithout('postgres', 'nats-server', 'helm') }, () => {
  let image: Image;
  let postgres: TestPostgres;
  before(async () => {
    image = build('server');
    postgres = await startPostgres();
  });
  after(() => postgres.close());

  /** A new database, and the folder of its socket as the server sees it. */
  const openDatabase = async () => {
    const url = new URL(await postgres.createDatabase());
    const folder = url.searchParams.get('host') ?? '';
    chmodSync(folder, 0o755);
    url.searchParams.set('host', '/run/postgres');
    return { url: url.href, volumes: { '/run/postgres': folder } };
  };

  test('holds only the server, owned by root, and a home for user 1000', () => {
    assert.equal(image.config.User, '1000:1000');
    const own = filesOf(join(image.rootfs, 'app')).filter((path) => !path.startsWith('/node_modules/'));
    assert.deepEqual(
      own.filter((path) => /\.test\.ts$|^\/(client|tests|bench|tools)\//.test(path)),
      [],
    );
    for (const path of filesOf(image.rootfs)) assert.equal(statSync(join(image.rootfs, path)).uid, 0, path);
    const home = statSync(join(image.rootfs, 'var/lib/underpass'));
    assert.deepEqual([home.uid, home.gid, home.mode & 0o777], [1000, 1000, 0o700]);
  });

  test('starts by itself with a named volume for its home, and serves the dashboard', async (t) => {
    const [control = 0, https = 0, http = 0, metrics = 0] = await freePorts(4);
    const volumes = { '/var/lib/underpass': namedVolume(image, 'var/lib/underpass') };
    const env = { UNDERPASS_PRODUCTION: 'false', ...portsOf(control, https, http, metrics) };
    const server = start(t, image, image.config.Cmd, { env, volumes, writable: ['/tmp'] });
    await server.seen(/sign in|login/i);
    const origin = `http://127.0.0.1:${control}`;
    assert.equal((await fetch(`${origin}/readyz`)).status, 200);
    assert.match(await (await fetch(`${origin}/`)).text(), /<!doctype html>/i);
    assert.match(await (await fetch(`${origin}/install.sh`)).text(), /^#!\/bin\/sh/);
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0, server.text());
  });

  test('runs as the compose file starts it, with every command of the docs beside it', async (t) => {
    const [control = 0, https = 0, http = 0, metrics = 0] = await freePorts(4);
    const { service, env } = composeService();
    assert.deepEqual([service.user, service.read_only, service.tmpfs], ['1000:1000', true, ['/tmp']]);
    const [volume = ''] = service.volumes;
    const database = await openDatabase();
    const secrets = {
      'database-url': database.url,
      'smtp-url': 'smtp://127.0.0.1:9',
      'master-key': randomBytes(32).toString('base64'),
    };
    assert.deepEqual(service.secrets, Object.keys(secrets));
    const server = start(t, image, service.command, {
      env: { ...env, ...portsOf(control, https, http, metrics), ...noAuthority },
      volumes: {
        [volume.split(':')[1] ?? '']: namedVolume(image, 'var/lib/underpass'),
        '/run/secrets': secretFolder(secrets, 0o400),
        ...database.volumes,
      },
      writable: service.tmpfs,
    });
    await server.seen(/sign in at/);
    assert.equal((await fetch(`http://127.0.0.1:${control}/readyz`)).status, 200);
    const execs = documentedExecs('underpass');
    assert.ok(execs.length >= 2, 'the docs have commands for compose');
    for (const command of [...execs, ...documentedCommands()]) {
      const { status, stdout, stderr } = server.exec(command);
      // Without an authority there are no certificates, which status reports.
      assert.equal(status, command.join(' ').endsWith('server status') ? 7 : 0, `${command.join(' ')}: ${stderr}${stdout}`);
    }
    server.child.kill('SIGTERM');
    assert.equal(await server.ended, 0, server.text());
  });

  test('runs as the chart starts it: migration, control with its documented commands, and an edge', async (t) => {
    const nats = await startNats(t);
    const database = await openDatabase();
    const [control = 0, https = 0, http = 0, controlMetrics = 0, metrics = 0, hop = 0] = await freePorts(6);
    const containers = chartContainers();
    const secrets = {
      'database-url': database.url,
      'nats-url': nats.url,
      'smtp-url': 'smtp://127.0.0.1:9',
      'master-key': randomBytes(32).toString('base64'),
    };
    const run = (name: string, files: Readonly<Record<string, string>>, env: Readonly<Record<string, string>>) => {
      const container = containers.get(name) ?? assert.fail(name);
      const own = Object.fromEntries(container.env.map((each) => [each.name, each.value ?? '127.0.0.1']));
      return start(t, image, container.args, {
        env: { ...own, ...env },
        volumes: {
          '/var/lib/underpass': emptyDir(),
          '/tmp': emptyDir(),
          '/run/secrets/underpass': secretFolder(files, 0o440),
          ...database.volumes,
        },
      });
    };
    const migration = run('migrate', secrets, noAuthority);
    assert.equal(await migration.ended, 0, migration.text());
    const server = run('control', secrets, { ...portsOf(control, 0, 0, controlMetrics), ...noAuthority });
    await server.seen(/sign in at/);
    assert.equal((await fetch(`http://127.0.0.1:${control}/readyz`)).status, 200);
    let key = '';
    for (const command of documentedExecs('deployment/underpass-control')) {
      const { status, stdout, stderr } = server.exec(command);
      assert.equal(status, 0, `${command.join(' ')}: ${stderr}${stdout}`);
      if (command.includes('key')) key = stdout.trim();
    }
    assert.match(key, /^[\w-]{43}$/);
    const edgePorts = { ...portsOf(control, https, http, metrics), UNDERPASS_HOP_PORT: String(hop) };
    const edge = run('edge', { 'edge-key': key }, { ...edgePorts, UNDERPASS_EDGE_WORKERS: '2' });
    await edge.seen(/\(edge\)/);
    assert.equal((await fetch(`http://127.0.0.1:${metrics}/healthz`)).status, 200);
    for (const each of [edge, server]) {
      each.child.kill('SIGTERM');
      assert.equal(await each.ended, 0, each.text());
    }
  });
});

/** Makes a folder as Kubernetes does for a pod with `fsGroup: 1000`. */
function emptyDir(): string {
  const folder = mkdtempSync(join(work, 'empty-'));
  chownSync(folder, 0, 1000);
  chmodSync(folder, 0o2777);
  return folder;
}
