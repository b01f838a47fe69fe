// Which ways out ask, what a question is about, and when it goes away.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUnsavedWork, type Layer, type UnsavedWork } from './unsaved-work.ts';

const form = {};

/** Opens a panel that counts how often it was closed. */
function openPanel(work: UnsavedWork, layer: Layer = { asks: true }) {
  const panel = { layer, closed: 0, shut: () => {} };
  panel.shut = work.open(layer, () => {
    panel.closed += 1;
    panel.shut();
  });
  return panel;
}

test('without unsaved work nothing asks', () => {
  const work = createUnsavedWork();
  let left = 0;
  work.leave(work.page, () => left++);
  assert.equal(left, 1);
  assert.equal(work.question(), undefined);
});

test('unsaved work asks once, and only the first way out goes on', () => {
  const work = createUnsavedWork();
  const ways: string[] = [];
  work.report(work.page, form, 'typed');
  work.leave(work.page, () => ways.push('first'));
  work.leave(work.page, () => ways.push('second'));
  assert.deepEqual(ways, []);
  work.answer(true);
  work.answer(true);
  assert.deepEqual(ways, ['first']);
  assert.equal(work.question(), undefined);
});

test('to stay keeps what was typed, and the next way out asks again', () => {
  const work = createUnsavedWork();
  const ways: string[] = [];
  work.report(work.page, form, 'typed');
  work.leave(
    work.page,
    () => ways.push('left'),
    () => ways.push('stayed'),
  );
  work.answer(false);
  assert.deepEqual(ways, ['stayed']);
  work.leave(work.page, () => ways.push('left'));
  assert.equal(work.question()?.loss, 'typed');
});

test('several forms: the page asks until the last one is saved or gone', () => {
  const work = createUnsavedWork();
  const other = {};
  work.report(work.page, form, 'typed');
  work.report(work.page, other, 'typed');
  work.report(work.page, form, undefined);
  assert.equal(work.loss(work.page), 'typed');
  work.report(work.page, other, undefined);
  assert.equal(work.loss(work.page), undefined);
});

test('closing a panel asks about the panel, and leaving the page about both', () => {
  const work = createUnsavedWork();
  const panel = openPanel(work);
  work.report(work.page, form, 'typed');
  work.closeTop();
  assert.equal(panel.closed, 1, 'the page behind it loses nothing');
  const next = openPanel(work);
  work.report(next.layer, {}, 'typed');
  work.report(work.page, form, undefined);
  assert.equal(work.loss(work.page), 'typed');
  work.closeTop();
  assert.equal(next.closed, 0);
  assert.equal(work.question()?.layer, next.layer, 'the panel shows it, not the page behind');
});

test('the form of a closed panel that still fades out is no work', () => {
  const work = createUnsavedWork();
  const panel = openPanel(work);
  work.report(panel.layer, form, 'typed');
  panel.shut();
  assert.equal(work.loss(work.page), undefined);
});

test('a layer that cannot ask leaves the question to the one below', () => {
  const work = createUnsavedWork();
  const panel = openPanel(work);
  openPanel(work, { asks: false });
  work.report(panel.layer, form, 'typed');
  work.leave(work.page, () => {});
  assert.equal(work.question()?.layer, panel.layer);
});

test('what is being sent is asked about first, and its answer withdraws the question', () => {
  const work = createUnsavedWork();
  let stayed = 0;
  work.report(work.page, {}, 'typed');
  work.report(work.page, form, 'sending');
  work.leave(
    work.page,
    () => assert.fail('must not leave'),
    () => stayed++,
  );
  assert.equal(work.question()?.loss, 'sending');
  work.report(work.page, form, 'typed');
  assert.equal(work.question(), undefined);
  assert.equal(stayed, 1);
});

test('the question is itself a layer, which Back and Escape close', () => {
  const work = createUnsavedWork();
  const panel = openPanel(work);
  work.report(panel.layer, form, 'typed');
  work.closeTop();
  const question = openPanel(work, { asks: false });
  work.closeTop();
  assert.equal(question.closed, 1);
  assert.equal(panel.closed, 0);
});

test('a question goes with the panel that it is about', () => {
  const work = createUnsavedWork();
  const panel = openPanel(work);
  work.report(panel.layer, form, 'typed');
  work.closeTop();
  panel.shut();
  assert.equal(work.question(), undefined);
});

test('one press of Escape closes one layer, the topmost', () => {
  const work = createUnsavedWork();
  const panel = openPanel(work);
  const palette = openPanel(work, { asks: false });
  const press = {};
  assert.equal(work.claims(panel.layer, press), false);
  assert.equal(work.claims(palette.layer, press), true);
  palette.shut();
  assert.equal(work.claims(panel.layer, press), false, 'the same press');
  assert.equal(work.claims(panel.layer, {}), true);
});
