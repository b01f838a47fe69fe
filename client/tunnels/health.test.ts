import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TunnelView } from '../terminal/live-status.ts';
import { startHealth } from './health.ts';

const view = (state: TunnelView['state']) => ({ name: 'shop', state, edges: [], streams: 0 }) as unknown as TunnelView;

test('is alive at once, and ready only while every tunnel is connected', async (t) => {
  let views: readonly TunnelView[] = [];
  const health = await startHealth('127.0.0.1:0', () => views);
  t.after(health.close);
  const status = async (path: string) => (await fetch(`http://${health.address}${path}`)).status;
  assert.equal(await status('/healthz'), 200);
  assert.equal(await status('/readyz'), 503);
  views = [view('connected'), view('connecting')];
  assert.equal(await status('/readyz'), 503);
  views = [view('connected')];
  assert.equal(await status('/readyz'), 200);
  assert.equal(await status('/other'), 404);
  assert.equal((await fetch(`http://${health.address}/healthz`, { method: 'POST' })).status, 405);
});

test('refuses a taken port and a malformed address with coded errors', async (t) => {
  const health = await startHealth(':0', () => []);
  t.after(health.close);
  await assert.rejects(
    startHealth(health.address, () => []),
    { code: 'port-in-use' },
  );
  for (const place of ['8471', 'a:b', '127.0.0.1:99999', 'http://127.0.0.1:1', '']) {
    await assert.rejects(
      startHealth(place, () => []),
      { code: 'usage' },
    );
  }
});
