import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { skipWithoutFarMachine } from '@underpass/tests/helpers/network.ts';
import { startProcess } from '@underpass/tests/helpers/process.ts';
import { skipWithout } from '@underpass/tests/helpers/tool.ts';

const skip = skipWithoutFarMachine() || skipWithout('haproxy', 'nginx', 'openssl');
const shortRun = ['bench/main.ts', '--distance', '--congestion', 'reno', '--round-trips', '20', '--losses', '0', '--rounds', '1'];
const two = ['--seconds', '0.5', '--silence', '0', '--peers', 'underpass,haproxy,nginx'];

for (const [carries, cases, figures] of [
  ['https', 'api,spell,visitors', 11],
  ['tcp', 'page,bulk', 7],
] as const) {
  test(`each case of a long path has its figures for each peer: ${carries}`, { skip, timeout: 180_000 }, async (t) => {
    const bench = startProcess(t, [...shortRun, ...two, '--carries', carries, '--cases', cases]);
    await once(bench.child, 'close');
    const rows = bench.text().match(/^\| 20 ms, 0 %: .*$/gm) ?? [];
    assert.deepEqual([rows.length, bench.child.exitCode], [figures, 0], bench.text());
    for (const row of rows) {
      const filled = row
        .split(' | ')
        .slice(1)
        .filter((cell) => /^[\d.,]+/.test(cell));
      assert.equal(filled.length, row.includes('far visitor') ? 3 : 2, row);
    }
  });
}

test('a killed bench leaves no process and no temporary file behind', { skip, timeout: 60_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const bench = startProcess(t, [...shortRun, '--cases', 'api', ...two, '--seconds', '60'], { TMPDIR: folder });
  const { pid } = bench.child;
  assert.ok(pid !== undefined);
  let begun: readonly string[] = [];
  // Wire, origins, edge and client are there once a visitor is.
  while (!begun.some((one) => commandOf(one).includes('distance-visitor'))) {
    await sleep(50, undefined, { signal: t.signal });
    begun = descendantsOf(String(pid));
  }
  assert.ok(begun.length > 8, begun.map(commandOf).join('\n'));
  bench.child.kill('SIGKILL');
  while (begun.some((one) => commandOf(one) !== '')) await sleep(50, undefined, { signal: t.signal });
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('underpass-bench')),
    [],
  );
});

function descendantsOf(pid: string): readonly string[] {
  const children = threadsOf(pid).flatMap((thread) => textOf(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean));
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

function threadsOf(pid: string): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return []; // it has ended
  }
}

/** Empty for a process that is gone, and for a zombie. */
const commandOf = (pid: string): string => textOf(`/proc/${pid}/cmdline`);

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    return '';
  }
}
