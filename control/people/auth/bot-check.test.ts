// The bot checks: altcha with its real proof of work, Turnstile against a stand-in of its verification call.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, describe, it } from 'node:test';
import { type Challenge, solveChallenge } from 'altcha-lib';
import { deriveKey } from 'altcha-lib/algorithms/pbkdf2';
import { pino } from 'pino';
import { openSqliteStore } from '../../platform/store/sqlite.ts';
import { createTestControl, loginForm } from '../../test-kit.ts';
import { createAltcha } from './altcha.ts';
import { createTurnstile } from './turnstile.ts';

const closers: (() => unknown)[] = [];
after(async () => {
  for (const close of closers) await close();
});

async function openAltcha(secret = 'secret') {
  const store = await openSqliteStore(':memory:');
  closers.push(() => store.close());
  const time = { now: Date.now() };
  return { time, store, check: createAltcha({ store, clock: () => time.now, secrets: () => [secret], cost: 10 }) };
}

async function solve(challenge: Challenge): Promise<string> {
  const solution = await solveChallenge({ challenge, deriveKey });
  assert.ok(solution);
  return encode({ challenge, solution });
}
const encode = (payload: object): string => Buffer.from(JSON.stringify(payload)).toString('base64');
const decode = (answer: string) =>
  JSON.parse(Buffer.from(answer, 'base64').toString()) as {
    challenge: Challenge;
    solution: { counter: number; derivedKey: string };
  };

describe('altcha', () => {
  it('accepts a right answer once, even if twenty requests send it at the same moment', async () => {
    const { check } = await openAltcha();
    const answer = await solve((await check.createChallenge()) as Challenge);
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => check.verify(answer, '192.0.2.1')));
    assert.equal(verdicts.filter(Boolean).length, 1);
    assert.equal(await check.verify(answer, '192.0.2.1'), false);
  });

  it('refuses the same answer written in another way', async () => {
    const { check } = await openAltcha();
    const answer = await solve((await check.createChallenge()) as Challenge);
    assert.equal(await check.verify(answer, ''), true);
    const { challenge, solution } = decode(answer);
    const disguises = [
      { solution, challenge },
      { challenge, solution: { ...solution, time: 5 } },
      { challenge: { ...challenge, extra: 1 }, solution },
      { challenge: { ...challenge, signature: challenge.signature?.toUpperCase() }, solution },
      {
        challenge: { ...challenge, parameters: { ...challenge.parameters, nonce: challenge.parameters.nonce.toUpperCase() } },
        solution,
      },
      { challenge: { ...challenge, parameters: { ...challenge.parameters, extra: 1 } }, solution },
    ];
    for (const disguise of disguises) assert.equal(await check.verify(encode(disguise), ''), false, JSON.stringify(disguise));
    assert.equal(await check.verify(` ${answer}`, ''), false);
  });

  it('refuses forged answers: unsigned, signed with another key, made easier, another counter, not base64, not JSON', async () => {
    const { check } = await openAltcha();
    const foreign = await openAltcha('another');
    const answer = await solve((await check.createChallenge()) as Challenge);
    const { challenge, solution } = decode(answer);
    const { signature: _, ...unsigned } = challenge;
    const easier = { ...challenge, parameters: { ...challenge.parameters, cost: 1 } };
    const forged = [
      await solve((await foreign.check.createChallenge()) as Challenge),
      encode({ challenge: unsigned, solution }),
      encode({ challenge: easier, solution }),
      encode({ challenge, solution: { ...solution, counter: solution.counter + 1, derivedKey: '00' } }),
      encode({ challenge }),
      encode([]),
      encode({}),
      'null',
      '{}',
      '%%%',
      '',
    ];
    for (const each of forged) assert.equal(await check.verify(each, ''), false, each.slice(0, 60));
    assert.equal(await check.verify(answer, ''), true, 'the true one still counts');
  });

  it('refuses an answer after 20 minutes', async () => {
    const { check, time, store } = await openAltcha();
    const [early, late] = [
      await solve((await check.createChallenge()) as Challenge),
      await solve((await check.createChallenge()) as Challenge),
    ];
    time.now += 19 * 60_000;
    assert.equal(await check.verify(early, ''), true);
    time.now += 60_000;
    assert.equal(await check.verify(late, ''), false);
    time.now += 60 * 60_000;
    const next = createAltcha({ store, clock: () => Date.now(), secrets: () => ['new', 'secret'], cost: 10 });
    assert.equal(await next.verify(await solve((await next.createChallenge()) as Challenge), ''), true);
  });

  it('guards the form end to end', async () => {
    const test = await createTestControl();
    const { check } = await openAltcha();
    const guarded = await createTestControl({ botCheck: check });
    const challenge = await guarded.client().call<Challenge>('GET', '/api/bot-check/challenge');
    const answer = await solve(challenge);
    assert.equal((await guarded.client().send('POST', '/auth/magiclink', loginForm('a@example.com', answer))).status, 204);
    assert.equal((await guarded.client().send('POST', '/auth/magiclink', loginForm('a@example.com', answer))).status, 400);
    await Promise.all([test.close(), guarded.close()]);
  });
});

type Reply = { readonly status: number; readonly body: string } | undefined;

async function openStandIn(reply: (form: URLSearchParams) => Reply, timeoutMs?: number) {
  const asked: URLSearchParams[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    asked.push(form);
    const made = reply(form);
    if (made) response.writeHead(made.status, { 'content-type': 'application/json' }).end(made.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => server.closeAllConnections());
  closers.push(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/siteverify`;
  const origin = 'https://underpass.example';
  return {
    asked,
    check: createTurnstile({
      ...{ siteKey: 'site', secret: 'hush', url, origin, log: pino({ level: 'silent' }) },
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    }),
  };
}

describe('turnstile', () => {
  const spent = new Set<string>();
  const asCloudflare = (form: URLSearchParams): Reply => {
    const token = form.get('response') ?? '';
    const success = form.get('secret') === 'hush' && token === 'good' && !spent.has(token);
    spent.add(token);
    return { status: 200, body: JSON.stringify({ success, hostname: 'underpass.example' }) };
  };

  it('sends the secret, the answer and the caller’s address; an answer counts once', async () => {
    const { check, asked } = await openStandIn(asCloudflare);
    assert.deepEqual(check.describe(), { kind: 'turnstile', siteKey: 'site' });
    assert.equal(await check.verify('good', '192.0.2.7'), true);
    assert.deepEqual(Object.fromEntries(asked[0]!), { secret: 'hush', response: 'good', remoteip: '192.0.2.7' });
    assert.equal(await check.verify('good', '192.0.2.7'), false);
    assert.equal(await check.verify('forged', '192.0.2.7'), false);
  });

  for (const [reply, why] of [
    [{ status: 500, body: '{"success":true,"hostname":"underpass.example"}' }, 'an error'],
    [{ status: 200, body: 'success' }, 'no JSON'],
    [{ status: 200, body: '{"success":"true","hostname":"underpass.example"}' }, 'a success that is a string'],
    [{ status: 200, body: '{"success":true,"hostname":"evil.example"}' }, 'a token of another site'],
    [{ status: 200, body: '{"success":true}' }, 'no host name'],
    [{ status: 200, body: `{"success":true,"hostname":"underpass.example"}${' '.repeat(64 * 1024)}` }, 'too long'],
  ] as const) {
    it(`refuses when the answer is ${why}`, async () => {
      const { check } = await openStandIn(() => reply);
      assert.equal(await check.verify('good', '192.0.2.7'), false);
    });
  }

  it('refuses when there is no answer', async () => {
    const { check } = await openStandIn(() => undefined, 500);
    assert.equal(await check.verify('good', '192.0.2.7'), false);
  });

  it('makes no challenge, and lets the page load its script and frame', async () => {
    const turnstile = { siteKey: 'site', secret: 'hush', url: 'http://127.0.0.1:9/' };
    const test = await createTestControl({ settings: { turnstile } });
    const response = await test.client().send('GET', '/');
    assert.match(
      response.headers.get('content-security-policy') ?? '',
      /script-src 'self' https:\/\/challenges\.cloudflare\.com;.*frame-src https:\/\/challenges\.cloudflare\.com/,
    );
    await test.close();
  });
});
