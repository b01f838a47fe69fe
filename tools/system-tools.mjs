// The system programs that tests use: where to find each, and which Debian package or Go module installs it.
// Plain JavaScript, because setup.mjs runs on the machine's own Node.
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';

/** Flags without optimisation: these programs run for moments in tests, and build for minutes. */
const quickBuild = ['-gcflags=all=-N -l', '-ldflags=-s -w'];

export const systemTools = {
  chromium: { package: 'chromium', why: 'browser tests' },
  postgres: { package: 'postgresql', why: 'the store suite on Postgres', folders: () => versioned('/usr/lib/postgresql', 'bin') },
  'nats-server': { package: 'nats-server', why: 'the bus suite on NATS' },
  pebble: { package: 'pebble', why: 'ACME tests' },
  knotd: { package: 'knot', why: 'DNS-01 by RFC 2136' },
  unbound: { package: 'unbound', why: 'a resolver that follows a CNAME into another zone' },
  prometheus: { package: 'prometheus', why: 'the shipped alerts against broken parts' },
  promtool: { package: 'prometheus', why: 'the shipped alerts, and which of them fire' },
  haproxy: { package: 'haproxy', why: 'PROXY protocol receivers and the benchmark' },
  nginx: { package: 'nginx-light', why: 'PROXY protocol receivers and passthrough' },
  'systemd-analyze': { package: 'systemd', why: 'generated units' },
  buildah: { package: 'buildah', why: 'the container image' },
  'fail2ban-regex': { package: 'fail2ban', why: 'a reader of the access log' },
  goaccess: { package: 'goaccess', why: 'a reader of the access log' },
  fish: { package: 'fish', why: 'shell completion' },
  zsh: { package: 'zsh', why: 'shell completion' },
  curl: { package: 'curl', why: 'commands of the docs' },
  openssl: { package: 'openssl', why: 'TLS peers in tests' },
  jq: { package: 'jq', why: 'commands of the docs' },
  python3: {
    package: 'python3 python3-jwt python3-cryptography',
    why: 'commands and examples of the docs',
    fits: (path) => prints([path, '-c', 'import jwt, cryptography; print("both")'], 'both'),
  },
  go: { package: 'golang-go', why: 'servers and examples in Go' },
  ip: { package: 'iproute2', why: 'a client behind a wire that loses and delays' },
  faketime: { package: 'faketime', why: 'a clock that jumps' },
  ssh: { package: 'openssh-client', why: 'SSH through an ingress tunnel' },
  sshd: { package: 'openssh-server', why: 'SSH through an ingress tunnel' },
  git: { package: 'git', why: 'lint by what git tracks' },
  php: { package: 'php-cli', why: 'a server in PHP' },
  ruby: { package: 'ruby', why: 'the Homebrew formula' },
  'nix-instantiate': { package: 'nix-bin', why: 'the Nix flake' },
  gpg: { package: 'gpg', why: 'a signed apt repository' },
  etcd: { package: 'etcd-server', why: 'a Kubernetes cluster', only: 'cluster' },
  // Debian has no package for it; Go builds it if Go is installed.
  helm: {
    package: 'helm',
    module: 'helm.sh/helm/v3/cmd/helm@v3.16.4',
    flags: quickBuild,
    why: 'the chart',
    folders: goFolders,
  },
  // Debian has no package for it either. A later version has no tag that Go takes; this one has all the same cases.
  h2spec: {
    package: 'h2spec',
    module: 'github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible',
    why: 'the rules of HTTP/2',
    folders: goFolders,
  },
  grpcurl: {
    module: 'github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4',
    why: 'gRPC calls by hand',
    folders: goFolders,
  },
  // Debian's is 2.6, which cannot read a PROXY header: whichever is found has to list the module that can.
  caddy: {
    package: 'caddy',
    module: 'github.com/caddyserver/caddy/v2/cmd/caddy@v2.10.2',
    flags: ['-tags=nobadger,nomysql,nopgx', ...quickBuild],
    why: 'PROXY protocol receivers',
    folders: goFolders,
    fits: (path) => prints([path, 'list-modules'], 'caddy.listeners.proxy_protocol'),
  },
};

/** Full path of a tool, or undefined. Looks in the sbin folders too, which a user's PATH often lacks. */
export function findTool(name) {
  const own = systemTools[name]?.folders?.() ?? [];
  const folders = [...own, ...(process.env.PATH ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin', '/sbin'];
  return folders.map((folder) => join(folder, name)).find((path) => isExecutable(path) && fits(name, path));
}

/** `command` is what they are for: test or cluster. */
export function missingTools(command) {
  return Object.keys(systemTools).filter((name) => {
    const { only = command } = systemTools[name];
    return only === command && findTool(name) === undefined;
  });
}

/** The command that installs it. */
export function wayTo(name) {
  const { package: debian, module, flags = [] } = systemTools[name];
  return module === undefined ? `apt-get install ${debian}` : `go install ${flags.map((flag) => `'${flag}' `).join('')}${module}`;
}

/** Installs missing tools, with apt-get and Go at the same time; returns those that are still missing. */
export async function installTools(missing, log) {
  await Promise.all([installPackages(missing, log), installModules(missing, log)]);
  return missing.filter((name) => findTool(name) === undefined);
}

async function installPackages(missing, log) {
  const apt = aptCommand();
  const packages = missing
    .filter((name) => systemTools[name].module === undefined)
    .flatMap((name) => systemTools[name].package.split(' '));
  if (packages.length === 0 || apt === undefined) return;
  log(`installing from Debian's packages: ${packages.join(' ')}`);
  await run(apt, ['update', '-qq']);
  await run(apt, ['install', '-y', '-qq', '--no-install-recommends', ...packages]);
}

async function installModules(missing, log) {
  const go = findTool('go');
  const tools = missing.map((name) => systemTools[name]).filter(({ module }) => module !== undefined);
  if (go === undefined || tools.length === 0) return;
  log(`building with Go (a minute or two each, once): ${tools.map(({ module }) => module).join(' ')}`);
  // One after the other: each build uses all cores.
  for (const { module, flags = [] } of tools) await run([go], ['install', ...flags, module]);
}

function goFolders() {
  return [process.env.GOBIN, join(process.env.GOPATH ?? join(homedir(), 'go'), 'bin')].filter((folder) => folder !== undefined);
}

function aptCommand() {
  if (process.platform !== 'linux' || findTool('apt-get') === undefined) return undefined;
  if (process.getuid() === 0) return ['apt-get'];
  return spawnSync('sudo', ['-n', 'true']).status === 0 ? ['sudo', '-n', 'apt-get'] : undefined;
}

/** Resolves at the end, successful or not: the caller looks for the tools. */
function run([command, ...first], rest) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', CGO_ENABLED: '0' };
  const child = spawn(command, [...first, ...rest], { stdio: ['ignore', 'ignore', 'inherit'], env, timeout: 600_000 });
  return new Promise((resolve) => {
    child.once('error', resolve).once('close', resolve);
  });
}

/** Cached for each path, because it runs a program. */
const fitting = new Map();

function fits(name, path) {
  const ask = systemTools[name]?.fits;
  if (ask === undefined) return true;
  if (!fitting.has(path)) fitting.set(path, ask(path));
  return fitting.get(path);
}

function prints([command, ...rest], words) {
  const { stdout } = spawnSync(command, rest, { encoding: 'utf8', timeout: 30_000 });
  return stdout?.includes(words) === true;
}

function versioned(root, leaf) {
  try {
    return readdirSync(root)
      .sort((a, b) => Number(b) - Number(a))
      .map((version) => join(root, version, leaf));
  } catch {
    return [];
  }
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
