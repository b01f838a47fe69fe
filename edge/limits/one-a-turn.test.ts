import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { OneATurn } from './one-a-turn.ts';

test('callers continue one in each turn, in order of arrival, and an empty queue starts again', async () => {
  const turns = new OneATurn();
  const done: string[] = [];
  const enter = (name: string): void => void turns.next().then(() => done.push(name));
  for (const name of 'abc') enter(name);
  const seen: string[] = [];
  for (let turn = 0; turn < 5; turn++) {
    await nextTurn();
    seen.push(done.join(''));
  }
  assert.deepEqual(seen, ['a', 'ab', 'abc', 'abc', 'abc']);
  enter('d');
  await nextTurn();
  assert.equal(done.join(''), 'abcd');
});
