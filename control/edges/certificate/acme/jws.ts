// Signs requests to a certificate authority with the account's key (RFC 8555 6.2, RFC 7515, RFC 7638).

import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
} from 'node:crypto';

export interface AccountKey {
  readonly privateKey: KeyObject;
  readonly jwk: { readonly crv: string; readonly kty: string; readonly x: string; readonly y: string };
  /** RFC 7638: what key authorizations end with. */
  readonly thumbprint: string;
}

export const createAccountKeyPem = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

export function readAccountKey(pem: string): AccountKey {
  const privateKey = createPrivateKey(pem);
  const { crv = '', kty = '', x = '', y = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  // Members in lexical order and nothing else: RFC 7638 3.
  const jwk = { crv, kty, x, y };
  return { privateKey, jwk, thumbprint: createHash('sha256').update(JSON.stringify(jwk)).digest('base64url') };
}

const base64url = (text: string): string => Buffer.from(text).toString('base64url');

interface JwsHeader {
  readonly nonce: string;
  readonly url: string;
  /** The account's URL, once there is one. */
  readonly kid: string | undefined;
}

/** `payload` undefined makes a POST-as-GET (RFC 8555 6.3). */
export function signRequest(key: AccountKey, { nonce, url, kid }: JwsHeader, payload: unknown): string {
  const identity = kid === undefined ? { jwk: key.jwk } : { kid };
  const header = base64url(JSON.stringify({ alg: 'ES256', nonce, url, ...identity }));
  const body = payload === undefined ? '' : base64url(JSON.stringify(payload));
  const signature = sign('sha256', Buffer.from(`${header}.${body}`), { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
  return JSON.stringify({ protected: header, payload: body, signature: signature.toString('base64url') });
}

/** The credentials of an account that an authority gave outside ACME: it vouches for ours (RFC 8555 7.3.4). */
export interface ExternalAccount {
  readonly keyId: string;
  /** base64url. */
  readonly hmacKey: string;
}

export function bindExternalAccount(key: AccountKey, { keyId, hmacKey }: ExternalAccount, url: string): object {
  const header = base64url(JSON.stringify({ alg: 'HS256', kid: keyId, url }));
  const payload = base64url(JSON.stringify(key.jwk));
  const signature = createHmac('sha256', Buffer.from(hmacKey, 'base64url')).update(`${header}.${payload}`).digest('base64url');
  return { protected: header, payload, signature };
}

/** RFC 8555 8.1. */
export const keyAuthorization = (key: AccountKey, token: string): string => `${token}.${key.thumbprint}`;

/** The TXT value of dns-01: RFC 8555 8.4. */
export const dnsProof = (authorization: string): string => createHash('sha256').update(authorization).digest('base64url');
