// Each module costs a client that runs for months memory, and each command time: a command line loads only what it uses.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startFakeEdge } from './carry/fixture/edge.ts';
import { accountRoutes, startFakeApi } from './test-kit.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

async function loadedBy(t: TestContext, argv: readonly string[], env: Record<string, string> = {}): Promise<readonly string[]> {
  const home = await mkdtemp(join(tmpdir(), 'underpass-modules-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  await writeFile(join(home, 'token'), 'secret\n', { mode: 0o600 });
  const files = ['--import', join(root, 'client/fixture/record-modules.mjs'), join(root, 'client/underpass.ts')];
  const child = spawn(process.execPath, [...files, ...argv], { cwd: home, env: { PATH: process.env.PATH, HOME: home, ...env } });
  t.after(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
    if (!child.killed && / connected /.test(stdout)) child.kill('SIGTERM');
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', resolve));
  const line = stderr.split('\n').find((text) => text.startsWith('{"loaded":'));
  assert.ok(code === 0 && line !== undefined, `${argv.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  return (JSON.parse(line) as { loaded: string[] }).loaded.filter((name) => name !== 'client/fixture/record-modules.mjs');
}

/** The files beside which a client that carries a tunnel needs none. */
const carries =
  /^client\/(underpass|cli)\.ts$|^client\/(process|terminal|config|tunnels|carry)\/|^client\/package\.json$|^runtime\/[^/]+$|^wire\/((core|path(\/core)?|session|socket)\/)?[^/]+$|^rules\/((address|connect|names|screen|text|tunnel)\/)?[^/]+$/;
const carryCommand = /^client\/command\/(carry|command-line|quick|quick-options)\.ts$/;
const accountCommand = /^client\/(account\/|command\/(connect|tunnels|tunnel-text)\.ts$)|^rules\/api\//;
/** commander loads child_process and util. */
const packages =
  /^node_modules\/commander\/|^node:(child_process|crypto|dns\/promises|events|fs|fs\/promises|net|os|path|process|tls|util)$/;

function assertLean(loaded: readonly string[], allowed: readonly RegExp[], mostSourceBytes: number): void {
  assert.deepEqual(
    loaded.filter((name) => !allowed.some((pattern) => pattern.test(name))),
    [],
    'load these with import() where they are used',
  );
  const own = loaded.filter((name) => /^(client|runtime|wire|rules)\//.test(name));
  const bytes = own.reduce((sum, name) => sum + statSync(join(root, name)).size, 0);
  assert.ok(bytes < mostSourceBytes, `${own.length} files, ${bytes} bytes`);
}

// The bounds leave some kilobytes above what is needed (403 and 475 kB). When every command was loaded it was 480 kB.
const carryArgs = ['--upstream', 'http://127.0.0.1:9'];

test('http loads the modules that carry a tunnel, and no others', async (t) => {
  await using edge = await startFakeEdge();
  const loaded = await loadedBy(t, ['http', '--url', edge.url, '--token-file', 'token', ...carryArgs]);
  assert.ok(loaded.includes('client/carry/serve.ts'));
  assertLean(loaded, [carries, carryCommand, packages], 407_000);
});

test('connect loads what http does, and the account', async (t) => {
  await using edge = await startFakeEdge();
  const tunnel = { id: 't1', name: 'shop', type: 'http', url: edge.url, token: 'secret', status: 'Created', ingressDomains: [] };
  const { origin } = await startFakeApi(t, { ...accountRoutes, 'GET /api/tunnels/shop': { body: tunnel } });
  const env = { UNDERPASS_SERVER: origin, UNDERPASS_API_TOKEN: 'token' };
  const loaded = await loadedBy(t, ['connect', 'shop', ...carryArgs], env);
  assert.ok(loaded.includes('client/account/api.ts'));
  assertLean(loaded, [carries, carryCommand, accountCommand, packages], 479_000);
});

test('--version loads no command but version', async (t) => {
  const loaded = await loadedBy(t, ['--version']);
  assert.deepEqual(
    loaded.filter((name) => name.startsWith('client/command/')),
    ['client/command/version.ts', 'client/command/command-line.ts'],
  );
});
