// The inspector's page: every state against made-up requests, then a failing webhook against the real engine.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { Page } from '@playwright/test';
import { startInspectFixture } from '@underpass/client/fixture/inspect-server.ts';
import { createTestLog, requestOf, testRoute } from '@underpass/client/inspect/fixture/exchanges.ts';
import { loadPage } from '@underpass/client/inspect/page.ts';
import { createReplays } from '@underpass/client/inspect/replay.ts';
import { type InspectServer, startInspectServer } from '@underpass/client/inspect/server.ts';
import { expect, launchChromium, readClipboard, visit } from '../helpers/browser.ts';
import { checkScreen, type Screen } from '../helpers/screens.ts';

const files = await loadPage();

const browser = await launchChromium();
after(() => browser.close());

test('the script of the inspector is small: the first load, and everything', (t) => {
  assert.ok(files.size > 1, "the inspector's page is not built: npm run build");
  const scripts = [...files].filter(([path]) => path.endsWith('.js'));
  const first = scripts.filter(([path]) => /\/(index|theme)/.test(path));
  const kB = (some: typeof scripts) => some.reduce((sum, [, { bytes }]) => sum + bytes.length, 0) / 1000;
  t.diagnostic(`inspector: ${kB(first).toFixed(1)} kB, ${kB(scripts).toFixed(1)} kB with every part`);
  assert.ok(kB(first) > 50 && kB(first) < 95, `${kB(first)} kB`);
  assert.ok(kB(scripts) < 125, `${kB(scripts)} kB`);
});

test('every state of the inspector fits phone and desktop, light and dark, and axe finds nothing', async (t) => {
  const stage = { browser, product: { origin: await startFixture(t) } };
  for (const screen of screens)
    await checkScreen(t, stage, { ...screen, name: `inspector-${screen.name}`, account: null, prepare: serveFiles });
});

const row = (page: Page, name: RegExp) => page.getByRole('row', { name });
const open = (id: number) => async (page: Page) => {
  await page.evaluate(`location.hash = '#/${id}'`);
  await expect(page.getByRole('group', { name: 'Parts of the request' })).toBeVisible();
};

const screens: readonly Omit<Screen, 'account'>[] = [
  { name: 'list', path: '/#token=x', ready: (page) => expect(row(page, /download\.bin/)).toBeVisible() },
  {
    name: 'webhook',
    path: '/#token=x',
    ready: async (page) => {
      await open(2)(page);
      await expect(page.getByRole('alert').filter({ hasText: 'GitHub: the signature is not valid.' })).toBeVisible();
      await expect(page.getByText('"acme/shop"')).toBeVisible();
    },
  },
  {
    name: 'failed',
    path: '/#token=x',
    ready: async (page) => {
      await open(6)(page);
      await expect(page.getByRole('alert')).toContainText('upstream-refused');
    },
  },
  {
    name: 'events',
    path: '/#token=x',
    ready: async (page) => {
      await open(7)(page);
      await page.getByRole('button', { name: 'second line' }).click();
      await expect(page.getByText('2 events, 3 older ones dropped')).toBeVisible();
    },
  },
  {
    name: 'compare',
    path: '/#token=x',
    ready: async (page) => {
      await open(12)(page);
      await page.getByRole('button', { name: 'Compare with #2' }).click();
      await expect(page.getByRole('region', { name: 'Difference of the bodies' })).toContainText('"stored": true');
    },
  },
  {
    name: 'edit',
    path: '/#token=x',
    ready: async (page) => {
      await open(2)(page);
      await page.getByRole('button', { name: 'Edit and replay' }).click();
      await expect(page.getByRole('dialog').getByLabel('Path')).toHaveValue('/webhooks/github?source=main');
    },
  },
];

test('bodies read as what they are: a form with a file, an image, the frames of a WebSocket, bytes', async (t) => {
  const page = await visit(t, browser, { origin: await startFixture(t) });
  await serveFiles(page);
  await page.goto('/#token=x');
  await open(4)(page);
  await expect(page.getByText('beach.png · image/png · 1.05 MB')).toBeVisible();
  await expect(page.getByText('The end is missing')).toBeVisible();
  await open(5)(page);
  await expect(page.getByText('1 × 1 px')).toBeVisible();
  await page.getByRole('button', { name: 'Hex' }).click();
  await expect(page.getByRole('region', { name: 'Bytes of the response body' })).toContainText('00000000  89 50 4e 47');
  await open(8)(page);
  await expect(page.getByRole('img', { name: 'From the upstream' })).toHaveCount(2);
  await expect(page.getByRole('button', { name: 'Replay', exact: true })).toBeDisabled();
});

async function startFixture(t: TestContext): Promise<string> {
  const server = startInspectFixture(0);
  await once(server, 'listening');
  afterPage(t, () => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The fixture serves the API only. */
async function serveFiles(page: Page): Promise<void> {
  for (const [path, { type, encoding, bytes }] of files) {
    const body = encoding === 'gzip' ? gunzipSync(bytes) : bytes;
    await page.route(
      (url) => url.pathname === path,
      (route) => route.fulfill({ contentType: type, body }),
    );
  }
}

interface Engine {
  readonly server: InspectServer;
  /** A request that a visitor sent, and the answer that the upstream gave. */
  readonly add: (request: string, answer: string) => void;
  readonly upstreamPort: number;
}

/** The inspector's server and log, without a tunnel. Replays go to `answer`. */
async function startEngine(
  t: TestContext,
  answer: (request: IncomingMessage, body: string) => readonly [status: number, json: unknown] = () => [200, {}],
): Promise<Engine> {
  const upstream = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += String(piece);
    const [status, json] = answer(request, body);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
  }).listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  afterPage(t, () => upstream.close());
  const { port } = upstream.address() as AddressInfo;
  const { log, open: openCapture } = createTestLog();
  const replays = createReplays(log);
  const state = () => ({
    version: '0.1.0',
    tunnels: [{ name: 'shop', urls: ['https://shop.example.com'], upstreams: [`http://127.0.0.1:${port}`] }],
    keptBytes: log.keptBytes,
    maxBytes: 67_108_864,
    dropped: log.droppedCount,
  });
  const server = await startInspectServer({ log, replays, check: () => null, state, version: '0.1.0' });
  afterPage(t, () => {
    replays.close();
    server.close();
  });
  const route = { ...testRoute, upstream: { scheme: 'http', host: '127.0.0.1', port } as const };
  const add = (request: string, given: string) => {
    const capture = openCapture({ route });
    capture.connected();
    capture.rx(Buffer.from(request, 'latin1'));
    capture.tx(Buffer.from(given, 'latin1'));
    capture.txEnd();
    capture.closed();
  };
  return { server, add, upstreamPort: port };
}

/** Ends what the page uses once the page is closed: a hook that is added in a hook runs after all others. */
const afterPage = (t: TestContext, end: () => void): void => t.after(() => t.after(end));

async function openPage(t: TestContext, { link }: InspectServer, expectedErrors?: RegExp): Promise<Page> {
  const origin = new URL(link).origin;
  const page = await visit(t, browser, { origin }, { ...(expectedErrors && { expectedErrors }) });
  page.on('request', (request) =>
    assert.ok(request.url().startsWith(origin) || request.url().startsWith('blob:'), request.url()),
  );
  await page.goto(link);
  return page;
}

function answerOf(status: string, body: unknown): string {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}

test('a failing webhook is found, revealed, fixed, replayed and compared', async (t) => {
  let isFixed = false;
  const seen: (string | undefined)[] = [];
  const engine = await startEngine(t, (request) => {
    seen.push(request.headers.authorization);
    return isFixed ? [200, { stored: true }] : [500, { error: 'no login' }];
  });
  const page = await openPage(t, engine.server);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await expect(page.getByText('Waiting for the first request')).toBeVisible();
  await expect(page.getByText('curl -i https://shop.example.com/')).toBeVisible();
  assert.ok(!page.url().includes(engine.server.token), 'the token stayed in the address');

  const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer s3cret' };
  engine.add(
    requestOf(headers, '{"action":"opened"}', 'POST /hook?a=1'),
    answerOf('500 Internal Server Error', { error: 'no login' }),
  );
  engine.add(requestOf({}, '', 'GET /health'), answerOf('200 OK', {}));
  await page.getByRole('combobox', { name: 'Status' }).selectOption('errors');
  await expect(row(page, /GET/)).toHaveCount(0);
  await row(page, /\/hook/).click();
  await expect(page.getByRole('heading', { name: 'POST /hook?a=1' })).toBeVisible();
  await expect(page.getByText('"no login"')).toBeVisible();

  await page
    .getByRole('group', { name: 'Parts of the request' })
    .getByRole('button', { name: /Headers/ })
    .click();
  await expect(page.getByText('Bearer s3cret')).toHaveCount(0);
  await page.getByRole('button', { name: 'Reveal Authorization' }).click();
  await expect(page.getByText('Bearer s3cret')).toBeVisible();
  await page.getByRole('button', { name: 'Copy as cURL' }).click();
  await expect.poll(() => readClipboard(page)).toMatch(/^curl .*s3cret/s);
  await page.getByRole('button', { name: 'Hide secrets' }).click();
  await expect(page.getByText('Bearer s3cret')).toHaveCount(0);

  isFixed = true;
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await expect(page.getByRole('heading', { name: 'POST /hook?a=1' })).toBeVisible();
  await expect(page.getByText('Replay of #1')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Open request' }).getByText('200 OK')).toBeVisible();
  assert.deepEqual(seen, ['Bearer s3cret'], 'a replay sends the hidden header too');

  await page.getByRole('button', { name: 'Compare with #1' }).click();
  const lines = page.getByRole('region', { name: 'Difference of the bodies' });
  await expect(lines).toContainText('Removed:   "error": "no login"');
  await expect(lines).toContainText('Added:   "stored": true');
  await page.goBack();
  await expect(lines).toHaveCount(0);
});

test('the search finds a word of a body, also of a request that arrives later, and nothing in a hidden header', async (t) => {
  const engine = await startEngine(t);
  const webhook = (id: number) =>
    engine.add(
      requestOf({ Authorization: 'Bearer s3cret' }, '{"type":"invoice.failed"}', `POST /hook/${id}`),
      answerOf('200 OK', {}),
    );
  webhook(1);
  engine.add(requestOf({}, '', 'GET /health'), answerOf('200 OK', {}));
  const page = await openPage(t, engine.server);
  await expect(row(page, /health/)).toBeVisible();
  await page.getByRole('searchbox').fill('Invoice.failed');
  await expect(row(page, /hook.1/)).toBeVisible();
  await expect(row(page, /health/)).toHaveCount(0);
  webhook(2);
  await expect(row(page, /hook.2/)).toBeVisible();
  await page.getByRole('searchbox').fill('s3cret');
  await expect(page.getByText('No request matches the filter.')).toBeVisible();
});

test('a body that nests too deeply to indent is shown all the same', async (t) => {
  const engine = await startEngine(t);
  const body = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  engine.add(requestOf({ 'Content-Type': 'application/json' }, body, 'POST /deep'), answerOf('200 OK', {}));
  const page = await openPage(t, engine.server);
  await row(page, /deep/).click();
  await expect(page.getByRole('region', { name: 'Tree of the request body' })).toContainText('1 entry');
});

test('edits a request and replays it, to another address too', async (t) => {
  const first = await startEngine(t);
  const other = await startEngine(t, (request, body) => [201, { path: request.url, added: request.headers['x-added'], body }]);
  first.add(requestOf({ 'X-Old': '1' }, 'hello', 'PUT /thing'), answerOf('200 OK', {}));
  const page = await openPage(t, first.server, /status of 400 .*replay/);
  await row(page, /thing/).click();
  await page.getByRole('button', { name: 'Edit and replay' }).click();
  const panel = page.getByRole('dialog');
  await panel.getByLabel('Path').fill('/other?b=2');
  const address = page.url();
  await page.goBack();
  const question = page.getByRole('dialog', { name: 'Discard what you entered?' });
  await question.getByRole('button', { name: 'Keep editing' }).click();
  await expect(question).toBeHidden();
  await expect(panel.getByLabel('Path')).toHaveValue('/other?b=2');
  assert.equal(page.url(), address, 'Back asks, and stays');
  await panel.getByLabel('Send to').fill('not an address');
  await panel.getByRole('button', { name: 'Remove X-Old' }).click();
  await panel.getByRole('button', { name: 'Add header' }).click();
  await panel
    .getByLabel(/^Name of header/)
    .last()
    .fill('X-Added');
  await panel.getByLabel('Value of X-Added').fill('yes');
  await panel.getByLabel('Body').fill('changed');
  await panel.getByRole('button', { name: 'Replay' }).click();
  await expect(panel.getByRole('alert')).toBeVisible();
  await panel.getByLabel('Send to').fill(`http://127.0.0.1:${other.upstreamPort}`);
  await panel.getByRole('button', { name: 'Replay' }).click();
  await expect(page.getByRole('region', { name: 'Open request' }).getByText('201 Created')).toBeVisible();
  const answer = page.getByRole('region', { name: 'Tree of the response body' });
  for (const text of ['"/other?b=2"', '"yes"', '"changed"']) await expect(answer).toContainText(text);
});

test('the keyboard searches, moves, opens and closes', async (t) => {
  const engine = await startEngine(t);
  for (const path of ['one', 'two', 'three']) engine.add(requestOf({}, '', `GET /${path}`), answerOf('200 OK', { path }));
  const page = await openPage(t, engine.server);
  await expect(row(page, /three/)).toBeVisible();
  await page.keyboard.press('/');
  await expect(page.getByRole('searchbox')).toBeFocused();
  await page.keyboard.type('/t');
  await expect(row(page, /one/)).toHaveCount(0);
  await page.keyboard.press('ArrowDown');
  await expect(row(page, /three/)).toBeFocused();
  await page.keyboard.press('ArrowDown');
  await expect(row(page, /two/)).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { name: 'GET /two' })).toBeFocused();
  await page.keyboard.press('Escape');
  await expect(row(page, /two/)).toBeFocused();
  await expect(page.getByRole('heading', { name: 'GET /two' })).toHaveCount(0);
});

const mostNodes = 2_000;

test('a thousand requests stay light, and the list stays in its place', async (t) => {
  const engine = await startEngine(t);
  for (let at = 1; at <= 990; at++) engine.add(requestOf({}, '', `GET /item/${at}`), answerOf('200 OK', { at }));
  const page = await openPage(t, engine.server);
  await expect(page.getByText('990 requests')).toBeVisible();
  await row(page, /\/item\/990\b/).click();
  await expect(page.getByRole('group', { name: 'Parts of the response' })).toBeVisible();
  const nodes = await page.evaluate<number>('document.querySelectorAll("*").length');
  t.diagnostic(`${nodes} elements`);
  assert.ok(nodes < mostNodes, `${nodes} elements`);
  await page.getByRole('button', { name: 'Back to the list' }).click();
  await expect(row(page, /\/item\/990\b/)).toBeFocused();
  await page.keyboard.press('End');
  await expect(row(page, /\/item\/1\b/)).toBeFocused();
  const before = await row(page, /\/item\/3\b/).boundingBox();
  engine.add(requestOf({}, '', 'GET /newest'), answerOf('200 OK', {}));
  await expect(page.getByRole('button', { name: '1 new request' })).toBeVisible();
  assert.equal((await row(page, /\/item\/3\b/).boundingBox())?.y, before?.y, 'the list moved under the reader');
  await page.getByRole('button', { name: '1 new request' }).click();
  await expect(row(page, /newest/)).toBeVisible();

  await page.getByRole('button', { name: 'Pause the list' }).click();
  engine.add(requestOf({}, '', 'GET /while-paused'), answerOf('200 OK', {}));
  await expect(page.getByText('1 newer request while paused')).toBeVisible();
  await expect(row(page, /while-paused/)).toHaveCount(0);
  await page.getByRole('button', { name: 'Resume the list' }).click();
  await expect(row(page, /while-paused/)).toBeVisible();
  await page.getByRole('button', { name: 'Clear the list' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Clear' }).click();
  await expect(page.getByText('Waiting for the first request')).toBeVisible();
});

test('once the client has ended, says as of when it shows what it shows', async (t) => {
  const engine = await startEngine(t);
  engine.add(requestOf({}, '', 'GET /last'), answerOf('200 OK', {}));
  const page = await openPage(t, engine.server, /ERR_/);
  await expect(row(page, /last/)).toBeVisible();
  engine.server.close();
  await expect(page.getByRole('alert')).toContainText(/^As of \d+:\d\d:\d\d\s[AP]M: the client does not answer\./);
  await expect(row(page, /last/)).toBeVisible();
  await expect(page.getByText('Not connected')).toBeVisible();
});

test('without the token or with a damaged one, says where the link is; the link works in the same tab', async (t) => {
  const { server } = await startEngine(t);
  const origin = new URL(server.link).origin;
  const page = await openPage(t, { ...server, link: `${origin}/#token=cut%E2%80%A6` }, /401/);
  await expect(page.getByText('This page needs its link')).toBeVisible();
  await page.goto(origin);
  await expect(page.getByText('This page needs its link')).toBeVisible();
  await page.goto(server.link);
  await expect(page.getByText('Waiting for the first request')).toBeVisible();
});
