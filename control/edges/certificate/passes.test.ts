import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPasses, type Scope } from './passes.ts';

const noOrders = { settled: async () => [] };

/** Passes that note their scopes. `pass` says whether the pass looked at everything. */
function notedPasses(pass: (scope: Scope) => boolean | Promise<boolean>) {
  const scopes: Scope[] = [];
  const stopping = new AbortController();
  const run = async (scope: Scope): Promise<boolean> => {
    scopes.push(scope);
    return pass(scope);
  };
  return { scopes, stopping, passes: createPasses(run, noOrders, stopping.signal) };
}

test('requests during a pass make one pass over all of them', async () => {
  const first = Promise.withResolvers<boolean>();
  const { scopes, passes } = notedPasses((scope) => (scope === 'all' ? first.promise : true));
  const done = passes.run('all');
  void passes.run(new Set(['a']));
  void passes.run(new Set(['b']));
  first.resolve(true);
  await done;
  assert.deepEqual(scopes, ['all', new Set(['a', 'b'])]);
});

test('what a pass leaves out when a request cuts it short belongs to the next pass', async () => {
  const { scopes, passes } = notedPasses((scope) => {
    if (scope !== 'all' || scopes.length > 1) return true;
    void passes.run(new Set(['a']));
    return false;
  });
  await passes.run('all');
  assert.deepEqual(scopes, ['all', 'all']);
});

test('a pass that fails without a request is not repeated at once', async () => {
  const { scopes, passes } = notedPasses(() => false);
  await passes.run('all');
  assert.deepEqual(scopes, ['all']);
});

test('no pass follows once it is to stop', async () => {
  const { scopes, passes, stopping } = notedPasses(() => {
    void passes.run(new Set(['a']));
    stopping.abort();
    return true;
  });
  await passes.run('all');
  assert.deepEqual(scopes, ['all']);
});
