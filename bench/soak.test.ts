import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startProcess } from '@underpass/tests/helpers/process.ts';

test('a short soak fails no request, restarts an edge and a client, and prints the growth of every figure', async (t) => {
  const soak = startProcess(t, ['bench/soak.ts', '--minutes', '0.1', '--every', '0.5']);
  await once(soak.child, 'close');
  const text = soak.text();
  for (const kind of [
    'small HTTP/1.1',
    'small HTTP/2',
    'WebSocket',
    'upload of 1 MB',
    'server-sent events',
    'changes',
    'restarts',
  ])
    assert.match(text, new RegExp(`\\| ${kind} \\| [1-9]\\d* \\| \\d+ \\| 0 \\|`));
  for (const process of ['control', 'edge', 'client'])
    for (const figure of ['heap and buffers', 'anonymous memory', 'resident memory', 'descriptors'])
      assert.match(text, new RegExp(`\\| ${process}: ${figure}`));
  assert.match(text, /\| home folders/);
  assert.equal(soak.child.exitCode, 0, text);
});
