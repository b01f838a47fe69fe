import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../edges/feed/test-kit.ts';
import { startBackground } from './background.ts';

test('repeats each work, never twice at once, after a failure too, until it is stopped', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const runs: string[] = [];
  let finish = (): void => {};
  const failures: unknown[] = [];
  const log = { ...silentLog, error: (_: unknown, text: string) => failures.push(text) } as unknown as typeof silentLog;
  const slow = () => {
    runs.push('slow');
    return new Promise<void>((resolve) => {
      finish = resolve;
    });
  };
  const failing = async () => {
    runs.push('failing');
    throw new Error('no');
  };
  const stop = startBackground(
    [
      { name: 'slow', everyMs: 10, run: slow, atStart: true },
      { name: 'failing', everyMs: 15, run: failing },
    ],
    log,
  );
  assert.deepEqual(runs, ['slow']);
  t.mock.timers.tick(10);
  assert.deepEqual(runs, ['slow'], 'the first run goes on');
  finish();
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(10);
  assert.deepEqual(runs, ['slow', 'failing', 'slow']);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(failures, ['failing: failed']);
  t.mock.timers.tick(10);
  assert.deepEqual(runs, ['slow', 'failing', 'slow', 'failing']);
  stop();
  finish();
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(100);
  assert.equal(runs.length, 4);
});
