// install.sh as people run it: by two shells, two fetchers, without root, against a server that offers right and wrong files.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTestAuthority } from '../../wire/fixture/certificate.ts';
import { publicHalf, signSums } from '../release/sign.ts';

const here = dirname(fileURLToPath(import.meta.url));
const script = readFileSync(join(here, 'install.sh'), 'utf8');
const windowsScript = readFileSync(join(here, 'install.ps1'), 'utf8');
const platform = `linux-${process.arch}`;
const program = '#!/bin/sh\necho "underpass for tests"\n';
const releaseKey = generateKeyPairSync('ed25519').privateKey;
const sum = (text: string) => createHash('sha256').update(text).digest('hex');
/** nobody: the tests may run as root, the installer must not need it. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

interface Offer {
  readonly version?: string;
  readonly sums?: string;
  readonly releases?: string;
  /** null: none is there. */
  readonly signature?: string | null;
}

async function startServer(t: TestContext, { version = '1.2.3', sums, releases, signature }: Offer = {}) {
  const name = `underpass-${version}-${platform}`;
  const asked: string[] = [];
  const offered = sums ?? `${sum('other')}  underpass-${version}-plan9-mips\n${sum(program)}  ${name}\n`;
  const answers: Record<string, string> = {
    '/api/releases':
      releases ??
      JSON.stringify([
        { version, files: [{ name }] },
        { version: '1.0.0', files: [] },
      ]),
    [`/releases/${version}/SHA256SUMS`]: offered,
    ...(signature === null ? {} : { [`/releases/${version}/SHA256SUMS.sig`]: signature ?? signSums(offered, releaseKey) }),
    [`/releases/${version}/${name}`]: program,
  };
  const port = await listen(t, (request, response) => {
    asked.push(request.url ?? '');
    const answer = answers[request.url ?? ''];
    response.writeHead(answer === undefined ? 404 : 200).end(answer);
  });
  return { origin: `http://127.0.0.1:${port}`, asked };
}

async function listen(
  t: TestContext,
  answer: RequestListener,
  tls?: { readonly key: string; readonly cert: string },
): Promise<number> {
  const server = tls ? createTlsServer(tls, answer) : createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

interface RunOptions {
  readonly shell?: string;
  readonly tools?: readonly string[];
  readonly env?: Record<string, string>;
  readonly text?: string;
  /** What the server puts into the script; none by default. */
  readonly key?: string;
}

function home(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-install-'));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const basics = ['uname', 'mktemp', 'rm', 'sed', 'tr', 'cat', 'cut', 'mkdir', 'cp', 'chmod', 'mv'];

/** A PATH with these programs alone. */
function toolsFolder(t: TestContext, names: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-tools-'));
  chmodSync(folder, 0o755);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of [...basics, ...names]) {
    const { stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
    if (stdout.trim() !== '') symlinkSync(stdout.trim(), join(folder, name));
  }
  return folder;
}

function install(t: TestContext, folder: string, origin: string, options: RunOptions = {}) {
  const path = options.tools ? toolsFolder(t, options.tools) : process.env.PATH;
  const env = { HOME: folder, PATH: path, ...options.env };
  const text = options.text ?? script.replaceAll('@ORIGIN@', origin).replaceAll('@RELEASE_KEY@', options.key ?? '');
  const { stdout: found } = spawnSync('sh', ['-c', `command -v ${options.shell ?? 'dash'}`], { encoding: 'utf8' });
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    const child = spawn(found.trim(), [], { env, cwd: folder, ...user });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      stdout += chunk;
    });
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('close', (code) => resolve({ code, stdout, stderr }));
    child.stdin.on('error', () => {}).end(text);
  });
}

const installed = (folder: string) => join(folder, '.local/bin/underpass');

for (const shell of ['dash', 'bash']) {
  for (const fetcher of ['curl', 'wget']) {
    for (const summer of ['sha256sum', 'shasum', 'openssl']) {
      const needed = [fetcher, summer, ...(summer === 'shasum' ? ['perl'] : [])];
      const missing = needed.find((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
      test(`piped into ${shell}, with ${fetcher} and ${summer}, it installs without root`, {
        skip: missing && `needs ${missing}`,
      }, async (t) => {
        const { origin } = await startServer(t);
        const folder = home(t);
        const { code, stdout, stderr } = await install(t, folder, origin, { shell, tools: needed });
        assert.equal(code, 0, stderr);
        assert.equal(readFileSync(installed(folder), 'utf8'), program);
        assert.equal(statSync(installed(folder)).mode & 0o777, 0o755);
        assert.deepEqual(readdirSync(dirname(installed(folder))), ['underpass']);
        assert.match(stdout, /export PATH="[^"]*\.local\/bin:\$PATH"/);
        assert.match(stdout, new RegExp(`login --server ${origin}`));
      });
    }
  }
}

test('curl follows no redirect from https to http', async (t) => {
  const plain = await startServer(t);
  const authority = await createTestAuthority();
  const { keyPem, chainPem } = await authority.issue(['localhost']);
  const port = await listen(t, ({ url = '' }, response) => response.writeHead(302, { location: `${plain.origin}${url}` }).end(), {
    key: keyPem,
    cert: chainPem,
  });
  const folder = home(t);
  const trusted = join(folder, 'ca.pem');
  writeFileSync(trusted, authority.certificatePem);
  const tools = ['curl', 'sha256sum'];
  const { code, stderr } = await install(t, folder, `https://localhost:${port}`, { tools, env: { CURL_CA_BUNDLE: trusted } });
  assert.equal(code, 1);
  assert.match(stderr, /protocol|not supported/i);
  assert.deepEqual(plain.asked, []);
});

test('a second run fetches nothing, and a changed program is replaced', async (t) => {
  const { origin, asked } = await startServer(t);
  const folder = home(t);
  await install(t, folder, origin);
  asked.length = 0;
  const again = await install(t, folder, origin);
  assert.match(again.stdout, /is already in/);
  assert.equal(
    asked.some((path) => path.endsWith(platform)),
    false,
  );
  rmSync(installed(folder));
  writeFileSync(installed(folder), 'older');
  if (user.uid !== undefined) chownSync(installed(folder), user.uid, user.gid);
  await install(t, folder, origin);
  assert.equal(readFileSync(installed(folder), 'utf8'), program);
});

test('prints no PATH line for a folder on the PATH, and installs into another named folder', async (t) => {
  const { origin } = await startServer(t);
  const folder = home(t);
  const bin = join(folder, 'my bin');
  const env = { UNDERPASS_INSTALL_DIR: bin, PATH: `${bin}:${process.env.PATH}`, UNDERPASS_VERSION: '1.2.3' };
  const { stdout, code } = await install(t, folder, origin, { env });
  assert.equal(code, 0);
  assert.doesNotMatch(stdout, /export PATH/);
  assert.equal(readFileSync(join(bin, 'underpass'), 'utf8'), program);
});

const wrong: readonly (readonly [string, Offer, Record<string, string>, RegExp])[] = [
  [
    'a program that does not match its sum',
    { sums: `${sum('other')}  underpass-1.2.3-${platform}\n` },
    {},
    /expected was .*nothing was installed/,
  ],
  ['sums without this platform', { sums: `${sum(program)}  underpass-1.2.3-plan9-mips\n` }, {}, /has no program for linux/],
  [
    'sums that only end in the name',
    { sums: `${sum(program)}  evil-underpass-1.2.3-${platform}\n` },
    {},
    /has no program for linux/,
  ],
  ['a server without releases', { releases: '[]' }, {}, /offers no release/],
  ['a version that is a command', { releases: '[{"version":"1.2.3; touch /tmp/underpass-owned"}]' }, {}, /offers no release/],
  ['a version that climbs out', {}, { UNDERPASS_VERSION: '../../etc' }, /offers no release/],
  ['a version that is not there', {}, { UNDERPASS_VERSION: '9.9.9' }, /has no version 9\.9\.9/],
  ['a folder that cannot be written', {}, { UNDERPASS_INSTALL_DIR: '/proc/underpass' }, /UNDERPASS_INSTALL_DIR/],
];
for (const [name, offer, env, message] of wrong) {
  test(`refuses ${name} and installs nothing`, async (t) => {
    const { origin } = await startServer(t, offer);
    const folder = home(t);
    const { code, stderr } = await install(t, folder, origin, { env });
    assert.equal(code, 1);
    assert.match(stderr, message);
    assert.equal(existsSync(installed(folder)), false);
  });
}

const key = publicHalf(releaseKey);
const otherKey = generateKeyPairSync('ed25519').privateKey;
const name = `underpass-1.2.3-${platform}`;
const sums = `${sum(program)}  ${name}\n`;

test('installs silently if the key signed the sums', async (t) => {
  const { origin, asked } = await startServer(t);
  const folder = home(t);
  const { code, stdout, stderr } = await install(t, folder, origin, { key });
  assert.equal(code, 0, stderr);
  assert.equal(readFileSync(installed(folder), 'utf8'), program);
  assert.doesNotMatch(stdout, /only the SHA-256/);
  assert.ok(asked.some((path) => path.endsWith('SHA256SUMS.sig')));
});

const unsigned: readonly (readonly [string, Offer, RegExp])[] = [
  [
    'sums that another key signed',
    { signature: signSums(sums, otherKey), sums },
    /the signature of version 1\.2\.3 does not match the key/,
  ],
  [
    'sums that were changed after they were signed',
    { signature: signSums(sums, releaseKey), sums: `${sums}\n` },
    /does not match the key/,
  ],
  ['a malformed signature', { signature: 'hello\n' }, /does not match the key/],
  ['an empty signature', { signature: '' }, /does not match the key/],
  ['sums without a signature', { signature: null }, /is not signed/],
];
for (const [what, offer, message] of unsigned) {
  test(`refuses ${what} if openssl can check them, and installs nothing`, async (t) => {
    const { origin } = await startServer(t, offer);
    const folder = home(t);
    const { code, stderr } = await install(t, folder, origin, { key });
    assert.equal(code, 1);
    assert.match(stderr, message);
    assert.equal(existsSync(installed(folder)), false);
  });
}

/** A fake openssl with the abilities of an old version or of LibreSSL. */
function oldOpenSsl(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'underpass-openssl-'));
  chmodSync(folder, 0o755);
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'openssl'), '#!/bin/sh\necho "Usage: pkeyutl [-verify] [-sigfile file]" >&2\nexit 1\n', {
    mode: 0o755,
  });
  return folder;
}

test('says in one line that it checked only the SHA-256 if it cannot check the signature', async (t) => {
  const { origin } = await startServer(t, { signature: null });
  const cases: readonly (readonly [RunOptions, RegExp])[] = [
    [{ key, tools: ['curl', 'sha256sum'] }, /^only the SHA-256 was checked: openssl 3 is needed/m],
    [{ key, env: { PATH: `${oldOpenSsl(t)}:${process.env.PATH}` } }, /^only the SHA-256 was checked: openssl 3 is needed/m],
    [{}, /^only the SHA-256 was checked: this server publishes no release key/m],
  ];
  for (const [options, message] of cases) {
    const folder = home(t);
    const { code, stdout, stderr } = await install(t, folder, origin, options);
    assert.equal(code, 0, stderr);
    assert.match(stdout, message);
    assert.equal(readFileSync(installed(folder), 'utf8'), program);
  }
});

test('never runs shell code in a key that is not base64', async (t) => {
  const { origin } = await startServer(t);
  const folder = home(t);
  const { code, stderr } = await install(t, folder, origin, { key: `$(touch ${folder}/owned)` });
  assert.equal(code, 1);
  assert.match(stderr, /key of this script is damaged/);
  assert.equal(existsSync(join(folder, 'owned')), false);
});

test('a script cut off in the middle does nothing', async (t) => {
  const { origin, asked } = await startServer(t);
  const folder = home(t);
  const whole = script.replaceAll('@ORIGIN@', origin);
  const lines = whole.split('\n');
  for (let count = 1; count < lines.length - 2; count += 7) {
    await install(t, folder, origin, { text: lines.slice(0, count).join('\n') });
  }
  assert.deepEqual(asked, []);
  assert.equal(existsSync(join(folder, '.local')), false);
});

test('never runs shell code in its address', async (t) => {
  const folder = home(t);
  const { code, stderr } = await install(t, folder, `https://x.invalid/'$(touch ${folder}/owned)\`touch ${folder}/owned\``);
  assert.equal(code, 1);
  assert.equal(existsSync(join(folder, 'owned')), false, stderr);
});

test('both scripts take their address only from the server, and two shells accept their syntax', () => {
  for (const text of [script, windowsScript]) {
    assert.ok(text.includes('@ORIGIN@') && text.includes('@RELEASE_KEY@'));
    assert.doesNotMatch(text.replaceAll('@ORIGIN@', ''), /https?:\/\/[a-z]/);
  }
  for (const shell of ['dash', 'bash']) assert.equal(spawnSync(shell, ['-n', join(here, 'install.sh')]).status, 0);
});

test('install.ps1 is balanced, stops at the first error, and compares the sum before it moves the file', () => {
  const code = windowsScript
    .replace(/@'\n[\s\S]*?\n'@/g, "''")
    .replace(/^\s*#.*$/gm, '')
    .replace(/'(?:[^']|'')*'|"(?:[^"`]|`.)*"/g, '0');
  const open: string[] = [];
  for (const bracket of code.match(/[(){}[\]]/g) ?? []) {
    if ('({['.includes(bracket)) open.push(bracket);
    else assert.equal(`${open.pop()}${bracket}`.replace(/\(\)|\{\}|\[\]/, ''), '');
  }
  assert.deepEqual(open, []);
  assert.match(windowsScript, /\$ErrorActionPreference = 'Stop'/);
  assert.ok(windowsScript.indexOf('-ne $wanted') < windowsScript.indexOf('Move-Item -LiteralPath $draft'));
  const signed = windowsScript.indexOf('$unsigned = Test-Signature $sumsBytes');
  assert.ok(signed > 0 && signed < windowsScript.indexOf('$wanted ='));
});
