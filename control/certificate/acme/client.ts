// Asks an ACME directory for one certificate (RFC 8555): account, order, proof, finalisation, download.
// How proofs are shown to the world is passed in.

import { setTimeout as sleep } from 'node:timers/promises';
import type { RenewalInfo } from '../authority.ts';
import { createSigningRequest } from '../x509.ts';
import { type Answer, exchange } from './exchange.ts';
import { type AccountKey, bindExternalAccount, type ExternalAccount, keyAuthorization, signRequest } from './jws.ts';
import { AcmeError, errorOf, problemDetail, problemType } from './problem.ts';
import { parseRenewalInfo } from './renewal-info.ts';

export type ChallengeKind = 'http-01' | 'tls-alpn-01' | 'dns-01';

export interface Proof {
  readonly kind: ChallengeKind;
  /** Without a wildcard label. */
  readonly host: string;
  readonly token: string;
  readonly keyAuthorization: string;
}

export interface AcmeOptions {
  readonly directory: string;
  /** Extra root (PEM) for the directory. */
  readonly ca?: string;
  readonly email?: string;
  readonly key: AccountKey;
  /** For authorities that want an account of theirs first. */
  readonly externalAccount?: ExternalAccount;
}

export interface OrderRequest {
  readonly name: string;
  /** Kinds in order of preference. */
  readonly kinds: readonly ChallengeKind[];
  /** Shows the proof; resolves when it can be seen, with the way to take it back. */
  readonly show: (proof: Proof) => Promise<() => Promise<void>>;
  readonly signal: AbortSignal;
  /** The certificate id of the one that is renewed. */
  readonly replaces?: string;
}

export interface AcmeClient {
  /** Undefined where the directory has no such resource, or says nothing that can be read. */
  renewalInfo(certificateId: string, signal: AbortSignal): Promise<RenewalInfo | undefined>;
  order(request: OrderRequest): Promise<{ readonly chainPem: string; readonly privateKeyPem: string }>;
}

interface Directory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  /** RFC 9773; not every authority has it. */
  readonly renewalInfo?: string;
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

/** A stale nonce is answered with a fresh one (RFC 8555 6.5): tried again, a few times. */
const nonceTries = 8;
const firstPollMs = 200;
const longestPollMs = 10_000;
/** However short the time that an authority gives its advice (RFC 9773 4.3.1). */
const leastAskMs = 60_000;
/** Polls of one authorization or order: about five minutes. */
const maxPolls = 40;

const pollDelay = (answer: Answer, round: number): number =>
  Math.min(answer.retryAfterMs ?? firstPollMs * 1.5 ** round, longestPollMs);

export function createAcmeClient(options: AcmeOptions): AcmeClient {
  const { key } = options;
  let directory: Promise<Directory> | undefined;
  let account: Promise<string> | undefined;
  const nonces: string[] = [];

  const send = (method: 'GET' | 'HEAD' | 'POST', url: string, signal: AbortSignal, body?: string): Promise<Answer> =>
    exchange({
      method,
      url,
      signal,
      ...(body === undefined ? {} : { body }),
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    });

  const readDirectory = async (signal: AbortSignal): Promise<Directory> => {
    const answer = await send('GET', options.directory, signal);
    const found = answer.json() as Partial<Directory> | undefined;
    if (answer.status !== 200 || !found?.newNonce || !found.newAccount || !found.newOrder) {
      throw new AcmeError(
        'unreachable',
        `${options.directory} is not an ACME directory (status ${answer.status})`,
        answer.retryAfterMs,
      );
    }
    return found as Directory;
  };

  /** Kept while it succeeds: a failure is tried again by the next caller. */
  const theDirectory = (signal: AbortSignal): Promise<Directory> => {
    directory ??= readDirectory(signal).catch((error) => {
      directory = undefined;
      throw error;
    });
    return directory;
  };

  const takeNonce = async (signal: AbortSignal): Promise<string> => {
    const kept = nonces.pop();
    if (kept !== undefined) return kept;
    const answer = await send('HEAD', (await theDirectory(signal)).newNonce, signal);
    const nonce = answer.header('replay-nonce');
    if (nonce === undefined) throw new AcmeError('unreachable', 'no nonce', answer.retryAfterMs);
    return nonce;
  };

  const postOnce = async (url: string, payload: unknown, kid: string | undefined, signal: AbortSignal): Promise<Answer> => {
    const nonce = await takeNonce(signal);
    const answer = await send('POST', url, signal, signRequest(key, { nonce, url, kid }, payload));
    const next = answer.header('replay-nonce');
    // One waits at most: requests of one order follow each other, and old nonces go stale.
    if (next !== undefined && nonces.length === 0) nonces.push(next);
    return answer;
  };

  const post = async (url: string, payload: unknown, kid: string | undefined, signal: AbortSignal): Promise<Answer> => {
    let answer = await postOnce(url, payload, kid, signal);
    for (let tries = 1; tries < nonceTries && problemType(answer.json()) === 'badNonce'; tries++) {
      answer = await postOnce(url, payload, kid, signal);
    }
    if (answer.status >= 400) throw errorOf(answer.status, answer.json(), answer.retryAfterMs);
    return answer;
  };

  const register = async (signal: AbortSignal): Promise<string> => {
    const contact = options.email === undefined ? {} : { contact: [`mailto:${options.email}`] };
    const { newAccount } = await theDirectory(signal);
    const bound = options.externalAccount;
    const binding = bound === undefined ? {} : { externalAccountBinding: bindExternalAccount(key, bound, newAccount) };
    const answer = await post(newAccount, { termsOfServiceAgreed: true, ...contact, ...binding }, undefined, signal);
    const url = answer.header('location');
    if (url === undefined) throw new AcmeError('refused', 'an account without an address');
    return url;
  };

  const theAccount = (signal: AbortSignal): Promise<string> => {
    account ??= register(signal).catch((error) => {
      account = undefined;
      throw error;
    });
    return account;
  };

  const call = async (url: string, payload: unknown, signal: AbortSignal): Promise<Answer> => {
    const kid = await theAccount(signal);
    return post(url, payload, kid, signal).catch((error) => {
      // The next order makes it anew: this one is the old account's.
      if ((error as AcmeError).code === 'no-account') account = undefined;
      throw error;
    });
  };

  /** Asks again until the status is another than those that mean "wait". */
  const poll = async <T extends { readonly status: string }>(
    url: string,
    waiting: readonly string[],
    signal: AbortSignal,
  ): Promise<T> => {
    for (let round = 0; round < maxPolls; round++) {
      const answer = await call(url, undefined, signal);
      const value = answer.json() as T;
      if (!waiting.includes(value?.status)) return value;
      await sleep(pollDelay(answer, round), undefined, { signal });
    }
    throw new AcmeError('unreachable', 'the authority did not come to a decision');
  };

  const answerChallenge = async (url: string, challenge: Challenge, signal: AbortSignal): Promise<void> => {
    await call(challenge.url, {}, signal);
    const decided = await poll<Authorization>(url, ['pending', 'processing'], signal);
    if (decided.status === 'valid') return;
    const failed = decided.challenges.find((each) => each.error !== undefined);
    throw new AcmeError('not-proven', problemDetail(failed?.error));
  };

  const prove = async (url: string, { kinds, show, signal }: OrderRequest): Promise<void> => {
    const authorization = (await call(url, undefined, signal)).json() as Authorization;
    if (authorization.status === 'valid') return;
    const kind = kinds.find((each) => authorization.challenges.some((challenge) => challenge.type === each));
    const challenge = authorization.challenges.find((each) => each.type === kind);
    if (kind === undefined || challenge === undefined) throw new AcmeError('refused', `no challenge of kind ${kinds.join(', ')}`);
    const { token } = challenge;
    const hide = await show({
      kind,
      host: authorization.identifier.value,
      token,
      keyAuthorization: keyAuthorization(key, token),
    });
    try {
      await answerChallenge(url, challenge, signal);
    } finally {
      await hide();
    }
  };

  const openOrder = async ({ name, replaces, signal }: OrderRequest): Promise<Answer> => {
    const { newOrder, renewalInfo } = await theDirectory(signal);
    const wanted = { identifiers: [{ type: 'dns', value: name }] };
    if (replaces === undefined || renewalInfo === undefined) return call(newOrder, wanted, signal);
    // RFC 9773 5: one that was replaced already, or is not known there any more, is ordered without the claim.
    return call(newOrder, { ...wanted, replaces }, signal).catch((error) => {
      if ((error as AcmeError).code !== 'refused') throw error;
      return call(newOrder, wanted, signal);
    });
  };

  const renewalInfo: AcmeClient['renewalInfo'] = async (certificateId, signal) => {
    const { renewalInfo: base } = await theDirectory(signal);
    if (base === undefined) return undefined;
    const answer = await send('GET', `${base}/${certificateId}`, signal);
    if (answer.status >= 400) throw errorOf(answer.status, answer.json(), answer.retryAfterMs);
    const window = parseRenewalInfo(answer.json());
    if (window === undefined) return undefined;
    const { retryAfterMs } = answer;
    return { window, askAgainMs: retryAfterMs === undefined ? undefined : Math.max(retryAfterMs, leastAskMs) };
  };

  const order: AcmeClient['order'] = async (request) => {
    const { name, signal } = request;
    const made = await openOrder(request);
    const orderUrl = made.header('location') ?? '';
    const opened = made.json() as Order;
    for (const url of opened.authorizations) await prove(url, request);
    const { request: csr, privateKeyPem } = await createSigningRequest([name]);
    await poll<Order>(orderUrl, ['pending'], signal);
    await call(opened.finalize, { csr: csr.toString('base64url') }, signal);
    const done = await poll<Order>(orderUrl, ['pending', 'ready', 'processing'], signal);
    if (done.certificate === undefined) throw new AcmeError('refused', `order is ${done.status} ${problemDetail(done.error)}`);
    return { chainPem: (await call(done.certificate, undefined, signal)).text, privateKeyPem };
  };

  return { order, renewalInfo };
}
