// The decisions of `underpass mcp` without a process: messages, lines, headers, ids, events, seats, starts and the log.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServerLog } from '../server-log.ts';
import { checkMessage, decodeHeader, type MessageHeaders, statusOf } from './check.ts';
import { createEventLog } from './event-log.ts';
import { createLineReader, idOfCutLine } from './lines.ts';
import { type Json, type Message, parseMessage } from './message.ts';
import { createRouter } from './router.ts';
import { createSeats } from './seats.ts';
import { createStartGate } from './start-gate.ts';

function kindOf(text: string): string {
  const parsed = parseMessage(text);
  return parsed.ok ? parsed.message.kind : String(parsed.code);
}

for (const [text, kind, why] of [
  ['{"jsonrpc":"2.0","id":1,"method":"ping"}', 'request', ''],
  ['{"jsonrpc":"2.0","id":"a","method":"ping","params":{}}', 'request', ''],
  ['{"jsonrpc":"2.0","method":"notifications/initialized"}', 'notification', ''],
  ['{"jsonrpc":"2.0","id":1,"result":{}}', 'answer', ''],
  ['{"jsonrpc":"2.0","id":1,"error":{"code":1}}', 'answer', ''],
  ['', '-32700', ''],
  ['{', '-32700', ''],
  ['[]', '-32600', 'an empty batch'],
  ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', '-32600', 'a batch of one'],
  ['null', '-32600', ''],
  ['{"id":1,"method":"ping"}', '-32600', 'JSON-RPC 1'],
  ['{"jsonrpc":"2.0","id":null,"method":"ping"}', '-32600', 'MCP has no id null'],
  ['{"jsonrpc":"2.0","id":{},"method":"ping"}', '-32600', ''],
  ['{"jsonrpc":"2.0","id":1e999,"method":"ping"}', '-32600', 'it would be written as null'],
  ['{"jsonrpc":"2.0","id":1,"method":7}', '-32600', ''],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', '-32600', 'MCP names its parameters'],
  ['{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', '-32600', ''],
  ['{"jsonrpc":"2.0","id":1}', '-32600', ''],
  [`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":${'['.repeat(300)}${']'.repeat(300)}}}`, '-32600', 'deep'],
] as const)
  test(`a message: ${text.slice(0, 60)} ${why}`, () => assert.equal(kindOf(text), kind));

function readLines(maxBytes: number, chunks: readonly string[]) {
  const seen: unknown[] = [];
  const read = createLineReader(maxBytes, {
    onLine: (line) => seen.push(line),
    onCut: (head, tail) => seen.push(idOfCutLine(head, tail) ?? 'cut'),
  });
  for (const chunk of chunks) read(Buffer.from(chunk));
  return seen;
}

test('reads lines across chunks, also of a letter in two halves, and passes empty ones over', () => {
  const letter = Buffer.from('é');
  const seen: string[] = [];
  const read = createLineReader(100, { onLine: (line) => seen.push(line), onCut: () => assert.fail() });
  read(Buffer.concat([Buffer.from('a\n\n \nb'), letter.subarray(0, 1)]));
  read(Buffer.concat([letter.subarray(1), Buffer.from('c\r\nrest')]));
  assert.deepEqual(seen, ['a', 'bé' + 'c\r']);
});

test('cuts a line at its bound, and goes on with the next', () => {
  assert.deepEqual(readLines(10, ['0123456789\n', '0123456789a\n', 'next\n']), ['0123456789', 'cut', 'next']);
  assert.deepEqual(readLines(10, [...Array.from({ length: 500 }, () => 'x'.repeat(7)), '\n', 'next\n']), ['cut', 'next']);
});

for (const [line, id, why] of [
  [`{"jsonrpc":"2.0","id":12,"result":{"text":"${'x'.repeat(200)}"}}`, 12, 'the id first, as the Python SDK writes'],
  [`{"jsonrpc": "2.0", "id": 12, "result": {"text": "${'x'.repeat(200)}"}}`, 12, 'with spaces'],
  [`{"result":{"text":"${'x'.repeat(200)}"},"jsonrpc":"2.0","id":12}`, 12, 'the id last, as the TypeScript SDK writes'],
  [`{"jsonrpc":"2.0","result":{"text":"${'x'.repeat(200)}","id":12}}`, 'cut', 'an id inside a result'],
  [`{"jsonrpc":"2.0","result":"${'x'.repeat(200)},\\"id\\":12}"}`, 'cut', 'an id inside a text'],
  [`{"text":"${'x'.repeat(200)}"}`, 'cut', 'no id'],
] as const)
  test(`finds whose answer was too long: ${why}`, () => assert.deepEqual(readLines(100, [`${line}\n`]), [id]));

function message(body: Json): Message {
  const parsed = parseMessage(JSON.stringify({ jsonrpc: '2.0', ...body }));
  return parsed.ok ? parsed.message : assert.fail(parsed.text);
}
const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } };
const modernCall = message({ id: 1, method: 'tools/call', params: { name: 'get', ...meta } });
const oldCall = message({ id: 1, method: 'tools/call', params: { name: 'get' } });
const modern = { version: '2026-07-28', method: 'tools/call', name: 'get' };

for (const [headers, body, expected, why] of [
  [{ version: '2025-06-18' }, oldCall, 'session', ''],
  [{ version: '2025-11-25' }, oldCall, 'session', ''],
  [{}, oldCall, 'session', 'before 2025-06-18 there was no header'],
  [modern, modernCall, 'stateless', ''],
  [{ ...modern, name: '=?base64?Z2V0?=' }, modernCall, 'stateless', 'an encoded name'],
  [{ version: '2026-07-28' }, message({ method: 'notifications/x' }), 'stateless', 'no headers are defined for it'],
  [{ version: 'draft' }, oldCall, -32022, ''],
  [{ version: '2027-01-01', method: 'tools/call', name: 'get' }, modernCall, -32022, 'before anything else'],
  [{ version: '2025-11-25, 2026-07-28' }, oldCall, -32022, 'the header twice'],
  [modern, oldCall, -32020, 'the body names no version'],
  [{ ...modern, version: '2025-11-25' }, modernCall, -32020, 'an older header before a modern body'],
  [{ method: 'tools/call', name: 'get' }, modernCall, -32020, 'no version in the header'],
  [{ ...modern, method: undefined }, modernCall, -32020, ''],
  [{ ...modern, method: 'tools/list' }, modernCall, -32020, ''],
  [{ ...modern, method: 'Tools/Call' }, modernCall, -32020, 'values are case-sensitive'],
  [{ ...modern, name: undefined }, modernCall, -32020, ''],
  [{ ...modern, name: 'set' }, modernCall, -32020, ''],
  [{ ...modern, name: 'get, set' }, modernCall, -32020, 'the header twice'],
  [{ ...modern, name: '=?base64?Z2V0?' }, modernCall, -32020, 'no encoding without its end'],
  [{ ...modern, name: '=?base64?Z2V0=?=' }, modernCall, -32020, 'not canonical'],
  [{ ...modern, name: 'g\u00e9t' }, modernCall, -32020, ''],
  [{ ...modern, hasParams: true }, modernCall, -32020, ''],
  [{ version: '2025-11-25', name: 'set' }, oldCall, -32020, 'an older client that sends the header all the same'],
  [{ version: '2025-11-25', method: 'tools/list' }, oldCall, -32020, ''],
  [{ version: '2025-11-25', name: 'get' }, message({ id: 1, method: 'tools/list' }), -32020, 'a method without a name'],
  [{ version: '2025-11-25', name: 'a' }, message({ id: 1, method: 'constructor', params: { name: 'a' } }), -32020, ''],
  [{ version: '2025-11-25', method: 'ping' }, message({ id: 1, result: {} }), -32020, 'an answer has no method'],
] satisfies [Partial<MessageHeaders>, Message, string | number, string][])
  test(`headers ${JSON.stringify(headers)} give ${expected} ${why}`, () => {
    const checked = checkMessage({ hasParams: false, ...headers }, body);
    assert.equal(checked.ok ? checked.era : checked.code, expected);
  });

test('a resource is named by its uri', () => {
  const read = message({ id: 1, method: 'resources/read', params: { uri: 'file:///a', name: 'other', ...meta } });
  const headers = { version: '2026-07-28', method: 'resources/read', hasParams: false };
  assert.ok(checkMessage({ ...headers, name: 'file:///a' }, read).ok);
  assert.ok(!checkMessage({ ...headers, name: 'other' }, read).ok);
});

test('decodes what a header may hold, and nothing else', () => {
  assert.equal(decodeHeader('=?base64?SGVsbG8sIOS4lueVjA==?='), 'Hello, 世界');
  assert.equal(decodeHeader('=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='), '=?base64?literal?=');
  assert.equal(decodeHeader('=?BASE64?Z2V0?='), '=?BASE64?Z2V0?=', 'the markers are case-sensitive');
  assert.equal(decodeHeader('=?base64?/w==?='), undefined, 'not UTF-8');
  assert.equal(decodeHeader('a\u0007'), undefined);
});

test('HTTP tells a missing method and wrong headers by its status', () => {
  const statuses = [-32601, -32020, -32021, -32022, -32602].map((code) => statusOf({ error: { code } }));
  assert.deepEqual(statuses, [404, 400, 400, 400, 200]);
});

test('requests under the same id meet nowhere: not in answers, progress or cancellation', () => {
  const router = createRouter<string>();
  const got: unknown[] = [];
  const send = (party: string) =>
    router.send(message({ id: 1, method: 'x', params: { _meta: { progressToken: 'p' } } }) as never, party, (body) =>
      got.push([party, body]),
    );
  const [ann, eve] = [send('ann')!, send('eve')!];
  assert.notEqual(ann.ours, eve.ours);
  assert.deepEqual((eve.body.params as Json)._meta, { progressToken: eve.ours });
  assert.equal(send('ann'), undefined, 'a second one of the same party');
  assert.equal(router.cancel('eve', 2), undefined);
  router.receive(message({ method: 'notifications/progress', params: { progressToken: eve.ours, progress: 1 } }));
  assert.deepEqual(got.pop(), [
    'eve',
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'p', progress: 1 } },
  ]);
  const cancelled = router.cancel('eve', 1, 'why');
  assert.deepEqual((cancelled as Json).params, { requestId: eve.ours, reason: 'why' });
  router.receive(message({ id: eve.ours, result: {} }));
  assert.equal(got.length, 0, 'a late answer is for nobody');
  router.receive(message({ id: ann.ours, result: { a: 1 } }));
  assert.deepEqual(got, [['ann', { jsonrpc: '2.0', id: 1, result: { a: 1 } }]]);
  assert.equal(router.waiting.size, 0);
});

test('an event log forgets the oldest, and does not pretend to have what it forgot', () => {
  const log = createEventLog(3, 100);
  const start = log.start(1);
  const first = log.add(1, 'a', false);
  log.add(2, 'b', true);
  log.add(1, 'c', true);
  const events = (id: string) => log.after(id)?.events.map(({ data }) => data);
  assert.deepEqual(events(start), ['a', 'c']);
  assert.deepEqual(events(first.id), ['c'], 'events of another stream are not in it');
  log.add(0, 'd', false);
  assert.equal(events(start), undefined, 'the first event is gone');
  assert.deepEqual(events(first.id), ['c']);
  for (const data of ['e', 'f', 'x'.repeat(200)]) log.add(0, data, false);
  assert.equal(events(first.id), undefined);
  assert.deepEqual(events('0-0')?.length, 1, 'its own bound counts bytes too');
  for (const id of ['', '0', '0-', '-1-1', '9-1', '0-99', '1e1-1', `${'9'.repeat(30)}-1`]) assert.equal(log.after(id), null, id);
});

test('a seat is found by its own visitor, and an idle one gives way, of the same visitor or of one who holds more', () => {
  const seats = createSeats({ total: 3, perVisitor: 2, idleMs: 10 });
  const seat = (id: string, visitor: string, isBusy = false) => ({ id, visitor, usedMs: 0, isBusy: () => isBusy });
  const [a, b, c] = [seat('a', 'ann', true), seat('b', 'ann'), seat('c', 'eve')];
  for (const each of [a, b]) seats.add(each);
  assert.equal(seats.find('a', 'eve', 1), undefined);
  assert.equal(seats.room('ann'), b);
  assert.equal(seats.room('eve'), 'free');
  seats.add(c);
  assert.equal(seats.room('bob'), b, 'ann holds two');
  assert.equal(seats.room('eve'), c);
  assert.equal(seats.find('b', 'ann', 5), b);
  assert.deepEqual(seats.idle(14), [c]);
  assert.deepEqual(seats.idle(15), [b, c]);
  seats.remove({ ...c });
  assert.equal(seats.all().length, 3, 'not one of the same id');
  b.isBusy = () => true;
  assert.equal(seats.room('bob'), 'full', 'those of ann are busy, and eve holds one only');
});

test('a start waits longer after each failure, at most 30 s, and remembers few visitors', () => {
  const gate = createStartGate();
  const waits = Array.from({ length: 9 }, () => {
    gate.failed('ann', 0);
    return gate.waitMs('ann', 0);
  });
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  assert.equal(gate.waitMs('eve', 0), 0);
  for (let each = 0; each < 256; each += 1) gate.failed(String(each), 0);
  assert.equal(gate.waitMs('ann', 0), 0);
  gate.failed('bob', 0);
  gate.worked('bob');
  assert.equal(gate.waitMs('bob', 0), 0);
});

test('the log hides secrets of the environment, cuts lines, and drops what comes too fast', () => {
  const lines: string[] = [];
  let nowMs = 0;
  const env = {
    GITHUB_TOKEN: 'ghp_12345',
    API_KEY: 'ghp_1234567',
    SHORT_TOKEN: 'abc',
    HOME: '/home/ann',
    EMPTY_SECRET: undefined,
  };
  const log = createServerLog({
    env,
    limits: { logLineChars: 30, logLines: 3 },
    now: () => nowMs,
    write: (line) => lines.push(line),
  });
  log('token ghp_12345 key ghp_1234567');
  log('abc in /home/ann');
  for (let each = 0; each < 5; each += 1) log('x'.repeat(40));
  nowMs = 1_000;
  log('later');
  assert.deepEqual(lines, ['token *** key ***', 'abc in /home/ann', `${'x'.repeat(30)}…`, '(4 lines were left out)', 'later']);
});
