import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { type TestContext, test } from 'node:test';
import { takeSpareTime } from './spare-time.ts';

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

const prioritiesOf = (pid: number): number[] => readdirSync(`/proc/${pid}/task`).map((thread) => getPriority(Number(thread)));

/** Starts Node, which has several threads; returns once it runs. */
async function startProgram(t: TestContext): Promise<{ pid: number; end: () => void; began: Promise<unknown> }> {
  const child = spawn(process.execPath, ['-e', `console.log('on'); setInterval(() => {}, 1000)`]);
  t.after(() => child.kill('SIGKILL'));
  const end = takeSpareTime(child.pid);
  return { pid: child.pid ?? 0, end, began: once(child.stdout, 'data') };
}

test('a process that starts has a low priority, and then that of its parent with all its threads', {
  skip: isRoot ? false : 'only root may surely raise a priority',
}, async (t) => {
  const own = getPriority();
  const { pid, end, began } = await startProgram(t);
  await began;
  const starting = prioritiesOf(pid);
  assert.ok(starting.length > 2, `${starting.length} threads`);
  assert.deepEqual(new Set(starting), new Set([own + 10]));
  end();
  assert.deepEqual(new Set(prioritiesOf(pid)), new Set([own]));
});

test('nothing stays low, whatever the system allows', {
  skip: process.platform === 'linux' ? false : 'Linux alone',
}, async (t) => {
  const { pid, end, began } = await startProgram(t);
  await began;
  end();
  end();
  assert.deepEqual(new Set(prioritiesOf(pid)), new Set([getPriority()]));
});

test('a process that is gone, or was never there, is no error', async (t) => {
  takeSpareTime(undefined)();
  const { pid, end } = await startProgram(t);
  process.kill(pid, 'SIGKILL');
  end();
});
