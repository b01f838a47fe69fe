import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { raceAddresses } from './race.ts';

/** One dial per address; the test resolves or rejects each. */
function dials(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const begun = new Map<string, PromiseWithResolvers<Socket> & { readonly signal: AbortSignal }>();
  const dial = (address: string, signal: AbortSignal): Promise<Socket> => {
    begun.set(address, { ...Promise.withResolvers<Socket>(), signal });
    return begun.get(address)!.promise;
  };
  const race = (...addresses: string[]) => raceAddresses(addresses, new AbortController().signal, dial);
  return { begun, race, turn: () => new Promise(setImmediate) };
}

test('a silent address loses to one that answers', async (t) => {
  const { begun, race } = dials(t);
  const won = race('silent', 'lives', 'unused');
  assert.deepEqual([...begun.keys()], ['silent']);
  t.mock.timers.tick(250);
  assert.deepEqual([...begun.keys()], ['silent', 'lives']);
  const socket = new Socket();
  begun.get('lives')!.resolve(socket);
  assert.equal(await won, socket);
  assert.equal(begun.get('silent')!.signal.aborted, true);
  t.mock.timers.tick(10_000);
  assert.equal(begun.size, 2);
});

test('tries the next address at once after a refusal, and rejects with the last error', async (t) => {
  const { begun, race, turn } = dials(t);
  const lost = race('one', 'two');
  begun.get('one')!.reject(new Error('one refuses'));
  await turn();
  begun.get('two')!.reject(new Error('two refuses'));
  await assert.rejects(lost, /two refuses/);
});

test('closes a connection that comes second', async (t) => {
  const { begun, race, turn } = dials(t);
  const won = race('first', 'second');
  t.mock.timers.tick(250);
  const late = new Socket();
  begun.get('first')!.resolve(new Socket());
  begun.get('second')!.resolve(late);
  await won;
  await turn();
  assert.equal(late.destroyed, true);
});

test('a name without an address is an error', async (t) => {
  await assert.rejects(dials(t).race(), /no address/);
});
