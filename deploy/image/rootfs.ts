// The files of the images, made from nothing: a program, the C library that it asks for, certificates, two users.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readCommit } from '../../server/process/version.ts';

/** Non-root user 1000, as in the deployment of the spec. */
export const userId = 1000;

const certificates = '/etc/ssl/certs/ca-certificates.crt';

export function writeBase(rootfs: string): void {
  for (const folder of ['etc/ssl/certs', 'usr/bin', 'tmp', 'home/underpass'])
    mkdirSync(join(rootfs, folder), { recursive: true });
  chmodSync(join(rootfs, 'tmp'), 0o1777);
  writeFileSync(
    join(rootfs, 'etc/passwd'),
    `root:x:0:0::/:/sbin/nologin\nunderpass:x:${userId}:${userId}::/home/underpass:/sbin/nologin\n`,
  );
  writeFileSync(join(rootfs, 'etc/group'), `root:x:0:\nunderpass:x:${userId}:\n`);
  writeFileSync(join(rootfs, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  if (!existsSync(certificates)) throw new Error(`${certificates} is missing: apt-get install ca-certificates`);
  copyFileSync(certificates, join(rootfs, certificates));
}

/** Installs the program as /usr/bin/NAME, with every library that the loader needs. */
export function addProgram(rootfs: string, program: string, name: string): void {
  copyFileSync(realpathSync(program), join(rootfs, 'usr/bin', name));
  chmodSync(join(rootfs, 'usr/bin', name), 0o755);
  for (const library of librariesOf(program)) {
    const target = join(rootfs, library);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(realpathSync(library), target);
    chmodSync(target, 0o755);
  }
}

function librariesOf(program: string): readonly string[] {
  const output = execFileSync('ldd', [program], { encoding: 'utf8' });
  const paths = [...output.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)].map((match) => match[1] ?? '');
  if (paths.length === 0) throw new Error(`ldd names no libraries of ${program}`);
  return [...new Set(paths)];
}

const serverWorkspaces = ['rules', 'runtime', 'wire', 'control', 'edge', 'server'];

/** Installs the server's source, which runs without a build, and its production packages. */
export function addServer(rootfs: string, root: string): void {
  const app = join(rootfs, 'app');
  mkdirSync(app, { recursive: true });
  for (const name of ['package.json', 'package-lock.json', 'LICENSE']) copyFileSync(join(root, name), join(app, name));
  for (const name of workspacesOf(root)) copyManifest(root, app, name);
  const only = serverWorkspaces.flatMap((name) => ['-w', name]);
  const flags = [
    '--omit=dev',
    '--omit=optional',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--prefer-offline',
    '--loglevel=error',
  ];
  execFileSync('npm', ['ci', ...only, ...flags], { cwd: app, stdio: ['ignore', 'ignore', 'inherit'], timeout: 600_000 });
  for (const name of workspacesOf(root))
    if (!serverWorkspaces.includes(name)) rmSync(join(app, name), { recursive: true, force: true });
  for (const name of serverWorkspaces) copySource(join(root, name), join(app, name));
  const dashboard = join(root, 'dashboard', 'dist');
  if (!existsSync(dashboard)) throw new Error('the dashboard is not built: npm run build');
  cpSync(dashboard, join(app, 'dashboard', 'dist'), { recursive: true });
  copySource(join(root, 'deploy', 'installer'), join(app, 'deploy', 'installer'));
  writeFileSync(join(app, 'commit'), readCommit(root));
  addCommand(rootfs);
}

/** The command that the docs run by `exec`. The image has no shell; the kernel itself starts what the first line names. */
function addCommand(rootfs: string): void {
  const path = join(rootfs, 'usr/bin/underpass-server');
  writeFileSync(path, "#!/usr/bin/node\nimport('/app/server/underpass-server.ts');\n");
  chmodSync(path, 0o755);
}

function workspacesOf(root: string): readonly string[] {
  return (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { workspaces: string[] }).workspaces;
}

/** npm requires every workspace of the lockfile. */
function copyManifest(root: string, app: string, name: string): void {
  mkdirSync(join(app, name), { recursive: true });
  copyFileSync(join(root, name, 'package.json'), join(app, name, 'package.json'));
}

function copySource(from: string, to: string): void {
  const isShipped = (path: string) =>
    !/(^|\/)(node_modules|dist|fixture|main\.(ts|mjs)|test-kit[^/]*|[^/]*\.test\.ts|tsconfig\.json)$/.test(
      path.slice(from.length),
    );
  cpSync(from, to, { recursive: true, filter: isShipped });
}

/** Lists the top after a build. */
export function topOf(rootfs: string): string {
  return readdirSync(rootfs)
    .map((name) => `/${basename(name)}`)
    .sort()
    .join(' ');
}
