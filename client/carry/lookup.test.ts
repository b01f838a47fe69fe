import assert from 'node:assert/strict';
import dns, { type LookupAddress } from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { lookUp } from './lookup.ts';

const home: LookupAddress = { address: '192.0.2.1', family: 4 };

test('runs one query per name at a time, and a new one afterwards', async (t) => {
  const asked: PromiseWithResolvers<LookupAddress[]>[] = [];
  const resolver = t.mock.method(dns.promises, 'lookup', () => {
    asked.push(Promise.withResolvers());
    return asked.at(-1)!.promise;
  });
  syncBuiltinESMExports();
  t.after(() => {
    resolver.mock.restore();
    syncBuiltinESMExports();
  });
  const many = Array.from({ length: 1_000 }, () => lookUp('web.internal'));
  const other = lookUp('api.internal');
  assert.equal(asked.length, 2);
  asked[0]!.resolve([home]);
  assert.deepEqual(await Promise.all(many), Array(1_000).fill([home]));
  asked[1]!.reject(new Error('ENOTFOUND'));
  await assert.rejects(other, /ENOTFOUND/);
  void lookUp('web.internal');
  void lookUp('api.internal').catch(() => {});
  assert.equal(asked.length, 4);
  for (const { resolve } of asked) resolve([home]);
});
