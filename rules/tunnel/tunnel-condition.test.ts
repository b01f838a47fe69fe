import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachCase } from '../test-kit.ts';
import {
  type ConditionFacts,
  conditionOf,
  decideCondition,
  rankCondition,
  type TunnelCondition,
  tunnelConditions,
} from './tunnel-condition.ts';

test('never used, just fallen and stopped on purpose are three conditions', (t) => {
  const created = { status: 'Created', connectedClients: 0 };
  const rows: [ConditionFacts, TunnelCondition, string?][] = [
    [{ ...created, lastClient: null }, 'unused'],
    [{ ...created, lastClient: { onPurpose: false } }, 'down'],
    [{ ...created, lastClient: { onPurpose: true } }, 'stopped'],
    [created, 'unknown', 'it existed before last clients were kept'],
    [{ ...created, connectedClients: 2 }, 'working'],
    [{ ...created, connectedClients: 2, failingClients: 1 }, 'working', 'the other one serves'],
    [{ ...created, connectedClients: 2, failingClients: 2 }, 'failing'],
    [{ ...created, connectedClients: 1, isSuspended: true }, 'suspended'],
    [{ status: 'Pending', lastClient: { onPurpose: false } }, 'waiting'],
    [{ status: 'Progressing', connectedClients: 1 }, 'unknown'],
    [{ status: 'Created' }, 'unknown'],
    [{ status: 'Novel' }, 'unknown'],
  ];
  eachCase(t, rows, ([facts, condition]) => assert.equal(decideCondition(facts), condition));
});

test('red means that visitors get an error; without a condition, the status decides', () => {
  const red = (Object.keys(tunnelConditions) as TunnelCondition[]).filter((each) => tunnelConditions[each].tone === 'negative');
  assert.deepEqual(red, ['failing', 'down', 'suspended']);
  assert.equal(conditionOf({ status: 'Created', connectedClients: 0 }), 'unknown');
  assert.equal(conditionOf({ status: 'Created', connectedClients: 0, condition: 'down' }), 'down');
});

test('failing tunnels come first, and each condition has a place', () => {
  const ranks = (Object.keys(tunnelConditions) as TunnelCondition[]).map(rankCondition);
  assert.deepEqual([...ranks].sort(), [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.ok(rankCondition('down') < rankCondition('working'));
});
