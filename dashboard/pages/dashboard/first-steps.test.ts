import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FirstStep, type Past, takenSteps } from './first-steps.ts';

const nothing: Past = { hasCli: false, history: [] };
const idle = { metrics: { rx: 0, tx: 0, tcpConnectionRate: 0 }, connectedClients: 0 };

test('a step is taken once its trace is seen, and with it those that it needs', () => {
  const all = ['install', 'create', 'connect', 'open'] as const;
  const rows: [Parameters<typeof takenSteps>, readonly FirstStep[]][] = [
    [[[], nothing], []],
    [[[], { ...nothing, hasCli: true }], ['install']],
    [[[idle], nothing], ['create']],
    [[[{}], nothing], ['create']],
    [
      [[{ ...idle, connectedClients: 1 }], nothing],
      ['install', 'create', 'connect'],
    ],
    [
      [[idle], { ...nothing, history: [{ clients: 1, tx: 0 }] }],
      ['install', 'create', 'connect'],
    ],
    [[[idle], { ...nothing, history: [{ clients: 0, tx: 0 }] }], ['create']],
    [[[{ ...idle, metrics: { rx: 5, tx: 0, tcpConnectionRate: 1 } }], nothing], ['create']],
    [[[{ ...idle, metrics: { rx: 5, tx: 9, tcpConnectionRate: 1 } }], nothing], all],
    [[[idle], { ...nothing, history: [{ clients: 1, tx: 9 }] }], all],
    [
      [[], nothing, ['connect']],
      ['install', 'create', 'connect'],
    ],
  ];
  for (const [given, taken] of rows) assert.deepEqual(takenSteps(...given), taken, JSON.stringify(given));
});
