// What a call sends, and what its failures become (spec 8).
import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { sessionCalls } from '@underpass/rules/api/session-calls.ts';
import { tunnelCalls } from '@underpass/rules/api/tunnel-calls.ts';
import { ApiError, isAbort, isApiError, isTemporary, messageOf } from './error.ts';
import { callApi, onProofNeeded, onSignedOut } from './request.ts';

const { listTunnels, createTunnel, deleteTunnel, getUser } = { ...tunnelCalls, ...sessionCalls };
const inProject = { project: 'p' };
const newTunnel = { ...inProject, payload: { name: 'shop', region: 'eu' } };

const realFetch = globalThis.fetch;
let answer: () => Promise<Response> | Response = () => new Response(null, { status: 204 });
let sent: { url: string; init: RequestInit }[] = [];

beforeEach(() => {
  sent = [];
  globalThis.fetch = async (url, init) => {
    sent.push({ url: String(url), init: init! });
    return answer();
  };
});
afterEach(() => {
  globalThis.fetch = realFetch;
});

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => assert.fail('it has to fail'),
    (error: unknown) => error,
  );

test('a call sends the session cookie, and the method, path and body of its row', async () => {
  await callApi(createTunnel, newTunnel);
  assert.equal(sent[0]?.url, '/api/tunnels?project=p');
  const { method, credentials, headers } = sent[0]!.init;
  assert.deepEqual([method, credentials, headers], ['POST', 'same-origin', { 'content-type': 'application/json' }]);
});

test('a failure carries the status, the response text and the seconds to wait', async () => {
  answer = () => new Response('Too many requests.\n', { status: 429, headers: { 'Retry-After': '30' } });
  const error = await failure(callApi(listTunnels, inProject));
  assert.ok(isApiError(error));
  assert.deepEqual([error.status, error.message, error.retryAfterSeconds], [429, 'Too many requests.', 30]);
});

test('an answer without JSON gives undefined', async () => {
  answer = () => new Response(null, { status: 204 });
  assert.equal(await callApi(deleteTunnel, { ...inProject, name: 'shop' }), undefined);
});

test('a 401 to a GET ends the session, except for the call that asks who is signed in', async () => {
  answer = () => new Response('Not signed in.', { status: 401 });
  let told = 0;
  const stop = onSignedOut(() => told++);
  await failure(callApi(getUser, {}));
  assert.equal(told, 0);
  await failure(callApi(listTunnels, inProject));
  assert.equal(told, 1);
  stop();
  await failure(callApi(listTunnels, inProject));
  assert.equal(told, 1);
});

test('a 401 to a change or to a background request does not leave the page', async () => {
  answer = () => new Response('Not signed in.', { status: 401 });
  let told = 0;
  const stop = onSignedOut(() => told++);
  const refused = await failure(callApi(createTunnel, newTunnel));
  await failure(callApi(listTunnels, inProject, { background: true }));
  stop();
  assert.equal(told, 0);
  assert.match(messageOf(refused) ?? '', /^Your session has ended\./);
});

test('a call that needs a proof asks for it, and is repeated as it was', async () => {
  const proofNeeded = () =>
    new Response('Confirm that it is you first.', { status: 403, headers: { 'Underpass-Error': 'UNDERPASS_PROOF_NEEDED' } });
  const answers = [proofNeeded, proofNeeded, () => Response.json({ name: 'shop' })];
  answer = () => answers.shift()!();
  let asked = 0;
  const stop = onProofNeeded(async () => ++asked > 0);
  assert.deepEqual(await callApi(createTunnel, newTunnel), { name: 'shop' });
  assert.equal(asked, 2);
  assert.equal(sent.length, 3);
  assert.ok(sent.every(({ url, init }) => url === sent[0]!.url && init.body === sent[0]!.init.body));
  stop();
  answer = proofNeeded;
  for (const decline of [undefined, async () => false]) {
    const end = decline && onProofNeeded(decline);
    assert.equal(messageOf(await failure(callApi(createTunnel, newTunnel))), 'Confirm that it is you first.');
    end?.();
  }
  assert.equal(sent.length, 5);
});

test('another 403 asks for no proof', async () => {
  answer = () => new Response('Your role does not allow this.', { status: 403 });
  const stop = onProofNeeded(() => assert.fail('asked'));
  await failure(callApi(createTunnel, newTunnel));
  stop();
});

test('a network failure is an ApiError without a status', async () => {
  answer = () => Promise.reject(new TypeError('fetch failed'));
  const error = await failure(callApi(listTunnels, inProject));
  assert.ok(isApiError(error));
  assert.equal(error.status, 0);
  assert.ok(messageOf(error));
});

/** An answer whose body breaks off. */
function cutOff(reason: unknown) {
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('[{"name"')),
    pull: (controller) => controller.error(reason),
  });
  return new Response(body, { headers: { 'Content-Type': 'application/json' } });
}

test('an answer that breaks off is an ApiError without a status, unless the caller ended it', async () => {
  for (const reason of [new TypeError('network error'), new DOMException('signal timed out', 'TimeoutError')]) {
    answer = () => cutOff(reason);
    const error = await failure(callApi(listTunnels, inProject));
    assert.ok(isApiError(error) && isTemporary(error));
    assert.equal(messageOf(error), 'Only a part of the answer arrived.');
  }
  answer = () => cutOff(new DOMException('aborted', 'AbortError'));
  assert.ok(isAbort(await failure(callApi(listTunnels, inProject))));
});

test('a GET whose connection broke is retried once, a change is not', async () => {
  const broken = [() => Promise.reject(new TypeError('broken')), () => Response.json('there')];
  answer = () => broken.shift()!();
  assert.equal(await callApi(listTunnels, inProject), 'there');
  answer = () => Promise.reject(new TypeError('broken'));
  await failure(callApi(createTunnel, newTunnel));
  assert.deepEqual(
    sent.map(({ init }) => init.method),
    ['GET', 'GET', 'POST'],
  );
  await failure(callApi(listTunnels, inProject));
  assert.equal(sent.length, 5);
});

test('an abort by the caller stays an abort', async () => {
  const controller = new AbortController();
  answer = () => Promise.reject(controller.signal.reason);
  controller.abort();
  const error = await failure(callApi(listTunnels, inProject, { signal: controller.signal }));
  assert.ok(error instanceof DOMException && error.name === 'AbortError');
});

test('an error without a text has no message to show', () => {
  assert.equal(messageOf(new ApiError(500, '')), undefined);
  assert.equal(messageOf('text'), undefined);
});
