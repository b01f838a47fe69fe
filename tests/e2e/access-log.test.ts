// The access log in the programs that read it: an edge writes what visitors and an attacker cause, and each program, with the
// rules that it ships with, sees every request, the right addresses, and nothing that the attacker made up.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { AccessFormat } from '@underpass/edge/core/access-line.ts';
import { createRig, readAll, tunnelOf } from '@underpass/edge/fixture/rig.ts';
import { requireTool, skipWithout } from '../helpers/tool.ts';

const host = 'shop.tunnels.test';
const forged = '198.51.100.66 - - [27/Nov/2026:00:00:00 +0000] "GET /forged HTTP/1.1" 200 1 "-" "-"';

const requests = [
  `GET /phpmyadmin/ HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: curl/8\r\nConnection: close\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: EmailCollector\r\nConnection: close\r\n\r\n`,
  `GET /q?a=\\ HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: x" "y\\\r\nConnection: close\r\n\r\n`,
  `GET /n HTTP/1.1\r\nHost: ${host}\r\nReferer: \xe2\x80\xa8" 200 0 "-" "${forged}\r\nConnection: close\r\n\r\n`,
  `GET /\n${forged}\r\n\r\n`,
];

/** The path of a log of these requests. */
async function writeLog(t: TestContext, format: AccessFormat): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'underpass-access-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'access.log');
  await using rig = await createRig([tunnelOf('shop')], { accessLog: { path, format } });
  await rig.client('shop', (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'));
  });
  for (const request of requests) {
    const visitor = await rig.visit(host);
    visitor.end(Buffer.from(request, 'latin1'));
    await readAll(visitor);
  }
  await rig.edge.drain(5_000);
  assert.match(await readFile(path, 'latin1'), /^[ -~\n]+$/);
  return path;
}

function run(tool: Parameters<typeof requireTool>[0], ...args: string[]): string {
  const { stdout, stderr, error } = spawnSync(requireTool(tool), args, { encoding: 'utf8', timeout: 60_000 });
  assert.ifError(error);
  return `${stdout}${stderr}`;
}

describe('the access log is read', () => {
  const filters = [
    ['nginx-botsearch', 'a search for phpMyAdmin'],
    ['apache-badbots', 'a collector of mail addresses'],
    ['nginx-bad-request', 'a head that is none'],
  ] as const;
  it('by fail2ban with its own filters', { skip: skipWithout('fail2ban-regex') }, async (t) => {
    const path = await writeLog(t, 'combined');
    for (const [filter, what] of filters) {
      const report = run('fail2ban-regex', '--print-all-matched', path, filter);
      assert.match(report, /Lines: 5 lines, 0 ignored, 1 matched/, `${filter} finds ${what}: ${report}`);
      assert.match(report, /\|\s+127\.0\.0\.1 - - \[/);
    }
  });

  for (const [format, name] of [
    ['combined', 'COMBINED'],
    ['vhost_combined', 'VCOMBINED'],
  ] as const)
    it(`by GoAccess as ${name}`, { skip: skipWithout('goaccess') }, async (t) => {
      const path = await writeLog(t, format);
      const report = `${path}.json`;
      run('goaccess', path, `--log-format=${name}`, '-o', report, '--no-global-config');
      const { general, hosts, vhosts } = JSON.parse(await readFile(report, 'utf8'));
      assert.deepEqual([general.total_requests, general.failed_requests], [5, 0]);
      assert.deepEqual(
        hosts.data.map(({ data }: { data: string }) => data),
        ['127.0.0.1'],
      );
      if (format === 'vhost_combined') assert.ok(vhosts.data.some(({ data }: { data: string }) => data === host));
    });
});
