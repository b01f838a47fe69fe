// What the parts of a page share, keep and forget.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { type Answers, createAnswers } from './answers.ts';

interface Round {
  readonly signal: AbortSignal;
  readonly answer: (data: string) => Promise<void>;
  readonly fail: (error: Error) => Promise<void>;
}

let answers: Answers;
let rounds: Round[] = [];

beforeEach(() => {
  answers = createAnswers();
  rounds = [];
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

function fetch(signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const after = async (settle: () => void) => {
    settle();
    await settled();
  };
  rounds.push({ signal, answer: (data) => after(() => resolve(data)), fail: (error) => after(() => reject(error)) });
  return promise;
}

const ask = { key: 'clients', fetch };
const follow = (key = 'clients') => answers.follow({ key, fetch }, () => {});
const read = (key = 'clients') => answers.read<string>(key);
const stay = new AbortController().signal;
const none = { data: undefined, error: undefined };

test('two parts that ask for the same share one request, and both hear of the answer', async () => {
  const heard: string[] = [];
  answers.follow(ask, () => heard.push('one'));
  answers.follow(ask, () => heard.push('two'));
  assert.deepEqual(read(), { ...none, busy: true });
  await rounds[0]!.answer('a');
  assert.deepEqual([rounds.length, heard.slice(-2)], [1, ['one', 'two']]);
  assert.deepEqual(read(), { data: 'a', error: undefined, busy: false });
});

test('a part uses what a loader asked for ahead, answered or not, and asks by itself the next time', async () => {
  answers.askAhead(ask, stay);
  const leave = follow();
  assert.equal(rounds.length, 1);
  await rounds[0]!.answer('a');
  leave();
  await settled();
  answers.askAhead(ask, stay);
  await rounds[1]!.answer('b');
  const leaveAgain = follow();
  assert.deepEqual([rounds.length, read().data], [2, 'b']);
  leaveAgain();
  await settled();
  follow();
  assert.equal(rounds.length, 3);
});

test('a loader asks for no part that shows already', async () => {
  follow();
  await rounds[0]!.answer('a');
  answers.askAhead(ask, stay);
  assert.equal(rounds.length, 1);
});

test('a loader that is no longer wanted ends what it asked for, unless the part shows', async () => {
  const first = new AbortController();
  answers.askAhead(ask, first.signal);
  first.abort();
  assert.equal(rounds[0]!.signal.aborted, true);
  const second = new AbortController();
  answers.askAhead(ask, second.signal);
  follow();
  second.abort();
  assert.equal(rounds[1]!.signal.aborted, false);
});

test('the old answer stays while it is asked for again, after a failure, and when the part shows again', async () => {
  const leave = follow();
  await rounds[0]!.answer('a');
  answers.ask(ask);
  assert.deepEqual(read(), { data: 'a', error: undefined, busy: true });
  const error = new Error('no');
  await rounds[1]!.fail(error);
  assert.deepEqual(read(), { data: 'a', error, busy: false });
  leave();
  await settled();
  follow();
  assert.equal(read().data, 'a');
  await rounds[2]!.answer('b');
  assert.deepEqual(read(), { data: 'b', error: undefined, busy: false });
});

test('a newer request replaces one under way', async () => {
  follow();
  answers.ask(ask);
  assert.equal(rounds[0]!.signal.aborted, true);
  await rounds[1]!.answer('new');
  await rounds[0]!.answer('old');
  assert.equal(read().data, 'new');
});

test('a request ends when nothing shows it any more, but not while a part is only put back', async () => {
  follow()();
  const leave = follow();
  await settled();
  assert.deepEqual([rounds.length, rounds[0]!.signal.aborted], [1, false]);
  leave();
  await settled();
  assert.equal(rounds[0]!.signal.aborted, true);
  assert.deepEqual(read(), { ...none, busy: true });
});

test('keeps fifty answers that nothing shows, the latest', async () => {
  for (let index = 0; index < 60; index++) {
    const leave = follow(`${index}`);
    await rounds[index]!.answer('a');
    leave();
    await settled();
  }
  const kept = Array.from({ length: 60 }, (_, index) => `${index}`).filter((key) => read(key).data === 'a');
  assert.deepEqual([kept.length, kept[0]], [50, '10']);
});

test('forgets what nothing shows at once, and the rest with its last part', async () => {
  const leaveHidden = follow('hidden');
  await rounds[0]!.answer('a');
  leaveHidden();
  const leaveShown = follow('shown');
  await rounds[1]!.answer('b');
  answers.askAhead({ key: 'ahead', fetch }, stay);
  answers.forget();
  assert.equal(rounds[2]!.signal.aborted, true);
  assert.deepEqual([read('hidden').data, read('shown').data], [undefined, 'b']);
  leaveShown();
  await settled();
  assert.equal(read('shown').data, undefined);
});
