// An edge whose workers hang, end or cannot be started.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@underpass/rules/test-kit.ts';
import { pino } from 'pino';
import { createRig, tunnelOf } from '../fixture/rig.ts';
import { ask, begunOf, opened, signed, stateOf, visitOf } from '../fixture/visits.ts';
import { workerPids } from '../fixture/worker-pids.ts';

const skip = process.platform === 'linux' ? false : 'workers need Linux';

describe('a worker', { skip }, () => {
  it('that hangs delays neither the drain nor the end of its edge', async () => {
    const rig = await createRig([tunnelOf('t')], { workers: 2 });
    process.kill((await workerPids())[0] as number, 'SIGSTOP');
    await rig.edge.drain(100);
    await rig[Symbol.asyncDispose]();
    assert.deepEqual(await workerPids(), []);
  });

  it('that hangs is killed and replaced, and the others keep serving', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    await using rig = await createRig([tunnelOf('t')], { workers: 2 });
    const [hung, well] = (await workerPids()) as [number, number];
    process.kill(hung, 'SIGSTOP');
    /** The other worker reports a visitor to the primary. */
    const hear = async (): Promise<void> => {
      for (const { open } = rig.edge.stats(); rig.edge.stats().open === open; await pause(20)) await rig.visitRaw('http');
    };
    await hear();
    t.mock.timers.tick(14_000);
    await hear();
    assert.ok((await workerPids()).includes(hung));
    t.mock.timers.tick(1_000);
    while ((await workerPids()).includes(hung)) await pause(20);
    while ((await workerPids()).length < 2) await pause(20);
    assert.ok((await workerPids()).includes(well));
  });

  it('sends nobody to the sign-in of a control that is silent for 15 s', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] });
    await using rig = await createRig([tunnelOf('t', { allowList: [], visit: visitOf() })], { workers: 2 });
    // A whole number, so that adding 14,900 and 100 makes exactly 15,000 more.
    let nowMs = Math.ceil(performance.now());
    const clock = t.mock.method(performance, 'now', () => nowMs);
    /** Visits until both workers must have answered so. */
    const expectStatus = async (status: number): Promise<void> => {
      for (let same = 0, tries = 0; same < 10; tries++) {
        assert.ok(tries < 500, `still not ${status}`);
        same = (await ask(rig, { fields: opened })).status === status ? same + 1 : 0;
        // A worker hears of it by a message, which waits on a busy machine.
        if (same === 0) await pause(20);
      }
    };
    const ping = async (): Promise<void> => {
      const heard = rig.control.next('pong');
      rig.control.feed?.send({ type: 'ping', id: 1 });
      await heard;
    };
    await ping();
    const steps = [
      [14_900, 303],
      [100, 503],
    ] as const;
    for (const [laterMs, status] of steps) {
      nowMs += laterMs;
      t.mock.timers.tick(1_000);
      await expectStatus(status);
    }
    await ping();
    t.mock.timers.tick(1_000);
    await expectStatus(303);
    clock.mock.restore();
  });

  it('takes no ticket that another worker has taken', async () => {
    await using rig = await createRig([tunnelOf('t', { allowList: [], visit: visitOf() })], { workers: 2 });
    const { nonce, cookie } = begunOf(await ask(rig, { fields: opened }));
    const ticket = signed({}, { use: 'ticket', untilMs: Date.now() + 60_000, state: stateOf(nonce) });
    const path = `/.underpass/access/enter?ticket=${ticket}`;
    // The kernel spreads them over the workers: all at one has a chance of 1 in 16 million.
    const all = await Promise.all(Array.from({ length: 25 }, () => ask(rig, { path, fields: [...opened, `Cookie: ${cookie}`] })));
    assert.equal(all.filter(({ status }) => status === 303).length, 1);
    assert.equal(all.filter(({ status }) => status === 403).length, 24);
  });

  it('that ends leaves its counters, and nothing of what it held', async () => {
    await using rig = await createRig([tunnelOf('t')], { workers: 2 });
    for (let visitor = 0; visitor < 12; visitor++) {
      (await rig.visitRaw('http')).write('GET / HTTP/1.1\r\nHost: nobody.test\r\n\r\n');
      await rig.visitRaw('http');
    }
    const refused = (): number => rig.edge.stats().errors.UNDERPASS_NO_SUCH_HOST ?? 0;
    while (refused() < 12 || rig.edge.stats().open < 12) await pause(20);
    const before = await workerPids();
    for (const pid of before) process.kill(pid, 'SIGKILL');
    while (rig.edge.stats().open > 0) await pause(20);
    assert.equal(refused(), 12);
  });

  it('that ends while its edge drains is not started again', async () => {
    await using rig = await createRig([tunnelOf('t')], { workers: 2 });
    for (let visitor = 0; visitor < 12; visitor++) await rig.visitRaw('http');
    while (rig.edge.stats().open < 12) await pause(20);
    const [pid, other] = (await workerPids()) as [number, number];
    const drained = rig.edge.drain(2_000);
    process.kill(pid, 'SIGKILL');
    await drained;
    assert.deepEqual(await workerPids(), [other]);
  });

  it('that comes up while its edge drains is ended, and keeps no port open', async (t) => {
    await using rig = await createRig([tunnelOf('t')], { workers: 2 });
    const node = process.execPath;
    t.after(() => Object.defineProperty(process, 'execPath', { value: node, writable: true }));
    const begun = Promise.withResolvers<void>();
    let drained: Promise<void> | undefined;
    const get = (): string => {
      // The process starts while this getter answers, and listens after the drain has begun.
      drained ??= rig.edge.drain(100);
      begun.resolve();
      return node;
    };
    Object.defineProperty(process, 'execPath', { configurable: true, get });
    const [pid, other] = (await workerPids()) as [number, number];
    process.kill(pid, 'SIGKILL');
    await begun.promise;
    await eventually(async () => (await workerPids()).length === 2);
    await eventually(async () => (await workerPids()).length === 1);
    await drained;
    assert.deepEqual(await workerPids(), [other]);
    for (const port of [rig.edge.ports.https, rig.edge.ports.http])
      await assert.rejects(once(connect(port, '127.0.0.1'), 'connect'), { code: 'ECONNREFUSED' });
  });

  it('that does not start with its edge leaves none of the others behind, and no folder', async (t) => {
    const { execPath: node, env } = process;
    const { TMPDIR: place } = env;
    const folder = await mkdtemp(join(tmpdir(), 'underpass-workers-'));
    t.after(async () => {
      Object.defineProperty(process, 'execPath', { value: node, writable: true });
      if (place === undefined) delete env.TMPDIR;
      else env.TMPDIR = place;
      await rm(folder, { recursive: true });
    });
    env.TMPDIR = folder;
    for (const startable of [0, 1]) {
      let started = 0;
      const get = (): string => (started++ < startable ? node : '/nowhere/node');
      Object.defineProperty(process, 'execPath', { configurable: true, get });
      await assert.rejects(createRig([tunnelOf('t')], { workers: 2 }), { code: 'ENOENT' });
      assert.deepEqual([await workerPids(), await readdir(folder)], [[], []]);
    }
  });

  it('that cannot be started is tried again, and its edge keeps serving', async (t) => {
    const lines: string[] = [];
    const log = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
    await using _rig = await createRig([tunnelOf('t')], { workers: 2, log });
    const [pid] = await workerPids();
    const node = process.execPath;
    t.after(() => {
      process.execPath = node;
    });
    process.execPath = '/nowhere/node';
    process.kill(pid as number, 'SIGKILL');
    while (!lines.some((line) => line.includes('worker does not start'))) await pause(20);
    process.execPath = node;
    while ((await workerPids()).length < 2) await pause(20);
  });
});
