// The first start as a new user sees it: the process that `npm start` runs, and the printed lines, pasted into a shell.

import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePorts } from '../helpers/port.ts';
import { requireTool } from '../helpers/tool.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const shell = promisify(execFile);
/** The limit for the whole process when idle. */
const mostRestMb = 200;

/** Resolves with the output once it contains the text; rejects if the process ends first. */
function printed(child: ChildProcess, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer): void => {
      output += chunk;
      if (output.includes(text)) resolve(output);
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${output}`)));
  });
}

const lineWith = (output: string, start: string): string =>
  output
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line.startsWith(start)) ?? assert.fail(`no line starts with ${start}`);

/** Kills the whole process group: npx runs its command as a child. */
async function stop(child: ChildProcess | undefined): Promise<void> {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await ended;
}

describe('the first start', () => {
  let home: string;
  let upstream: Server;
  let server: ChildProcess;
  let client: ChildProcess | undefined;
  let output: string;
  let env: NodeJS.ProcessEnv;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'underpass-first-run-'));
    upstream = createServer((_, response) => response.end('hello from port 3000')).listen(0, '127.0.0.1');
    await once(upstream, 'listening');
    const [control, https, http] = await freePorts(3);
    const ports = {
      UNDERPASS_PORT: String(control),
      UNDERPASS_EDGE_HTTPS_PORT: String(https),
      UNDERPASS_EDGE_HTTP_PORT: String(http),
    };
    env = { ...process.env, ...ports, UNDERPASS_HOME: join(home, 'a folder') };
    await mkdir(env.UNDERPASS_HOME ?? '', { mode: 0o755 });
    server = spawn(process.execPath, ['server/main.ts', 'start'], { cwd: root, env, detached: true });
    output = await printed(server, 'Stop with Ctrl+C');
  });
  after(async () => {
    await stop(client);
    await stop(server);
    upstream.close();
    await rm(home, { recursive: true, force: true });
  });

  test('the printed lines, pasted into a shell, serve a local port at a public name', async () => {
    const { port } = upstream.address() as AddressInfo;
    const carry = lineWith(output, 'npx underpass http ').replace('127.0.0.1:3000', `127.0.0.1:${port}`);
    client = spawn('sh', ['-c', `exec ${carry}`], { cwd: root, env, detached: true });
    await printed(client, 'connected');
    requireTool('curl');
    const { stdout } = await shell('sh', ['-c', lineWith(output, 'curl ')], { cwd: root, env });
    assert.equal(stdout, 'hello from port 3000');
  });

  test('the printed link signs the operator in once', async () => {
    const link = new URL(/https?:\/\/\S+\/magiclink\/\S+/.exec(output)?.[0] ?? '');
    const body = (): URLSearchParams => new URLSearchParams({ token: link.pathname.split('/').pop() ?? '' });
    const redeem = () => fetch(new URL('/auth/login', link), { method: 'POST', headers: { origin: link.origin }, body: body() });
    const first = await redeem();
    assert.ok(first.ok);
    const cookie = first.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    const user = await fetch(new URL('/api/user', link), { headers: { cookie } });
    assert.equal(((await user.json()) as { operator: boolean }).operator, true);
    assert.equal((await redeem()).ok, false);
  });

  test('the printed command makes another link while the server runs', async () => {
    const command = /another one: (npx [^)]+)\)/.exec(output)?.[1] ?? '';
    const { stdout } = await shell('sh', ['-c', command], { cwd: root, env });
    assert.match(stdout, /\/magiclink\/[\w-]{43}\n$/);
  });

  test('only the owner can read the files of the server, even in a folder that others can enter', {
    skip: process.platform === 'win32' ? 'file modes need POSIX' : false,
  }, async () => {
    const names = await readdir(env.UNDERPASS_HOME ?? '', { recursive: true });
    assert.ok(names.includes('underpass.db'), names.join());
    for (const name of names) {
      // A temporary file may be renamed between readdir and stat.
      const file = await stat(join(env.UNDERPASS_HOME ?? '', name)).catch(() => null);
      if (file !== null) assert.equal(file.mode & 0o077, 0, name);
    }
  });

  test(`the whole process uses less than ${mostRestMb} MB when idle`, {
    skip: process.platform === 'linux' ? false : 'reads /proc',
  }, async () => {
    const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
    const megabytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    assert.ok(megabytes < mostRestMb, `${Math.round(megabytes)} MB`);
  });

  test('stops on SIGTERM within seconds while a client is connected', async () => {
    const start = performance.now();
    server.kill('SIGTERM');
    const [code] = await once(server, 'exit');
    assert.equal(code, 0);
    assert.ok(performance.now() - start < 20_000, 'an unfinished drain would take 30 s');
  });
});
