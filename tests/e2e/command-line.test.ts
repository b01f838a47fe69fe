// The command line against the whole product: sign-in by a device code, a tunnel from creation to a served page, the account,
// the doctor, snippets, an installation by the server's installer, an update from its releases.

import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { type Cli, createCli } from '@underpass/client/test-kit.ts';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { type Product, startProduct, tunnelCreated } from '../helpers/product.ts';
import { buildRelease, platform, version } from '../helpers/release-build.ts';

const run = promisify(execFile);

async function world(t: TestContext, env: Record<string, string> = {}) {
  const product = await startProduct(t, { env });
  const account = await product.signIn();
  const token = await product.createApiToken(account);
  const cli = await createCli(t, { UNDERPASS_SERVER: product.origin, UNDERPASS_API_TOKEN: token });
  return { product, account, cli };
}

async function startUpstream(t: TestContext): Promise<string> {
  const server = createServer((incoming, response) => response.end(`hello from ${incoming.headers.host}`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

/** Requests the URL as a browser that trusts the local CA. */
function visit({ caPem }: Product, url: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const options = { host: '127.0.0.1', port, servername: hostname, headers: { host: `${hostname}:${port}` }, ca: caPem };
    request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    })
      .on('error', reject)
      .end();
  });
}

async function ok(cli: Cli, ...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli.run(argv);
  assert.equal(code, 0, `underpass ${argv.join(' ')}: ${stderr}${stdout}`);
  return stdout;
}

test('a device code that the browser confirms signs the command line in', async (t) => {
  const { product, account } = await world(t);
  const cli = await createCli(t);
  const login = cli.start(['login', '--server', product.origin]);
  await login.seen(/enter the code {2}\S+/);
  const [, userCode = ''] = /enter the code {2}(\S+)/.exec(login.stderr()) ?? [];
  const { status } = await account.call('POST', `/api/device/${userCode}/approve?project=${account.project}`, { role: 'member' });
  assert.ok(status < 300, String(status));
  const ended = await login.ended;
  assert.equal(ended.code, 0, ended.stderr);
  const whoami = JSON.parse(await ok(cli, 'whoami', '--json'));
  assert.equal(whoami.email, account.email);
  assert.equal(whoami.project.role, 'member');
  assert.match(await ok(cli, 'regions'), /local +This machine/);
});

test('adds a tunnel, connects it, serves a visitor, checks it with the doctor, and deletes it', async (t) => {
  const { product, account, cli } = await world(t);
  const upstream = await startUpstream(t);
  assert.match(await ok(cli, 'tunnels', 'add', 'shop', '--generate-domain'), /Next: underpass connect shop/);
  await tunnelCreated(account, 'shop');
  const running = cli.start(['connect', 'shop', '--upstream', upstream]);
  await running.seen(/ connected /);
  const shop = JSON.parse(await ok(cli, 'tunnels', 'show', 'shop', '--json')) as Tunnel;
  const url = shop.ingressDomains[0]?.url ?? '';
  const page = await visit(product, url);
  assert.equal(page.status, 200);
  assert.match(page.text, /^hello from /);
  assert.match(await ok(cli, 'doctor', 'shop', '--upstream', upstream), /ok {4}token/);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
  assert.match(await ok(cli, 'tunnels', 'rm', 'shop', '--yes'), /Deleted shop/);
  const gone = await cli.run(['tunnels', 'show', 'shop']);
  assert.equal(gone.code, 6);
});

test('one command of a signed-out terminal signs in, opens a tunnel at the same address each time, and deletes it', async (t) => {
  const { product, account } = await world(t);
  const cli = await createCli(t, { UNDERPASS_SERVER: product.origin });
  const upstream = await startUpstream(t);
  const tunnels = async () => {
    const { body } = await account.call<Tunnel[]>('GET', `/api/tunnels?project=${account.project}`);
    return body.filter(({ name }) => name !== 'first');
  };
  const first = cli.start(['http', upstream]);
  t.after(() => first.signal('SIGTERM'));
  await first.seen(/enter the code {2}\S+/);
  const [, userCode = ''] = /enter the code {2}(\S+)/.exec(first.stderr()) ?? [];
  await account.call('POST', `/api/device/${userCode}/approve?project=${account.project}`, { role: 'member' });
  await first.seen(/ opened urls=\S+[\s\S]* connected /);
  const [, url = ''] = / opened urls=(\S+)/.exec(first.stdout()) ?? [];
  const page = await visit(product, url);
  assert.deepEqual([page.status, page.text.startsWith('hello from ')], [200, true]);
  const [tunnel] = await tunnels();
  assert.ok(Date.parse(tunnel?.expiresAt ?? '') > Date.now());
  assert.match(await ok(cli, 'tunnels', 'list'), /onnected \(temporary\)/);
  first.signal('SIGINT');
  assert.equal((await first.ended).code, 0, first.stderr());
  assert.deepEqual(await tunnels(), []);

  const folder = join(cli.home, 'site');
  await mkdir(folder);
  await writeFile(join(folder, 'index.html'), 'a page');
  const second = cli.start(['http', upstream, '--json']);
  const served = cli.start(['serve', 'site', '--json']);
  const openedBy = async (running: typeof second): Promise<{ readonly tunnel: string; readonly urls: readonly string[] }> => {
    await running.seen(/"connected"/);
    return JSON.parse(running.stdout().split('\n')[0] ?? '');
  };
  assert.deepEqual((await openedBy(second)).urls, [url]);
  const site = await openedBy(served);
  assert.equal((await visit(product, site.urls[0] ?? '')).text, 'a page');
  assert.doesNotMatch(await ok(cli, 'tunnels', 'keep', site.tunnel), /Temporary/);
  second.signal('SIGTERM');
  served.signal('SIGTERM');
  assert.deepEqual([(await second.ended).code, (await served.ended).code], [0, 0]);
  assert.deepEqual(
    (await tunnels()).map(({ name }) => name),
    [site.tunnel],
  );
});

test('the printed snippet of the cli tab connects the tunnel when a shell runs it', async (t) => {
  const { product, account, cli } = await world(t);
  await ok(cli, 'tunnels', 'add', 'shop', '--generate-domain');
  await tunnelCreated(account, 'shop');
  const snippet = await ok(cli, 'connect', 'shop', '--print', 'cli', '--upstream', await startUpstream(t));
  const words = spawnSync('sh', ['-c', `underpass() { printf '%s\\n' "$@"; }\n${snippet}`], {
    env: { HOME: cli.home, PATH: process.env.PATH },
    encoding: 'utf8',
  });
  const running = cli.start(words.stdout.trim().split('\n'));
  await running.seen(/ connected /);
  const { ingressDomains } = JSON.parse(await ok(cli, 'tunnels', 'show', 'shop', '--json')) as Tunnel;
  assert.equal((await visit(product, ingressDomains[0]?.url ?? '')).status, 200);
  running.signal('SIGTERM');
  await running.ended;
});

test('underpass ingress refuses the token of an http tunnel and names the right command', async (t) => {
  const { account, cli } = await world(t);
  await ok(cli, 'tunnels', 'add', 'shop', '--generate-domain');
  await tunnelCreated(account, 'shop');
  const { body } = await account.call('GET', `/api/tunnels/shop?project=${account.project}`);
  const { url, token } = body as Tunnel;
  const env = { UNDERPASS_TOKEN: token ?? '' };
  const running = cli.start(['ingress', '--url', url, '--upstream', '127.0.0.1'], { env });
  await running.seen(/code=wrong-type .*: shop is an http tunnel\. Use "underpass http"/);
  running.signal('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('manages domains and groups, and shows why the server refuses a change', async (t) => {
  const { account, cli } = await world(t);
  assert.match(await ok(cli, 'domains', 'add', 'example.com'), /underpass-domain-verify=/);
  const invalid = await cli.run(['domains', 'add', 'a_b.example.com']);
  assert.equal(invalid.code, 7);
  assert.match(invalid.stderr, /Domain must be a valid apex domain/);
  assert.match(await ok(cli, 'domains', 'list'), /example\.com +Unverified/);
  await ok(cli, 'domains', 'rm', 'example.com', '--yes');

  await ok(cli, 'groups', 'add', 'office', '--allow', '192.0.2.0/24');
  assert.match(await ok(cli, 'groups', 'set', 'office', '--add', '2001:db8::/32'), /2001:db8::\/32/);
  assert.match((await cli.run(['groups', 'set', 'office', '--allow', '300.0.0.1'])).stderr, /Please enter a valid IP\/CIDR\./);
  await ok(cli, 'tunnels', 'add', 'shop', '--generate-domain');
  await tunnelCreated(account, 'shop');
  await ok(cli, 'tunnels', 'update', 'shop', '--group', 'office');
  const inUse = await cli.run(['groups', 'rm', 'office', '--yes']);
  assert.equal(inUse.code, 7);
  assert.match(inUse.stderr, /shop/);
});

test('a viewer can neither see a token nor change anything', async (t) => {
  const { product, account, cli } = await world(t);
  await ok(cli, 'tunnels', 'add', 'shop', '--generate-domain');
  const env = { UNDERPASS_API_TOKEN: await product.createApiToken(account, 'viewer') };
  const printed = await cli.run(['connect', 'shop', '--print', 'cli'], { env });
  assert.equal(printed.code, 5);
  assert.match(printed.stderr, /code: token-hidden/);
  assert.equal((await cli.run(['tunnels', 'rm', 'shop', '--yes'], { env })).code, 5);
});

test('the installer of the server installs its release, which updates itself only to signed releases', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-e2e-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const key = generateKeyPairSync('ed25519').privateKey;
  const env = { ...process.env, UNDERPASS_RELEASE_KEY: key.export({ type: 'pkcs8', format: 'pem' }).toString() };
  buildRelease(folder, env);
  const { product, cli } = await world(t, { UNDERPASS_RELEASES: folder });
  const script = await (await fetch(`${product.origin}/install.sh`)).text();
  const shell = { env: { HOME: cli.home, PATH: process.env.PATH ?? '' } };
  const installing = run('sh', ['-c', script], shell);
  assert.match((await installing).stdout, /next: .*login --server/);
  const program = join(cli.home, '.local/bin/underpass');
  assert.equal((await run(program, ['--version'])).stdout.trim(), version);
  const update = () => run(program, ['update', '--json'], { env: { HOME: cli.home, UNDERPASS_SERVER: product.origin } });
  await offerNext(folder, program, generateKeyPairSync('ed25519').privateKey);
  await assert.rejects(update(), /release-untrusted/);
  await offerNext(folder, program, key);
  assert.deepEqual(JSON.parse((await update()).stdout), { version, newest: '99.0.0', updated: true });
});

/** Publishes the same program as version 99.0.0, signed with the key. */
async function offerNext(folder: string, program: string, key: KeyObject): Promise<void> {
  const next = join(folder, '99.0.0');
  const name = `underpass-99.0.0-${platform}`;
  await mkdir(next, { recursive: true });
  await copyFile(program, join(next, name));
  const digest = createHash('sha256')
    .update(await readFile(program))
    .digest('hex');
  const sums = `${digest}  ${name}\n`;
  await writeFile(join(next, 'SHA256SUMS'), sums);
  await writeFile(join(next, 'SHA256SUMS.sig'), sign(null, Buffer.from(sums), key).toString('base64'));
}
