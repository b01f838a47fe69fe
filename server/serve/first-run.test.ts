// Who gets a sign-in link at the start: an operator of whom the audit log can say that nobody has ever signed in.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestControl } from '@underpass/control/test-kit.ts';
import { retentionDays } from '@underpass/rules/limits.ts';
import { isUnused } from './first-run.ts';

const dayMs = 24 * 3600_000;

test('a server is unused until somebody has signed in, and not again once the log has forgotten it', async () => {
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
  assert.equal(await isUnusedNow(), false, 'who signed in on the first day is in no row any more');
  await control.close();
});
