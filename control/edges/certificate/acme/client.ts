// Asks an ACME directory for one certificate (RFC 8555 7.4): order, proof, finalisation, download; and for advice on its renewal.
// How the world sees the proofs is passed in.

import { setTimeout as sleep } from 'node:timers/promises';
import type { RenewalInfo } from '../authority.ts';
import { createSigningRequest } from '../x509.ts';
import { AcmeAccount, type AcmeOptions } from './account.ts';
import type { AcmeAnswer } from './exchange.ts';
import { keyAuthorization } from './jws.ts';
import { AcmeError, problemDetail } from './problem.ts';
import { parseRenewalInfo } from './renewal-info.ts';

export type ChallengeKind = 'http-01' | 'tls-alpn-01' | 'dns-01';

export interface Proof {
  readonly kind: ChallengeKind;
  /** The name without a wildcard label. */
  readonly host: string;
  readonly token: string;
  readonly keyAuthorization: string;
}

interface OrderRequest {
  readonly name: string;
  /** Kinds in order of preference. */
  readonly kinds: readonly ChallengeKind[];
  /** Shows the proof; resolves when it can be seen, with the function that takes it back. */
  readonly show: (proof: Proof) => Promise<() => Promise<void>>;
  readonly signal: AbortSignal;
  /** The certificate id of the one that is renewed. */
  readonly replaces?: string;
}

export interface AcmeClient {
  /** Undefined if the directory has no such resource, or its answer cannot be read. */
  renewalInfo(certificateId: string, signal: AbortSignal): Promise<RenewalInfo | undefined>;
  order(request: OrderRequest): Promise<{ readonly chainPem: string; readonly privateKeyPem: string }>;
}

interface Challenge {
  readonly type: string;
  readonly url: string;
  readonly token: string;
  readonly error?: unknown;
}

interface Authorization {
  readonly status: string;
  readonly identifier: { readonly value: string };
  readonly challenges: readonly Challenge[];
}

interface Order {
  readonly status: string;
  readonly authorizations: readonly string[];
  readonly finalize: string;
  readonly certificate?: string;
  readonly error?: unknown;
}

const firstPollMs = 200;
const longestPollMs = 10_000;
/** Polls of one authorization or order: about five minutes. */
const maxPolls = 40;
/** The shortest time between two questions about a renewal, even if the authority gives a shorter one (RFC 9773 4.3.1). */
const leastAskMs = 60_000;

const pollDelay = (answer: AcmeAnswer, round: number): number =>
  Math.min(answer.retryAfterMs ?? firstPollMs * 1.5 ** round, longestPollMs);

/** Asks until the status is none of those that mean "wait". */
async function poll<T extends { readonly status: string }>(
  account: AcmeAccount,
  url: string,
  waiting: readonly string[],
  signal: AbortSignal,
): Promise<T> {
  for (let round = 0; round < maxPolls; round++) {
    const answer = await account.call(url, undefined, signal);
    const value = answer.json() as T;
    if (!waiting.includes(value?.status)) return value;
    await sleep(pollDelay(answer, round), undefined, { signal });
  }
  throw new AcmeError('unreachable', 'the authority did not come to a decision');
}

async function answerChallenge(account: AcmeAccount, url: string, challengeUrl: string, signal: AbortSignal): Promise<void> {
  await account.call(challengeUrl, {}, signal);
  const decided = await poll<Authorization>(account, url, ['pending', 'processing'], signal);
  if (decided.status === 'valid') return;
  const failed = decided.challenges.find((each) => each.error !== undefined);
  throw new AcmeError('not-proven', problemDetail(failed?.error));
}

async function prove(account: AcmeAccount, key: AcmeOptions['key'], url: string, request: OrderRequest): Promise<void> {
  const { kinds, show, signal } = request;
  const { status, identifier, challenges } = (await account.call(url, undefined, signal)).json() as Authorization;
  if (status === 'valid') return;
  const offered = new Map(challenges.map((challenge) => [challenge.type, challenge]));
  const kind = kinds.find((each) => offered.has(each));
  const challenge = kind && offered.get(kind);
  if (kind === undefined || challenge === undefined) throw new AcmeError('refused', `no challenge of kind ${kinds.join(', ')}`);
  const { token } = challenge;
  const hide = await show({ kind, host: identifier.value, token, keyAuthorization: keyAuthorization(key, token) });
  try {
    await answerChallenge(account, url, challenge.url, signal);
  } finally {
    await hide();
  }
}

async function openOrder(account: AcmeAccount, { name, replaces, signal }: OrderRequest): Promise<AcmeAnswer> {
  const { newOrder, renewalInfo } = await account.directory(signal);
  const wanted = { identifiers: [{ type: 'dns', value: name }] };
  if (replaces === undefined || renewalInfo === undefined) return account.call(newOrder, wanted, signal);
  // RFC 9773 5: the authority refuses if it does not know the old one, or has replaced it. Then order without the claim.
  return account.call(newOrder, { ...wanted, replaces }, signal).catch((error) => {
    if ((error as AcmeError).code !== 'refused') throw error;
    return account.call(newOrder, wanted, signal);
  });
}

async function readRenewalInfo(account: AcmeAccount, id: string, signal: AbortSignal): Promise<RenewalInfo | undefined> {
  const { renewalInfo: base } = await account.directory(signal);
  if (base === undefined) return undefined;
  const answer = await account.get(`${base}/${id}`, signal);
  const window = parseRenewalInfo(answer.json());
  if (window === undefined) return undefined;
  const { retryAfterMs } = answer;
  return { window, askAgainMs: retryAfterMs === undefined ? undefined : Math.max(retryAfterMs, leastAskMs) };
}

export function createAcmeClient(options: AcmeOptions): AcmeClient {
  const account = new AcmeAccount(options);
  const order: AcmeClient['order'] = async (request) => {
    const { name, signal } = request;
    const made = await openOrder(account, request);
    const orderUrl = made.header('location') ?? '';
    const opened = made.json() as Order;
    for (const url of opened.authorizations) await prove(account, options.key, url, request);
    const { request: csr, privateKeyPem } = await createSigningRequest([name]);
    await poll<Order>(account, orderUrl, ['pending'], signal);
    await account.call(opened.finalize, { csr: csr.toString('base64url') }, signal);
    const done = await poll<Order>(account, orderUrl, ['pending', 'ready', 'processing'], signal);
    if (done.certificate === undefined) throw new AcmeError('refused', `order is ${done.status} ${problemDetail(done.error)}`);
    return { chainPem: (await account.call(done.certificate, undefined, signal)).text, privateKeyPem };
  };
  return { order, renewalInfo: (certificateId, signal) => readRenewalInfo(account, certificateId, signal) };
}
