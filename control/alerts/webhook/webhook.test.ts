// The webhook of a project: what its receiver gets and how it is signed, what happens when the receiver fails, and where control never
// connects.

import assert from 'node:assert/strict';
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { AlertDelivery, AlertWebhookPage, NewAlertWebhook } from '@underpass/rules/entity/resource.ts';
import { dayMs, hourMs } from '@underpass/rules/limits.ts';
import { eachCase } from '@underpass/rules/test-kit.ts';
import { nextDeliveryPauseMs, parseWebhookUrl } from '@underpass/rules/tunnel/webhook.ts';
import { pino } from 'pino';
import { createKeyRing } from '../../platform/secret/key-ring.ts';
import { createWithLease } from '../../platform/store/lease.ts';
import type { Store } from '../../platform/store/store.ts';
import { createGuardedFetch, createGuardedNet, type GuardedFetch } from '../../request/http/guarded-fetch.ts';
import { createTestControl, type SignedUp, type TestControl, testOrigin } from '../../test-kit.ts';
import { onBothDatabases, type StoreSuite } from '../../test-kit-databases.ts';
import { createWebhookWork } from './deliver.ts';
import { renderBody, type WebhookEvent } from './message.ts';
import { type NewDelivery, queueDelivery } from './rows.ts';

/** The reference library of Standard Webhooks. It has no types for this use. */
const require = createRequire(import.meta.url);
const { Webhook } = require('standardwebhooks') as {
  readonly Webhook: new (secret: string) => { verify(body: string, headers: IncomingHttpHeaders): WebhookEvent };
};

interface Got {
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

async function listen(answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, port: (server.address() as AddressInfo).port };
}

/** Keeps what it gets, and answers with the next of the statuses, the last one for good. */
async function startReceiver(...statuses: number[]) {
  const got: Got[] = [];
  const { server, port } = await listen(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    got.push({ body, headers: request.headers });
    const status = statuses.length > 1 ? statuses.shift()! : (statuses[0] ?? 204);
    response.writeHead(status, status === 302 ? { location: 'http://169.254.169.254/' } : {}).end();
  });
  return { got, statuses, url: `http://127.0.0.1:${port}/alerts`, close: () => server.close() };
}

const suite: StoreSuite = (name, skip, open) =>
  describe(`webhooks on ${name}`, { skip }, () => {
    let test: TestControl;
    let store: Store;
    let ann: SignedUp;
    let receiver: Awaited<ReturnType<typeof startReceiver>>;
    let count = 0;
    const keyRing = createKeyRing([Buffer.alloc(32, 7)]);

    before(async () => {
      store = await open();
      test = await createTestControl({ store, keyRing });
    });
    after(async () => {
      await test.close();
      await store.close();
    });
    beforeEach(async () => {
      test.time.now += hourMs;
      ann = await test.signUp(`ann-${++count}@example.com`);
      receiver = await startReceiver(204);
      await store.db.deleteFrom('alert_deliveries').execute();
    });
    afterEach(() => receiver.close());

    const at = (path: string) => `/api/alerts/webhook${path}?project=${ann.projectId}`;
    const save = (body: object) => ann.call<NewAlertWebhook>('POST', at(''), body);
    const page = () => ann.call<AlertWebhookPage>('GET', at(''));
    const lab = createGuardedFetch(
      createGuardedNet({ production: false, networks: [], dns: { lookup: async () => [] } }),
      16_384,
    );

    const work = async (fetch: GuardedFetch = lab): Promise<void> => {
      const wide = { store, keyRing, clock: () => test.time.now, log: pino({ level: 'silent' }), origin: testOrigin };
      const withLease = createWithLease(store, () => test.time.now);
      await createWebhookWork({ ...wide, jobs: { wake: () => {} }, webhookFetch: fetch, withLease }).run();
      await test.control.settle();
    };
    const push = (title: string, lane = 'tunnel-down shop', type: NewDelivery['type'] = 'alert.opened') => {
      test.time.now += 1;
      const times = { openedAt: new Date(test.time.now).toISOString(), closedAt: null };
      const alert = { id: 'a', kind: 'tunnel-down', state: 'open', tone: 'negative', title, text: '', ...times } as const;
      return store.write((trx) =>
        queueDelivery(trx, { projectId: ann.projectId, type, alert, url: 'http://x/alerts', lane }, test.time.now),
      );
    };
    const gotTitles = () => receiver.got.map(({ body }) => (JSON.parse(body) as WebhookEvent).data.title);

    it('gets one flat event, which the reference library verifies, and never the same twice', async (t) => {
      const { secret = '' } = await save({ url: receiver.url, format: 'standard' });
      await push('shop is down');
      // The library compares the time with its own clock.
      t.mock.timers.enable({ apis: ['Date'], now: test.time.now });
      await work();
      await work();
      const [got, ...more] = receiver.got;
      assert.deepEqual(more, []);
      const event = new Webhook(secret).verify(got!.body, got!.headers);
      assert.deepEqual([event.type, event.data.title, event.data.project.id], ['alert.opened', 'shop is down', ann.projectId]);
      assert.match(String(got!.headers['webhook-id']), /^msg_[0-9a-z]{26}$/);
      assert.throws(() => new Webhook(secret).verify(got!.body.replace('down', 'up'), got!.headers));
      assert.equal((await page()).deliveries[0]?.state, 'delivered');
    });

    it('signs with both secrets for a day after a rotation, then with the new one alone', async (t) => {
      const { secret: old = '' } = await save({ url: receiver.url, format: 'standard' });
      const { secret = '', webhook } = await ann.call<NewAlertWebhook>('POST', at('/rotate'));
      assert.equal(webhook.oldSecretUntil, new Date(test.time.now + dayMs).toISOString());
      for (const [afterMs, isOldValid] of [
        [0, true],
        [dayMs, false],
      ] as const) {
        test.time.now += afterMs;
        await push('shop is down');
        t.mock.timers.enable({ apis: ['Date'], now: test.time.now });
        await work();
        const { body, headers } = receiver.got.pop()!;
        new Webhook(secret).verify(body, headers);
        const verifyOld = () => new Webhook(old).verify(body, headers);
        if (isOldValid) verifyOld();
        else assert.throws(verifyOld);
        t.mock.timers.reset();
      }
    });

    it('keeps the order for a tunnel while a receiver fails and recovers; another tunnel is not held up', async () => {
      await save({ url: receiver.url, format: 'standard' });
      receiver.statuses.splice(0, Infinity, 503, 204);
      await push('shop is down');
      await push('shop is back', 'tunnel-down shop', 'alert.closed');
      await work();
      await push('blog is down', 'tunnel-down blog');
      await work();
      assert.deepEqual(gotTitles(), ['shop is down', 'blog is down']);
      receiver.statuses.splice(0, Infinity, 500, 204);
      for (const pauseMs of [5_000, 30_000]) {
        test.time.now += pauseMs;
        await work();
      }
      assert.deepEqual(gotTitles().slice(2), ['shop is down', 'shop is down', 'shop is back']);
      assert.ok((await page()).deliveries.every(({ state }) => state === 'delivered'));
      assert.equal((await page()).webhook?.failingSince, null);
      const ids = new Set(receiver.got.map(({ headers }) => headers['webhook-id']));
      assert.equal(ids.size, 3, 'a repeated delivery has the same id');
    });

    it('is switched off after three days of failures with a mail to owners, and on again by a person', async () => {
      await save({ url: receiver.url, format: 'standard' });
      receiver.statuses.splice(0, Infinity, 500);
      await push('shop is down');
      for (let hours = 0; hours < 3 * 24; hours += 6) {
        await work();
        test.time.now += 6 * hourMs;
      }
      assert.equal((await page()).webhook?.disabledAt, null);
      test.time.now += dayMs;
      await work();
      const { webhook, deliveries } = await page();
      assert.ok(webhook?.disabledAt);
      assert.deepEqual([deliveries[0]?.state, deliveries[0]?.status], ['failed', 500]);
      assert.match(test.mails.findLast(({ to }) => to === ann.email)?.subject ?? '', /The webhook of "default" is switched off/);
      await push('not told');
      assert.equal((await page()).deliveries.length, 1);
      const { id } = deliveries[0]!;
      assert.equal((await ann.send('POST', at(`/deliveries/${id}/again`))).status, 409);
      assert.equal((await save({ format: 'standard' })).webhook.disabledAt, null);
      receiver.statuses.splice(0, Infinity, 200);
      await ann.call('POST', at(`/deliveries/${id}/again`));
      await work();
      assert.equal((await page()).deliveries[0]?.state, 'delivered');
    });

    it('ends at once when its receiver answers 410', async () => {
      await save({ url: receiver.url, format: 'standard' });
      receiver.statuses.splice(0, Infinity, 410);
      await push('shop is down');
      await work();
      assert.ok((await page()).webhook?.disabledAt);
    });

    it('ends what is under way when its receiver answers 410', async () => {
      await save({ url: receiver.url, format: 'standard' });
      receiver.statuses.splice(0, Infinity, 410, 500);
      for (const lane of ['a', 'b', 'c']) await push(lane, lane);
      await work();
      assert.deepEqual(new Set((await page()).deliveries.map(({ state }) => state)), new Set(['failed']));
    });

    it('goes on with a lane after three days of one refused event, while others are taken', async () => {
      await save({ url: receiver.url, format: 'standard' });
      receiver.statuses.splice(0, Infinity, 400);
      await push('refused');
      await work();
      receiver.statuses.splice(0, Infinity, 204);
      await push('other', 'other');
      await work();
      test.time.now += 4 * dayMs;
      receiver.statuses.splice(0, Infinity, 400, 204);
      await work();
      await push('next');
      await work();
      assert.deepEqual(gotTitles(), ['refused', 'other', 'refused', 'next']);
    });

    it('leaves a delivery alone whose webhook is gone, and gives each project its turn', async () => {
      await save({ url: receiver.url, format: 'standard' });
      for (let i = 0; i < 6; i++) await push(`own ${i}`, `lane ${i}`);
      await store.db.deleteFrom('alert_webhooks').where('project_id', '=', ann.projectId).execute();
      await work();
      assert.deepEqual(gotTitles(), []);
    });

    it('is tested by a press, once, and says how that went', async () => {
      await save({ url: receiver.url, format: 'slack' });
      const good = await ann.call<AlertDelivery>('POST', at('/test'));
      assert.deepEqual([good.state, good.status, good.attempts], ['delivered', 204, 1]);
      receiver.statuses.splice(0, Infinity, 302);
      const bad = await ann.call<AlertDelivery>('POST', at('/test'));
      assert.deepEqual([bad.state, bad.error], ['failed', 'The receiver answers with status 302.']);
      test.time.now += dayMs;
      await work();
      assert.equal(receiver.got.length, 2, 'a test is not repeated, and no redirect is followed');
    });

    it('shows neither the path of its address nor a secret, and keeps both sealed', async () => {
      const { secret = '' } = await save({ url: `${receiver.url}/T000/s3cret`, format: 'slack' });
      assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      await ann.call('POST', at('/test'));
      const shown = JSON.stringify([await page(), await save({ format: 'discord' })]);
      const stored = JSON.stringify(await store.db.selectFrom('alert_webhooks').selectAll().execute());
      const audit = JSON.stringify(await store.db.selectFrom('audit').select('detail').execute());
      for (const text of [shown, stored, audit, test.logged.join('')])
        assert.ok(!text.includes('s3cret') && !text.includes(secret.slice(6)));
    });

    it('is for owners and admins', async () => {
      const [bob, adam] = [await test.signUp(`bob-${count}@example.com`), await test.signUp(`adam-${count}@example.com`)];
      await test.addMember(ann.projectId, bob.userId, 'member');
      await test.addMember(ann.projectId, adam.userId, 'admin');
      for (const [method, path] of [
        ['GET', ''],
        ['POST', ''],
        ['POST', '/rotate'],
        ['POST', '/test'],
        ['DELETE', ''],
      ] as const)
        assert.equal((await bob.send(method, at(path), method === 'POST' ? {} : undefined)).status, 403, `${method} ${path}`);
      assert.equal((await adam.send('POST', at(''), { url: receiver.url, format: 'standard' })).status, 200);
      assert.equal((await ann.send('DELETE', at(''))).status, 204);
      assert.deepEqual(await page(), { webhook: null, deliveries: [] });
      assert.equal((await ann.send('POST', at(''), { format: 'standard' })).status, 400);
      assert.equal((await ann.send('POST', at('/test'))).status, 404);
    });
  });

onBothDatabases(suite);

describe('where a webhook may not lead', () => {
  let test: TestControl;
  let ann: SignedUp;
  before(async () => {
    test = await createTestControl({ settings: { production: true } });
    ann = await test.signUp('ann@example.com');
  });
  after(() => test.close());

  const errorOf = async (url: string): Promise<string> => {
    const query = `?project=${ann.projectId}`;
    await ann.call('POST', `/api/alerts/webhook${query}`, { url, format: 'standard' });
    const { state, error } = await ann.call<AlertDelivery>('POST', `/api/alerts/webhook/test${query}`);
    assert.equal(state, 'failed');
    return error ?? '';
  };

  for (const [url, why] of [
    ['https://127.0.0.1/', 'this machine'],
    ['https://2130706433/', 'this machine as a number'],
    ['https://0x7f.1/', 'this machine in other letters'],
    ['https://[::1]/', 'this machine by IPv6'],
    ['https://[::ffff:127.0.0.1]/', 'IPv4 in IPv6'],
    ['https://0.0.0.0/', 'any address of this machine'],
    ['https://169.254.169.254/latest/meta-data/', 'the metadata of clouds'],
    ['https://[fd00:ec2::254]/', 'the same by IPv6'],
    ['https://10.1.2.3/', 'a private network'],
    ['https://100.64.0.1/', 'a shared network'],
    ['https://[64:ff9b::a00:1]/', 'a private network through a translator'],
    ['https://inside.example/', 'a name that leads inside'],
    ['https://mixed.example/', 'a name with one address inside'],
  ] as const)
    it(`${why}: ${url}`, async () => {
      test.dns.addresses.set('inside.example', ['10.0.0.1']).set('mixed.example', ['192.0.2.1', '127.0.0.1']);
      assert.equal(await errorOf(url), 'The address is not public.');
    });

  it('plain http outside development', async () => {
    const body = { url: 'http://192.0.2.1/', format: 'standard' };
    const refused = await ann.send('POST', `/api/alerts/webhook?project=${ann.projectId}`, body);
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), /must begin with 'https:/);
  });

  it('a name that leads elsewhere after the check: the address that was checked is the one that is dialled', async () => {
    let asked = 0;
    const lookup = async () => [asked++ === 0 ? '192.0.2.1' : '127.0.0.1'];
    const net = createGuardedNet({ production: true, networks: [], dns: { lookup } });
    const fetch = createGuardedFetch({ ...net, isAllowed: () => false }, 1000);
    const dial = () => fetch('https://rebinding.example:1/', { method: 'POST', headers: {}, signal: AbortSignal.timeout(300) });
    // The first answer is dialled, which no machine has; nothing asks again.
    await assert.rejects(dial, (error: Error & { address?: string }) => error.name !== 'InsideAddress');
    assert.equal(asked, 1);
    await assert.rejects(dial, { name: 'InsideAddress' });
  });
});

describe('an answer to a webhook is bounded', () => {
  const net = createGuardedNet({ production: false, networks: [], dns: { lookup: async () => [] } });

  it('in size', async (t) => {
    const { server, port } = await listen((_, response) => void response.end(Buffer.alloc(64 * 1024)));
    t.after(() => server.close());
    const sent = createGuardedFetch(net, 16 * 1024)(`http://127.0.0.1:${port}/`, { method: 'POST', headers: {}, body: '{}' });
    await assert.rejects(sent, /more than 16384 bytes/);
  });

  it('to HTTP: a receiver that switches protocols is refused at once', async (t) => {
    const { server, port } = await listen(() => {});
    server.on('upgrade', () => {});
    server.removeAllListeners('request');
    server.on('request', (request) => {
      request.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    t.after(() => server.close());
    const sent = createGuardedFetch(net, 16 * 1024)(`http://127.0.0.1:${port}/`, { method: 'POST', headers: {}, body: '{}' });
    await assert.rejects(sent, { name: 'ProtocolSwitch' });
  });

  it('in time, also of a body that trickles', async (t) => {
    const { server, port } = await listen((_, response) => {
      response.write('a');
      const timer = setInterval(() => response.write('a'), 20);
      response.on('close', () => clearInterval(timer));
    });
    t.after(() => server.close());
    const signal = AbortSignal.timeout(200);
    const sent = createGuardedFetch(net, 16 * 1024)(`http://127.0.0.1:${port}/`, {
      method: 'POST',
      headers: {},
      body: '{}',
      signal,
    });
    await assert.rejects(sent);
  });
});

it('pauses grow to a day', () => {
  const pauses = Array.from({ length: 8 }, (_, at) => nextDeliveryPauseMs(at + 1) / 1000);
  assert.deepEqual(pauses, [5, 30, 180, 1080, 6480, 38_880, 86_400, 86_400]);
});

it('an address is complete, and holds no password', (t) => {
  const rows: [string, string | undefined][] = [
    [' https://Example.com/a#b ', 'https://example.com/a'],
    ['example.com', undefined],
    ['ftp://example.com/', undefined],
    ['https://user:pass@example.com/', undefined],
    [`https://example.com/${'a'.repeat(2048)}`, undefined],
  ];
  eachCase(t, rows, ([typed, url]) => {
    const parsed = parseWebhookUrl(typed);
    assert.equal(parsed.ok ? parsed.value : undefined, url);
  });
});

it('a chat gets a sentence that calls nobody and hides nothing', () => {
  const times = { openedAt: '2026-11-20T00:00:00Z', closedAt: null };
  const alert = {
    id: 'a',
    kind: 'token-created',
    state: 'open',
    tone: 'warning',
    title: '<!channel> & @everyone',
    text: 't',
  } as const;
  const project = { id: 'p', name: 'shop' };
  const event = { type: 'alert.noted', timestamp: '', data: { ...alert, ...times, project, url: 'https://x/alerts' } } as const;
  assert.deepEqual(JSON.parse(renderBody('slack', event)), {
    text: '*&lt;!channel&gt; &amp; @everyone* (shop)\nt\n<https://x/alerts|Alerts>',
  });
  assert.deepEqual(JSON.parse(renderBody('discord', event)), {
    content: '**<!channel> & @everyone** (shop)\nt\nhttps://x/alerts',
    allowed_mentions: { parse: [] },
  });
});
