// Programs that start the command and wait for its address, each as that program does it: DDEV's share provider, the client beside a
// container, and Playwright's web server.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { Tunnel } from '@underpass/rules/entity/entity.ts';
import { parse } from 'yaml';
import { makeTunnel } from '../helpers/dashboard.ts';
import { type Account, startProduct } from '../helpers/product.ts';
import { root } from '../helpers/release-build.ts';
import { visit } from '../helpers/visitor.ts';

const run = promisify(execFile);

async function world(t: TestContext) {
  const product = await startProduct(t);
  const account = await product.signIn();
  const home = await mkdtemp(join(tmpdir(), 'underpass-tools-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  await writeFile(join(home, 'underpass'), `#!/bin/sh\nexec '${process.execPath}' '${root}/client/main.mjs' "$@"\n`, {
    mode: 0o755,
  });
  const env = {
    HOME: home,
    PATH: [home, process.env.PATH].join(delimiter),
    UNDERPASS_SERVER: product.origin,
    UNDERPASS_API_TOKEN: await product.createApiToken(account),
    NODE_EXTRA_CA_CERTS: product.caPath,
  };
  return { product, account, home, env };
}

/** The page of a tunnel, for a visitor who trusts the local authority. */
async function pageOf(url: string, caPem: string): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const { status, text } = await visit({ host, port: Number(port), caPem });
  assert.equal(status, 200, text);
  return text;
}

async function startService(t: TestContext): Promise<string> {
  const server = createServer((_, response) => response.end('from the service')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function start(t: TestContext, program: string, argv: readonly string[], env: Record<string, string>) {
  const child = spawn(program, argv, { cwd: env.HOME, env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  const output = createInterface(child.stdout).on('line', (line) => lines.push(line));
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, lines, errors }));
  const line = async (): Promise<string> => {
    const first = await Promise.race([once(output, 'line').then(([text]) => String(text)), ended]);
    return typeof first === 'string' ? first : assert.fail(`ended with ${first.code}: ${first.errors}`);
  };
  return { line, ended, kill: () => child.kill('SIGTERM') };
}

async function quickTunnels({ call, project }: Account): Promise<readonly string[]> {
  const { body } = await call<Tunnel[]>('GET', `/api/tunnels?project=${project}`);
  return body.filter(({ expiresAt }) => expiresAt !== undefined).map(({ name }) => name);
}

test('tools start the command and get an address that works at once', async (t) => {
  const { product, account, home, env } = await world(t);
  const service = await startService(t);

  await t.test('ddev share reads it from the first line, and ends the provider', async (t) => {
    const more = { DDEV_LOCAL_URL: service, DDEV_SHARE_ARGS: '--name ddev --for 2h' };
    const provider = start(t, join(root, 'deploy/ddev/underpass.sh'), [], { ...env, ...more });
    const url = await provider.line();
    assert.match(await pageOf(url, product.caPem), /from the service/);
    assert.deepEqual(await quickTunnels(account), ['ddev']);
    provider.kill();
    const { code, lines, errors } = await provider.ended;
    assert.deepEqual([code, lines], [0, [url]], errors);
    assert.deepEqual(await quickTunnels(account), []);
  });

  await t.test('the client beside a container says when visitors may come', async (t) => {
    const { url, token, ingressDomains } = await makeTunnel(account, 'beside');
    await writeFile(join(home, 'token'), token ?? '', { mode: 0o600 });
    const sidecar = parse(await readFile(join(root, 'deploy/compose/sidecar.yaml'), 'utf8'));
    const argv = (sidecar.services.underpass.command as string[]).map((word) =>
      word
        .replace(/\$\{UNDERPASS_URL:.*\}/, url)
        .replace('/run/secrets/underpass-token', join(home, 'token'))
        .replace('http://app:80', service),
    );
    const beside = start(t, 'underpass', [...argv, '--print', 'url'], env);
    assert.equal(new URL(await beside.line()).href, new URL(ingressDomains[0]?.url ?? '').href);
    assert.match(await pageOf(ingressDomains[0]?.url ?? '', product.caPem), /from the service/);
    beside.kill();
    assert.equal((await beside.ended).code, 0);
  });

  await t.test('Playwright keeps it for the tests', async () => {
    const page = await readFile(join(root, 'docs/dev-servers.md'), 'utf8');
    const [, config = ''] = /```js file=playwright\.config\.mjs\n([\s\S]*?)```/.exec(page) ?? [];
    const folder = join(home, 'playwright');
    await mkdir(folder);
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    await writeFile(join(folder, 'playwright.config.mjs'), config.replace('3000', new URL(service).port));
    await writeFile(join(folder, 'page.spec.mjs'), spec);
    const program = join(root, 'node_modules/.bin/playwright');
    const { stdout } = await run(program, ['test', '--reporter=line'], { cwd: folder, env, timeout: 60_000 });
    assert.match(stdout, /1 passed/);
    assert.deepEqual(await quickTunnels(account), []);
  });
});

const spec = `
import { request } from 'node:https';
import { expect, test } from '@playwright/test';

test('the page', async () => {
  const { hostname, port } = new URL(process.env.PUBLIC_URL);
  const answer = await new Promise((resolve, reject) => {
    const to = { host: '127.0.0.1', port, servername: hostname, headers: { host: hostname + ':' + port } };
    request(to, resolve).once('error', reject).end();
  });
  expect(answer.statusCode).toBe(200);
});
`;
