import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../fixture/clock.ts';
import { TailProbe } from './tail-probe.ts';

function createProbe() {
  const clock = createFakeClock();
  const sentAtMs: number[] = [];
  const probe = new TailProbe(clock, () => void sentAtMs.push(clock.now()));
  const startMs = clock.now();
  return { clock, probe, sent: () => sentAtMs.map((ms) => ms - startMs) };
}

describe('the probe behind the last bytes', () => {
  it('is sent once, 8 to 16 ms after them', () => {
    const { clock, probe, sent } = createProbe();
    probe.written();
    clock.advance(7);
    assert.deepEqual(sent(), []);
    clock.advance(1_000);
    assert.deepEqual(sent(), [16]);
  });

  it('waits while more is written', () => {
    const { clock, probe, sent } = createProbe();
    for (let at = 0; at < 100; at += 4) {
      probe.written();
      clock.advance(4);
    }
    assert.deepEqual(sent(), []);
    clock.advance(16);
    assert.equal(sent().length, 1);
  });

  it('is sent ten times a second at most', () => {
    const { clock, probe, sent } = createProbe();
    for (let at = 0; at < 1_000; at += 20) {
      probe.written();
      clock.advance(20);
    }
    assert.ok(sent().length >= 5 && sent().length <= 10, String(sent()));
  });

  it('is not sent once it was stopped', () => {
    const { clock, probe, sent } = createProbe();
    probe.written();
    probe.stop();
    clock.advance(1_000);
    assert.deepEqual(sent(), []);
  });
});
