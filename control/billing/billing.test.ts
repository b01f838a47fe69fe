// What an operator's billing system gets, and what its answer may do.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { Logger } from 'pino';
import { Webhook } from 'standardwebhooks';
import type { TunnelMinute } from '../edges/feed/minute-tally.ts';
import { addUsage, usageOfMinutes } from '../edges/feed/usage-rows.ts';
import { createMemoryBus } from '../platform/bus/memory.ts';
import { createTestControl } from '../test-kit.ts';
import { tellUsage } from './billing.ts';

const at = Date.UTC(2026, 10, 20, 10, 7);
const hourMs = 3_600_000;
const minute = (projectId: string | undefined, minuteMs: number, over: Partial<TunnelMinute> = {}): TunnelMinute => ({
  ...{ tunnelId: 't', projectId, minuteMs, rxBytes: 10, txBytes: 20, requests: 3, connections: 1, clients: 1 },
  ...{ connectedMinutes: 1, figures: [], ...over },
});

describe('the webhook of usage', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  interface Received {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  }

  /** A receiver on loopback that answers as told, and keeps what it got. */
  async function receive(t: TestContext, answer: () => { readonly status: number; readonly body?: string }) {
    const got: Received[] = [];
    const server = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      got.push({ headers: request.headers as Record<string, string>, body });
      const answered = answer();
      response.writeHead(answered.status).end(answered.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/usage` };
  }

  async function setUp(t: TestContext, answer: () => { readonly status: number; readonly body?: string }) {
    const { got, url } = await receive(t, answer);
    const test = await createTestControl();
    t.after(() => test.close());
    const ann = await test.signUp('ann@example.com');
    const { store } = test;
    const logged: unknown[] = [];
    const log = { warn: (facts: unknown) => logged.push(facts) } as unknown as Logger;
    const needs = { store, feed: test.feed, bus: createMemoryBus(() => {}), jobs: { wake() {} } };
    const who = { origin: '', operatorEmail: '', operatorName: '' };
    const tell = () => tellUsage({ ...needs, ...who, clock: () => test.time.now, log }, { url, secret });
    const add = (rows: readonly TunnelMinute[]) => addUsage(store.db, usageOfMinutes(rows));
    return { got, test, ann, tell, add, logged };
  }
  const hoursIn = ({ body }: Received) => JSON.parse(body).data.hours as readonly { id: string; rxBytes: number }[];

  it('sends each hour once it is over, signed, and again with the same id if it grows', async (t) => {
    const { got, test, ann, tell, add } = await setUp(t, () => ({ status: 204 }));
    await add([minute(ann.projectId, at), minute(ann.projectId, at - hourMs)]);
    test.time.now = at + hourMs;
    await tell();
    assert.deepEqual(
      got.flatMap(hoursIn).map(({ id }) => id),
      [`${ann.projectId}/2026-11-20T09:00:00.000Z`],
    );
    const { headers, body } = got[0]!;
    t.mock.timers.enable({ apis: ['Date'], now: test.time.now });
    new Webhook(secret).verify(body, headers as Record<string, string>);
    assert.throws(() => new Webhook(secret).verify(`${body} `, headers as Record<string, string>));
    t.mock.timers.reset();
    await tell();
    assert.equal(got.length, 1, 'nothing is new');
    test.time.now += 1;
    await add([minute(ann.projectId, at - hourMs)]);
    await tell();
    assert.deepEqual(
      got.flatMap(hoursIn).map(({ rxBytes }) => rxBytes),
      [10, 20],
    );
    assert.notEqual(got[0]!.headers['webhook-id'], got[1]!.headers['webhook-id']);
  });

  it('sends again what the receiver did not take, with the same id', async (t) => {
    let status = 500;
    const { got, test, ann, tell, add } = await setUp(t, () => ({ status }));
    await add([minute(ann.projectId, at)]);
    test.time.now = at + 3 * hourMs;
    await assert.rejects(tell(), /answered 500/);
    status = 200;
    await tell();
    assert.equal(got[0]!.headers['webhook-id'], got[1]!.headers['webhook-id']);
    await tell();
    assert.equal(got.length, 2);
  });

  it('takes limits from the answer, and no others than there are', async (t) => {
    let own = '';
    const answer = () => ({
      status: 200,
      body: JSON.stringify({
        limits: { [own]: { gigabytesPerMonth: 5, tunnels: 3 }, nobody: { tunnels: 1 }, x: { tunnels: '9' } },
      }),
    });
    const { test, ann, tell, add, logged } = await setUp(t, answer);
    own = ann.projectId;
    await add([minute(own, at)]);
    test.time.now = at + 3 * hourMs;
    await tell();
    const row = await test.store.db.selectFrom('projects').select('limits').where('id', '=', own).executeTakeFirstOrThrow();
    assert.deepEqual(JSON.parse(row.limits!), { gigabytesPerMonth: 5, tunnels: 3 });
    assert.equal(logged.length, 2);
  });
});
