// HEAD is GET without its content (RFC 9110 9.3.2), so it must not leave an unread event stream open.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestControl } from '../test-kit.ts';

test('HEAD of an event stream leaves no stream open', async (t) => {
  const control = await createTestControl();
  t.after(() => control.close());
  const ann = await control.signUp('ann@example.com');
  const path = `/api/events?project=${ann.projectId}`;
  for (let asked = 0; asked < 21; asked++) assert.equal((await ann.send('HEAD', path)).status, 200);
  const live = await ann.send('GET', path);
  assert.equal(live.status, 200);
  await live.body?.cancel();
});
