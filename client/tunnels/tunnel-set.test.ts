import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import type { TunnelView } from '../terminal/live-status.ts';
import { createTunnelSet, type RunningTunnel } from './tunnel-set.ts';

function recorder() {
  const log: string[] = [];
  const pending: (() => void)[] = [];
  const start = ({ config: { name }, token }: LoadedTunnel): RunningTunnel => {
    if (name === 'bad') throw new Error('cannot start');
    log.push(`start ${name} ${token}`);
    return {
      view: () => ({ name, state: 'connected' }) as TunnelView,
      streams: () => ({ open: 0, closed: 0 }),
      drain: () => {
        log.push(`drain ${name} ${token}`);
        return new Promise((resolve) => pending.push(resolve));
      },
      close: () => log.push(`close ${name} ${token}`),
    };
  };
  const finish = () => {
    for (const resolve of pending.splice(0)) resolve();
  };
  return { log, tunnels: createTunnelSet(start), finish };
}

function loaded(name: string, token = 't', port = 8080): LoadedTunnel {
  const upstream = { scheme: 'http', host: '127.0.0.1', port } as const;
  const upstreams = { type: 'http', list: [{ domain: null, upstream }] } as const;
  const config = {
    name,
    url: 'https://e.example.com',
    token: { kind: 'env', name: 'T' },
    upstreams,
    upstreamInsecure: false,
  } as const;
  return { config, token };
}

test('a change starts new tunnels, keeps equal ones and drains removed ones', () => {
  const { tunnels, log } = recorder();
  tunnels.apply([loaded('a'), loaded('b')]);
  log.length = 0;
  assert.deepEqual(tunnels.apply([loaded('b'), loaded('c')]), { started: ['c'], kept: ['b'], stopped: ['a'] });
  assert.deepEqual(log, ['start c t', 'drain a t']);
});

test('if one tunnel cannot start, the running ones stay and no other starts', () => {
  const { tunnels, log } = recorder();
  tunnels.apply([loaded('a')]);
  log.length = 0;
  assert.throws(() => tunnels.apply([loaded('a'), loaded('b'), loaded('bad')]), /cannot start/);
  assert.deepEqual(log, ['start b t', 'close b t']);
  assert.deepEqual(
    tunnels.views().map(({ name }) => name),
    ['a'],
  );
});

test('a changed tunnel drains after its successor has started', () => {
  const { tunnels, log } = recorder();
  tunnels.apply([loaded('a')]);
  log.length = 0;
  assert.deepEqual(tunnels.apply([loaded('a', 't', 9090)]), { started: ['a'], kept: [], stopped: [] });
  assert.deepEqual(log, ['start a t', 'drain a t']);
});

test('a changed token is enough to restart the tunnel', () => {
  const { tunnels, log } = recorder();
  tunnels.apply([loaded('a', 'old')]);
  tunnels.apply([loaded('a', 'new')]);
  assert.deepEqual(log, ['start a old', 'start a new', 'drain a old']);
});

test('drain waits for every tunnel, including removed ones that still drain', async () => {
  const { tunnels, finish } = recorder();
  tunnels.apply([loaded('a')]);
  tunnels.apply([loaded('b')]);
  let drained = false;
  const done = tunnels.drain().then(() => {
    drained = true;
  });
  await Promise.resolve();
  assert.equal(drained, false);
  finish();
  await done;
});

test('close also closes tunnels that still drain', () => {
  const { tunnels, log } = recorder();
  tunnels.apply([loaded('a')]);
  tunnels.apply([]);
  tunnels.close();
  assert.equal(log.at(-1), 'close a t');
});
