// TLS 1.2 sessions under other names. OpenSSL's client asks for that; Node's does not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createRig, regionHost, tunnelOf } from '@underpass/edge/fixture/rig.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

/** What `openssl s_client` prints when it sends one request under this name: of the session, and of the answer. */
async function ask(port: number, name: string, session: readonly string[]): Promise<string> {
  const args = ['s_client', '-connect', `127.0.0.1:${port}`, '-servername', name, '-tls1_2', '-ign_eof', ...session];
  const child = spawn(requireTool('openssl'), args, { timeout: 20_000 });
  child.stdin.on('error', () => {}).write(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
  let said = '';
  for (const output of [child.stdout, child.stderr]) output.setEncoding('latin1').on('data', (text: string) => (said += text));
  await new Promise((resolve) => child.once('close', resolve));
  return said;
}

test('no TLS 1.2 session resumes, and so none under another name', { skip: skipWithout('openssl') }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-session-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'session');
  await using rig = await createRig([tunnelOf('t'), tunnelOf('u')], { dashboard: { host: 'b.test', path: '/dev/null' } });
  const { https } = rig.edge.ports;
  assert.match(await ask(https, 't.tunnels.test', ['-sess_out', file]), /HTTP\/1\.1 503/);
  for (const name of ['t.tunnels.test', 'u.tunnels.test', regionHost, 'b.test']) {
    const said = await ask(https, name, ['-sess_in', file]);
    assert.match(said, /^New, TLSv1\.2/m, name);
    if (name !== 'b.test') assert.match(said, /HTTP\/1\.1 (503|400)/, name);
  }
});
