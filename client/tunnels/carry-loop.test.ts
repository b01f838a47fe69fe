import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import { createProcessIo } from '../process/process-io.ts';
import { createOutput } from '../terminal/output.ts';
import { carryUntilStopped } from './carry-loop.ts';

const loaded = (name: string): LoadedTunnel => ({
  config: {
    name,
    url: 'https://edge.invalid',
    token: { kind: 'value', token: 'secret' },
    upstreams: { type: 'http', list: [] },
    upstreamInsecure: false,
  },
  token: 'secret',
});

test('a slow reload does not undo a later one', async () => {
  const text: string[] = [];
  const listeners = new Map<string, () => void>();
  const stdout = { write: (line: string) => void text.push(line), isTTY: false, columns: () => 80, rows: () => 24 };
  const io = {
    ...createProcessIo({}),
    stdout: { ...stdout, onResize: () => () => {} },
    onSignal: (signal: string, listener: () => void) => {
      listeners.set(signal, listener);
      return () => {};
    },
  };
  const slow = Promise.withResolvers<readonly LoadedTunnel[]>();
  const readings = [slow.promise, Promise.resolve([loaded('newest')])];
  const reload = () => readings.shift() ?? Promise.reject(new Error('a third reload'));
  const ended = carryUntilStopped(io, { output: createOutput(io, false), tunnels: [loaded('first')], reload });
  while (!listeners.has('SIGHUP')) await new Promise(setImmediate);
  listeners.get('SIGHUP')?.();
  listeners.get('SIGHUP')?.();
  await new Promise(setImmediate);
  slow.resolve([loaded('older')]);
  while (text.filter((line) => line.includes('reloaded')).length < 2) await new Promise(setImmediate);
  listeners.get('SIGTERM')?.();
  assert.equal(await ended, 0);
  assert.match(text.filter((line) => line.includes('reloaded')).at(-1) ?? '', /started newest; stopped older/);
});
