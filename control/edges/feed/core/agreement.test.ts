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

test('our edges decide when no other process has edges of the region', () => {
  agreement.hear('us', { region: 'eu', edgeId: 'one' }, 0);
  agreement.hear('b', { region: 'us', edgeId: 'two' }, 0);
  assert.deepEqual(agreement.holdHere('eu', [web, api], 0), [web, api]);
});

test('waits for every process with edges of the region, in any order', () => {
  agreement.hear('b', edgeOf('b'), 0);
  agreement.hear('c', edgeOf('c'), 0);
  assert.deepEqual(agreement.holdHere('eu', [web, api], 10), []);
  assert.deepEqual(agreement.holdElsewhere('c', [api, web], 20), []);
  assert.deepEqual(agreement.holdElsewhere('c', [web], 30), [], 'a repeated word counts once');
  assert.deepEqual(agreement.holdElsewhere('b', [web], 40), [web]);
  assert.deepEqual(agreement.holdElsewhere('b', [api, web], 50), [api], 'each tunnel is reported once');
  assert.deepEqual(agreement.overdue(60_000), []);
});

test('waits for a process that announced before us: that process decides once it hears us', () => {
  agreement.hear('b', edgeOf('b'), 0);
  assert.deepEqual(agreement.holdElsewhere('b', [web], 10), []);
  assert.deepEqual(agreement.holdHere('eu', [web], 20), []);
  agreement.settle([web]);
  assert.deepEqual(agreement.overdue(60_000), []);
});

test("an announcement of a tunnel's old hosts does not count for its new hosts", () => {
  agreement.hear('b', edgeOf('b'), 0);
  const moved = { ...web, hosts: 'new.example.com' };
  agreement.holdHere('eu', [web], 10);
  agreement.holdHere('eu', [moved], 20);
  assert.deepEqual(agreement.holdElsewhere('b', [web], 30), []);
  agreement.settle([web]);
  assert.deepEqual(agreement.holdElsewhere('b', [moved], 40), [moved]);
});

test('waits for a silent process no longer than the limit, counted from our first announcement', () => {
  agreement.hear('b', edgeOf('b'), 0);
  agreement.holdHere('eu', [web], 10);
  agreement.holdHere('eu', [web], 4_000);
  assert.deepEqual(agreement.overdue(5_010), []);
  assert.deepEqual(agreement.overdue(5_011), [web]);
  assert.deepEqual(agreement.overdue(60_000), []);
});

test('does not wait for a process whose edges are silent', () => {
  agreement.hear('b', edgeOf('b'), 0);
  agreement.hear('c', edgeOf('c'), 14_000);
  assert.deepEqual(agreement.holdHere('eu', [web], 15_000), []);
  assert.deepEqual(agreement.holdElsewhere('c', [web], 15_000), []);
  assert.deepEqual(agreement.overdue(15_001), [web]);
});

test('waits for an edge at the process where it is now', () => {
  agreement.hear('b', edgeOf('b'), 0);
  agreement.holdHere('eu', [web], 10);
  agreement.hear('c', edgeOf('b'), 20);
  assert.deepEqual(agreement.holdElsewhere('b', [web], 30), []);
  assert.deepEqual(agreement.holdElsewhere('c', [web], 40), [web]);
  agreement.hear('us', edgeOf('b'), 50);
  assert.deepEqual(agreement.holdHere('eu', [api], 60), [api]);
});
