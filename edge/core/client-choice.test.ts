import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ClientState, chooseClient, isWorking } from './client-choice.ts';

const client = (changes: Partial<ClientState> = {}): ClientState => ({
  canOpen: true,
  openStreams: 0,
  proven: true,
  answer: 'healthy',
  ...changes,
});

describe('which client takes the next stream', () => {
  const cases: readonly (readonly [string, readonly ClientState[], number])[] = [
    ['nobody, where there is none', [], -1],
    ['nobody, where none takes streams', [client({ canOpen: false }), client({ canOpen: false })], -1],
    [
      'the one with the fewest in flight',
      [client({ openStreams: 3 }), client({ openStreams: 1 }), client({ openStreams: 2 })],
      1,
    ],
    ['a busy one that works before an idle one that is not proven', [client({ proven: false }), client({ openStreams: 99 })], 1],
    [
      'a busy one that works before an idle one whose probe fails',
      [client({ answer: 'unhealthy' }), client({ openStreams: 99 })],
      1,
    ],
    // A failed probe may be the probe's fault; a carrier without a proof is most often dead.
    ['one whose probe fails before one that is not proven', [client({ proven: false }), client({ answer: 'unhealthy' })], 1],
    [
      'the one with the fewest of those that do not work',
      [client({ proven: false, openStreams: 2 }), client({ proven: false })],
      1,
    ],
    [
      'one that may not work before one that has no upstream for the host',
      [client({ answer: 'none' }), client({ proven: false, answer: 'unhealthy' })],
      1,
    ],
    ['one that has no upstream where there is no other: its refusal tells the visitor why', [client({ answer: 'none' })], 0],
    ['none that takes no streams, however idle', [client({ canOpen: false }), client({ openStreams: 5 })], 1],
  ];
  for (const [who, clients, index] of cases) {
    it(who, () => {
      for (let turn = 0; turn < 4; turn++) assert.equal(chooseClient(clients, turn), index);
    });
  }

  it('equal ones take turns', () => {
    const clients = [client(), client(), client({ openStreams: 1 }), client()];
    assert.deepEqual(
      [0, 1, 2, 3, 4].map((turn) => chooseClient(clients, turn)),
      [0, 1, 3, 3, 0],
    );
  });

  it('works if it takes streams, is proven, and has a healthy upstream', () => {
    const unsound = [{ canOpen: false }, { proven: false }, { answer: 'unhealthy' }, { answer: 'none' }] as const;
    assert.deepEqual([{}, ...unsound].map(client).map(isWorking), [true, false, false, false, false]);
  });
});
