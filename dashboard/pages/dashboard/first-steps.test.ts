import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FirstStep, type Past, takenSteps } from './first-steps.ts';

const nothing: Past = { hasCli: false, hasConnected: false, hasServed: false };
const idle = { connectedClients: 0 };

test('a step is taken once its trace is seen, and with it those that it needs', () => {
  const all = ['install', 'create', 'connect', 'open'] as const;
  const connected = ['install', 'create', 'connect'] as const;
  const rows: [Parameters<typeof takenSteps>, readonly FirstStep[]][] = [
    [[[], nothing], []],
    [[[], { ...nothing, hasCli: true }], ['install']],
    [[[idle], nothing], ['create']],
    [[[{}], nothing], ['create']],
    [[[{ connectedClients: 1 }], nothing], connected],
    [[[idle], { ...nothing, hasConnected: true }], connected],
    [[[], { ...nothing, hasServed: true }], all],
    [[[], nothing, ['connect']], connected],
  ];
  for (const [given, taken] of rows) assert.deepEqual(takenSteps(...given), taken, JSON.stringify(given));
});
