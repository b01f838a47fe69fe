// The release build, what `update` does with the releases that a server offers, and the client's whole test suite against
// the compiled program.
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import {
  copyFileSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { startFakeEdge } from '../../client/carry/fixture/edge.ts';
import { createCli } from '../../client/test-kit.ts';
import { buildRelease, platform, root, version } from '../../tests/helpers/release-build.ts';
import { isSignedAdHoc, signAdHoc } from './macho.ts';
import { runtimes } from './runtime.ts';
import { releaseKey, renderSums, sha256Of, signSums } from './sign.ts';

const folder = mkdtempSync(join(tmpdir(), 'underpass-release-'));
const key = generateKeyPairSync('ed25519').privateKey;
const env = { ...process.env, UNDERPASS_RELEASE_KEY: key.export({ type: 'pkcs8', format: 'pem' }).toString() };
const built = join(folder, version);
let program: string;

before(() => {
  program = buildRelease(folder, env);
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('the build writes a program, sums, signature and manifest that agree', () => {
  assert.deepEqual(readdirSync(built).sort(), [
    'SHA256SUMS',
    'SHA256SUMS.sig',
    'manifest.json',
    `underpass-${version}-${platform}`,
  ]);
  const check = spawnSync('sha256sum', ['--strict', '-c', 'SHA256SUMS'], { cwd: built, encoding: 'utf8' });
  assert.equal(check.status, 0, check.stdout);
  const manifest = JSON.parse(readFileSync(join(built, 'manifest.json'), 'utf8'));
  const { size } = statSync(program);
  assert.deepEqual(manifest, {
    version,
    files: [{ name: `underpass-${version}-${platform}`, platform, size, sha256: sha256Of(program) }],
  });
});

test('the same source and key always build the same file', () => {
  assert.equal(sha256Of(buildRelease(join(folder, 'again'), env)), sha256Of(program));
});

test('takes no code and no settings from the folder where it is started', () => {
  const strange = mkdtempSync(join(folder, 'strange-'));
  writeFileSync(join(strange, 'bunfig.toml'), 'preload = ["./preload.ts"]\n');
  writeFileSync(join(strange, 'preload.ts'), 'console.log("preloaded");\n');
  writeFileSync(join(strange, '.env'), 'UNDERPASS_SERVER=https://strange.example.com\nUNDERPASS_TOKEN=strange\n');
  const started = (argv: readonly string[]) =>
    spawnSync(program, argv, { cwd: strange, env: { HOME: join(strange, 'home') }, encoding: 'utf8' });
  assert.deepEqual([started(['--version']).stdout, started(['--version']).stderr], [`${version}\n`, '']);
  assert.doesNotMatch(started(['regions']).stderr, /strange\.example\.com/);
});

test('an idle client is small, and a further tunnel costs little', {
  skip: process.platform !== 'linux' && 'Linux only',
}, async (t) => {
  const [one, eleven] = await Promise.all([idleClient(t, 1), idleClient(t, 11)]);
  t.diagnostic(JSON.stringify({ one, eleven }));
  // Measured: 20 to 39 MB, 10 of them of its own, and 0.6 MB for each further tunnel (decision 016).
  assert.ok(one.rssKb < 45 * 1024, `${one.rssKb} kB`);
  assert.ok(one.anonymousKb < 16 * 1024, `${one.anonymousKb} kB`);
  assert.ok((eleven.anonymousKb - one.anonymousKb) / 10 < 2 * 1024, `${one.anonymousKb} and ${eleven.anonymousKb} kB`);
});

/** The memory of a client that carries this many tunnels, once it has given back what its start left behind. */
async function idleClient(t: TestContext, tunnels: number) {
  const edge = await startFakeEdge();
  t.after(() => edge[Symbol.asyncDispose]());
  const home = mkdtempSync(join(folder, 'idle-'));
  writeFileSync(join(home, 'token'), 'secret\n', { mode: 0o600 });
  const one = `type: http, url: "${edge.url}", token-file: token, upstream: "http://127.0.0.1:9"`;
  const lines = Array.from({ length: tunnels }, (_, index) => `  - { name: t${index}, ${one} }\n`);
  writeFileSync(join(home, 'underpass.yaml'), `tunnels:\n${lines.join('')}`);
  const child = spawn(program, ['run'], {
    cwd: home,
    env: { HOME: home, UNDERPASS_CONFIG: join(home, 'underpass.yaml') },
    stdio: 'ignore',
  });
  t.after(() => child.kill('SIGKILL'));
  while (edge.carriers.length < 2 * tunnels) await edge.next();
  const memory = () => {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const kb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]);
    return { rssKb: kb('VmRSS'), anonymousKb: kb('RssAnon'), peakKb: kb('VmHWM') };
  };
  const hasGivenBack = ({ rssKb, peakKb }: ReturnType<typeof memory>) => peakKb - rssKb > 8 * 1024;
  for (let look = 0; look < 300 && !hasGivenBack(memory()); look++) await setTimeout(100);
  return memory();
}

test('refuses a key that is not Ed25519, and makes a private development key once', () => {
  const rsa = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  assert.throws(() => releaseKey({ UNDERPASS_RELEASE_KEY: rsa }), /wanted is ed25519/);
  const home = join(folder, 'home');
  assert.ok(releaseKey({ UNDERPASS_HOME: home }).equals(releaseKey({ UNDERPASS_HOME: home })));
  assert.equal(statSync(join(home, 'release-key.pem')).mode & 0o777, 0o600);
});

describe('update', () => {
  test('replaces the program with a newer one that the key signed', async (t) => {
    const offer = publish(t, '99.0.0', (name) => renderSums([{ name, sha256: sha256Of(program) }]));
    const { code, stdout, file } = await update(offer);
    assert.equal(code, 0);
    assert.match(stdout, /Updated .* to 99\.0\.0/);
    assert.equal(sha256Of(file), sha256Of(program));
    assert.equal(statSync(file).mode & 0o111, 0o111);
    assert.deepEqual(
      readdirSync(dirname(file)).filter((name) => name.endsWith('.new')),
      [],
    );
  });

  const wrong: readonly (readonly [string, Parameters<typeof publish>[2], Parameters<typeof publish>[3], string])[] = [
    [
      'sums that another key signed',
      (name) => renderSums([{ name, sha256: sha256Of(program) }]),
      { key: generateKeyPairSync('ed25519').privateKey },
      'release-untrusted',
    ],
    [
      'a signature that is no signature',
      (name) => renderSums([{ name, sha256: sha256Of(program) }]),
      { signature: 'AAAA' },
      'release-untrusted',
    ],
    [
      'sums changed after they were signed',
      (name) => renderSums([{ name, sha256: sha256Of(program) }]),
      { suffix: '# more\n' },
      'release-untrusted',
    ],
    ['a program that is not the signed one', (name) => renderSums([{ name, sha256: '0'.repeat(64) }]), {}, 'release-untrusted'],
    [
      'an old program under the new version',
      () => renderSums([{ name: `underpass-${version}-${platform}`, sha256: sha256Of(program) }]),
      {},
      'release-missing',
    ],
    [
      'a manifest that names the old file',
      () => renderSums([{ name: `underpass-${version}-${platform}`, sha256: sha256Of(program) }]),
      { name: `underpass-${version}-${platform}` },
      'release-missing',
    ],
    [
      'a manifest without this platform',
      (name) => renderSums([{ name, sha256: sha256Of(program) }]),
      { platform: 'plan9-mips' },
      'release-missing',
    ],
  ];
  for (const [name, sums, options, error] of wrong) {
    test(`refuses ${name} and leaves the program unchanged`, async (t) => {
      const { code, stderr, file } = await update(publish(t, '99.0.0', sums, options));
      assert.match(stderr, new RegExp(`code: ${error}`));
      assert.notEqual(code, 0);
      assert.equal(sha256Of(file), sha256Of(program));
    });
  }

  test('leaves a program of a package manager to it, and names the command', async (t) => {
    const offer = publish(t, '99.0.0', (name) => renderSums([{ name, sha256: sha256Of(program) }]));
    const { stderr, file } = await update(offer, [], { 'managed-by': 'brew upgrade underpass\n' });
    assert.match(stderr, /fix: Run "brew upgrade underpass"\.\n {2}code: update-unsupported/);
    assert.equal(sha256Of(file), sha256Of(program));
  });

  test('does not install the version that it is, named or not', async (t) => {
    const offer = publish(t, version, (name) => renderSums([{ name, sha256: sha256Of(program) }]));
    const told: string[] = [];
    for (const args of [['--to', version], []]) told.push((await update(offer, args)).stdout);
    assert.deepEqual(told, [`This is underpass ${version} already.\n`, `underpass ${version} is the newest.\n`]);
    assert.equal((await offer).asked.filter((path) => path.includes('SHA256SUMS')).length, 0);
  });

  test('does not go back to an older version by itself', async (t) => {
    const offer = publish(t, '0.0.1', (name) => renderSums([{ name, sha256: sha256Of(program) }]));
    const { code, stdout } = await update(offer);
    assert.equal(code, 0);
    assert.match(stdout, /is the newest/);
    assert.equal(
      (await offer).asked.some((path) => path.includes('SHA256SUMS')),
      false,
    );
  });

  test('--check reports a newer version without installing it', async (t) => {
    const offer = publish(t, '99.0.0', (name) => renderSums([{ name, sha256: sha256Of(program) }]));
    const { code, stdout } = await update(offer, ['--check', '--json']);
    assert.deepEqual(JSON.parse(stdout), { version, newest: '99.0.0', updated: false });
    assert.equal(code, 0);
  });

  test('refuses to replace a copy that runs from source', async (t) => {
    const { origin } = await publish(t, '99.0.0', (name) => renderSums([{ name, sha256: sha256Of(program) }]));
    const cli = await createCli(t, { UNDERPASS_SERVER: origin });
    assert.match((await cli.run(['update'])).stderr, /code: update-unsupported/);
  });
});

describe('programs of other systems', () => {
  const foreign = runtimes.filter((runtime) => runtime.platform !== platform);
  const read = (name: string) => readFileSync(join(folder, 'foreign', version, `underpass-${version}-${name}`));

  before(() => {
    const only = foreign.flatMap((runtime) => ['--only', runtime.platform]);
    buildRelease(join(folder, 'foreign'), env, [...only, '--programs-only']);
  });

  for (const name of ['darwin-arm64', 'darwin-x64']) {
    test(`${name} has an ad-hoc signature that matches every page`, () => {
      const program = read(name);
      assert.equal(program.readUInt32LE(4), name.endsWith('arm64') ? 0x0100000c : 0x01000007);
      assert.equal(isSignedAdHoc(program), true);
      // The check must notice one changed byte.
      const at = program.indexOf('UNDERPASS_TOKEN');
      program.writeUInt8(0, at);
      assert.equal(isSignedAdHoc(program), false);
      assert.equal(isSignedAdHoc(signAdHoc(program, 'up')), true);
    });
  }

  test('linux-arm64 is an ELF program for that processor', { skip: platform === 'linux-arm64' }, () => {
    const program = read('linux-arm64');
    assert.deepEqual([program.toString('latin1', 1, 4), program.readUInt16LE(18)], ['ELF', 0xb7]);
  });

  test('win-x64 is a PE program for that processor, for the console', () => {
    const program = read('win-x64.exe');
    const header = program.readUInt32LE(0x3c);
    assert.deepEqual([program.toString('latin1', header, header + 2), program.readUInt16LE(header + 4)], ['PE', 0x8664]);
    assert.equal(program.readUInt16LE(header + 24 + 68), 3);
  });
});

test('the compiled file passes the whole test suite of the client', (t) => {
  const files = globSync('client/**/*.test.ts', { cwd: root, exclude: (path) => path.includes('node_modules') }).filter((file) =>
    readFileSync(join(root, file), 'utf8').includes("test-kit.ts'"),
  );
  assert.ok(files.length >= 8);
  // spawnSync blocks the event loop, so the timeout of this test cannot end it. The inner run has the same one (tools/test.mjs).
  const suite = spawnSync(process.execPath, ['--test', '--test-timeout=600000', ...files], {
    cwd: root,
    env: { ...process.env, UNDERPASS_TEST_BINARY: program, NODE_TEST_CONTEXT: undefined },
    encoding: 'utf8',
  });
  t.diagnostic(
    suite.stdout
      .split('\n')
      .filter((line) => /^(ℹ|#) (tests|pass|fail)/.test(line))
      .join(', '),
  );
  assert.equal(suite.status, 0, suite.stdout);
});

interface PublishOptions {
  readonly key?: typeof key;
  readonly signature?: string;
  readonly suffix?: string;
  readonly name?: string;
  readonly platform?: string;
}

/** A server that offers one release, whose program is the built one. */
async function publish(t: TestContext, offered: string, sums: (name: string) => string, options: PublishOptions = {}) {
  const name = options.name ?? `underpass-${offered}-${platform}`;
  const text = sums(name);
  const asked: string[] = [];
  const bytes = readFileSync(program);
  const file = {
    name,
    platform: options.platform ?? platform,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    url: '',
  };
  const answers: Record<string, string | Buffer> = {
    '/api/releases': JSON.stringify([{ version: offered, files: [file] }]),
    [`/releases/${offered}/SHA256SUMS`]: text + (options.suffix ?? ''),
    [`/releases/${offered}/SHA256SUMS.sig`]: options.signature ?? signSums(text, options.key ?? key),
    [`/releases/${offered}/${name}`]: bytes,
  };
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** `beside`: files beside the program. */
async function update(
  offer: ReturnType<typeof publish>,
  argv: readonly string[] = [],
  beside: Readonly<Record<string, string>> = {},
) {
  const { origin } = await offer;
  const home = mkdtempSync(join(folder, 'update-'));
  const file = join(home, 'underpass');
  copyFileSync(program, `${file}.copy`);
  renameSync(`${file}.copy`, file);
  for (const [name, text] of Object.entries(beside)) writeFileSync(join(home, name), text);
  const env = { HOME: home, UNDERPASS_SERVER: origin };
  const child = await new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
    execFile(file, ['update', ...argv], { env }, (error, stdout, stderr) =>
      done({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
  return { ...child, file };
}
