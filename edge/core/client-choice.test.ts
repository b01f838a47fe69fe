import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ClientState, chooseClient, isWorking } from './client-choice.ts';

const client = (changes: Partial<ClientState> = {}): ClientState => ({
  canOpen: true,
  openStreams: 0,
  clientId: 'a',
  isBusy: false,
  learnedBytes: 0,
  proven: true,
  answer: 'healthy',
  ...changes,
});

describe('which client takes the next stream', () => {
  const cases: readonly (readonly [string, readonly ClientState[], number])[] = [
    ['none without clients', [], -1],
    ['none if no client takes streams', [client({ canOpen: false }), client({ canOpen: false })], -1],
    [
      'the client with the fewest streams in flight',
      [client({ openStreams: 3 }), client({ openStreams: 1 }), client({ openStreams: 2 })],
      1,
    ],
    ['an idle carrier before a busy one with fewer streams', [client({ isBusy: true }), client({ openStreams: 9 })], 1],
    [
      'the carrier with the fewest streams if all are busy',
      [client({ isBusy: true, openStreams: 2 }), client({ isBusy: true, openStreams: 1 })],
      1,
    ],
    ['of equal carriers of a client, the one whose window has grown', [client(), client({ learnedBytes: 1_000_000 })], 1],
    ['a busy working client before an idle unproven one', [client({ proven: false }), client({ openStreams: 99 })], 1],
    [
      'a busy working client before an idle one whose probe fails',
      [client({ answer: 'unhealthy' }), client({ openStreams: 99 })],
      1,
    ],
    // A failed probe may be the probe's fault; a carrier without a proof is most often dead.
    ['a client whose probe fails before an unproven one', [client({ proven: false }), client({ answer: 'unhealthy' })], 1],
    [
      'the client with the fewest streams if none works',
      [client({ proven: false, openStreams: 2 }), client({ proven: false })],
      1,
    ],
    [
      'a client that may not work before one without an upstream for the host',
      [client({ answer: 'none' }), client({ proven: false, answer: 'unhealthy' })],
      1,
    ],
    ['the only client, even without an upstream: its refusal tells the visitor why', [client({ answer: 'none' })], 0],
    ['a busy client before an idle one that takes no streams', [client({ canOpen: false }), client({ openStreams: 5 })], 1],
  ];
  for (const [who, clients, index] of cases) {
    it(who, () => {
      for (let turn = 0; turn < 4; turn++) assert.equal(chooseClient(clients, turn), index);
    });
  }

  it('equal clients take turns', () => {
    const clients = [client(), client(), client({ openStreams: 1 }), client()];
    assert.deepEqual(
      [0, 1, 2, 3, 4].map((turn) => chooseClient(clients, turn)),
      [0, 1, 3, 3, 0],
    );
  });

  it('equal clients take turns, however wide their windows', () => {
    const clients = [client({ learnedBytes: 9 }), client({ clientId: 'b' })];
    assert.deepEqual(
      [0, 1, 2].map((turn) => chooseClient(clients, turn)),
      [0, 1, 0],
    );
  });

  it('a client works if it takes streams, is proven, and has a healthy upstream', () => {
    const unsound = [{ canOpen: false }, { proven: false }, { answer: 'unhealthy' }, { answer: 'none' }] as const;
    assert.deepEqual([{}, ...unsound].map(client).map(isWorking), [true, false, false, false, false]);
  });
});
