// One account at an ACME directory: registers it, and signs and sends its requests (RFC 8555 6 and 7.3).

import { keepFirst } from '../kept.ts';
import { type AcmeAnswer, exchange } from './exchange.ts';
import { type AccountKey, bindExternalAccount, type ExternalAccount, signRequest } from './jws.ts';
import { AcmeError, errorOf, problemType } from './problem.ts';

export interface AcmeOptions {
  readonly directory: string;
  /** Extra root (PEM) for the directory. */
  readonly ca?: string;
  readonly email?: string;
  readonly key: AccountKey;
  /** Credentials for authorities that require an account made outside ACME. */
  readonly externalAccount?: ExternalAccount;
}

interface Directory {
  readonly newNonce: string;
  readonly newAccount: string;
  readonly newOrder: string;
  /** RFC 9773; not every authority has it. */
  readonly renewalInfo?: string;
}

/** The answer to a stale nonce brings a fresh one (RFC 8555 6.5), with which the request is sent again. */
const nonceTries = 8;

export class AcmeAccount {
  readonly #options: AcmeOptions;
  readonly #directory = keepFirst((signal: AbortSignal) => this.#readDirectory(signal));
  /** The account's address, which signs its requests in place of the key. */
  readonly #address = keepFirst((signal: AbortSignal) => this.#register(signal));
  /** The nonce of the last answer. One is enough: the requests of an order follow each other, and old nonces go stale. */
  #nonce: string | undefined;

  constructor(options: AcmeOptions) {
    this.#options = options;
  }

  directory(signal: AbortSignal): Promise<Directory> {
    return this.#directory.get(signal);
  }

  /** An unsigned request. */
  async get(url: string, signal: AbortSignal): Promise<AcmeAnswer> {
    return unlessRefused(await this.#send('GET', url, signal));
  }

  /** A request signed by the account; `payload` undefined reads (RFC 8555 6.3). */
  async call(url: string, payload: unknown, signal: AbortSignal): Promise<AcmeAnswer> {
    const address = await this.#address.get(signal);
    return this.#post(url, payload, address, signal).catch((error) => {
      // The order belongs to an account that is gone. The next order registers a new one.
      if ((error as AcmeError).code === 'no-account') this.#address.forget();
      throw error;
    });
  }

  #send(method: 'GET' | 'HEAD' | 'POST', url: string, signal: AbortSignal, body?: string): Promise<AcmeAnswer> {
    const { ca } = this.#options;
    return exchange({ method, url, signal, ...(body === undefined ? {} : { body }), ...(ca === undefined ? {} : { ca }) });
  }

  async #readDirectory(signal: AbortSignal): Promise<Directory> {
    const { directory } = this.#options;
    const answer = await this.#send('GET', directory, signal);
    const found = answer.json() as Partial<Directory> | undefined;
    if (answer.status === 200 && found?.newNonce && found.newAccount && found.newOrder) return found as Directory;
    throw new AcmeError('unreachable', `${directory} is not an ACME directory (status ${answer.status})`, answer.retryAfterMs);
  }

  async #register(signal: AbortSignal): Promise<string> {
    const { email, externalAccount, key } = this.#options;
    const { newAccount } = await this.directory(signal);
    const payload = {
      termsOfServiceAgreed: true,
      ...(email === undefined ? {} : { contact: [`mailto:${email}`] }),
      ...(externalAccount === undefined ? {} : { externalAccountBinding: bindExternalAccount(key, externalAccount, newAccount) }),
    };
    const address = (await this.#post(newAccount, payload, undefined, signal)).header('location');
    if (address === undefined) throw new AcmeError('refused', 'an account without an address');
    return address;
  }

  async #post(url: string, payload: unknown, address: string | undefined, signal: AbortSignal): Promise<AcmeAnswer> {
    let answer = await this.#postOnce(url, payload, address, signal);
    for (let tries = 1; tries < nonceTries && problemType(answer.json()) === 'badNonce'; tries++) {
      answer = await this.#postOnce(url, payload, address, signal);
    }
    return unlessRefused(answer);
  }

  async #postOnce(url: string, payload: unknown, kid: string | undefined, signal: AbortSignal): Promise<AcmeAnswer> {
    const nonce = await this.#takeNonce(signal);
    const answer = await this.#send('POST', url, signal, signRequest(this.#options.key, { nonce, url, kid }, payload));
    this.#nonce ??= answer.header('replay-nonce');
    return answer;
  }

  async #takeNonce(signal: AbortSignal): Promise<string> {
    const kept = this.#nonce;
    this.#nonce = undefined;
    if (kept !== undefined) return kept;
    const answer = await this.#send('HEAD', (await this.directory(signal)).newNonce, signal);
    const nonce = answer.header('replay-nonce');
    if (nonce === undefined) throw new AcmeError('unreachable', 'no nonce', answer.retryAfterMs);
    return nonce;
  }
}

function unlessRefused(answer: AcmeAnswer): AcmeAnswer {
  if (answer.status >= 400) throw errorOf(answer.status, answer.json(), answer.retryAfterMs);
  return answer;
}
