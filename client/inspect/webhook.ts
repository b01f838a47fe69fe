// Checks the signatures of webhooks: GitHub, Stripe, Slack, Standard Webhooks. The secrets come from a file and stay here.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SignatureCheck, SignatureScheme } from '@underpass/rules/inspect/exchange.ts';
import { fieldOf, type ReadHead } from './core/head.ts';
import { bytesOf, type KeptExchange } from './exchange-log.ts';
import type { CheckSignature } from './view.ts';

/** What Stripe's and Slack's libraries and Standard Webhooks allow between signature and arrival. */
const toleranceSeconds = 300;

interface Signed {
  readonly scheme: SignatureScheme;
  /** Candidates: a sender that changes its secret signs with both. */
  readonly signatures: readonly Buffer[];
  /** Unix time in seconds; null if the scheme has none. */
  readonly signedAt: number | null;
  /** The sender signs this text and, right after it, the body. */
  readonly prefix: string;
  readonly keyOf: (secret: string) => Buffer;
}

/** One secret in each line; a request may match any. */
export function parseSecrets(text: string): readonly string[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
}

export function createSignatureCheck(secrets: readonly string[]): CheckSignature {
  const known = new WeakMap<KeptExchange, SignatureCheck | null>();
  return (exchange, head) => {
    // A body that is still on its way cannot be checked, but what to expect can be said.
    if (Number.isNaN(exchange.requestEndMs)) return null;
    const before = known.get(exchange);
    if (before !== undefined) return before;
    const check = checkSignature(exchange, head, secrets);
    known.set(exchange, check);
    return check;
  };
}

function checkSignature(exchange: KeptExchange, head: ReadHead, secrets: readonly string[]): SignatureCheck | null {
  const signed = readSignature(head);
  if (signed === null) return null;
  const { scheme, signedAt } = signed;
  if (secrets.length === 0)
    return { scheme, outcome: 'unchecked', explanation: 'Give the secret with --webhook-secret-file to check the signature.' };
  if (exchange.request.keptBytes < exchange.request.bytes)
    return { scheme, outcome: 'unchecked', explanation: 'The body is longer than what the inspector keeps.' };
  if (!secrets.some((secret) => matches(signed, secret, bytesOf(exchange.request))))
    return { scheme, outcome: 'invalid', explanation: 'The signature does not match the body and the secret.' };
  const ageSeconds = signedAt === null ? 0 : Math.round(exchange.startedAtMs / 1_000 - signedAt);
  if (Math.abs(ageSeconds) > toleranceSeconds) return { scheme, outcome: 'late', explanation: lateText(ageSeconds) };
  return { scheme, outcome: 'valid', explanation: 'The signature matches the body and the secret.' };
}

function lateText(ageSeconds: number): string {
  const when = ageSeconds > 0 ? `${ageSeconds} seconds before it arrived` : `${-ageSeconds} seconds in the future`;
  return `The signature matches, but its time is ${when}; ${toleranceSeconds} are allowed.`;
}

function matches({ signatures, prefix, keyOf }: Signed, secret: string, body: Buffer): boolean {
  const expected = createHmac('sha256', keyOf(secret)).update(prefix).update(body).digest();
  return signatures.some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}

const utf8 = (secret: string): Buffer => Buffer.from(secret, 'utf8');

function readSignature(head: ReadHead): Signed | null {
  return github(head) ?? stripe(head) ?? slack(head) ?? standard(head);
}

function github(head: ReadHead): Signed | null {
  const given = fieldOf(head, 'x-hub-signature-256');
  if (given === undefined) return null;
  return { scheme: 'github', signatures: hexAfter('sha256=', [given]), signedAt: null, prefix: '', keyOf: utf8 };
}

/** `t=1700000000,v1=hex,v1=hex`. */
function stripe(head: ReadHead): Signed | null {
  const given = fieldOf(head, 'stripe-signature');
  if (given === undefined) return null;
  const parts = given.split(',').map((part) => part.trim());
  const time = parts.find((part) => part.startsWith('t='))?.slice(2) ?? '';
  return { scheme: 'stripe', signatures: hexAfter('v1=', parts), signedAt: secondsOf(time), prefix: `${time}.`, keyOf: utf8 };
}

function slack(head: ReadHead): Signed | null {
  const given = fieldOf(head, 'x-slack-signature');
  const time = fieldOf(head, 'x-slack-request-timestamp');
  if (given === undefined || time === undefined) return null;
  return { scheme: 'slack', signatures: hexAfter('v0=', [given]), signedAt: secondsOf(time), prefix: `v0:${time}:`, keyOf: utf8 };
}

/** `v1,base64 v1,base64`, over id and time; the headers of Svix are the same under other names. */
function standard(head: ReadHead): Signed | null {
  for (const name of ['webhook', 'svix']) {
    const [id, time, given] = ['id', 'timestamp', 'signature'].map((part) => fieldOf(head, `${name}-${part}`));
    if (id === undefined || time === undefined || given === undefined) continue;
    const versions = given.split(' ').filter((part) => part.startsWith('v1,'));
    const signatures = versions.map((part) => Buffer.from(part.slice(3), 'base64'));
    return { scheme: 'standard-webhooks', signatures, signedAt: secondsOf(time), prefix: `${id}.${time}.`, keyOf: standardKey };
  }
  return null;
}

/** `whsec_` and base64. */
const standardKey = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ''), 'base64');

const secondsOf = (text: string): number | null => (/^\d{1,12}$/.test(text) ? Number(text) : null);

const hexAfter = (start: string, parts: readonly string[]): Buffer[] =>
  parts.filter((part) => part.startsWith(start)).map((part) => Buffer.from(part.slice(start.length), 'hex'));
