// One live stream against a source that answers when the test says so: the order of events, and when the stream ends.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { setImmediate as settle } from 'node:timers/promises';
import { LiveStream } from './live-stream.ts';

const gatherMs = 500;

let all: PromiseWithResolvers<string>;
let moved: PromiseWithResolvers<string>[];
let readings: (readonly string[])[];
let ends: number;
let isHeard: boolean;
let move: (ids: readonly string[]) => void;

beforeEach(() => {
  mock.timers.enable({ apis: ['setInterval'] });
  all = Promise.withResolvers();
  moved = [];
  readings = [];
  ends = 0;
});
afterEach(() => mock.timers.reset());

function open() {
  const stream = new LiveStream({
    listen: (onMoved) => {
      move = onMoved;
      isHeard = true;
      return () => {
        isHeard = false;
      };
    },
    renderAll: () => all.promise,
    render: (ids) => {
      readings.push(ids);
      const reading = Promise.withResolvers<string>();
      moved.push(reading);
      return reading.promise;
    },
    readRight: async () => ({ isPermitted: true, event: '' }),
    onEnd: () => ends++,
  });
  const reader = stream.body.getReader();
  const next = async () => {
    const { value } = await reader.read();
    return value === undefined ? undefined : new TextDecoder().decode(value);
  };
  return { next, cancel: () => reader.cancel() };
}
async function gather() {
  mock.timers.tick(gatherMs);
  await settle();
}

test('sends changes that arrive while the present state is read, and after it', async () => {
  const { next, cancel } = open();
  assert.equal(await next(), ': live\n\n');
  move(['a']);
  await gather();
  assert.deepEqual(readings, []);
  all.resolve('beginning');
  assert.equal(await next(), 'beginning');
  await gather();
  assert.deepEqual(readings, [['a']]);
  moved[0]?.resolve('a moved');
  assert.equal(await next(), 'a moved');
  await cancel();
});

test('waits for a slow read, so that older events never follow newer ones', async () => {
  const { cancel } = open();
  all.resolve('');
  await settle();
  move(['a']);
  await gather();
  move(['a']);
  await gather();
  assert.equal(readings.length, 1);
  moved[0]?.resolve('');
  await settle();
  await gather();
  assert.deepEqual(readings, [['a'], ['a']]);
  await cancel();
});

test('ends if the present state cannot be read, so that its reader reconnects', async () => {
  const { next } = open();
  assert.equal(await next(), ': live\n\n');
  all.reject(new Error('no database'));
  assert.equal(await next(), undefined);
  assert.equal(ends, 1);
});

test('leaves nothing running after a reader that left early', async () => {
  const { cancel } = open();
  await cancel();
  all.resolve('beginning');
  await settle();
  move(['a']);
  await gather();
  assert.deepEqual([readings, isHeard, ends], [[], false, 1]);
});

test('cuts off a reader that does not read, and keeps nothing for it', async () => {
  const { next } = open();
  all.resolve('beginning');
  await settle();
  for (let tries = 0; tries < 100 && ends === 0; tries++) {
    move(['a']);
    await gather();
    moved.at(-1)?.resolve('a moved');
    await settle();
  }
  assert.equal(ends, 1);
  await assert.rejects(next(), /does not read/);
});

test('a quiet stream says every four seconds that it lives', async () => {
  const { next, cancel } = open();
  assert.equal(await next(), ': live\n\n');
  mock.timers.tick(4000);
  assert.equal(await next(), 'event: beat\ndata:\n\n');
  await cancel();
});
