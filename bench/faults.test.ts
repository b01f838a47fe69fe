import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startProcess } from '@underpass/tests/helpers/process.ts';
import { skipWithout } from '@underpass/tests/helpers/tool.ts';

test('behind a balancer a killed control and a killed edge fail no request after 2 s and lose no change', {
  skip: skipWithout('postgres', 'nats-server', 'haproxy', 'pebble'),
}, async (t) => {
  const faults = startProcess(t, ['bench/faults.ts', '--rows', 'kill-control,kill-edge', '--down', '3']);
  await once(faults.child, 'close');
  assert.equal(faults.child.exitCode, 0, faults.text());
});
