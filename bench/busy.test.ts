import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess } from '@underpass/tests/helpers/process.ts';

/** Running, not a zombie that its new parent has yet to reap. */
function runs(pid: string): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}

test('the busy processes end with a benchmark that is killed', { timeout: 20_000 }, async (t) => {
  const file = `${import.meta.dirname}/busy.ts`;
  const script = `(await import('${file}')).startBusyProcesses(2); console.log('started'); setInterval(() => {}, 1000);`;
  const { child } = startProcess(t, ['--input-type=module', '-e', script]);
  await once(child.stdout!, 'data');
  const busy = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'latin1').trim().split(' ');
  assert.equal(busy.length, 2);
  t.after(() => {
    for (const pid of busy.filter(runs)) process.kill(Number(pid), 'SIGKILL');
  });
  child.kill('SIGKILL');
  while (busy.some(runs)) await sleep(50, undefined, { signal: t.signal });
});
