import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { createOpenAnswers } from './open-answers.ts';

const limits = { answers: { perVisitor: 2, unreadBytes: 100, allUnreadBytes: 150 } };
const answer = (unread = 0) => Object.assign(new EventEmitter(), { writableLength: unread }) as unknown as ServerResponse;

test('a visitor has so many answers open, and room again once one is closed', () => {
  const open = createOpenAnswers(limits);
  const first = answer();
  assert.equal(open.take('ann', first), true);
  assert.equal(open.take('ann', answer()), true);
  assert.equal(open.take('ann', answer()), false);
  assert.equal(open.take('eve', answer()), true);
  first.emit('close');
  assert.equal(open.take('ann', answer()), true);
});

test('what a visitor does not read is bounded, and what all do not read', () => {
  const open = createOpenAnswers(limits);
  assert.equal(open.take('ann', answer(101)), true);
  assert.equal(open.take('ann', answer()), false);
  assert.equal(open.take('eve', answer(60)), true);
  assert.equal(open.take('bob', answer()), false);
});
