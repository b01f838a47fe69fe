// When a start prints a sign-in link: while the audit log proves that nobody has signed in yet.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestControl } from '@underpass/control/test-kit.ts';
import { retentionDays } from '@underpass/rules/limits.ts';
import { isUnused } from './first-run.ts';

const dayMs = 24 * 3600_000;

test('a server counts as unused until the first sign-in, and never again, even once the log has expired', async () => {
  const control = await createTestControl();
  const { store, time } = control;
  const operatorEmail = 'operator@example.com';
  const isUnusedNow = () => isUnused({ store, clock: () => time.now }, { operatorEmail });
  assert.equal(await isUnusedNow(), false, 'there is no operator');
  await control.control.operator.ensureOperator();
  assert.equal(await isUnusedNow(), true);
  time.now += (retentionDays.auditLog - 1) * dayMs;
  assert.equal(await isUnusedNow(), true);
  time.now += 2 * dayMs;
  assert.equal(await isUnusedNow(), false, 'the log no longer holds a sign-in of the first day');
  await control.close();
});
