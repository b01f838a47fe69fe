// The line that the log has for each request.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestControl, type TestClient } from '../test-kit.ts';

async function open(t: { after(run: () => Promise<void>): void }) {
  const control = await createTestControl();
  t.after(() => control.close());
  const lineOf = async (client: TestClient, path: string) => {
    control.logged.length = 0;
    await (await client.send('GET', path)).body?.cancel();
    return control.logged
      .map((line) => JSON.parse(line))
      .map(({ status, user, project, address }) => ({ status, user, project, address }));
  };
  return { control, lineOf };
}

test('a request names its user, project and address, also if it is refused', async (t) => {
  const { control, lineOf } = await open(t);
  const ann = await control.signUp('ann@example.com');
  const bob = await control.signUp('bob@example.com');
  const path = `/api/tunnels?project=${ann.projectId}`;
  const address = '192.0.2.1';
  const [user, project] = [ann.userId, ann.projectId];
  assert.deepEqual(await lineOf(ann, path), [{ status: 200, user, project, address }]);
  assert.deepEqual(await lineOf(ann, `${path}&page=x&sort=none`), [{ status: 400, user, project, address }]);
  assert.deepEqual(
    await lineOf(bob, path),
    [{ status: 404, user: bob.userId, project: undefined, address }],
    'not their project',
  );
  const stranger = control.client(undefined, '2001:db8::7');
  assert.deepEqual(await lineOf(stranger, path), [{ status: 401, user: undefined, project: undefined, address: '2001:db8::7' }]);
});

test('health checks are logged when their answer changes', async (t) => {
  const { control, lineOf } = await open(t);
  const client = control.client();
  const statuses = async (path: string) => (await lineOf(client, path)).map(({ status }) => status);
  const seen = [];
  for (let asked = 0; asked < 3; asked++) seen.push(await statuses('/healthz'), await statuses('/readyz'));
  assert.deepEqual(seen, [[200], [503], [], [], [], []]);
  control.control.start();
  assert.deepEqual([await statuses('/readyz'), await statuses('/readyz')], [[200], []]);
  control.control.beginStop();
  assert.deepEqual([await statuses('/readyz'), await statuses('/healthz')], [[503], []]);
});
