import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createCli } from '../test-kit.ts';

test('import writes the file of the folder once, tells what comes next, and leaves the other file alone', async (t) => {
  const cli = await createCli(t);
  await writeFile(join(cli.home, 'frpc.ini'), '[web]\ntype = http\nlocal_port = 80\nhttp_pwd = a-secret\n');
  const first = await cli.run(['import', 'frpc.ini'], { cwd: cli.home });
  assert.deepEqual([first.code, first.stderr], [0, '']);
  assert.match(first.stdout, /web → http:\/\/127\.0\.0\.1:80\n/);
  assert.match(first.stdout, /underpass tunnels add web --generate-domain --access web\n/);
  assert.match(first.stdout, /line 4, web\.http_pwd: an access policy with a new password takes its place/);
  assert.match(await readFile(join(cli.home, 'underpass.yaml'), 'utf8'), /name: web\n/);
  const check = await cli.run(['check'], { cwd: cli.home });
  assert.equal(check.code, 0, check.stderr);
  const again = await cli.run(['import', 'frpc.ini'], { cwd: cli.home });
  assert.deepEqual([again.code, /it is there already/.test(again.stderr)], [3, true]);
  const shown = await cli.run(['import', 'frpc.ini', '--output', '-'], { cwd: cli.home });
  assert.match(shown.stdout, /^# Imported from frp\..*\ntunnels:\n/);
  const json = await cli.run(['import', 'frpc.ini', '--output', '-', '--json'], { cwd: cli.home });
  const { commands, leftOut } = JSON.parse(json.stdout) as { commands: string[]; leftOut: { line: number }[] };
  assert.deepEqual([commands.length, leftOut[0]?.line], [2, 4]);
});

test('import refuses what is no file of a known program, or has no tunnel to carry, and says why', async (t) => {
  const cli = await createCli(t);
  await writeFile(join(cli.home, 'other.yml'), 'services: {}\n');
  await writeFile(join(cli.home, 'ngrok.yml'), 'tunnels:\n  "ssh\\e[2J": {proto: tcp, addr: 22}\n');
  const other = await cli.run(['import', 'other.yml'], { cwd: cli.home });
  assert.deepEqual([other.code, /--from: ngrok, cloudflared, frp/.test(other.stderr)], [3, true]);
  const empty = await cli.run(['import', 'ngrok.yml'], { cwd: cli.home });
  assert.deepEqual([empty.code, /line 2, tunnels\.ssh\?\[2J: the region chooses/.test(empty.stderr)], [3, true]);
  const missing = await cli.run(['import', 'missing.yml'], { cwd: cli.home });
  assert.deepEqual([missing.code, /no such file/.test(missing.stderr)], [3, true]);
});
