// A server whose log nobody reads.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePorts } from '../helpers/port.ts';

const main = fileURLToPath(new URL('../../server/main.ts', import.meta.url));
/** More than a pipe holds: each makes a line of some 250 bytes. */
const requests = 3_000;

test('answers every request while nobody reads its log, and then says how many lines it dropped', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'underpass-log-'));
  const env = { ...process.env, UNDERPASS_HOME: home, UNDERPASS_LOG: 'debug', UNDERPASS_EDGE_WORKERS: '1' };
  const [port = 0] = await freePorts(1);
  const origin = `http://127.0.0.1:${port}`;
  const ports = { UNDERPASS_PORT: String(port), UNDERPASS_EDGE_HTTPS_PORT: '0', UNDERPASS_EDGE_HTTP_PORT: '0' };
  const server = spawn(process.execPath, [main, 'start'], { env: { ...env, ...ports }, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(async () => {
    server.kill('SIGKILL');
    await rm(home, { recursive: true, force: true });
  });
  server.stderr.pause();
  await once(server.stdout, 'data');
  for (let sent = 0; sent < requests; sent += 50) {
    const signal = AbortSignal.timeout(10_000);
    const answers = Array.from({ length: 50 }, () => fetch(`${origin}/api/user`, { signal }).then((each) => each.arrayBuffer()));
    await Promise.all(answers);
  }
  let log = '';
  for await (const text of server.stderr.setEncoding('utf8')) {
    log += text;
    if (/"dropped":\d+/.test(log)) break;
  }
  assert.ok(
    log
      .split('\n')
      .slice(0, -1)
      .every((line) => line.startsWith('{')),
    'every line is whole',
  );
  server.kill('SIGTERM');
  await once(server, 'exit');
});
