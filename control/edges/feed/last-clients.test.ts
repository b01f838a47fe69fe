// The last clients of tunnels in the store, and their meaning after a restart.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LastClient } from '@underpass/rules/entity/resource.ts';
import { createTestControl } from '../../test-kit.ts';
import { onBothDatabases, type StoreSuite } from '../../test-kit-databases.ts';
import { joinLastClient, readRemembered } from '../../tunnels/tunnel/condition.ts';
import { LastClients } from './last-clients.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 10, 20, 12, 0, second)).toISOString();
const nothing: LastClient = { seen: null, error: null };
const seen = { at: at(1), address: '192.0.2.9' };

const suite: StoreSuite = (name, skip, open) =>
  describe(`last clients on ${name}`, { skip }, () => {
    it('are written when a client comes or goes, not for each report, and survive a restart', async () => {
      const store = await open();
      const test = await createTestControl({ store });
      const ann = await test.signUp('ann@example.com');
      await ann.call('POST', `/api/tunnels?project=${ann.projectId}`, { name: 'shop', region: 'local' });
      const { id } = await store.db.selectFrom('tunnels').select('id').executeTakeFirstOrThrow();
      const live = { last: nothing, clients: 0 };
      let writes = 0;
      const counting: typeof store = Object.assign(Object.create(store), {
        write: (body: never) => {
          writes += 1;
          return store.write(body);
        },
      });
      const kept = new LastClients(counting, { lastClient: () => live.last, clientCount: () => live.clients });
      const report = async (last: LastClient, clients: number, ending = false): Promise<LastClient> => {
        Object.assign(live, { last, clients });
        kept.moved([id, 'deleted']);
        await kept.flush(ending);
        return joinLastClient(nothing, (await readRemembered(store.db, [id])).get(id));
      };
      assert.deepEqual(await report(nothing, 0), nothing);
      assert.deepEqual(await report({ seen, error: null }, 1), { seen, error: null });
      await report({ seen: { ...seen, at: at(2) }, error: null }, 1);
      assert.equal(writes, 1);
      const left = { at: at(4), onPurpose: true };
      assert.deepEqual(await report({ seen: { ...seen, at: at(3) }, error: null, left }, 0), {
        ...{ seen: { ...seen, at: at(3) }, error: null, left },
      });
      const error = { at: at(6), address: '192.0.2.7', code: 'token-refused' as const };
      assert.deepEqual((await report({ seen: null, error }, 0)).seen?.at, at(3), 'a refusal makes nothing unseen');
      const back = { seen: { ...seen, at: at(9) }, error };
      assert.deepEqual(await report(back, 1), back, 'nobody has left');
      await report({ ...back, seen: { ...seen, at: at(59) } }, 1, true);
      assert.equal((await readRemembered(store.db, { projectId: ann.projectId })).get(id)?.seen_at, Date.parse(at(59)));
      await test.close();
      await store.close();
    });
  });

onBothDatabases(suite);
