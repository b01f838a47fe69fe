// One suite for both drivers of the bus.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { startNats } from '../../../tests/helpers/nats.ts';
import { requireTool, skipWithout } from '../../../tests/helpers/tool.ts';
import { Dependency } from '../dependency/dependency.ts';
import type { Bus } from './bus.ts';
import { createMemoryBus } from './memory.ts';
import { openNatsBus } from './nats.ts';

const fail = (error: unknown): void => assert.fail(String(error));

/** Resolves with the first `count` messages of a subject. */
const collect = (bus: Bus, subject: string, count: number): Promise<unknown[]> =>
  new Promise((resolve) => {
    const seen: unknown[] = [];
    bus.subscribe(subject, (message) => {
      seen.push(message);
      if (seen.length === count) resolve(seen);
    });
  });

/** `open` returns buses that hear each other. */
const suite = (name: string, skip: string | false, open: (onError?: (error: unknown) => void) => Promise<Bus>) =>
  describe(`bus on ${name}`, { skip }, () => {
    it("delivers a message to every listener of its subject, the publisher's included, and to no other", async () => {
      const bus = await open();
      const first = collect(bus, 'tunnels.changed', 1);
      const second = collect(bus, 'tunnels.changed', 1);
      bus.subscribe('tunnels.other', () => assert.fail('the wrong subject'));
      bus.publish('tunnels.changed', { ids: ['a'] });
      assert.deepEqual(await Promise.all([first, second]), [[{ ids: ['a'] }], [{ ids: ['a'] }]]);
      await bus.close();
    });

    it('keeps the order of one publisher', async () => {
      const bus = await open();
      const seen = collect(bus, 'order', 100);
      for (let i = 0; i < 100; i++) bus.publish('order', i);
      assert.deepEqual(
        await seen,
        Array.from({ length: 100 }, (_, i) => i),
      );
      await bus.close();
    });

    it('delivers nothing to a listener after it stopped', async () => {
      const bus = await open();
      const stop = bus.subscribe('stopped', () => assert.fail('heard after stopping'));
      stop();
      const seen = collect(bus, 'after', 1);
      bus.publish('stopped', 1);
      bus.publish('after', 2);
      assert.deepEqual(await seen, [2]);
      await bus.close();
    });

    it('gives each listener its own copy', async () => {
      const bus = await open();
      const message = { list: [1] };
      const first = collect(bus, 'copy', 1);
      const second = collect(bus, 'copy', 1);
      bus.publish('copy', message);
      message.list.push(2);
      const [[a], [b]] = (await Promise.all([first, second])) as [[{ list: number[] }], [{ list: number[] }]];
      a.list.push(3);
      assert.deepEqual(b, { list: [1] });
      await bus.close();
    });

    it('reports the error of a listener that throws, and still calls the others', async () => {
      const errors: unknown[] = [];
      const bus = await open((error) => errors.push(error));
      bus.subscribe('throws', () => {
        throw new Error('mine');
      });
      const seen = collect(bus, 'throws', 2);
      bus.publish('throws', 1);
      bus.publish('throws', 2);
      assert.deepEqual(await seen, [1, 2]);
      assert.equal(errors.length, 2);
      await bus.close();
    });
  });

suite('memory', false, async (onError = fail) => createMemoryBus(onError));

const needsNats = skipWithout('nats-server');
const nats = { url: '', home: '', server: undefined as ChildProcess | undefined };

/** nats-server writes its port into a file of this folder. */
async function readPort(home: string, server: ChildProcess): Promise<string> {
  while (server.exitCode === null) {
    const file = readdirSync(home).find((name) => name.endsWith('.ports'));
    const text = file === undefined ? '' : readFileSync(join(home, file), 'utf8');
    if (text.trimEnd().endsWith('}')) return (JSON.parse(text) as { nats: string[] }).nats[0]!;
    await delay(25);
  }
  return assert.fail('nats-server did not start');
}

if (!needsNats) {
  before(async () => {
    nats.home = mkdtempSync(join(tmpdir(), 'underpass-nats-'));
    const flags = ['-a', '127.0.0.1', '-p', '-1', '--ports_file_dir', nats.home];
    nats.server = spawn(requireTool('nats-server'), flags, { stdio: 'ignore' });
    nats.url = await readPort(nats.home, nats.server);
  });
  after(async () => {
    nats.server?.kill();
    if (nats.server) await once(nats.server, 'exit');
    rmSync(nats.home, { recursive: true, force: true });
  });
}

const dependencyOf = (): Dependency => new Dependency('bus', { clock: Date.now, log: pino({ level: 'silent' }) });
const openBus = (url: string, onError = fail, dependency = dependencyOf()): Promise<Bus> =>
  openNatsBus({ url, onError, dependency });

suite('NATS', needsNats, (onError = fail) => openBus(nats.url, onError));

describe('bus on NATS, between replicas', { skip: needsNats }, () => {
  /** Resolves with the first message; publishes it repeatedly until the subscription has reached the server. */
  const hear = async (from: Bus, to: Bus, subject: string, message: unknown): Promise<unknown> => {
    const heard = collect(to, subject, 1);
    const again = setInterval(() => from.publish(subject, message), 20);
    return heard.finally(() => clearInterval(again));
  };

  it('delivers a message from one replica to another', async () => {
    const [one, two] = await Promise.all([openBus(nats.url), openBus(nats.url)]);
    assert.deepEqual(await hear(one, two, 'hello', { from: 'one' }), [{ from: 'one' }]);
    await Promise.all([one.close(), two.close()]);
  });

  it("delivers a replica's messages to itself without a server, and closes cleanly", async (t) => {
    const own = await startNats(t);
    const bus = await openBus(own.url);
    await own.kill();
    const seen = collect(bus, 'alone', 1);
    bus.publish('alone', 1);
    assert.deepEqual(await seen, [1]);
    await bus.close();
  });

  it('reconnects to its server and keeps its subscriptions', async (t) => {
    const own = await startNats(t);
    const [one, two] = await Promise.all([openBus(own.url), openBus(own.url)]);
    await own.kill();
    await own.start();
    assert.deepEqual(await hear(one, two, 'again', 'back'), ['back']);
    await Promise.all([one.close(), two.close()]);
  });

  it('opens while no server answers, says so, and joins with the subscriptions that it has once one does', async (t) => {
    const own = await startNats(t);
    await own.kill();
    const dependency = dependencyOf();
    const one = await openBus(own.url, fail, dependency);
    assert.equal(dependency.answers, false);
    const early = collect(one, 'early', 1);
    await own.start();
    const two = await openBus(own.url);
    const again = setInterval(() => two.publish('early', 'heard'), 20);
    assert.deepEqual(await early, ['heard']);
    clearInterval(again);
    assert.equal(dependency.answers, true);
    await Promise.all([one.close(), two.close()]);
  });

  it('closes at once while no server answers', async () => {
    const bus = await openBus('nats://127.0.0.1:1');
    await bus.close();
  });

  it('uses the server of several that answers', async () => {
    const [one, two] = await Promise.all([openBus(`nats://127.0.0.1:1,${nats.url}`), openBus(nats.url)]);
    assert.deepEqual(await hear(two, one, 'several', 1), [1]);
    await Promise.all([one.close(), two.close()]);
  });

  it('says within 20 s that a server is silent, and that it is back', { timeout: 60_000 }, async (t) => {
    const own = await startNats(t);
    const told: string[] = [];
    const silent = Promise.withResolvers<void>();
    const back = Promise.withResolvers<void>();
    const write = (line: string): void => (told.push(JSON.parse(line).msg) === 1 ? silent : back).resolve();
    const log = pino({ base: null }, { write });
    const bus = await openBus(own.url, fail, new Dependency('bus', { clock: Date.now, log }));
    const stoppedAt = performance.now();
    own.signal('SIGSTOP');
    await silent.promise;
    assert.ok(performance.now() - stoppedAt < 20_000);
    own.signal('SIGCONT');
    await back.promise;
    assert.deepEqual(told, ['bus: does not answer', 'bus: answers again']);
    await bus.close();
  });
});
