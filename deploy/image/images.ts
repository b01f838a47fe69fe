// Builds an image without a Docker engine: node deploy/image/build.ts client|server [--out FILE.tar] [--program FILE]
// From scratch, non-root; the archive loads into Docker, Podman, containerd and every registry tool.
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseOptions, refuse } from '../command-line.ts';
import { addProgram, addServer, topOf, userId, writeBase } from './rootfs.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');

interface Recipe {
  readonly repository: string;
  readonly about: string;
  readonly config: readonly string[];
  readonly fill: (rootfs: string, program: string) => void;
  /** The folder that the program may write, if it has one. Runtimes give its owner and mode to a new volume. */
  readonly home?: string;
  readonly program: (version: string) => string;
}

const serverHome = '/var/lib/underpass';

const recipes: Readonly<Record<string, Recipe>> = {
  client: {
    repository: 'ghcr.io/underpass/underpass',
    about: 'The underpass command: carries traffic from a region to your services',
    config: ['--entrypoint', '["/usr/bin/underpass"]', '--cmd', '--help'],
    fill: (rootfs, program) => addProgram(rootfs, program, 'underpass'),
    program: (version) => join(root, 'client/dist/releases', version, `underpass-${version}-linux-${process.arch}`),
  },
  server: {
    repository: 'ghcr.io/underpass/underpass-server',
    about: 'Underpass, a hosted tunnel service: control and edge',
    config: [
      ...['--entrypoint', '["/usr/bin/underpass-server"]', '--cmd', 'start', '--workingdir', '/app'],
      ...['--env', 'NODE_ENV=production', '--env', `UNDERPASS_HOME=${serverHome}`, '--volume', serverHome],
      ...['--port', '8400', '--port', '8443', '--port', '8480'],
    ],
    fill: (rootfs, program) => {
      addProgram(rootfs, program, 'node');
      addServer(rootfs, root);
    },
    home: serverHome,
    program: () => process.execPath,
  },
};

main();

function main(): void {
  const { values, positionals } = parseOptions({
    options: { out: { type: 'string' }, program: { type: 'string' }, inside: { type: 'boolean' } },
    allowPositionals: true,
  });
  const name = positionals[0] ?? '';
  const recipe = recipes[name] ?? refuse('usage: node deploy/image/build.ts client|server [--out FILE.tar] [--program FILE]');
  if (process.getuid?.() !== 0 && !values.inside) {
    enterNamespace();
    return;
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const out = resolve(values.out ?? join(root, '.artifacts', `underpass-${name}-${version}.tar`));
  const program = resolve(values.program ?? recipe.program(version));
  if (!existsSync(program)) refuse(`${program} is missing: node deploy/release/build.ts --only linux-${process.arch}`);
  console.log(`${recipe.repository}:${version}\n${buildImage(recipe, version, program, out)}`);
}

/** Files of user 0 and user 1000 need the right to change owners, which this process has inside a user namespace. */
function enterNamespace(): void {
  const args = ['unshare', '--', process.execPath, ...process.argv.slice(1), '--inside'];
  const { status } = spawnSync('buildah', args, { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

function buildImage(recipe: Recipe, version: string, program: string, out: string): string {
  const work = mkdtempSync(join(tmpdir(), 'underpass-image-'));
  const buildah = (...args: string[]) => {
    const places = ['--storage-driver', 'vfs', '--root', join(work, 'storage'), '--runroot', join(work, 'run')];
    return execFileSync('buildah', [...places, ...args], {
      encoding: 'utf8',
      env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
    }).trim();
  };
  try {
    const rootfs = join(work, 'rootfs');
    writeBase(rootfs);
    recipe.fill(rootfs, program);
    const container = buildah('from', 'scratch');
    // Whichever user builds, all files belong to root, and the home to the program's user.
    buildah('copy', '--quiet', '--chown', '0:0', container, `${rootfs}/.`, '/');
    if (recipe.home !== undefined) {
      const home = join(work, 'home', basename(recipe.home));
      mkdirSync(home, { recursive: true });
      chmodSync(home, 0o700);
      buildah('copy', '--quiet', '--chown', `${userId}:${userId}`, container, `${dirname(home)}/.`, dirname(recipe.home));
    }
    buildah('config', ...commonConfig(recipe, version), ...recipe.config, container);
    mkdirSync(dirname(out), { recursive: true });
    rmSync(out, { force: true });
    buildah(
      'commit',
      '--quiet',
      '--disable-compression=false',
      '--timestamp',
      sourceTime(),
      container,
      `oci-archive:${out}:${recipe.repository}:${version}`,
    );
    return `${out}: ${statSync(out).size} bytes; ${topOf(rootfs)}`;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function commonConfig({ about }: Recipe, version: string): readonly string[] {
  const labels = { title: 'Underpass', description: about, version, licenses: 'MIT' };
  return [
    ...[
      '--user',
      `${userId}:${userId}`,
      '--env',
      'SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt',
      '--env',
      'HOME=/home/underpass',
      '--env',
      'PATH=/usr/bin',
    ],
    ...Object.entries(labels).flatMap(([name, value]) => ['--label', `org.opencontainers.image.${name}=${value}`]),
  ];
}

/** The time of the last commit, so that the same source gives the same image; 0 outside of git. */
function sourceTime(): string {
  const { status, stdout } = spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '0';
}
