import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { everMoreRarely, nextPauseMs, startRounds } from './use-again.ts';

const page = Object.assign(new EventTarget(), { hidden: false });
let checks = 0;
let stop = () => {};

beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout'] });
  page.hidden = false;
  checks = 0;
  Object.assign(globalThis, { document: page, window: page });
  stop = startRounds(() => checks++, everMoreRarely);
});
afterEach(() => {
  stop();
  mock.timers.reset();
  for (const name of ['document', 'window']) Reflect.deleteProperty(globalThis, name);
});

function after(ms: number): number {
  for (let passed = 0; passed < ms; passed += 1_000) mock.timers.tick(1_000);
  return checks;
}
function show(visible: boolean) {
  page.hidden = !visible;
  page.dispatchEvent(new Event('visibilitychange'));
}

test('checks again after growing pauses, at last every five minutes', () => {
  assert.deepEqual([after(12_000), after(1_000), after(20_000), after(1_000)], [0, 1, 1, 2]);
  after(3600_000);
  const before = checks;
  assert.equal(after(600_000) - before, 2);
});

test('stops while the page is hidden, and checks at once when it is shown, or online again', () => {
  show(false);
  page.dispatchEvent(new Event('online'));
  assert.equal(after(3600_000), 0);
  show(true);
  assert.deepEqual([checks, after(13_000)], [1, 2]);
  page.dispatchEvent(new Event('online'));
  assert.equal(checks, 3);
});

test('checks nothing after its end', () => {
  stop();
  show(false);
  show(true);
  assert.equal(after(3600_000), 0);
});

test('ends from within a round', () => {
  stop();
  stop = startRounds(() => {
    checks++;
    stop();
  }, everMoreRarely);
  assert.equal(after(3600_000), 1);
  show(false);
  show(true);
  assert.equal(checks, 1);
});

test('pauses of tries double up to half a minute, spread by a quarter each way', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 50].map((failures) => nextPauseMs(failures, 0.5)),
    [2000, 4000, 8000, 16_000, 30_000, 30_000],
  );
  assert.deepEqual([nextPauseMs(0, 0), nextPauseMs(0, 1)], [1500, 2500]);
});

test('waits at least as long as the server asks', () => assert.equal(nextPauseMs(0, 0.5, 60), 60_000));
