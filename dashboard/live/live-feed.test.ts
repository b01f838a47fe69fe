// Events first, polling if events do not get through, nothing while the tab is hidden; and what the page then knows.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { followTunnels, type LiveFeedHandlers } from './live-feed.ts';
import { stoppedSince } from './live-link.ts';
import type { LiveTunnel } from './live-tunnel.ts';

class FakeEventSource extends EventTarget {
  static readonly CLOSED = 2;
  static opened: FakeEventSource[] = [];
  readonly url: string;
  readyState = 1;
  constructor(url: string) {
    super();
    this.url = url;
    FakeEventSource.opened.push(this);
  }
  close(): void {
    this.readyState = FakeEventSource.CLOSED;
  }
  send(data: string, type = 'tunnel'): void {
    this.dispatchEvent(Object.assign(new Event(type), { data }));
  }
}

const startMs = 1_700_000_000_000;
const page = Object.assign(new EventTarget(), { hidden: false });
const real = { fetch: globalThis.fetch };
let calls: string[] = [];
let stop = () => {};
let got: LiveTunnel[] = [];
let caughtUp = 0;
/** The status of a poll; 0 is no answer. */
let status = 200;
let listChanges = 0;
/** The tunnels of a poll. */
let names = ['web'];

const handlers: LiveFeedHandlers = {
  onTunnel: (tunnel) => got.push(tunnel),
  onListChanged: () => listChanges++,
  onCaughtUp: () => caughtUp++,
};

beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: startMs });
  status = 200;
  FakeEventSource.opened = [];
  page.hidden = false;
  got = [];
  caughtUp = 0;
  listChanges = 0;
  names = ['web'];
  calls = [];
  globalThis.fetch = async (url) => {
    calls.push(String(url));
    if (status === 0) throw new TypeError('Failed to fetch');
    if (status !== 200) return new Response('', { status });
    return Response.json(names.map((name) => ({ name, status: 'Created' })));
  };
  Object.assign(globalThis, { EventSource: FakeEventSource, document: page });
  stop = followTunnels({ project: 'p 1', role: 'viewer' }, handlers);
});
afterEach(() => {
  stop();
  mock.timers.reset();
  globalThis.fetch = real.fetch;
  for (const name of ['EventSource', 'document']) Reflect.deleteProperty(globalThis, name);
});

const source = () => FakeEventSource.opened.at(-1)!;
function fail(times: number) {
  for (let i = 0; i < times; i++) source().dispatchEvent(new Event('error'));
}
/** Advances in small steps: a timer that starts during a step counts from the end of the step. */
async function tick(ms: number) {
  for (let passed = 0; passed < ms; passed += 500) {
    mock.timers.tick(500);
    await settle();
  }
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('follows the events of the project and ignores data that is not a tunnel', () => {
  assert.equal(source().url, '/api/events?project=p+1&role=viewer&brief=1');
  source().send('{"name":"web","status":"Pending"}');
  source().send('rubbish');
  assert.deepEqual(got, [{ name: 'web', status: 'Pending' }]);
  source().dispatchEvent(new Event('list'));
  assert.equal(listChanges, 1);
});

test('the first event has all tunnels', () => {
  source().send(
    '[{"status":"Created","connectedClients":1,"names":["web","wiki"]},{"status":"Pending","connectedClients":0,"names":["new"]}]',
    'tunnels',
  );
  assert.deepEqual(got, [
    { name: 'web', status: 'Created', connectedClients: 1 },
    { name: 'wiki', status: 'Created', connectedClients: 1 },
    { name: 'new', status: 'Pending', connectedClients: 0 },
  ]);
});

test('a first event without the tunnel of the page is a change of the list', () => {
  stop();
  stop = followTunnels({ project: 'p 1', role: 'viewer', tunnel: 'web' }, handlers);
  source().send('[{"status":"Created","connectedClients":1,"names":["web"]}]', 'tunnels');
  assert.equal(listChanges, 0);
  source().send('[]', 'tunnels');
  assert.equal(listChanges, 1);
});

test('a connection that comes back reloads what it missed; the first one does not', () => {
  source().dispatchEvent(new Event('open'));
  assert.equal(caughtUp, 0);
  fail(1);
  source().dispatchEvent(new Event('open'));
  assert.equal(caughtUp, 1);
});

test('polls the list after three failures in a row, and tries events again later', async () => {
  fail(2);
  assert.equal(calls.length, 0);
  fail(1);
  await settle();
  assert.deepEqual(calls, ['/api/tunnels?project=p+1']);
  assert.equal(got.length, 1);
  assert.equal(FakeEventSource.opened.length, 1);
  for (let round = 0; round < 12; round++) {
    mock.timers.tick(5000);
    await settle();
  }
  assert.equal(calls.length, 12);
  assert.equal(stoppedSince(), undefined);
  assert.equal(FakeEventSource.opened.length, 2);
});

test('does not poll after failures with a connection in between', async () => {
  fail(2);
  source().dispatchEvent(new Event('open'));
  fail(2);
  await settle();
  assert.equal(calls.length, 0);
});

test('polls soon after the connection is refused', async () => {
  source().readyState = FakeEventSource.CLOSED;
  fail(1);
  await tick(500);
  assert.equal(calls.length, 1);
});

test('does not poll for a page that is being left', async () => {
  source().readyState = FakeEventSource.CLOSED;
  fail(1);
  await settle();
  assert.equal(calls.length, 0);
  stop();
  await tick(500);
  assert.equal(calls.length, 0);
});

test('while it polls, a tunnel that was made or deleted changes the list', async () => {
  fail(3);
  await settle();
  assert.equal(listChanges, 0);
  for (const [now, changes] of [
    [['web', 'blog'], 1],
    [['web', 'blog'], 1],
    [['blog'], 2],
  ] as const) {
    names = [...now];
    mock.timers.tick(5000);
    await settle();
    assert.equal(listChanges, changes);
  }
});

test('a hidden tab follows nothing; when shown again it catches up', () => {
  const first = source();
  page.hidden = true;
  page.dispatchEvent(new Event('visibilitychange'));
  assert.equal(first.readyState, FakeEventSource.CLOSED);
  assert.equal(FakeEventSource.opened.length, 1);
  page.hidden = false;
  page.dispatchEvent(new Event('visibilitychange'));
  assert.equal(FakeEventSource.opened.length, 2);
  assert.equal(caughtUp, 1);
});

test('stops events and polling when it ends', async () => {
  fail(3);
  await settle();
  stop();
  mock.timers.tick(120_000);
  await settle();
  assert.equal(calls.length, 1);
  assert.equal(FakeEventSource.opened.length, 1);
});

test('without a beat for ten seconds the page says since when; a beat or a poll ends that and reloads', async () => {
  source().dispatchEvent(new Event('open'));
  await tick(4000);
  source().dispatchEvent(new Event('beat'));
  status = 0;
  await tick(9500);
  assert.equal(stoppedSince(), undefined);
  await tick(500);
  assert.equal(stoppedSince(), startMs + 4000);
  status = 200;
  await tick(10_000);
  assert.equal(stoppedSince(), undefined);
  assert.equal(caughtUp, 1);
  assert.equal(FakeEventSource.opened.length, 2);
});

test('a stream that delivers nothing is polled instead, and the page does not say that updates have stopped', async () => {
  for (let round = 0; round < 80; round++) {
    await tick(1000);
    assert.equal(stoppedSince(), undefined);
  }
  assert.ok(got.length > 0);
  assert.equal(caughtUp, 0);
});

test('an ended session is told once', async () => {
  status = 401;
  source().readyState = FakeEventSource.CLOSED;
  fail(1);
  await tick(500);
  await tick(10_000);
  await tick(10_000);
  assert.equal(calls.length, 3);
  assert.equal(caughtUp, 1);
});
