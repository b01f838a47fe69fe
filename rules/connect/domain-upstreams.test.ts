import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commonUpstream, replaceCommon } from './domain-upstreams.ts';

const list = (...upstreams: string[]) => upstreams.map((upstream, at) => ({ domain: `d${at}.example.com`, upstream }));

test('the common upstream is what most domains have', () => {
  assert.equal(commonUpstream(list('a', 'b', 'b')), 'b');
  assert.equal(commonUpstream(list('a', 'b')), 'a');
  assert.equal(commonUpstream([]), '');
});

test('a change of the common upstream leaves exceptions alone', () => {
  assert.deepEqual(replaceCommon(list('a', 'own', 'a'), 'new'), list('new', 'own', 'new'));
});
