import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { type Agreement, createAgreement } from './agreement.ts';

const web = { tunnelId: 'web', hosts: 'a.example.com' };
const api = { tunnelId: 'api', hosts: 'b.example.com' };

const edgeOf = (process: string) => ({ region: 'eu', edgeId: `edge of ${process}` });

let agreement: Agreement;
beforeEach(() => {
  agreement = createAgreement({ self: 'us', lateMs: 5_000, silentMs: 15_000 });
});

test('where no other process has edges of the region, ours decide', () => {
  agreement.hear('us', { region: 'eu', edgeId: 'one' }, 0);
  agreement.hear('b', { region: 'us', edgeId: 'two' }, 0);
  assert.deepEqual(agreement.holdHere('eu', [web, api], 0), [web, api]);
});

test('every process with edges of the region is waited for, whatever the order', () => {
  agreement.hear('b', edgeOf('b'), 0);
  agreement.hear('c', edgeOf('c'), 0);
  assert.deepEqual(agreement.holdHere('eu', [web, api], 10), []);
  assert.deepEqual(agreement.holdElsewhere('c', [api, web], 20), []);
  assert.deepEqual(agreement.holdElsewhere('c', [web], 30), [], 'twice is once');
  assert.deepEqual(agreement.holdElsewhere('b', [web], 40), [web]);
  assert.deepEqual(agreement.holdElsewhere('b', [api, web], 50), [api], 'each is told once');
  assert.deepEqual(agreement.overdue(60_000), []);
});

test('whoever spoke before us hears us and decides; we wait for its word', () => {
  agreement.hear('b', edgeOf('b'), 0);
  assert.deepEqual(agreement.holdElsewhere('b', [web], 10), []);
  assert.deepEqual(agreement.holdHere('eu', [web], 20), []);
  agreement.settle([web]);
  assert.deepEqual(agreement.overdue(60_000), []);
});

test('other hosts are another matter: a word about the old ones says nothing about the new', () => {
  agreement.hear('b', edgeOf('b'), 0);
  const moved = { ...web, hosts: 'new.example.com' };
  agreement.holdHere('eu', [web], 10);
  agreement.holdHere('eu', [moved], 20);
  assert.deepEqual(agreement.holdElsewhere('b', [web], 30), []);
  agreement.settle([web]);
  assert.deepEqual(agreement.holdElsewhere('b', [moved], 40), [moved]);
});

test('a process that says nothing is waited for no longer than its time, counted from the first word here', () => {
  agreement.hear('b', edgeOf('b'), 0);
  agreement.holdHere('eu', [web], 10);
  agreement.holdHere('eu', [web], 4_000);
  assert.deepEqual(agreement.overdue(5_010), []);
  assert.deepEqual(agreement.overdue(5_011), [web]);
  assert.deepEqual(agreement.overdue(60_000), []);
});

test('a process whose edges went silent is not waited for', () => {
  agreement.hear('b', edgeOf('b'), 0);
  agreement.hear('c', edgeOf('c'), 14_000);
  assert.deepEqual(agreement.holdHere('eu', [web], 15_000), []);
  assert.deepEqual(agreement.holdElsewhere('c', [web], 15_000), []);
  assert.deepEqual(agreement.overdue(15_001), [web]);
});

test('an edge that moved is waited for where it is now', () => {
  agreement.hear('b', edgeOf('b'), 0);
  agreement.holdHere('eu', [web], 10);
  agreement.hear('c', edgeOf('b'), 20);
  assert.deepEqual(agreement.holdElsewhere('b', [web], 30), []);
  assert.deepEqual(agreement.holdElsewhere('c', [web], 40), [web]);
  agreement.hear('us', edgeOf('b'), 50);
  assert.deepEqual(agreement.holdHere('eu', [api], 60), [api]);
});
