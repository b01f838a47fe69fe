// A log that nobody reads: no call waits, and what was dropped is counted.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogOutput } from './log-output.ts';

/** A pipe with room for so many bytes. */
function openPipe(room: number) {
  const pipe = { room, text: '' };
  const write = (bytes: Buffer): number => {
    if (pipe.room === 0) throw Object.assign(new Error('full'), { code: 'EAGAIN' });
    const taken = bytes.subarray(0, pipe.room);
    pipe.room -= taken.length;
    pipe.text += taken.toString();
    return taken.length;
  };
  return { pipe, output: createLogOutput(write) };
}

test('writes each line at once while the reader keeps up', () => {
  const { pipe, output } = openPipe(1_000);
  output.write('one\n');
  output.write('two\n');
  assert.equal(pipe.text, 'one\ntwo\n');
});

test('drops whole lines while nobody reads, and says how many when the log flows again', (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'] });
  const { pipe, output } = openPipe(6);
  for (const line of ['one\n', 'two\n', 'three\n', 'four\n']) output.write(line);
  assert.equal(pipe.text, 'one\ntw');
  pipe.room = 1_000;
  t.mock.timers.tick(1_000);
  const notice = `{"level":40,"time":1000,"dropped":2,"msg":"log: 2 lines were dropped, because nobody read the log"}\n`;
  assert.equal(pipe.text, `one\ntwo\n${notice}`);
  output.write('five\n');
  assert.equal(pipe.text, `one\ntwo\n${notice}five\n`);
});

test('counts on while the notice itself finds no room', () => {
  const { pipe, output } = openPipe(0);
  output.write('one\n');
  output.write('two\n');
  pipe.room = 1_000;
  output.write('three\n');
  assert.match(pipe.text, /^\{.*"dropped":2.*\}\nthree\n$/);
});
