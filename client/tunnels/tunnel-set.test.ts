import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LoadedTunnel } from '../config/loaded-tunnel.ts';
import type { TunnelView } from '../terminal/live-status.ts';
import { createTunnelSet, type RunningTunnel } from './tunnel-set.ts';

function recorder() {
  const log: string[] = [];
  const pending: (() => void)[] = [];
  const start = ({ plan: { name }, token }: LoadedTunnel): RunningTunnel => {
    if (name === 'bad') throw new Error('cannot be carried');
    log.push(`start ${name} ${token}`);
    return {
      view: () => ({ name, state: 'connected' }) as TunnelView,
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
  return { log, fleet: createTunnelSet(start), finish };
}

function planned(name: string, token = 't', port = 8080): LoadedTunnel {
  const upstream = { scheme: 'http', host: '127.0.0.1', port } as const;
  const upstreams = { type: 'http', list: [{ domain: null, upstream }] } as const;
  const plan = {
    name,
    url: 'https://e.example.com',
    token: { kind: 'env', name: 'T' },
    upstreams,
    upstreamInsecure: false,
  } as const;
  return { plan, token };
}

test('a new set starts what is new, keeps what is equal, and drains what is gone', () => {
  const { fleet, log } = recorder();
  fleet.apply([planned('a'), planned('b')]);
  log.length = 0;
  assert.deepEqual(fleet.apply([planned('b'), planned('c')]), { started: ['c'], kept: ['b'], stopped: ['a'] });
  assert.deepEqual(log, ['start c t', 'drain a t']);
});

test('a set of which one cannot start leaves what runs, and nothing else', () => {
  const { fleet, log } = recorder();
  fleet.apply([planned('a')]);
  log.length = 0;
  assert.throws(() => fleet.apply([planned('a'), planned('b'), planned('bad')]), /cannot be carried/);
  assert.deepEqual(log, ['start b t', 'close b t']);
  assert.deepEqual(
    fleet.views().map(({ name }) => name),
    ['a'],
  );
});

test('a changed tunnel has its successor started before it drains', () => {
  const { fleet, log } = recorder();
  fleet.apply([planned('a')]);
  log.length = 0;
  assert.deepEqual(fleet.apply([planned('a', 't', 9090)]), { started: ['a'], kept: [], stopped: [] });
  assert.deepEqual(log, ['start a t', 'drain a t']);
});

test('a rotated token alone restarts the tunnel', () => {
  const { fleet, log } = recorder();
  fleet.apply([planned('a', 'old')]);
  fleet.apply([planned('a', 'new')]);
  assert.deepEqual(log, ['start a old', 'start a new', 'drain a old']);
});

test('drain waits for every tunnel, those of earlier sets too', async () => {
  const { fleet, finish } = recorder();
  fleet.apply([planned('a')]);
  fleet.apply([planned('b')]);
  let drained = false;
  const done = fleet.drain().then(() => {
    drained = true;
  });
  await Promise.resolve();
  assert.equal(drained, false);
  finish();
  await done;
});

test('close reaches what is still draining', () => {
  const { fleet, log } = recorder();
  fleet.apply([planned('a')]);
  fleet.apply([]);
  fleet.close();
  assert.equal(log.at(-1), 'close a t');
});
