import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { freePorts } from './port.ts';

const many = 500;
const asked = process.argv.includes('asked');
if (asked) {
  process.once('disconnect', () => process.exit());
  process.send?.(await freePorts(many));
}

test('gives each port once, across parallel processes, even before a program opens it', {
  skip: asked,
}, async (t) => {
  const beside = fork(import.meta.filename, ['asked'], { stdio: 'ignore' });
  t.after(() => beside.kill('SIGKILL'));
  const [theirs] = (await once(beside, 'message')) as [number[]];
  const all = [...theirs, ...(await freePorts(many)), ...(await freePorts(many))];
  assert.equal(new Set(all).size, 3 * many);
});
