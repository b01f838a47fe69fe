import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '@underpass/rules/test-kit.ts';
import type { Session } from '@underpass/wire/api.ts';
import type { Carrier } from './carrier.ts';
import { CarrierPool } from './carrier-pool.ts';

it('widens the first carriers of a tunnel, and none that replaces one', async (t) => {
  const opened: Carrier[] = [];
  const widened: number[] = [];
  const pool = new CarrierPool({
    clock: {
      now: () => performance.now(),
      every: (_ms, call) => {
        const timer = setInterval(call, 1);
        return () => clearInterval(timer);
      },
    },
    random: () => 0,
    onConnected: () => {},
    onInfo: () => {},
    onEvent: () => {},
    open: async () => {
      const id = opened.length;
      const session = { peerInfo: { edges: 1 }, closed: false, widen: () => widened.push(id), close: () => {} };
      const carrier = { session: session as unknown as Session, edge: 'e', address: 'a', sinceMs: 0, onEnd: () => {} };
      opened.push(carrier);
      return carrier;
    },
  });
  t.after(() => pool.close());
  pool.start();
  await eventually(() => opened.length === 2);
  for (const carrier of opened) carrier.onEnd({ code: 'lost', by: 'peer', detail: '' });
  await eventually(() => pool.carriers.length === 2 && opened.length === 4);
  assert.deepEqual(widened, [0, 1]);
});
