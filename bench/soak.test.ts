import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { startProcess } from '@underpass/tests/helpers/process.ts';

test('a soak of three seconds fails no request, restarts a client, prints every figure, and fails because the client leaks', async (t) => {
  const soak = startProcess(t, ['bench/soak.ts', '--minutes', '0.05', '--every', '0.25'], {
    NODE_OPTIONS: `--import ${join(import.meta.dirname, 'fixture/leaking-client.ts')}`,
  });
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
  assert.deepEqual(text.match(/^\| .*(memory|buffers|descriptors|folders).* GROWS ABOVE ITS BOUND/gm)?.length, 1, text);
  assert.match(text, /^\| client: descriptors.* GROWS ABOVE ITS BOUND/m);
  assert.equal(soak.child.exitCode, 1, text);
});
