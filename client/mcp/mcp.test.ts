// The endpoint with real server processes, over HTTP on loopback. What the edge adds, the visitor's name, the tests add.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createBridge } from './bridge.ts';
import type { Json } from './core/message.ts';
import { createMcpHandler } from './http.ts';
import { type McpLimits, mcpLimits } from './limits.ts';
import { startServerProcess } from './server-process.ts';

const fixture = fileURLToPath(new URL('./fixture/server.mjs', import.meta.url));

interface StageOptions {
  readonly args?: readonly string[];
  readonly isShared?: boolean;
  readonly limits?: Partial<McpLimits>;
  readonly check?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

type Headers = Readonly<Record<string, string>>;

async function startStage(t: TestContext, { args = ['session'], isShared = false, check = true, ...rest }: StageOptions = {}) {
  const limits = { ...mcpLimits, endMs: 500, ...rest.limits };
  const log: string[] = [];
  let nowMs = 1_000_000;
  const bridge = createBridge({
    start: (events) =>
      startServerProcess({ file: process.execPath, args: [fixture, ...args], cwd: '/', env: { ...rest.env } }, limits, events),
    isShared,
    limits,
    now: () => nowMs,
    onLog: (line) => log.push(line),
    onEnd: ({ reason }) => log.push(`ended: ${reason}`),
  });
  const handle = createMcpHandler(bridge, limits);
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    await bridge.end();
    server.closeAllConnections();
    server.close();
  });
  const opened = check ? await bridge.check() : undefined;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const send = (method: string, headers: Headers, body?: string, signal?: AbortSignal) =>
    fetch(url, { method, headers: { 'x-underpass-user': 'ann', ...headers }, body: body ?? null, signal: signal ?? null });
  const post = (body: unknown, headers: Headers = {}, signal?: AbortSignal) =>
    send(
      'POST',
      { 'content-type': 'application/json', ...headers },
      typeof body === 'string' ? body : JSON.stringify(body),
      signal,
    );
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { bridge, opened, log, url, send, post, pass, limits };
}

type Stage = Awaited<ReturnType<typeof startStage>>;

const request = (id: number | string, method: string, params: Json = {}) => ({ jsonrpc: '2.0', id, method, params });
const call = (id: number | string, name: string, args: Json = {}, meta: Json = {}) =>
  request(id, 'tools/call', { name, arguments: args, _meta: meta });
const initialize = request(0, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 't', version: '1' },
});

/** All messages of an answer, whether it is one object or a stream. */
async function messagesOf(response: Response): Promise<readonly Json[]> {
  const text = await response.text();
  if (response.headers.get('content-type') === 'application/json') return [JSON.parse(text)];
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data!) as Json);
}

function textIn(message: Json | undefined): string {
  const { result, error } = message as { result?: { content: { text: string }[] }; error?: { message: string } };
  return result?.content[0]?.text ?? `error: ${error?.message}`;
}

async function open(stage: Stage, visitor = 'ann') {
  const answer = await stage.post(initialize, { 'x-underpass-user': visitor });
  assert.equal(answer.status, 200, await answer.clone().text());
  const id = answer.headers.get('mcp-session-id')!;
  await answer.body?.cancel();
  const headers = { 'x-underpass-user': visitor, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
  return {
    id,
    headers,
    post: (body: unknown, more: Headers = {}, signal?: AbortSignal) => stage.post(body, { ...headers, ...more }, signal),
    call: async (name: string, args: Json = {}) =>
      textIn((await messagesOf(await stage.post(call(1, name, args), headers))).at(-1)),
    get: (more: Headers = {}, signal?: AbortSignal) =>
      stage.send('GET', { ...headers, accept: 'text/event-stream', ...more }, undefined, signal),
  };
}

/** Reads a stream of events until one matches. */
async function readUntil(response: Response, pattern: RegExp): Promise<string> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!pattern.test(text)) {
    const { value, done } = await reader.read();
    assert.ok(!done, `the stream ended: ${text}`);
    text += value;
  }
  await reader.cancel();
  return text;
}

function stateless(name: string, body: ReturnType<typeof request>, more: Headers = {}) {
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
  const params = { ...body.params, _meta: { ...(body.params._meta as Json), ...meta } };
  const named = name === '' ? {} : { 'mcp-name': name };
  const headers: Headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': body.method, ...named, ...more };
  return [{ ...body, params }, headers] as const;
}

test('a session has a server of its own, and ends it with DELETE', async (t) => {
  const stage = await startStage(t);
  const [first, second] = [await open(stage), await open(stage)];
  assert.notEqual(await first.call('pid'), await second.call('pid'));
  assert.equal(await first.call('count'), '1');
  assert.equal(await first.call('count'), '2');
  assert.equal(await second.call('count'), '1');
  assert.equal((await stage.send('DELETE', first.headers)).status, 204);
  assert.equal((await first.post(call(2, 'pid'))).status, 404);
  assert.equal(await second.call('count'), '2');
});

test('a foreign session does not exist: neither to use, nor to read, nor to end', async (t) => {
  const stage = await startStage(t);
  const ann = await open(stage);
  const asEve = { ...ann.headers, 'x-underpass-user': 'eve' };
  assert.equal((await stage.post(call(1, 'pid'), asEve)).status, 404);
  assert.equal((await stage.send('GET', { ...asEve, accept: 'text/event-stream' })).status, 404);
  assert.equal((await stage.send('DELETE', asEve)).status, 404);
  assert.equal((await stage.post(call(1, 'pid'), { ...asEve, 'mcp-session-id': 'guessed' })).status, 404);
  assert.equal(
    (await stage.post(initialize, { ...asEve, 'mcp-session-id': 'chosen-by-eve' })).status,
    400,
    'no session by a chosen id',
  );
  assert.match(await ann.call('pid'), /^\d+$/);
});

test('a request of nobody is refused', async (t) => {
  const stage = await startStage(t, { check: false });
  assert.equal((await stage.post(initialize, { 'x-underpass-user': '' })).status, 403);
});

test('refuses what HTTP must not bring', async (t) => {
  const stage = await startStage(t, { check: false, limits: { bodyBytes: 1_000 } });
  const status = async (answer: Promise<Response>) => (await answer).status;
  assert.equal(await status(stage.post('{', {})), 400);
  assert.equal(await status(stage.post([initialize, initialize])), 400, 'a batch');
  assert.equal(await status(stage.post({ ...initialize, jsonrpc: '1.0' })), 400);
  assert.equal(await status(stage.post(`${'['.repeat(400)}${']'.repeat(400)}`)), 400, 'deeply nested');
  assert.equal(await status(stage.post({ ...initialize, pad: 'x'.repeat(1_000) })), 413);
  const chunked = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(300)) });
  const endless = {
    method: 'POST',
    body: chunked,
    duplex: 'half',
    headers: { 'x-underpass-user': 'ann', 'content-type': 'application/json' },
  };
  assert.equal(await status(fetch(stage.url, endless as RequestInit)), 413);
  assert.equal(await status(stage.post(initialize, { 'content-type': 'text/plain' })), 415);
  assert.equal(await status(stage.post(initialize, { accept: 'text/html' })), 406);
  assert.equal(await status(stage.post(initialize, { origin: 'https://evil.example' })), 403);
  assert.equal(await status(stage.post(initialize, { origin: 'null' })), 403);
  assert.equal(await status(stage.post(initialize, { 'mcp-protocol-version': '1999-01-01' })), 400);
  assert.equal(await status(stage.post(call(1, 'pid'))), 400, 'no session');
  assert.equal(await status(stage.send('PUT', {})), 405);
  assert.equal(await status(stage.send('GET', { accept: 'text/event-stream' })), 405);
  assert.equal(await status(fetch(stage.url.replace('/mcp', '/other'))), 404);
  const atRoot = await fetch(stage.url.replace('/mcp', '/'), { method: 'POST', body: '{}', redirect: 'manual' });
  assert.deepEqual([atRoot.status, atRoot.headers.get('location')], [308, '/mcp'], 'a rule for /mcp holds for every call');
  assert.equal(stage.log.length, 0, 'no server was started');
});

test('progress and answer come on one stream, with the token and id of the client', async (t) => {
  const stage = await startStage(t);
  const session = await open(stage);
  const answer = await session.post(call('mine', 'progress', {}, { progressToken: 'token' }));
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  const messages = await messagesOf(answer);
  assert.deepEqual(
    messages.map(({ id, params }) => id ?? (params as Json).progressToken),
    ['token', 'mine'],
  );
});

test('a client asks again after a broken connection, and gets what it missed', async (t) => {
  const stage = await startStage(t, { limits: { streamAfterMs: 10 } });
  const session = await open(stage);
  const cut = new AbortController();
  const answer = await session.post(call(5, 'later', { ms: 300 }), {}, cut.signal);
  const text = await readUntil(answer, /^id: (.+)$/m);
  cut.abort();
  const lastId = /^id: (.+)$/m.exec(text)![1]!;
  const resumed = await session.get({ 'last-event-id': lastId });
  assert.equal(textIn((await messagesOf(resumed)).at(-1)), 'later');
  assert.equal((await session.get({ 'last-event-id': '77-1' })).status, 400);
  assert.equal((await session.get({ 'last-event-id': 'x' })).status, 400);
});

test('what the server says of itself comes by GET, also from before, and a second GET takes over', async (t) => {
  const stage = await startStage(t);
  const session = await open(stage);
  await session.call('later', { ms: 1 });
  const first = await session.get();
  const second = await session.get();
  assert.equal(await first.text(), 'id: 0-0\ndata: \n\n', 'the older connection ends');
  assert.equal(await session.call('change'), 'changed');
  void second.body?.cancel();
});

test('a server may ask its client, and only its own client may answer, once', async (t) => {
  const stage = await startStage(t);
  const [ann, eve] = [await open(stage), await open(stage, 'eve')];
  const asking = await ann.post(call(9, 'ask'));
  const reply = { jsonrpc: '2.0', id: 'ask-1', result: { role: 'assistant' } };
  assert.equal((await eve.post(reply)).status, 400);
  const reader = asking.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? '';
  while (!text.includes('sampling/createMessage')) text += (await reader.read()).value ?? '';
  assert.equal((await ann.post(reply)).status, 202);
  assert.equal((await ann.post(reply)).status, 400);
  while (!text.includes('client said')) text += (await reader.read()).value ?? assert.fail('ended');
  assert.match(text, /client said .*assistant/);
});

test('a request is cancelled by its own session alone', async (t) => {
  const stage = await startStage(t, { isShared: true });
  const [ann, eve] = [await open(stage), await open(stage, 'eve')];
  const waiting = ann.post(call(4, 'never'));
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4 } };
  assert.equal((await eve.post(cancel)).status, 202);
  assert.equal(await eve.call('cancelled'), '0');
  assert.equal((await ann.post(cancel)).status, 202);
  assert.equal(await ann.call('cancelled'), '1');
  assert.equal((await waiting).status, 202);
});

test('sessions of a shared server use the same ids at once, and get their own answers', async (t) => {
  const stage = await startStage(t, { isShared: true });
  const sessions = await Promise.all(['ann', 'eve', 'bob'].map((visitor) => open(stage, visitor)));
  const pids = await Promise.all(sessions.map((session) => session.call('pid')));
  assert.equal(new Set(pids).size, 1);
  const echoed = await Promise.all(sessions.map(({ id, call }) => call('echo', { value: id })));
  assert.deepEqual(
    echoed,
    sessions.map(({ id }) => id),
  );
});

test('a shared server tells everybody what concerns all, and nobody what concerns one', async (t) => {
  const stage = await startStage(t, { isShared: true });
  const [ann, eve] = [await open(stage), await open(stage, 'eve')];
  const stream = await eve.get();
  assert.equal(await ann.call('log'), 'logged');
  assert.equal(await ann.call('change'), 'changed');
  const text = await readUntil(stream, /list_changed/);
  assert.doesNotMatch(text, /private/);
  const level = await messagesOf(await ann.post(request(3, 'logging/setLevel', { level: 'debug' })));
  assert.match(textIn(level[0]), /Method not found/);
  const asked = await messagesOf(await ann.post(call(6, 'ask')));
  assert.match(textIn(asked.at(-1)), /client said .*-32601/);
});

test('a server that crashes answers what waits with an error, ends the session, and starts anew', async (t) => {
  const stage = await startStage(t, { limits: { earlyMs: 0 } });
  const session = await open(stage);
  const [waiting, crashing] = await Promise.all([session.post(call(1, 'never')), session.post(call(2, 'crash'))]);
  assert.match(textIn((await messagesOf(crashing))[0]), /ended before it answered/);
  assert.match(textIn((await messagesOf(waiting))[0]), /ended before it answered/);
  assert.equal((await session.post(call(3, 'pid'))).status, 404);
  assert.ok(stage.log.includes('ended: exit code 7'));
  assert.match(await (await open(stage)).call('pid'), /^\d+$/);
});

test('a server that fails at its start waits longer each time, for its visitor alone', async (t) => {
  const stage = await startStage(t, { args: ['session', 'crash'], check: false });
  const statusFor = async (visitor: string) => {
    const answer = await stage.post(initialize, { 'x-underpass-user': visitor });
    await answer.text();
    return `${answer.status} ${answer.headers.get('retry-after')}`;
  };
  assert.equal(await statusFor('ann'), '200 null', 'the error of the server that ended');
  assert.equal(await statusFor('ann'), '503 1');
  assert.equal(await statusFor('eve'), '200 null');
  stage.pass(600);
  assert.equal(await statusFor('ann'), '200 null');
  stage.pass(600);
  assert.equal(await statusFor('ann'), '503 1');
});

test('a program that does not exist fails the check', async (t) => {
  const limits = mcpLimits;
  const log: string[] = [];
  const bridge = createBridge({
    start: (events) => startServerProcess({ file: '/no/such/program', args: [], cwd: '/', env: {} }, limits, events),
    ...{ isShared: false, limits, now: () => 0, onLog: () => {}, onEnd: ({ reason }) => log.push(reason) },
  });
  t.after(() => bridge.end());
  const sinceMs = performance.now();
  assert.equal(await bridge.check(), undefined);
  assert.ok(performance.now() - sinceMs < limits.probeMs, 'it waits for nothing');
  assert.deepEqual(log, ['no such program']);
});

test('an answer that never comes ends in an error, and the server is told', async (t) => {
  const stage = await startStage(t, { limits: { sweepMs: 20, answerMs: 1_000 } });
  const session = await open(stage);
  const waiting = session.post(call(1, 'never'));
  assert.equal(await session.call('echo', { value: 'meanwhile' }), 'error: A request with this id waits for its answer');
  stage.pass(1_000);
  assert.match(textIn((await messagesOf(await waiting))[0]), /did not answer in time/);
  assert.equal(await session.call('cancelled'), '1');
});

test('lines that are no messages, and messages that are too long, do no harm', async (t) => {
  const stage = await startStage(t, { limits: { lineBytes: 20_000 } });
  const session = await open(stage);
  assert.equal(await session.call('junk'), 'after junk');
  assert.equal(stage.log.filter((line) => line.startsWith('(not a message)')).length, 4);
  assert.match(await session.call('big', { bytes: 30_000 }), /larger than 20000 bytes/);
  assert.equal((await session.call('big', { bytes: 100 })).length, 100);
});

test('bounds sessions, those of one visitor, and open requests', async (t) => {
  const stage = await startStage(t, {
    limits: { seats: { total: 3, perVisitor: 2, idleMs: 60_000 }, requests: 2, streamAfterMs: 5 },
  });
  const first = await open(stage);
  stage.pass(1);
  const second = await open(stage);
  const third = await open(stage);
  assert.equal((await first.post(call(1, 'pid'))).status, 404, 'the one that is idle for longest gives way');
  const busy = [await second.get(), await third.get()];
  assert.equal((await stage.post(initialize)).status, 503);
  await open(stage, 'eve');
  assert.equal(
    (await stage.post(initialize, { 'x-underpass-user': 'bob' })).status,
    503,
    'no session of somebody else gives way',
  );
  const waiting = [await third.post(call(2, 'never')), await third.post(call(3, 'never'))];
  assert.match(textIn((await messagesOf(await third.post(call(4, 'pid'))))[0]), /Too many requests/);
  for (const each of [...busy, ...waiting]) void each.body?.cancel();
});

test('an idle session ends', async (t) => {
  const stage = await startStage(t, { limits: { sweepMs: 20, seats: { total: 3, perVisitor: 2, idleMs: 1_000 } } });
  const session = await open(stage);
  stage.pass(1_001);
  const gone = async (): Promise<boolean> => stage.log.includes('ended: exit code 0') && stage.log.length >= 2;
  while (!(await gone())) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal((await session.post(call(1, 'pid'))).status, 404);
});

for (const speaks of ['session', 'stateless', 'both'])
  test(`requests without a session reach a server of revision: ${speaks}`, async (t) => {
    const stage = await startStage(t, { args: [speaks] });
    assert.equal(stage.opened?.era, speaks === 'session' ? 'session' : 'stateless');
    const found = await messagesOf(await stage.post(...stateless('', request(1, 'server/discover'))));
    const { supportedVersions, resultType } = found[0]!.result as Json;
    assert.deepEqual([(supportedVersions as string[])[0], resultType], ['2026-07-28', 'complete']);
    const listed = await messagesOf(await stage.post(...stateless('', request(2, 'tools/list'))));
    assert.doesNotMatch(JSON.stringify(listed), /x-mcp-header/);
    const pids = ['ann', 'ann', 'eve'].map(async (visitor) => {
      const answer = await stage.post(...stateless('pid', call(1, 'pid'), { 'x-underpass-user': visitor }));
      assert.equal(answer.headers.get('mcp-session-id'), null);
      return textIn((await messagesOf(answer))[0]);
    });
    const [first, again, other] = await Promise.all(pids);
    assert.equal(first, again);
    assert.notEqual(first, other, 'another visitor has another server');
    assert.equal((await stage.post(...stateless('', request(3, 'no/such')))).status, 404);
  });

test('a client without a session cancels its request by leaving', async (t) => {
  const stage = await startStage(t, { args: ['stateless'], limits: { streamAfterMs: 5 } });
  const cut = new AbortController();
  const answer = await stage.post(...stateless('never', call(1, 'never')), cut.signal);
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  cut.abort();
  await answer.text().catch(() => {});
  let text = '';
  while (text !== '1') text = textIn((await messagesOf(await stage.post(...stateless('cancelled', call(2, 'cancelled')))))[0]);
});

test('a subscription names the id of its client', async (t) => {
  const stage = await startStage(t, { args: ['stateless'] });
  const answer = await stage.post(
    ...stateless('', request('sub', 'subscriptions/listen', { notifications: { toolsListChanged: true } })),
  );
  const text = await readUntil(answer, /list_changed/);
  assert.equal([...text.matchAll(/"io.modelcontextprotocol\/subscriptionId":"sub"/g)].length, 2);
});

const asking = { 'io.modelcontextprotocol/clientCapabilities': { sampling: {}, roots: {} } };

/** What a server of an older revision asks during a call, as the result of a client without a session. */
async function askStateless(stage: Stage, visitor = 'ann') {
  const [body, headers] = stateless('ask', call(1, 'ask'), { 'x-underpass-user': visitor });
  const params = { ...body.params, _meta: { ...body.params._meta, ...asking } };
  const [answer] = await messagesOf(await stage.post({ ...body, params }, headers));
  const { resultType, inputRequests, requestState } = answer!.result as Json & { inputRequests: Json };
  const [key = ''] = Object.keys(inputRequests);
  const retry = async (change: Json = {}, as = visitor, id = 2) => {
    const more = { requestState, inputResponses: { [key]: { role: 'assistant' } }, ...change };
    const retried = { ...body, id, params: { ...params, ...more } };
    return (await messagesOf(await stage.post(retried, { ...headers, 'x-underpass-user': as })))[0];
  };
  return { resultType, question: inputRequests[key] as Json, retry };
}

test('a question of an older server is a result that requires input, and the retry goes on with the call', async (t) => {
  const stage = await startStage(t);
  const { resultType, question, retry } = await askStateless(stage);
  assert.deepEqual([resultType, question.method], ['input_required', 'sampling/createMessage']);
  const again = (await retry({ inputResponses: {} }))!.result as Json;
  assert.equal(again.resultType, 'input_required', 'it asks again for what is missing');
  const { requestState, inputRequests } = again as { requestState: string; inputRequests: Json };
  const inputResponses = { [Object.keys(inputRequests)[0]!]: { role: 'assistant' } };
  assert.match(textIn(await retry({ requestState, inputResponses }, 'ann', 7)), /client said .*assistant/);
  assert.match(textIn(await retry({ requestState, inputResponses }, 'ann', 8)), /not known/, 'a state works once');
});

test('the state of a call is for its visitor and its tool alone', async (t) => {
  const stage = await startStage(t);
  const ann = await askStateless(stage);
  await askStateless(stage, 'eve');
  assert.match(textIn(await ann.retry({}, 'eve')), /not known/);
  assert.match(textIn(await ann.retry({ requestState: 'guessed' })), /not known/);
  assert.match(textIn(await ann.retry()), /client said .*assistant/);
});

test('a client that cannot answer is not asked', async (t) => {
  const stage = await startStage(t);
  const [answer] = await messagesOf(await stage.post(...stateless('ask', call(1, 'ask'))));
  assert.match(textIn(answer), /client said .*-32601/);
});

for (const isShared of [false, true])
  test(`a client without a session hears of changes of an older server, shared: ${isShared}`, async (t) => {
    const stage = await startStage(t, { isShared });
    const wanted = { notifications: { toolsListChanged: true, promptsListChanged: true } };
    const stream = await stage.post(...stateless('', request('sub', 'subscriptions/listen', wanted)));
    assert.equal(textIn((await messagesOf(await stage.post(...stateless('change', call(2, 'change')))))[0]), 'changed');
    const text = await readUntil(stream, /list_changed/);
    assert.match(text, /acknowledged.*"notifications":\{"toolsListChanged":true\}/, 'without what the server does not offer');
    assert.equal([...text.matchAll(/"io.modelcontextprotocol\/subscriptionId":"sub"/g)].length, 2);
  });

test('sessions of a shared server that ended do not exist any more', async (t) => {
  const stage = await startStage(t, { isShared: true, limits: { earlyMs: 0 } });
  const [ann, eve] = [await open(stage), await open(stage, 'eve')];
  assert.match(await ann.call('crash'), /ended before it answered/);
  assert.equal((await eve.post(call(1, 'pid'))).status, 404);
  assert.match(await (await open(stage, 'eve')).call('pid'), /^\d+$/);
});

test('bounds the messages of a visitor that wait for a server', async (t) => {
  const stage = await startStage(t, { args: ['silent'], check: false, limits: { arriving: 2, probeMs: 300, startMs: 300 } });
  const statuses = ['ann', 'ann', 'ann', 'eve'].map(async (visitor) => {
    const answer = await stage.post(...stateless('', request(1, 'tools/list'), { 'x-underpass-user': visitor }));
    return answer.text();
  });
  const texts = (await Promise.all(statuses)).map((text) => (text.includes('Too many messages') ? 'full' : 'not open'));
  // Each message has a connection of its own, and any of the three may come last.
  assert.deepEqual([texts.slice(0, 3).sort(), texts[3]], [['full', 'not open', 'not open'], 'not open']);
});

test('headers that differ from the body are refused in every revision', async (t) => {
  const stage = await startStage(t, { args: ['both'] });
  const session = await open(stage);
  const refused = async (answer: Promise<Response>) => {
    const { status } = await answer;
    const [body] = await messagesOf(await answer);
    return `${status} ${(body!.error as Json).code}`;
  };
  assert.equal(await refused(stage.post(...stateless('echo', call(1, 'pid')))), '400 -32020');
  assert.equal(await refused(stage.post(...stateless('pid', call(1, 'pid'), { 'mcp-method': 'tools/list' }))), '400 -32020');
  assert.equal(await refused(stage.post(...stateless('', call(1, 'pid')))), '400 -32020');
  assert.equal(await refused(stage.post(...stateless('pid', call(1, 'pid'), { 'mcp-param-region': 'x' }))), '400 -32020');
  assert.equal(
    await refused(stage.post(...stateless('pid', call(1, 'pid'), { 'mcp-protocol-version': '2025-11-25' }))),
    '400 -32020',
  );
  assert.equal(
    await refused(stage.post(...stateless('pid', call(1, 'pid'), { 'mcp-protocol-version': '2030-01-01' }))),
    '400 -32022',
  );
  assert.equal(await refused(session.post(call(1, 'pid'), { 'mcp-method': 'tools/call', 'mcp-name': 'echo' })), '400 -32020');
  assert.equal((await session.post(call(1, 'pid'), { 'mcp-method': 'tools/call', 'mcp-name': 'pid' })).status, 200);
});
