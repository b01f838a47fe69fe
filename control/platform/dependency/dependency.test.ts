import assert from 'node:assert/strict';
import { it } from 'node:test';
import { pino } from 'pino';
import { Dependency } from './dependency.ts';

function open() {
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line).msg) });
  const time = { nowMs: 1_000 };
  return { lines, time, bus: new Dependency('bus', { clock: () => time.nowMs, log }) };
}

it('says since when a dependency does not answer, and keeps the last error after it is back', () => {
  const { bus, time } = open();
  time.nowMs = 2_000;
  bus.failed(new Error('refused'));
  time.nowMs = 3_000;
  bus.failed(new Error('timeout'));
  assert.deepEqual(bus.state, { name: 'bus', answers: false, sinceMs: 2_000, lastError: 'timeout' });
  time.nowMs = 4_000;
  bus.answered();
  assert.deepEqual(bus.state, { name: 'bus', answers: true, sinceMs: 4_000, lastError: 'timeout' });
});

it('logs each change once', () => {
  const { bus, lines } = open();
  bus.answered();
  bus.failed('one');
  bus.failed('two');
  bus.answered();
  bus.answered();
  assert.deepEqual(lines, ['bus: does not answer', 'bus: answers again']);
});

it('cuts the text of a long error', () => {
  const { bus } = open();
  bus.failed(new Error('x'.repeat(5_000)));
  assert.equal(bus.state.lastError?.length, 200);
});
